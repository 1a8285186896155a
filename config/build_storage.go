package config

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// driver makes the store that a file names beside the one in memory, or nil
// when it names no other. It speaks to nobody yet.
func (s *Store) driver() (*redisstore.Store, error) {
	if s.Driver != RedisDriver {
		return nil, nil
	}
	if err := s.Redis.complete(); err != nil {
		return nil, err
	}
	c, err := s.Redis.config()
	if err != nil {
		return nil, err
	}
	return redisstore.New(c)
}

func (s *Store) guard(local store.Driver) store.GuardConfig {
	l := &s.Leases
	return store.GuardConfig{
		Budget: s.Budget, MaxInFlight: s.MaxInFlight, Queue: s.ReturnQueue, Local: local,
		Leases: store.LeaseConfig{Off: !l.Enabled, HotAt: l.HotAt, Ahead: l.Ahead, Lease: l.Lease},
	}
}

// complete reports what the file and the environment together do not say.
func (r *Redis) complete() error {
	var errs []error
	missing := func(is bool, what string) {
		if is {
			errs = append(errs, errors.New(what))
		}
	}
	p, _ := r.DSN.parts()
	missing(r.DSN == "" && len(r.Addresses) == 0,
		"store.redis names no server; give addresses or dsn, or PLIMSOLL_STORE_DSN in the environment")
	missing(r.Username != "" && r.PasswordFile == "" && r.Password == "" && p.password == "",
		"store.redis.username has no password; name its file in password_file, or set PLIMSOLL_STORE_PASSWORD")
	missing(r.SentinelUsername != "" && r.SentinelPasswordFile == "" && r.SentinelPassword == "",
		"store.redis.sentinel_username has no password; name its file in sentinel_password_file, or set PLIMSOLL_STORE_SENTINEL_PASSWORD")
	return errors.Join(errs...)
}

func (r *Redis) config() (redisstore.Config, error) {
	c := redisstore.Config{
		URL: string(r.DSN), Cluster: r.Mode == RedisCluster, Master: r.Master,
		Username: r.Username, Password: string(r.Password),
		SentinelUsername: r.SentinelUsername, SentinelPassword: string(r.SentinelPassword),
		DB: r.Database, Prefix: string(r.Prefix), Connections: r.Connections, Queue: r.Queue, Patience: r.Patience,
	}
	for _, address := range r.Addresses {
		c.Addrs = append(c.Addrs, string(address))
	}
	var errs [3]error
	if r.Encrypted() {
		c.TLS, errs[0] = r.TLS.config()
	}
	if r.PasswordFile != "" && r.Password == "" {
		_, errs[1] = readSecret(r.PasswordFile)
		c.Credentials = func(context.Context) (string, string, error) {
			password, err := readSecret(r.PasswordFile)
			return r.user(), password, err
		}
	}
	if r.SentinelPasswordFile != "" && r.SentinelPassword == "" {
		c.SentinelPassword, errs[2] = readSecret(r.SentinelPasswordFile)
	}
	return c, errors.Join(errs[:]...)
}

// user is who asks the server.
func (r *Redis) user() string {
	if p, err := r.DSN.parts(); r.Username == "" && r.DSN != "" && err == nil {
		return p.user
	}
	return r.Username
}

// maxSecret bounds a file that holds a password.
const maxSecret = 4096

// readSecret is the content of a file of one line.
func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("store.redis: the password: %w", err)
	}
	data = bytes.TrimRight(data, "\r\n")
	if len(data) == 0 || len(data) > maxSecret || bytes.ContainsAny(data, "\r\n\x00") {
		return "", fmt.Errorf("store.redis: the file of the password, %s, must hold one line of 1 to %d bytes", path, maxSecret)
	}
	return string(data), nil
}

func (t *RedisTLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.Unverified} //nolint:gosec // the file says so, and the start warns
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("store.redis.tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("store.redis.tls.ca: %s holds no certificate in PEM", t.CA)
		}
	}
	if t.Cert == "" {
		return c, nil
	}
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("store.redis.tls.cert: %w", err)
		}
		return &pair, nil
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	_, err := load()
	return c, err
}
