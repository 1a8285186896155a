package config

// Admin sets the listener for operators: health, readiness, metrics and status
// for whoever asks on this machine, and the API that changes overrides for who
// shows a token or a certificate.
type Admin struct {
	// The address on which operators and probes are served.
	Listen Address `yaml:"listen" default:"127.0.0.1:9901"`
	// Whether that address may be one that other machines can reach. Then
	// metrics and status are for viewers, too; only probes are answered
	// unasked.
	BeyondLoopback bool `yaml:"beyond_loopback" default:"false"`
	// The hosts that requests may name beside those of loopback, and beside
	// every one when beyond_loopback is set and this is empty.
	Hosts []Host `yaml:"hosts" items:"0..100" default:"[]" example:"[plimsoll.internal]"`
	// The certificate to serve operators with, from TLS 1.3 on. With client_ca,
	// a client certificate can stand for a token; see certificates.
	TLS TLS `yaml:"tls" absent:"plain HTTP is served"`
	// Who a client certificate stands for. Needs tls.client_ca.
	Certificates []AdminCertificate `yaml:"certificates" items:"0..1000" default:"[]"`
	// Whether administrators can take profiles of the process, below
	// /debug/pprof. They tell what is in its memory. One of the processor takes
	// 25 seconds at most: ?seconds=25.
	Profiling bool `yaml:"profiling" default:"false"`
	// A unix socket for when the store is down: who can open it, by the
	// permissions of its directory and file, changes overrides of this worker
	// alone, without a token.
	Socket string `yaml:"socket" absent:"there is none" example:"/run/plimsoll/admin.sock"`
}

// AdminCertificate gives a role to the holder of a client certificate.
type AdminCertificate struct {
	// The URI among the certificate's alternative names: the actor in the audit
	// trail, too.
	URI string `yaml:"uri" required:"true" example:"spiffe://example.org/pager"`
	// What its holder may do.
	Role AdminRole `yaml:"role" required:"true"`
}

// AdminRole names a role, as package admin does.
type AdminRole string

// The roles.
const (
	RoleViewer    AdminRole = "viewer"    // reads the state
	RoleAuditor   AdminRole = "auditor"   // reads the state and the audit trail
	RoleResponder AdminRole = "responder" // changes overrides within the guard rails
	RoleAdmin     AdminRole = "admin"     // may everything
)
