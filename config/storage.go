package config

import "time"

// Driver names a store.
type Driver string

// The drivers.
const (
	Memory      Driver = "memory" // in this process; each process counts alone
	RedisDriver Driver = "redis"  // in Redis; all processes that name it count together
)

// Store sets where the state of limits is kept.
type Store struct {
	// The kind of store. memory is in this process: each process counts alone.
	// redis is a server that all processes of a fleet share.
	Driver Driver `yaml:"driver" default:"memory"`
	// How long one decision waits for the store at most; then the on_fault of
	// its stage decides. Stores in this process never wait.
	Budget time.Duration `yaml:"budget" default:"2ms" range:"100us..1s"`
	// How many keys, each a limit of one caller or address, are kept in memory
	// at once. One that owes nothing is forgotten first; when none can be, new
	// ones share one state. A million take about 40 MB.
	MaxKeys int `yaml:"max_keys" default:"1048576" range:"1..2147483648"`
	// How often this worker tells its fleet what it does, and hears what it
	// may do; a lease lasts three heartbeats.
	Heartbeat time.Duration `yaml:"heartbeat" default:"500ms" range:"50ms..10s"`
	// How many decisions may wait for a store elsewhere at once, those included
	// whose request has gone on without it. One more is decided by on_fault.
	MaxInFlight int `yaml:"max_in_flight" default:"64" range:"1..4096"`
	// How many slots and tokens that are given back may wait for a store
	// elsewhere. One more is dropped and counted: its slot ends with its lease.
	ReturnQueue int `yaml:"return_queue" default:"4096" range:"1..1048576"`
	// Keys that this worker asks a store elsewhere for very often.
	Leases Leases `yaml:"leases"`
	// The Redis server. Only for driver redis.
	Redis Redis `yaml:"redis"`
}

// Leases sets how keys that a worker asks for very often, such as a limit that
// all callers share, are decided from memory: the store lends tokens in blocks.
// Only for stores elsewhere; see docs/store.md.
type Leases struct {
	// Whether it lends. Without, each decision is a call.
	Enabled bool `yaml:"enabled" default:"true"`
	// How often a second this worker must ask for a key before it is leased.
	// Keys that are asked for less often, and limits too low to be divided, are
	// exact to the token at any moment.
	HotAt int `yaml:"hot_at" default:"300" range:"50..1000000"`
	// For how long a block lasts at the rate at which this worker spends. It is
	// never more than half of what is left, divided by the workers that live.
	Ahead time.Duration `yaml:"ahead" default:"100ms" range:"10ms..1s"`
	// How long a block may be kept; what is not spent then goes back.
	Lease time.Duration `yaml:"lease" default:"500ms" range:"50ms..10s"`
}

// RedisMode names a way in which Redis is run.
type RedisMode string

// The modes.
const (
	RedisSingle   RedisMode = "single"   // one server
	RedisSentinel RedisMode = "sentinel" // one server and its replicas, watched by sentinels
	RedisCluster  RedisMode = "cluster"  // many masters, each with some of the keys
)

// StoreAddress is where a server is: host:port, or the absolute path of a
// unix socket.
type StoreAddress string

// KeyPrefix is what the keys of a store begin with.
type KeyPrefix string

// Redis says where a Redis server is and how it is spoken to.
type Redis struct {
	// How Redis is run: single is one server; sentinel one with replicas, where
	// sentinels know which is the master; cluster is many masters, each with
	// some of the keys.
	Mode RedisMode `yaml:"mode" default:"single"`
	// The server as a URL, in place of addresses: redis://user:password@host:port/database,
	// rediss:// for TLS, unix:///path?db=number. With mode cluster it is one of
	// the nodes. A password is better off in the environment or in password_file.
	DSN DSN `yaml:"dsn" absent:"addresses say where" example:"rediss://limiter@redis.internal:6379/0"`
	// Where the server is, as host:port or the path of a unix socket; with mode
	// sentinel, where the sentinels are; with mode cluster, some of the nodes.
	Addresses []StoreAddress `yaml:"addresses" items:"0..64" default:"[]" example:"[redis.internal:6379]"`
	// The name under which sentinels know the server.
	Master string `yaml:"master" absent:"needed with mode sentinel" example:"plimsoll"`
	// The server's user, of its access list.
	Username string `yaml:"username" absent:"the one of dsn, or the server's default user" example:"limiter"`
	// The file that holds the password of that user, and nothing else but a
	// line break at its end. It is read again for each new connection, so a
	// password can be changed without a restart.
	PasswordFile string `yaml:"password_file" absent:"the password of dsn or of the environment, or none" example:"/run/secrets/redis-password"`
	// The user of the sentinels.
	SentinelUsername string `yaml:"sentinel_username" absent:"none" example:"sentinel-user"`
	// The file that holds the password of that user. It is read at the start.
	SentinelPasswordFile string `yaml:"sentinel_password_file" absent:"the password of the environment, or none" example:"/run/secrets/sentinel-password"`
	// The number of the database. A cluster has one, 0.
	Database int `yaml:"database" range:"0..1000000" absent:"the one of dsn, or 0" example:"1"`
	// What every key begins with. Services that share a server and no limits
	// have prefixes of their own.
	Prefix KeyPrefix `yaml:"prefix" default:"\"plimsoll:\""`
	// How many connections carry decisions, each one batch of them at a time;
	// two more carry all else. With mode cluster, to each master.
	Connections int `yaml:"connections" default:"2" range:"1..16"`
	// How many decisions may wait for a connection; one more is decided by
	// on_fault.
	Queue int `yaml:"queue" default:"4096" range:"1..1048576"`
	// How long an answer may take before its connection is given up. Requests
	// do not wait for it: budget says how long those do.
	Patience time.Duration `yaml:"patience" default:"250ms" range:"50ms..10s"`
	// How connections are encrypted.
	TLS RedisTLS `yaml:"tls"`

	// What only the environment says.

	Password         Secret `yaml:"-"`
	SentinelPassword Secret `yaml:"-"`
}

// RedisTLS sets how connections to Redis are encrypted.
type RedisTLS struct {
	// Whether they are, to addresses; a dsn says it by rediss://.
	Enabled bool `yaml:"enabled" default:"false"`
	// The file of the authorities to trust instead of the system's, in PEM.
	CA string `yaml:"ca" absent:"the system's authorities" example:"/etc/plimsoll/redis-ca.crt"`
	// The name that the server's certificate must have.
	ServerName string `yaml:"server_name" absent:"the server's host" example:"redis.internal"`
	// The file of the certificate that is shown to the server, in PEM. Comes
	// with key. It is read again for each new connection.
	Cert string `yaml:"cert" absent:"none" example:"/etc/plimsoll/redis-client.crt"`
	// The file of its private key, in PEM.
	Key string `yaml:"key" absent:"none" example:"/etc/plimsoll/redis-client.key"`
	// Whether any certificate is accepted. Only for tests: whoever can answer
	// in the server's place then does, and hears the password.
	Unverified bool `yaml:"unverified" default:"false"`
}

// Place says for people where the server is, without any secret.
func (r *Redis) Place() string {
	where := ""
	if p, err := r.DSN.parts(); r.DSN != "" && err == nil {
		where = p.address
	}
	for _, address := range r.Addresses {
		if where != "" {
			where += ", "
		}
		where += string(address)
	}
	switch r.Mode {
	case RedisSentinel:
		return r.Master + " of the sentinels at " + where
	case RedisCluster:
		return "the cluster of " + where
	case RedisSingle:
	}
	return where
}

// Encrypted reports whether connections are over TLS.
func (r *Redis) Encrypted() bool {
	p, err := r.DSN.parts()
	return r.TLS.Enabled || r.DSN != "" && err == nil && p.tls
}
