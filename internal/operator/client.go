package operator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Config says where a process is and who asks.
type Config struct {
	// Address is the URL of the admin listener, host:port, or unix: and the
	// path of its socket. Required.
	Address string
	// Token is the secret of a token. Default none: a socket, and a client
	// certificate, need none.
	Token string
	// CA is a file of certificates that the listener's is checked against.
	// Default: the system's.
	CA string
	// Cert and Key are the files of a client certificate. Default none.
	Cert, Key string
	// Timeout bounds each call, 10ms … 10m. Default 5s.
	Timeout time.Duration
}

// Client asks one process. Its methods may be called concurrently.
type Client struct {
	config Config
	base   string
	socket string // its path; "" for an address
	http   *http.Client
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// New makes a client. It opens no connection.
func New(c Config) (*Client, error) {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	if c.Timeout < 10*time.Millisecond || c.Timeout > 10*time.Minute {
		return nil, wrong("the timeout must be 10ms … 10m, got %v", c.Timeout)
	}
	transport := &http.Transport{ResponseHeaderTimeout: c.Timeout, TLSHandshakeTimeout: c.Timeout}
	client := &Client{config: c, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this listener
	}}
	if path, is := strings.CutPrefix(c.Address, "unix:"); is {
		client.base, client.socket = "http://localhost", "/"+strings.TrimLeft(path, "/")
		if !strings.HasPrefix(path, "/") {
			return nil, wrong("a socket is given as unix:///path, got %q", c.Address)
		}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", client.socket)
		}
		return client, nil
	}
	if !strings.Contains(c.Address, "://") {
		c.Address = "http://" + c.Address
	}
	u, err := url.Parse(c.Address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, wrong("the admin listener is given as http://host:port, https://host:port or unix:///path, got %q", c.Address)
	}
	client.base = strings.TrimSuffix(c.Address, "/")
	transport.TLSClientConfig, err = c.tls()
	return client, err
}

func (c *Config) tls() (*tls.Config, error) {
	made := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, &Failure{Kind: WrongCall, Sentence: err.Error()}
		}
		made.RootCAs = x509.NewCertPool()
		if !made.RootCAs.AppendCertsFromPEM(text) {
			return nil, wrong("%s holds no certificate", c.CA)
		}
	}
	if c.Cert != "" || c.Key != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, wrong("the client certificate: %v", err)
		}
		made.Certificates = []tls.Certificate{pair}
	}
	return made, nil
}

// Local reports whether the process is asked by its socket, where what changes
// holds in that worker alone.
func (c *Client) Local() bool { return c.socket != "" }

// Address is where the process is, as it was given.
func (c *Client) Address() string { return c.config.Address }

// call is one request.
type call struct {
	method, path string
	body         any    // nil for none
	match, key   string // headers of a change; "" for none
}

// Get reads a path into a value, unless that is nil, and returns the answer as
// it came. The error is a *Failure.
func (c *Client) Get(ctx context.Context, path string, into any) ([]byte, error) {
	return c.do(ctx, &call{method: http.MethodGet, path: path}, into)
}

// Post is Get for routes that take a body and change nothing.
func (c *Client) Post(ctx context.Context, path string, body, into any) ([]byte, error) {
	return c.do(ctx, &call{method: http.MethodPost, path: path, body: body}, into)
}

// do makes a call and reads its answer.
func (c *Client) do(ctx context.Context, q *call, into any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	response, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, c.unanswered(q, err)
	}
	if response.StatusCode >= 300 {
		return nil, c.refused(q, response, body)
	}
	if into == nil || len(body) == 0 {
		return body, nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, &Failure{Kind: No, Sentence: fmt.Sprintf("what %s answers is not of this API: %v", c.config.Address, err)}
	}
	return body, nil
}

// send makes a call. The context has to last as long as the answer is read.
func (c *Client) send(ctx context.Context, q *call) (*http.Response, error) {
	var body io.Reader
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, &Failure{Kind: WrongCall, Sentence: err.Error()}
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, q.method, c.base+q.path, body)
	if err != nil {
		return nil, wrong("%v", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range map[string]string{"If-Match": q.match, "Idempotency-Key": q.key} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	if c.config.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unanswered(q, err)
	}
	return response, nil
}

// unanswered is what is known when there was no answer: of a change that may
// have arrived, nothing.
func (c *Client) unanswered(q *call, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	op, dialing := errors.AsType[*net.OpError](err)
	never := dialing && op.Op == "dial" || isA[*tls.CertificateVerificationError](err)
	if q.key != "" && !never {
		return &Failure{Kind: Unknown, Key: q.key, Sentence: fmt.Sprintf("whether the change was made is not known: %v", err)}
	}
	return &Failure{Kind: Unreachable, Sentence: fmt.Sprintf(
		"no process answers at %s: %v; is plimsoll run running, and --admin its admin.listen?", c.config.Address, err)}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Delete ends what a path names, of things that are no overrides.
func (c *Client) Delete(ctx context.Context, path string) error {
	_, err := c.do(ctx, &call{method: http.MethodDelete, path: path}, nil)
	return err
}
