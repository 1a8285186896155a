package config

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

const secret = "hunter2"

// A password shows in nothing that is printed, whatever prints it.
func TestSecretsAreNotShown(t *testing.T) {
	dsn := DSN("redis://limiter:" + secret + "@10.0.0.1:6379/1")
	odd := DSN("redis://limiter:" + secret + "@[::1") // no URL at all
	for _, v := range []any{dsn, odd, Secret(secret), Redis{DSN: dsn, Password: secret, SentinelPassword: secret}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, shown := range []string{string(text), fmt.Sprint(v), fmt.Sprintf("%v %+v %#v %s", v, v, v, v)} {
			if strings.Contains(shown, secret) {
				t.Errorf("%T shows its secret: %s", v, shown)
			}
		}
	}
	if got := dsn.String(); got != "redis://limiter:xxxxx@10.0.0.1:6379/1" {
		t.Errorf("a DSN shows as %s", got)
	}
	if got := Secret("").String(); got != "" {
		t.Errorf("no secret shows as %q", got)
	}
}

// No fault repeats what may be a password, wherever it was written by mistake.
func TestFaultsDoNotRepeatSecrets(t *testing.T) {
	for _, text := range []string{
		"store: {driver: redis, redis: {dsn: 'redis://u:" + secret + "@h/x'}}",
		"store: {driver: redis, redis: {dsn: 'u:" + secret + "@h'}}",
		"store: {driver: redis, redis: {dsn: '" + secret + "'}}",
		"store: {driver: redis, redis: {addresses: ['redis://u:" + secret + "@h:1']}}",
		"store: {driver: redis, redis: 'redis://u:" + secret + "@h:1'}",
		"store: 'redis://u:" + secret + "@h:1'",
		"store: {driver: 'redis://u:" + secret + "@h:1'}",
	} {
		_, err := Parse("x", []byte("version: 1\n"+text))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := Load("testdata/good/version_only.yml", environment("PLIMSOLL_STORE_DSN", "rdis://u:"+secret+"@h"))
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("the environment: %v", err)
	}
}

func redisFile(t *testing.T, text string, env ...string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yml")
	if err := os.WriteFile(path, []byte("version: 1\nstore: {driver: redis, redis: {"+text+"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path, environment(env...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheEnvironmentNamesTheServer(t *testing.T) {
	f := redisFile(t, "addresses: [10.0.0.1:6379]", "PLIMSOLL_STORE_DSN", "rediss://u:"+secret+"@127.0.0.1/3")
	c, err := f.Store.Redis.config()
	if err != nil {
		t.Fatal(err)
	}
	if c.URL != "rediss://u:"+secret+"@127.0.0.1/3" || len(c.Addrs) != 0 || c.TLS == nil {
		t.Errorf("got %+v", f.Store.Redis)
	}
	if got := f.Store.Redis.Place(); got != "127.0.0.1:6379" {
		t.Errorf("the place is %q", got)
	}
}

// What neither the file nor the environment says is missed when the process
// starts, not when the file is checked.
func TestWhatIsMissingAtTheStart(t *testing.T) {
	for text, want := range map[string]string{
		"": "store.redis names no server; give addresses or dsn, or PLIMSOLL_STORE_DSN in the environment",
		"addresses: ['127.0.0.1:1'], username: u":                                     "store.redis.username has no password",
		"mode: sentinel, addresses: ['127.0.0.1:1'], master: m, sentinel_username: u": "store.redis.sentinel_username has no password",
		"addresses: ['127.0.0.1:1'], password_file: /nowhere":                         "/nowhere: no such file",
		"addresses: ['127.0.0.1:1'], tls: {enabled: true, ca: /nowhere}":              "store.redis.tls.ca: open /nowhere",
		"addresses: ['127.0.0.1:1'], tls: {enabled: true, ca: storage.go}":            "holds no certificate in PEM",
		"addresses: ['127.0.0.1:1'], tls: {enabled: true, cert: /a, key: /b}":         "store.redis.tls.cert: open /a",
	} {
		_, err := Build(redisFile(t, text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A password in a file is read for each connection, so it can change.
func TestThePasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\r\n")
	f := redisFile(t, "dsn: redis://u@127.0.0.1, password_file: "+file)
	c, err := f.Store.Redis.config()
	if err != nil {
		t.Fatal(err)
	}
	write("two\n")
	user, password, err := c.Credentials(context.Background())
	if user != "u" || password != "two" || err != nil {
		t.Errorf("got %q %q %v", user, password, err)
	}
	for _, text := range []string{"", "\n", "a\nb\n", strings.Repeat("x", maxSecret+1)} {
		write(text)
		if _, _, err := c.Credentials(context.Background()); err == nil || len(text) > 0 && strings.Contains(err.Error(), text) {
			t.Errorf("%.9q: error %v", text, err)
		}
	}
	f.Store.Redis.Password = "three" // the environment is above the file
	if c, err := f.Store.Redis.config(); err != nil || c.Password != "three" || c.Credentials != nil {
		t.Errorf("got %v", err)
	}
}

// Every setting of the section arrives at the driver, the guard and the fleet.
func TestRedisSettingsArrive(t *testing.T) {
	f, err := Load("testdata/good/redis_single.yml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Store.Redis.config()
	if err != nil {
		t.Fatal(err)
	}
	want := redisstore.Config{
		Addrs: []string{"/run/plimsoll-test/redis.sock"}, DB: 1, Prefix: "payments:", Connections: 3, Queue: 2048, Patience: 300 * time.Millisecond,
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	g := f.Store.guard(nil)
	if g.Budget != 3*time.Millisecond || g.MaxInFlight != 128 || g.Queue != 8192 || f.Store.Heartbeat != 250*time.Millisecond {
		t.Errorf("guard %+v, heartbeat %v", g, f.Store.Heartbeat)
	}
	f = redisFile(t, "mode: sentinel, addresses: ['127.0.0.1:1', '127.0.0.1:2'], master: m, sentinel_username: w",
		"PLIMSOLL_STORE_SENTINEL_PASSWORD", "p", "PLIMSOLL_STORE_PASSWORD", "q")
	got, err = f.Store.Redis.config()
	if err != nil || len(got.Addrs) != 2 || got.Master != "m" || got.SentinelUsername != "w" || got.SentinelPassword != "p" || got.Password != "q" {
		t.Errorf("%v: got %+v", err, f.Store.Redis)
	}
	f = redisFile(t, "mode: cluster, dsn: 'redis://127.0.0.1:7000'")
	if got, err = f.Store.Redis.config(); err != nil || !got.Cluster {
		t.Errorf("%v: got %+v", err, f.Store.Redis)
	}
}

func TestRedisOverTLS(t *testing.T) {
	cert, key := certificate(t)
	f := redisFile(t, fmt.Sprintf("addresses: ['127.0.0.1:1'], tls: {enabled: true, ca: %s, server_name: s, cert: %s, key: %s, unverified: true}", cert, cert, key))
	c, err := f.Store.Redis.config()
	if err != nil {
		t.Fatal(err)
	}
	if c.TLS.ServerName != "s" || !c.TLS.InsecureSkipVerify || c.TLS.RootCAs == nil {
		t.Errorf("got %+v", c.TLS)
	}
	if pair, err := c.TLS.GetClientCertificate(nil); err != nil || len(pair.Certificate) != 1 {
		t.Errorf("the certificate: %v", err)
	}
}

// certificate makes one, and returns its files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	made, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "c"), filepath.Join(t.TempDir(), "k")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
