package config

import "time"

// Proxy sets how requests go on to the upstream.
type Proxy struct {
	// Whether the upstream sees the host that the client named, and not its
	// own; the client's stands in X-Forwarded-Host either way.
	PreserveHost bool `yaml:"preserve_host" default:"true"`
	// How long the proxy waits for the upstream.
	Timeouts ProxyTimeouts `yaml:"timeouts"`
	// How many connections may stay open without a request.
	MaxIdleConnections int `yaml:"max_idle_connections" default:"256" range:"1..100000"`
	// How many connections there may be; further requests wait for one. 0
	// means as many as there are requests in flight.
	MaxConnections int `yaml:"max_connections" default:"0" range:"0..1000000"`
	// How many bytes the headers of an answer may have.
	MaxResponseHeaderBytes int64 `yaml:"max_response_header_bytes" default:"262144" range:"4096..16777216"`
	// How long a part of an answer of known length may wait for more before it
	// is sent on; 0s until a buffer is full. Answers of unknown length and
	// event streams never wait.
	FlushInterval time.Duration `yaml:"flush_interval" default:"0s" range:"0s..1m"`
	// The protocols that a connection may switch to. Requests for others are
	// served without the switch.
	Upgrades []Protocol `yaml:"upgrades" default:"[websocket]" items:"1..16"`
	// How an https upstream is checked, and what it is shown.
	TLS UpstreamTLS `yaml:"tls" absent:"the system's authorities are trusted"`
}

// ProxyTimeouts bounds how long the proxy waits for the upstream.
type ProxyTimeouts struct {
	// How long a connection may take to be made.
	Dial time.Duration `yaml:"dial" default:"2s" range:"1ms..1m"`
	// How long TLS on it may take.
	TLSHandshake time.Duration `yaml:"tls_handshake" default:"5s" range:"1ms..1m"`
	// How long the upstream may take from the end of the request to the
	// headers of its answer; 0s means no bound but the request's own deadline.
	ResponseHeader time.Duration `yaml:"response_header" default:"30s" range:"0s..1h"`
	// The longest pause within the body of an answer; 0s means no bound.
	Silence time.Duration `yaml:"silence" default:"5m" range:"0s..24h"`
	// The longest time in which nothing passes through an upgraded connection,
	// a WebSocket for example; 0s means no bound.
	Upgraded time.Duration `yaml:"upgraded" default:"1h" range:"0s..24h"`
	// How long a connection may stay open without a request.
	Idle time.Duration `yaml:"idle" default:"90s" range:"1s..1h"`
	// How long to wait for the upstream's leave to send a body, when the
	// client asked for it.
	ExpectContinue time.Duration `yaml:"expect_continue" default:"1s" range:"1ms..1m"`
}

// UpstreamTLS sets how an https upstream is checked, and what it is shown.
type UpstreamTLS struct {
	// The file of the authorities to trust instead of the system's, in PEM.
	CA string `yaml:"ca" absent:"the system's authorities" example:"/etc/plimsoll/upstream-ca.crt"`
	// The name that the upstream's certificate must have.
	ServerName string `yaml:"server_name" absent:"the upstream's host" example:"payments.internal"`
	// The file of the certificate that is shown to the upstream, in PEM. Comes
	// with key.
	Cert string `yaml:"cert" absent:"none" example:"/etc/plimsoll/client.crt"`
	// The file of its private key, in PEM.
	Key string `yaml:"key" absent:"none" example:"/etc/plimsoll/client.key"`
	// Whether any certificate is accepted. Only for tests: whoever can answer
	// in the upstream's place then does.
	Unverified bool `yaml:"unverified" default:"false"`
}
