package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// certificate is the one to serve with. A handshake costs it one atomic load.
type certificate struct {
	files   ServerTLS
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate]

	mu         sync.Mutex // guards the files as they were read last
	chain, key []byte

	lastError string // that was logged; only follow uses it
}

// reloadEvery is how often the files are read.
const reloadEvery = 10 * time.Second

// server makes the configuration of the listener.
func (c *certificate) server() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
	fault := c.load()
	if c.files.ClientCAFile != "" {
		pool, err := readAuthorities(c.files.ClientCAFile)
		config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
		fault = errors.Join(fault, err)
	}
	return config, fault
}

// OperatorsTLS is the configuration of another listener, from TLS 1.3 on, whose
// clients may show a certificate and need not. Follow reads its files again
// when they change, until its context ends; log hears of those that are wrong.
func OperatorsTLS(files ServerTLS, log *slog.Logger) (c *tls.Config, follow func(context.Context), err error) {
	own := &certificate{files: files, log: log}
	if c, err = own.server(); err != nil {
		return nil, nil, err
	}
	c.MinVersion = tls.VersionTLS13
	if c.ClientCAs != nil {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return c, own.follow, nil
}

// load reads the files. A pair that does not fit changes nothing: the files
// are seldom replaced in the same moment.
func (c *certificate) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	chain, chainErr := os.ReadFile(c.files.CertFile)
	key, keyErr := os.ReadFile(c.files.KeyFile)
	if err := errors.Join(chainErr, keyErr); err != nil {
		return fmt.Errorf("proxy: server.tls.cert and key: %w", err)
	}
	if bytes.Equal(chain, c.chain) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("proxy: server.tls.cert %s and key %s: %w", c.files.CertFile, c.files.KeyFile, err)
	}
	c.current.Store(&pair)
	c.chain, c.key = chain, key
	return nil
}

// follow reads the files every while until the context ends. It says once what
// is wrong with them.
func (c *certificate) follow(ctx context.Context) {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.report(c.load())
		case <-ctx.Done():
			return
		}
	}
}

func (c *certificate) report(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != "" && said != c.lastError && c.log != nil {
		c.log.Error("the certificate stays as it was", "error", err)
	}
	c.lastError = said
}
