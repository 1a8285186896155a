package proxy

import (
	"errors"
	"log/slog"
	"time"
)

// ServerConfig sets a Server. The zero value serves plain HTTP/1.1. Durations
// have a default that zero stands for; a negative one means no bound, where
// that is allowed.
type ServerConfig struct {
	// ReadHeaderTimeout is how long the header of a request may take. Default
	// 5s, from 1ms to 10m.
	ReadHeaderTimeout time.Duration
	// ReadTimeout and WriteTimeout bound a whole request, and a whole answer,
	// in HTTP/1. Default: no bound, which uploads and streams need; up to 24h.
	ReadTimeout, WriteTimeout time.Duration
	// BodySilence is the longest pause within the body of a request. Default
	// 30s, from 1ms to 24h; negative: no bound.
	BodySilence time.Duration
	// WriteSilence is how long a client may take no byte of what is sent to
	// it. Default 30s, from 1ms to 24h; negative: no bound.
	WriteSilence time.Duration
	// IdleTimeout is how long a connection stays open without a request.
	// Default 2m, from 1s to 24h.
	IdleTimeout time.Duration
	// Grace is how long requests and upgraded connections may go on once the
	// server is to stop. Default 30s, from 1ms to 1h; negative: not at all.
	Grace time.Duration

	// MaxHeaderBytes bounds the header of a request. Default 32 KiB, from 4
	// KiB to 16 MiB. net/http adds 4 KiB in HTTP/1.
	MaxHeaderBytes int
	// MaxConns bounds the open connections. At the bound an idle connection
	// makes room for a new one; if all are busy, new ones wait to be accepted.
	// Default: 10,000, or as many as the limit of open files leaves when every
	// connection needs another one to the upstream. From 1 to 1,000,000.
	MaxConns int
	// MaxStreams bounds the requests in flight on a connection of HTTP/2.
	// Default 100, from 1 to 10,000.
	MaxStreams int
	// MaxResets is how many more requests a connection of HTTP/2 may cancel
	// within their first second than it lets finish. Beyond it the connection
	// is closed: cancelling at once is an attack (rapid reset). Default 200,
	// from 1 to 1,000,000.
	MaxResets int

	// TLS has the files of the certificate to serve with. Zero: plain HTTP.
	TLS ServerTLS
	// H2C lets clients speak HTTP/2 without TLS, by prior knowledge.
	H2C bool
	// Ready is called once connections are accepted. May be nil.
	Ready func()
	// Log hears about certificates, and about what net/http reports, ten
	// messages in ten seconds at most. Nil: nobody does.
	Log *slog.Logger
}

// ServerTLS names the files of a certificate. Both files are read again every
// ten seconds; when they have changed and fit together new connections get the
// new certificate, and when not the last good one stays. TLS 1.2 is the oldest
// spoken.
type ServerTLS struct {
	// CertFile holds the certificate and its chain, KeyFile the key, in PEM.
	CertFile, KeyFile string
	// ClientCAFile holds the authorities of client certificates, in PEM. With
	// it, clients must show one.
	ClientCAFile string
}

func (t *ServerTLS) wanted() bool { return *t != ServerTLS{} }

// withDefaults returns the configuration with its defaults filled in, or all
// its faults.
func (c ServerConfig) withDefaults() (ServerConfig, error) {
	faults := errors.Join(
		duration("ReadHeaderTimeout", &c.ReadHeaderTimeout, 5*time.Second, time.Millisecond, 10*time.Minute),
		number("ReadTimeout", &c.ReadTimeout, 0, 0, 24*time.Hour),
		number("WriteTimeout", &c.WriteTimeout, 0, 0, 24*time.Hour),
		optional("BodySilence", &c.BodySilence, 30*time.Second, time.Millisecond, 24*time.Hour),
		optional("WriteSilence", &c.WriteSilence, 30*time.Second, time.Millisecond, 24*time.Hour),
		duration("IdleTimeout", &c.IdleTimeout, 2*time.Minute, time.Second, 24*time.Hour),
		optional("Grace", &c.Grace, 30*time.Second, time.Millisecond, time.Hour),
		number("MaxHeaderBytes", &c.MaxHeaderBytes, 32<<10, 4<<10, 16<<20),
		number("MaxConns", &c.MaxConns, connsForFiles(openFiles()), 1, 1_000_000),
		number("MaxStreams", &c.MaxStreams, 100, 1, 10_000),
		number("MaxResets", &c.MaxResets, 200, 1, 1_000_000),
		pair("TLS.CertFile", c.TLS.CertFile, "TLS.KeyFile", c.TLS.KeyFile),
	)
	if c.TLS.ClientCAFile != "" && c.TLS.CertFile == "" {
		faults = errors.Join(faults, errors.New("TLS.ClientCAFile needs TLS.CertFile"))
	}
	return c, faults
}

const (
	defaultMaxConns = 10_000
	reservedFiles   = 64 // for listeners, files, the store and the admin listener
)

// connsForFiles is how many connections a limit of open files leaves: each may
// need another one to the upstream. 0 files: the limit is not known.
func connsForFiles(files uint64) int {
	if files == 0 || files > 2*defaultMaxConns+reservedFiles {
		return defaultMaxConns
	}
	return int(max(files, reservedFiles+2)-reservedFiles) / 2
}
