package redisstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// Over TLS a store works, and a checkup tells why it does not.
func TestTLS(t *testing.T) {
	cert, key, trusted := certificate(t)
	port, plain := redistest.FreePort(), redistest.FreePort()
	start(t, "--port", plain, "--bind", "127.0.0.1", "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	look := func(port string, c *tls.Config) []Finding {
		return checkupOf(t, Config{Addrs: []string{"127.0.0.1:" + port}, TLS: c}, AtStart)
	}
	good := look(port, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12})
	if worst(good) != Fine {
		t.Errorf("over TLS: %+v", good)
	}
	expect(t, look(port, &tls.Config{MinVersion: tls.VersionTLS12}), "reachable", Fault, "nobody whom this machine trusts", "store.redis.tls.ca")
	expect(t, look(port, &tls.Config{RootCAs: trusted, ServerName: "other", MinVersion: tls.VersionTLS12}), "reachable", Fault, "store.redis.tls.server_name")
	expect(t, look(plain, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}), "reachable", Fault, "does not answer in time", "a port that does not know it")
	expect(t, look(port, nil), "reachable", Fault, "tls.enabled: true")
}

// certificate makes one for the loopback, and returns its files and a pool that
// holds it.
func certificate(t *testing.T) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(made)
	if err != nil {
		t.Fatal(err)
	}
	trusted.AddCert(parsed)
	return cert, key, trusted
}
