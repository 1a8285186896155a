package redisstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// certificate writes a certificate for the loopback that signs itself, and its
// key, and returns who trusts it.
func certificate(t *testing.T) (certFile, keyFile string, trust *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	trust = x509.NewCertPool()
	write := func(name, kind string, data []byte) string {
		block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, block, 0o600); err != nil {
			t.Fatal(err)
		}
		if kind == "CERTIFICATE" {
			trust.AppendCertsFromPEM(block)
		}
		return path
	}
	return write("cert", "CERTIFICATE", der), write("key", "PRIVATE KEY", pkcs8), trust
}

// A server that speaks TLS alone is spoken to in it, by an address and by a URL,
// and not when its certificate is nobody's.
func TestTLS(t *testing.T) {
	certFile, keyFile, trust := certificate(t)
	addr := net.JoinHostPort("127.0.0.1", redistest.FreePort())
	_, port, _ := net.SplitHostPort(addr)
	start(t, "--tls-port", port, "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile, "--tls-auth-clients", "no")
	trusting := &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}
	for _, c := range []struct {
		name   string
		config Config
		ok     bool
	}{
		{"an address", Config{Addrs: []string{addr}, TLS: trusting}, true},
		{"a URL", Config{URL: "rediss://" + addr + "/0", TLS: trusting}, true},
		{"a certificate that is not trusted", Config{URL: "rediss://" + addr + "/0"}, false},
		{"without TLS", Config{Addrs: []string{addr}}, false},
	} {
		c.config.Patience = 10 * time.Second
		s, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Claim(t.Context(), batchOf("o", bucketOf(t, 100))); (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.name, err)
		}
		_ = s.Close()
	}
}
