package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
)

// threats is what somebody may try, and the tests that show it closed: the
// directory and the name of each.
var threats = []struct{ what, dir, test string }{
	{"the admin listener is open to other machines", "config", "TestEachFaultIsNamed"},
	{"the admin listener is open to other machines", "admin", "TestClosedReads"},
	{"a route that asks nobody who they are", "admin", "TestEveryRouteAsksWhoAsks"},
	{"tokens are guessed", "admin", "TestGuessing"},
	{"tokens are guessed", "internal/process", "TestGuessingAProcess"},
	{"tokens are compared in a time that tells them", "admin", "TestOnlyHashesAreStored"},
	{"secrets are compared by ==", "internal/process", "TestSecretsAreComparedInConstantTime"},
	{"a token that ended or was revoked", "admin", "TestARevokedTokenEndsEverywhere"},
	{"a viewer changes something", "admin", "TestRights"},
	{"a responder sheds what is protected", "admin", "TestProtectedClassesAreForAdministrators"},
	{"one person decides alone", "control", "TestTwoPersons"},
	{"a page of another origin changes something", "admin", "TestPagesOfOtherOrigins"},
	{"an image or a link changes something", "admin", "TestReadingChangesNothing"},
	{"a page reads what it is told", "admin", "TestPagesOfOtherOrigins"},
	{"a name that is made to lead here", "admin", "TestOnlyLoopbackHostsAreAnswered"},
	{"a request that is two", "proxy", "TestSmugglingCorpus"},
	{"a request that is two, over HTTP/2", "proxy", "TestSmugglingFromHTTP2"},
	{"headers that the client has the proxy drop", "proxy", "TestHopByHopAndReserved"},
	{"forwarded addresses that the client made up", "identity", "TestNothingAddedOnTheLeftCounts"},
	{"a caller's header that the client made up", "internal/process", "TestTheHeadersThatAreOursAreReserved"},
	{"a class that the client claims", "middleware/httpmw", "TestNoHeaderRaisesAboveTheCeiling"},
	{"another spelling of a path", "match", "TestRulesMeanWhatTheirPatternsSay"},
	{"another spelling of a path", "middleware/httpmw", "TestAHiddenSlashRaisesNothing"},
	{"another spelling of a path", "proxy", "TestTargetIsSentAsItCame"},
	{"callers without number", "store/memstore", "TestAtTheBoundNobodyWhoOwesIsForgotten"},
	{"labels without number", "internal/process", "TestAFloodMakesNoSeries"},
	{"ids that meet in one key, or leave their slot", "store/redisstore", "TestOddCallers"},
	{"two credentials with one key", "identity", "TestDistinctCredentialsHaveDistinctKeys"},
	{"a script made of what somebody sends", "internal/process", "TestScriptsAreConstants"},
	{"a user of the server who may too much", "store/redisstore", "TestPermissions"},
	{"lines forged in the log", "telemetry", "TestWhatCallersAreCalledInALog"},
	{"names that break a header or a body", "middleware/httpmw", "TestEvilNames"},
	{"a client that sends its header slowly", "proxy", "TestSlowloris"},
	{"a body or a header that is too large", "admin", "TestBodiesAreReadStrictly"},
	{"a body or a header that is too large", "proxy", "TestHeaderTooLarge"},
	{"one key twice, in two cases; a packed body", "admin", "TestBodiesAreReadStrictly"},
	{"streams that are reset as fast as they are opened", "proxy", "TestRapidReset"},
	{"streams that are reset as fast as they are opened", "middleware/httpmw", "TestHTTP2Resets"},
	{"an old TLS", "proxy", "TestOldTLSIsRefused"},
	{"a client certificate that nobody verified", "admin", "TestClientCertificates"},
	{"secrets in the log, the status, the metrics, an error", "internal/process", "TestNobodyTellsSecrets"},
	{"secrets in the log, the status, the metrics, an error", "config", "TestFaultsDoNotRepeatSecrets"},
	{"a profile that anybody reads", "internal/process", "TestNobodyTellsSecrets"},
	{"a store that is pushed over to open the doors", "internal/faults", "TestRows"},
	{"a trail that was altered", "control", "TestTampering"},
}

func TestEveryThreatHasItsTest(t *testing.T) {
	for _, threat := range threats {
		files, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(threat.dir), "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", threat.dir, len(files), err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "func "+threat.test)
		}
		if !found {
			t.Errorf("%s: there is no %s in %s", threat.what, threat.test, threat.dir)
		}
	}
}

// canary is a secret that nothing may repeat.
const canary = "canary-3f9d2c81"

// A password of the store, a token and a caller's key are in no answer, no
// log and no metric, whoever asks for what.
func TestNobodyTellsSecrets(t *testing.T) {
	for name, store := range map[string]string{
		"a store that is down": `{driver: redis, redis: {dsn: "redis://user:` + canary + `@127.0.0.1:1/0"}}`,
		"memory":               `{driver: memory}`,
	} {
		t.Run(name, func(t *testing.T) { tellsNoSecrets(t, store) })
	}
}

func tellsNoSecrets(t *testing.T, store string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plimsoll.yaml")
	text := `
version: 1
store: ` + store + `
identity: {caller: ["header:X-Api-Key"]}
stages: [{stage: ratelimit, limits: [{name: per-caller, key: [caller], rate: 1/h, burst: 1}]}, {stage: workershed}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, path, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	for range 3 { // the second is refused
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/", nil)
		r.Header.Set("X-Api-Key", "key-"+canary)
		body, header := fetch(t, r)
		if strings.Contains(body+fmt.Sprint(header), canary) {
			t.Errorf("an answer tells a caller's key: %s %v", body, header)
		}
	}
	token := ""
	if strings.Contains(store, "memory") {
		token = firstToken(t, p)
	}
	for _, path := range []string{
		"/status", "/metrics", "/healthz", "/readyz", "/debug/plimsoll/", "/debug/plimsoll/holders", "/debug/plimsoll/limits", "/debug/plimsoll/store",
		"/debug/pprof/", "/debug/vars", "/v1/top", "/v1/timeline", "/v1/refusals", "/v1/holders", "/v1/overrides", "/v1/tokens", "/v1/audit", "/v1/report", "/v1/work",
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.side+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		body, header := fetch(t, r)
		if strings.Contains(body+fmt.Sprint(header), canary) || token != "" && strings.Contains(body, token) {
			t.Errorf("%s tells a secret: %s", path, body)
		}
		if profile := strings.HasPrefix(path, "/debug/pprof") || path == "/debug/vars"; profile && !strings.Contains(body, "not found") {
			t.Errorf("%s answers %s", path, body)
		}
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if log := p.log.String(); strings.Contains(log, canary) {
		t.Errorf("the log tells a secret:\n%s", log)
	}
}

// firstToken is the token that a process prints at its first start.
func firstToken(t *testing.T, p *running) string {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if token := regexp.MustCompile(`plimsoll_[A-Za-z0-9_-]{43}`).FindString(p.log.String()); token != "" {
			return token
		}
	}
	t.Fatal("no token was printed")
	return ""
}

func fetch(t *testing.T, r *http.Request) (string, http.Header) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), response.Header
}

// Ten wrong tokens from one address, and it has to wait, whatever it shows.
func TestGuessingAProcess(t *testing.T) {
	p := start(t, "", func(http.ResponseWriter, *http.Request) {})
	ask := func(secret string) (int, admin.Problem) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.side+"/v1/whoami", nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var problem admin.Problem
		_ = json.NewDecoder(response.Body).Decode(&problem)
		return response.StatusCode, problem
	}
	token := firstToken(t, p)
	if code, _ := ask(token); code != 200 {
		t.Fatalf("the first token is answered %d", code)
	}
	for i := range failuresOfOne {
		if code, _ := ask("plimsoll_guess"); code != 401 {
			t.Fatalf("guess %d is answered %d", i, code)
		}
	}
	if code, problem := ask(token); code != 429 {
		t.Errorf("after %d guesses: %d %+v", failuresOfOne, code, problem)
	}
	records, err := p.Control().Audit(context.WithoutCancel(t.Context()), 1, 10)
	if err != nil || len(records) == 0 || records[len(records)-1].Subject != "login" {
		t.Errorf("the trail is %+v, %v", records, err)
	}
}

// No source compares a secret by ==, and no script is made at run time.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	text, err := os.ReadFile("../../admin/tokens.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "subtle.ConstantTimeCompare") || regexp.MustCompile(`(secret|Hash|hash) ==`).Match(text) {
		t.Error("admin/tokens.go compares otherwise")
	}
}

func TestScriptsAreConstants(t *testing.T) {
	files, err := filepath.Glob("../../store/redisstore/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	embedded := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		embedded += strings.Count(string(text), "//go:embed")
		if made := regexp.MustCompile(`\.Eval\(|newScript\([^)]*(Sprintf|Join|Replace)`).Find(text); made != nil {
			t.Errorf("%s makes a script: %s", file, made)
		}
	}
	if embedded == 0 {
		t.Error("no script is embedded")
	}
}
