package bench

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/proxy"
)

// BenchmarkProxy sends requests through a proxy to a server on this machine.
func BenchmarkProxy(b *testing.B) {
	for _, p := range []struct {
		name string
		to   func(b *testing.B, upstream string) http.Handler
	}{
		{"none", bareProxy},
		{"plimsoll", func(b *testing.B, upstream string) http.Handler {
			return protect(b, fourStages(b, func(*plan) {}), httpmw.Draft11).Wrap(ourProxy(b, upstream))
		}},
		{"plimsoll-forwarding", ourProxy},
	} {
		b.Run(p.name, func(b *testing.B) {
			upstream := "http://" + serve(b, answer)
			exchanges(b, serve(b, p.to(b, upstream)), "/", http.StatusOK)
		})
	}
}

// bareProxy is the standard library's, with connections enough to reuse.
func bareProxy(b *testing.B, upstream string) http.Handler {
	b.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		b.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConns: 2 * connections, MaxIdleConnsPerHost: 2 * connections, DisableCompression: true}
	b.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport,
	}
}

func ourProxy(b *testing.B, upstream string) http.Handler {
	b.Helper()
	p, err := proxy.New(proxy.Config{Upstream: upstream})
	if err != nil {
		b.Fatal(err)
	}
	return p
}
