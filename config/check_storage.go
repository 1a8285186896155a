package config

import (
	"fmt"
	"strings"

	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// storage checks where the state of limits is kept.
func (c *checker) storage() {
	const path = "store.redis"
	r := &c.Store.Redis
	if c.doubtful("store.driver", path+".mode", path+".dsn", path+".addresses") {
		return
	}
	if c.Store.Driver != RedisDriver {
		if r.named() {
			c.fault(path, fmt.Sprintf("says where Redis is, and store.driver is %s; set store.driver: redis, or leave store.redis away", c.Store.Driver))
		}
		return
	}
	dsn := dsnParts{}
	if r.DSN != "" {
		dsn, _ = r.DSN.parts() // its form was seen to
	}
	c.servers(r, path)
	c.credentials(r, &dsn, path)
	c.database(r, &dsn, path)
	c.encryption(r, &dsn, path)
}

// named reports whether anything says where Redis is, or who asks.
func (r *Redis) named() bool {
	return r.DSN != "" || len(r.Addresses) > 0 || r.Master != "" || r.Username != "" || r.PasswordFile != "" || r.Password != ""
}

// servers checks that what is named fits its mode. That nothing is named is no
// fault of a file: the environment may name it.
func (c *checker) servers(r *Redis, path string) {
	dsn, addresses := r.DSN != "", len(r.Addresses)
	switch {
	case dsn && r.Mode == RedisSentinel:
		c.fault(path+".dsn", "names one server, and mode sentinel needs sentinels; name them in addresses, the user in username, and the password in PLIMSOLL_STORE_PASSWORD or password_file")
	case dsn && addresses > 0:
		c.fault(path+".dsn", "is ambiguous: there are addresses too; leave one of them away")
	case addresses > 1 && r.Mode == RedisSingle:
		c.fault(path+".addresses", fmt.Sprintf("names %d servers, and mode single has one; set mode to sentinel or cluster, or name one server", addresses))
	case r.Mode != RedisSingle && socketIn(r):
		c.fault(path+".addresses", fmt.Sprintf("names a socket, and with mode %s servers are on other machines; name host:port", r.Mode))
	}
	if r.Mode == RedisSentinel && r.Master == "" {
		c.fault(path+".master", "is missing: sentinels are asked for a master by its name")
	}
	for _, only := range []struct{ key, value string }{
		{"master", r.Master}, {"sentinel_username", r.SentinelUsername}, {"sentinel_password_file", r.SentinelPasswordFile},
	} {
		if r.Mode != RedisSentinel && only.value != "" {
			c.fault(path+"."+only.key, fmt.Sprintf("has no meaning with mode %s; set mode: sentinel, or leave it away", r.Mode))
		}
	}
}

func socketIn(r *Redis) bool {
	for _, a := range r.Addresses {
		if strings.HasPrefix(string(a), "/") {
			return true
		}
	}
	p, err := r.DSN.parts()
	return r.DSN != "" && err == nil && p.unix
}

// credentials checks that user and password are said once.
func (c *checker) credentials(r *Redis, dsn *dsnParts, path string) {
	if r.Username != "" && dsn.user != "" {
		c.fault(path+".username", "is ambiguous: dsn has a user too; leave one of them away")
	}
	if r.PasswordFile != "" && dsn.password != "" {
		c.fault(path+".password_file", "is ambiguous: dsn has a password too; leave one of them away")
	}
}

func (c *checker) database(r *Redis, dsn *dsnParts, path string) {
	if dsn.hasDatabase && r.Database != 0 && r.Database != dsn.database {
		c.fault(path+".database", fmt.Sprintf("is ambiguous: it is %d, and %d in dsn; leave one of them away", r.Database, dsn.database))
		return
	}
	if n := max(r.Database, dsn.database); n != 0 && r.Mode == RedisCluster {
		c.fault(path+".database", fmt.Sprintf("is %d, and a cluster has one database, 0", n))
	}
}

func (c *checker) encryption(r *Redis, dsn *dsnParts, path string) {
	t := &r.TLS
	path += ".tls"
	settings := t.CA != "" || t.ServerName != "" || t.Cert != "" || t.Key != "" || t.Unverified
	switch {
	case c.doubtful(path):
	case t.Enabled && r.DSN != "" && !dsn.tls:
		c.fault(path+".enabled", "is ambiguous: dsn does not begin with rediss://; write it so, or leave this away")
	case t.Enabled && socketIn(r):
		c.fault(path+".enabled", "has no meaning on a unix socket")
	case settings && !r.Encrypted():
		c.fault(path, "has no effect: connections are not encrypted; set store.redis.tls.enabled: true, or begin dsn with rediss://")
	}
	c.pair(path, t.Cert, t.Key)
}

// keepable checks that the driver of the store can count a limit.
func (c *checker) keepable(l *store.Limit, path string) {
	if c.Store.Driver != RedisDriver || c.doubtful("store.driver") {
		return
	}
	if err := redisstore.Check(l); err != nil {
		c.fault(path+".algorithm", fmt.Sprintf("store.driver redis cannot keep this limit (%s): %s", l.Algorithm, cause(err)))
	}
}
