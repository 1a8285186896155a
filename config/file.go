package config

import (
	"log/slog"
	"time"
)

// File is a configuration file: everything that says how a process is
// protected. A key that is absent has its default; an empty file is the
// built-in configuration.
type File struct {
	// The version of the format. Only 1 exists.
	Version int `yaml:"version" range:"1..1" required:"true" example:"1"`
	// The address on which requests are taken.
	Listen Address `yaml:"listen" default:"127.0.0.1:8080"`
	// The service that is protected. Requests go on to it with their own path,
	// below the path of this URL if it has one.
	Upstream URL `yaml:"upstream" absent:"none; plimsoll run needs one from here, from --upstream or from PLIMSOLL_UPSTREAM" example:"http://127.0.0.1:9000"`
	// The listener for operators: health, readiness, metrics, status and the API.
	Admin Admin `yaml:"admin"`
	// How connections from clients are served.
	Server Server `yaml:"server"`
	// How connections to the upstream are made.
	Proxy Proxy `yaml:"proxy"`
	// Where the state of limits is kept.
	Store Store `yaml:"store"`
	// Who a request comes from.
	Identity Identity `yaml:"identity"`
	// How much a request matters.
	Priority Priority `yaml:"priority"`
	// The requests that no stage sees, such as those of probes.
	Exempt Exempt `yaml:"exempt"`
	// The stages that a request passes, in this order. A stage may appear
	// twice under two names, one of them in shadow for example; workershed,
	// which may let requests wait, is last.
	Stages []Stage `yaml:"stages" items:"0..32" absent:"the four stages of the built-in configuration"`
	// What people may change for a while, without a change of this file.
	Control Control `yaml:"control"`
	// What refused requests are answered.
	Response Response `yaml:"response"`
	// What is written to standard error.
	Log Log `yaml:"log"`
}

// Server sets how connections from clients are served.
type Server struct {
	// How long the header of a request may take to arrive.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" default:"5s" range:"1ms..10m"`
	// How long a whole request with its body may take to arrive in HTTP/1; 0s
	// means as long as it keeps coming, which uploads and streams need.
	ReadTimeout time.Duration `yaml:"read_timeout" default:"0s" range:"0s..24h"`
	// How long a whole answer may take in HTTP/1; 0s means as long as the
	// client takes it, which downloads and streams need.
	WriteTimeout time.Duration `yaml:"write_timeout" default:"0s" range:"0s..24h"`
	// The longest pause within the body of a request; 0s means no bound.
	BodySilence time.Duration `yaml:"body_silence" default:"30s" range:"0s..24h"`
	// How long a client may take no byte of what is sent to it; 0s means no
	// bound.
	WriteSilence time.Duration `yaml:"write_silence" default:"30s" range:"0s..24h"`
	// How long a connection may stay open without a request.
	IdleTimeout time.Duration `yaml:"idle_timeout" default:"2m" range:"1s..24h"`
	// How long requests in flight may go on after the signal to stop; 0s cuts
	// them at once.
	Grace time.Duration `yaml:"grace" default:"30s" range:"0s..1h"`
	// How many bytes the header of a request may have.
	MaxHeaderBytes int `yaml:"max_header_bytes" default:"32768" range:"4096..16777216"`
	// How many connections of clients may be open at once. At the bound an
	// idle connection makes room for a new one; if all are busy, new ones wait
	// to be accepted.
	MaxConnections int `yaml:"max_connections" range:"1..1000000" absent:"10000, or as many as the limit of open files leaves" example:"2000"`
	// How many requests a connection of HTTP/2 may have in flight.
	MaxStreams int `yaml:"max_streams" default:"100" range:"1..10000"`
	// How many more requests a connection of HTTP/2 may cancel within their
	// first second than it lets finish, before it is closed.
	MaxResets int `yaml:"max_resets" default:"200" range:"1..1000000"`
	// Whether clients may speak HTTP/2 without TLS, by prior knowledge.
	H2C bool `yaml:"h2c" default:"false"`
	// The certificate to serve TLS with.
	TLS TLS `yaml:"tls" absent:"plain HTTP is served"`
}

// TLS names the files of a certificate. They are read again when they change.
type TLS struct {
	// The file of the certificate and its chain, in PEM. Comes with key.
	Cert string `yaml:"cert" absent:"no TLS" example:"/etc/plimsoll/tls.crt"`
	// The file of the private key, in PEM.
	Key string `yaml:"key" absent:"no TLS" example:"/etc/plimsoll/tls.key"`
	// The file of the authorities of client certificates, in PEM. With it,
	// clients must show a certificate, and its subject can name the caller.
	ClientCA string `yaml:"client_ca" absent:"no client certificates" example:"/etc/plimsoll/clients.crt"`
}

// Exempt sets which requests no stage sees. What they are for is small: their
// number is bounded, and what is above it is answered 503.
type Exempt struct {
	// Which requests are exempt; any of these. A path has to be sent plainly
	// to be exempt, neither encoded nor with dots or double slashes.
	Match []RequestMatch `yaml:"match" items:"0..100" default:"[]" example:"[{method: GET, path: /healthz}]"`
	// How many exempt requests may run at once.
	MaxInFlight int `yaml:"max_in_flight" default:"32" range:"1..100000"`
}

// LogFormat names a form of log lines.
type LogFormat string

// The formats.
const (
	Text LogFormat = "text" // key=value
	JSON LogFormat = "json" // one object a line
)

// Log sets what is written to standard error.
type Log struct {
	// The least level that is written.
	Level slog.Level `yaml:"level" default:"info"`
	// The form of the lines: key=value text, or one JSON object each.
	Format LogFormat `yaml:"format" default:"text"`
	// How many refusals of each class and reason are logged one by one in a
	// second. The others are counted in a summary.
	Refusals int `yaml:"refusals" default:"1" range:"0..1000"`
	// How often a line says what was offered, admitted and refused, by class
	// and reason, if anything was refused; 0s never.
	Summary time.Duration `yaml:"summary" default:"10s" range:"0s..1h"`
	// Whether lines name callers. Else they say a part of a fingerprint, which
	// tells callers apart.
	Callers bool `yaml:"callers" default:"false"`
}
