package redisstore

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
)

// explain says why a server cannot be spoken to, and what would help.
func explain(err error) Finding {
	f := Finding{Check: "reachable", Severity: Fault, Seen: err.Error(), Why: "while it is not, every stage decides by its on_fault"}
	for _, known := range reasons {
		if known.is(err) {
			f.Seen, f.Cure = known.seen+": "+err.Error(), known.cure
			return f
		}
	}
	f.Cure = "ask the server by hand: redis-cli PING, with the same address, user and password"
	return f
}

// reason is one way in which a server cannot be spoken to.
type reason struct {
	is         func(error) bool
	seen, cure string
}

var reasons = []reason{
	{is: says("WRONGPASS", "invalid password"), seen: "it does not accept the user's password",
		cure: "set the right one in PLIMSOLL_STORE_PASSWORD, PLIMSOLL_STORE_DSN or the file store.redis.password_file names; on the server: ACL SETUSER <user> on resetpass '><password>'"},
	{is: says("NOAUTH", "Authentication required"), seen: "it asks for a password, and none is set",
		cure: "set it in PLIMSOLL_STORE_PASSWORD, PLIMSOLL_STORE_DSN or the file store.redis.password_file names"},
	{is: says("called without any password configured"), seen: "a password is set, and the server asks for none",
		cure: "leave the password away, or set one on the server: CONFIG SET requirepass '<password>'"},
	{is: says("DB index is out of range"), seen: "it has no database of that number",
		cure: "lower store.redis.database, or raise databases in redis.conf"},
	{is: says("LOADING"), seen: "it is loading its data", cure: "wait: INFO persistence tells loading_eta_seconds"},
	{is: says("MASTERDOWN"), seen: "it is a replica that has lost its master",
		cure: "name the master in store.redis.addresses, or let sentinels find it: store.redis.mode: sentinel"},
	{is: says("max number of clients"), seen: "it takes no more connections",
		cure: "raise maxclients: CONFIG SET maxclients 10000, and the limit of open files of the server"},
	{is: says("BUSY "), seen: "a script keeps it busy", cure: "SCRIPT KILL ends one that has written nothing"},
	{is: says("all sentinels"), seen: "no sentinel knows the master by this name, or none answers",
		cure: "check store.redis.addresses and store.redis.master: redis-cli -p 26379 SENTINEL MASTERS"},
	{is: says("CLUSTERDOWN"), seen: "the cluster is down", cure: "redis-cli --cluster check <host>:<port>"},
	{is: says("cluster support disabled"), seen: "the server is no node of a cluster", cure: "set store.redis.mode: single"},
	{is: isError[x509.UnknownAuthorityError], seen: "nobody whom this machine trusts signed its certificate",
		cure: "name the authority's certificate in store.redis.tls.ca"},
	{is: isError[x509.HostnameError], seen: "its certificate is for another name",
		cure: "name that one in store.redis.tls.server_name"},
	{is: says("tls: ", "EOF", "connection reset", "broken pipe"), seen: "it ends the connection",
		cure: "if it has as many clients as it takes: CONFIG SET maxclients 10000; if the port is for TLS: store.redis.tls.enabled: true " +
			"(rediss:// in a dsn), with tls.cert and tls.key if it asks for a certificate"},
	{is: isErrno(syscall.ECONNREFUSED), seen: "nobody listens there",
		cure: "start the server, or correct the address: store.redis.addresses, store.redis.dsn or PLIMSOLL_STORE_DSN"},
	{is: isErrno(syscall.ENOENT), seen: "there is no such socket",
		cure: "start the server with unixsocket, or correct the path in store.redis.addresses"},
	{is: isErrno(syscall.EACCES), seen: "this process may not open the socket",
		cure: "add its user to the socket's group, and set unixsocketperm 770"},
	{is: isError[*net.DNSError], seen: "nobody knows the name of its host", cure: "correct the host, or its entry in the DNS"},
	{is: isTimeout, seen: "it does not answer in time",
		cure: "see whether the process hangs, a firewall swallows what is sent, or TLS is spoken to a port that does not know it: redis-cli --latency"},
}

func says(words ...string) func(error) bool {
	return func(err error) bool {
		for _, word := range words {
			if strings.Contains(err.Error(), word) {
				return true
			}
		}
		return false
	}
}

func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isErrno(n syscall.Errno) func(error) bool {
	return func(err error) bool { return errors.Is(err, n) }
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "timeout")
}

// denied reports whether the server answers, and does not allow a command.
func denied(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "NOPERM") || strings.Contains(err.Error(), "has no permissions") ||
		strings.Contains(err.Error(), "can't run this command"))
}
