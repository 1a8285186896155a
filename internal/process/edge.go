package process

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/proxy"
)

func parallel(live *config.Live) []func(context.Context) error {
	return []func(context.Context) error{live.Run}
}

// newLogger writes records in one of the two formats.
func newLogger(w io.Writer, format config.LogFormat, level *slog.LevelVar) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == config.JSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func proxyConfig(f *config.File, log *slog.Logger, rewrite func(out, in *http.Request)) proxy.Config {
	c, t, tls := &f.Proxy, &f.Proxy.Timeouts, &f.Proxy.TLS
	made := proxy.Config{
		Upstream: string(f.Upstream), PreserveHost: c.PreserveHost, TrustedProxies: f.Identity.TrustedProxies,
		Reserved: reserved(&f.Priority),
		Rewrite:  rewrite,
		Timeouts: proxy.Timeouts{
			Dial: t.Dial, TLSHandshake: t.TLSHandshake, ResponseHeader: unbounded(t.ResponseHeader),
			Silence: unbounded(t.Silence), Upgraded: unbounded(t.Upgraded), Idle: t.Idle, ExpectContinue: t.ExpectContinue,
		},
		MaxIdleConns: c.MaxIdleConnections, MaxConns: c.MaxConnections, MaxResponseHeaderBytes: c.MaxResponseHeaderBytes,
		FlushInterval: c.FlushInterval, Log: log,
		TLS: proxy.UpstreamTLS{CAFile: tls.CA, ServerName: tls.ServerName, CertFile: tls.Cert, KeyFile: tls.Key, Unverified: tls.Unverified},
	}
	for _, protocol := range c.Upgrades {
		made.Upgrades = append(made.Upgrades, string(protocol))
	}
	return made
}

// reserved are the headers that only the middleware may set.
func reserved(p *config.Priority) (names []string) {
	for _, name := range []string{p.ClassHeader.Name(), p.TimeoutHeader.Name()} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func serverConfig(f *config.File, log *slog.Logger) proxy.ServerConfig {
	s := &f.Server
	return proxy.ServerConfig{
		ReadHeaderTimeout: s.ReadHeaderTimeout, ReadTimeout: s.ReadTimeout, WriteTimeout: s.WriteTimeout,
		BodySilence: unbounded(s.BodySilence), WriteSilence: unbounded(s.WriteSilence),
		IdleTimeout: s.IdleTimeout, Grace: unbounded(s.Grace),
		MaxHeaderBytes: s.MaxHeaderBytes, MaxConns: s.MaxConnections, MaxStreams: s.MaxStreams, MaxResets: s.MaxResets,
		TLS: proxy.ServerTLS{CertFile: s.TLS.Cert, KeyFile: s.TLS.Key, ClientCAFile: s.TLS.ClientCA},
		H2C: s.H2C, Log: log,
	}
}

// unbounded turns the file's 0 into the proxy's negative: no bound, or, for
// the grace, not at all.
func unbounded(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
