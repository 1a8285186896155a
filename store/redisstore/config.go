package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says where the server is and how it is spoken to.
type Config struct {
	// URL is redis://, rediss:// or unix://, with user, password and database.
	// Either URL or Addrs is needed.
	URL string
	// Addrs are host:port, or the path of a unix socket: of one server, of the
	// sentinels with Master, or of some nodes with Cluster.
	Addrs []string
	// Cluster says that the addresses, or the URL, are of nodes of a cluster. The
	// claims of a request that lie in several slots are then decided apart: see
	// the package's comment. Default false.
	Cluster bool
	// Master is the name under which sentinels know the server. Default none.
	Master string
	// Username and Password are those of the server; they replace the URL's.
	// Default none.
	Username, Password string
	// Credentials is asked for both whenever a connection is made, in place of
	// what stands here and in the URL, so that a password can change. An error
	// fails the connection. Default none.
	Credentials func(context.Context) (username, password string, err error)
	// SentinelUsername and SentinelPassword are those of the sentinels. Default
	// none.
	SentinelUsername, SentinelPassword string
	// DB is the number of the database, 0 or more. Default 0, or the URL's.
	DB int
	// TLS encrypts the connections. Default none, or what rediss:// asks for.
	TLS *tls.Config
	// Prefix begins every key. It must hold no brace. Default "plimsoll:".
	Prefix string
	// Connections carry claims, each one batch of them at a time, 1 to 16. Two
	// more carry all else. Default 2.
	Connections int
	// Queue is how many claims may wait for a connection; one more is an error.
	// 1 or more. Default 4096.
	Queue int
	// Patience is how long an answer may take before its connection is given up,
	// 50ms or more; while none comes it grows, to eight times as long. It is not
	// how long who asks waits: that is Batch.Budget. Default 250ms.
	Patience time.Duration
}

// withDefaults fills what is not set, and reports all that is wrong.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("redisstore: "+format, args...))
		}
	}
	set(&c.Prefix, "plimsoll:")
	set(&c.Connections, 2)
	set(&c.Queue, 4096)
	set(&c.Patience, 250*time.Millisecond)
	check((c.URL == "") != (len(c.Addrs) == 0), "either url or addrs is needed")
	check(len(c.Addrs) < 2 || c.Master != "" || c.Cluster, "more than one address needs cluster, or the name of a master that sentinels know")
	check(c.Master == "" || !c.Cluster, "a cluster has no master that sentinels know")
	check(c.DB == 0 || !c.Cluster, "a cluster has one database, 0")
	check(!strings.ContainsAny(c.Prefix, "{}"), "prefix %q must hold no brace", c.Prefix)
	check(c.Connections >= 1 && c.Connections <= 16, "connections must be 1 to 16, got %d", c.Connections)
	check(c.Queue >= 1, "queue must be 1 or more, got %d", c.Queue)
	check(c.Patience >= 50*time.Millisecond, "patience must be 50ms or more, got %s", c.Patience)
	check(c.DB >= 0, "db must be 0 or more, got %d", c.DB)
	return c, errors.Join(errs...)
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// patientPool is no bound on connections, which MaxActiveConns is: after so many
// dials in a row that failed the library dials but once a second, and a server
// that is back is found up to a second late.
const patientPool = 4096

// client is how the server is spoken to. No command is ever sent twice by the
// library, and a connection lives longer than the patience of who asks: a
// connection given up for every late answer makes a slow server slower.
func (c *Config) client() (redis.UniversalClient, error) {
	o := &redis.UniversalOptions{
		Addrs: c.Addrs, MasterName: c.Master, DB: c.DB, TLSConfig: c.TLS,
		Username: c.Username, Password: c.Password, CredentialsProviderContext: c.Credentials,
		SentinelUsername: c.SentinelUsername, SentinelPassword: c.SentinelPassword,
		MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: dialFor, DialerRetries: 1, MaxConcurrentDials: 2,
		ReadTimeout: longest(c.Patience), WriteTimeout: longest(c.Patience), PoolTimeout: c.Patience,
		PoolSize: patientPool, MaxActiveConns: c.Connections + others,
		PipelinePoolSize:         -1, // it would be as many connections again, and more
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if c.URL != "" {
		if err := c.readURL(o); err != nil {
			return nil, err
		}
	}
	if !c.Cluster {
		return redis.NewUniversalClient(o), nil
	}
	nodes := o.Cluster()
	nodes.MaxRedirects = -1 // or it sends again, also what may have run
	nodes.ClusterStateReloadInterval = time.Second
	return redis.NewClusterClient(nodes), nil
}

// readURL takes from the URL what is not set beside it.
func (c *Config) readURL(o *redis.UniversalOptions) error {
	u, err := redis.ParseURL(c.URL)
	if err != nil {
		return errors.New("redisstore: url must be redis://, rediss:// or unix://, with host, port and database") // the cause may quote the password
	}
	o.Addrs = []string{u.Addr}
	set(&o.Username, u.Username)
	set(&o.Password, u.Password)
	set(&o.DB, u.DB)
	if o.TLSConfig == nil {
		o.TLSConfig = u.TLSConfig
	}
	return nil
}

// Silence stops the client library from writing to the standard error, for all
// its users in this process. It writes a line for each connection that fails,
// which is many a second while a server is down; the store returns all errors.
func Silence() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
