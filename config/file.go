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
	// The listener for health, readiness, metrics and status.
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
	// The stages that a request passes, in this order. A stage may appear
	// twice under two names, one of them in shadow for example; workershed,
	// which may let requests wait, is last.
	Stages []Stage `yaml:"stages" items:"0..32" absent:"the four stages of the built-in configuration"`
	// What refused requests are answered.
	Response Response `yaml:"response"`
	// What is written to standard error.
	Log Log `yaml:"log"`
}

// Admin sets the listener for health, readiness, metrics and status.
type Admin struct {
	// The address on which operators and probes are served.
	Listen Address `yaml:"listen" default:"127.0.0.1:9901"`
	// Whether that address may be one that other machines can reach. Nothing
	// authenticates those who ask, so the network has to.
	BeyondLoopback bool `yaml:"beyond_loopback" default:"false"`
}

// Server sets how connections from clients are served.
type Server struct {
	// How long the headers of a request may take to arrive.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" default:"10s" range:"1ms..10m"`
	// How long a whole request with its body may take to arrive; 0s means as
	// long as it keeps coming, which uploads and streams need.
	ReadTimeout time.Duration `yaml:"read_timeout" default:"0s" range:"0s..24h"`
	// How long an answer may take from the end of the request's headers; 0s
	// means no bound, which streams need.
	WriteTimeout time.Duration `yaml:"write_timeout" default:"0s" range:"0s..24h"`
	// How long a connection may stay open without a request.
	IdleTimeout time.Duration `yaml:"idle_timeout" default:"2m" range:"1s..24h"`
	// How long requests in flight may go on after the signal to stop.
	Grace time.Duration `yaml:"grace" default:"30s" range:"0s..1h"`
	// How many bytes the headers of a request may have.
	MaxHeaderBytes int `yaml:"max_header_bytes" default:"65536" range:"4096..16777216"`
	// How many connections of clients may be open at once; further ones wait
	// to be accepted.
	MaxConnections int `yaml:"max_connections" default:"10000" range:"1..1000000"`
	// The certificate to serve TLS with.
	TLS TLS `yaml:"tls" absent:"plain HTTP is served"`
}

// TLS names the files of a certificate. Both or neither.
type TLS struct {
	// The file of the certificate and its chain, in PEM.
	Cert string `yaml:"cert" absent:"no TLS" example:"/etc/plimsoll/tls.crt"`
	// The file of the private key, in PEM.
	Key string `yaml:"key" absent:"no TLS" example:"/etc/plimsoll/tls.key"`
}

// Driver names a store.
type Driver string

// The drivers.
const (
	Memory Driver = "memory" // in this process; each process counts alone
)

// Store sets where the state of limits is kept.
type Store struct {
	// The kind of store. memory is in this process: each process counts alone.
	Driver Driver `yaml:"driver" default:"memory"`
	// How long one decision waits for the store at most. Stores in this
	// process never wait.
	Budget time.Duration `yaml:"budget" default:"2ms" range:"100us..1s"`
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
}
