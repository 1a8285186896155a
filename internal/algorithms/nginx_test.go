package algorithms

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

// setting is a limit_req of nginx, the same bucket of ours, and when to ask.
type setting struct {
	name         string
	rate, words  string // as nginx has them
	ours         limit.Rate
	burst, delay int64
	at           []time.Duration
}

// settings are those of the golden sequences, and some at random. At 1/min a
// test sees no delay end, so nobody is held there.
func settings() []setting {
	ms := func(at ...time.Duration) []time.Duration {
		for i := range at {
			at[i] *= time.Millisecond
		}
		return at
	}
	tenASecond, aMinute := limit.Per(10, time.Second), limit.Per(1, time.Minute)
	return []setting{
		{"plain", "10r/s", "", tenASecond, 0, 0, ms(0, 50, 99, 100, 199, 200, 460, 500)},
		{"burst", "10r/s", "burst=5", tenASecond, 5, 0, ms(0, 0, 0, 0, 0, 0, 0, 0)},
		{"delay", "10r/s", "burst=5 delay=2", tenASecond, 5, 2, ms(0, 0, 0, 0, 0, 0, 0, 0, 250, 250, 250, 250)},
		{"nodelay", "10r/s", "burst=5 nodelay", tenASecond, 5, 5, ms(0, 0, 0, 0, 0, 0, 0, 0, 250, 250, 250, 250)},
		{"slow", "1r/m", "", aMinute, 0, 0, ms(0, 500, 1000)},
		{"slow-nodelay", "1r/m", "burst=3 nodelay", aMinute, 3, 3, ms(0, 0, 0, 0, 0, 0, 700)},
		{"odd", "37r/m", "burst=2 nodelay", limit.Per(37, time.Minute), 2, 2, random(12, 1)},
		{"random", "5r/s", "burst=3 delay=1", limit.Per(5, time.Second), 3, 1, random(30, 2)},
		{"random-delay", "7r/s", "burst=4", limit.Per(7, time.Second), 4, 0, random(30, 3)},
	}
}

// random is n moments within two seconds.
func random(n int, seed uint64) (at []time.Duration) {
	r := rand.New(rand.NewPCG(seed, 4))
	for range n {
		at = append(at, time.Duration(r.Int64N(int64(2*time.Second))))
	}
	slices.Sort(at)
	return at
}

// answered is what nginx logged of a request.
type answered struct {
	came, took int64 // ms since the epoch, and ms
	verdict    string
}

// The real nginx and ours give the same verdicts on the same traffic. Ours is
// told when each request reached nginx, so that it does not matter how busy the
// machine is; where that is too close to call, within the two milliseconds that
// the clocks may differ, nginx's verdict is taken over.
func TestTheRealNGINXDecidesAlike(t *testing.T) {
	logged := askNGINX(t, settings())
	asked, compared := 0, 0
	for _, s := range settings() {
		if len(logged[s.name]) != len(s.at) {
			t.Fatalf("%s: nginx logged %d of %d requests", s.name, len(logged[s.name]), len(s.at))
		}
		asked += len(s.at)
		compared += s.compare(t, logged[s.name])
	}
	t.Logf("%d of %d requests were compared", compared, asked)
	if compared < asked/2 {
		t.Errorf("only %d of %d requests were compared", compared, asked)
	}
}

// compare puts the logged requests to our bucket, and counts those that it
// could judge.
func (s *setting) compare(t *testing.T, requests []answered) (compared int) {
	t.Helper()
	l, err := limit.NewLeakyBucket(s.ours, s.burst, s.delay)
	if err != nil {
		t.Fatal(err)
	}
	unsure := s.ours.Count*2000/s.ours.Period.Milliseconds() + int64(len(requests)) + 2 // thousandths: of 2ms, and a rounding each
	var state limit.Leaky
	for i, r := range requests {
		now := r.came * int64(time.Millisecond)
		tried := l.At(state, now).Level // NGINX's excess with this request
		next, ours := l.Take(state, now, 1)
		if nearly(tried, 1000*s.burst, unsure) || nearly(tried, 1000*s.delay, unsure) {
			state = s.follow(&l, state, now, r.verdict != "REJECTED")
			continue
		}
		compared++
		want := verdictOf(ours)
		if r.verdict != want {
			t.Errorf("%s: request %d, %d ms after the first, excess %d: nginx %s, ours %s", s.name, i, r.came-requests[0].came, tried, r.verdict, want)
		}
		if held := ours.Delay.Milliseconds(); r.took < held-2-unsure*1000/max(rateOf(s.ours), 1) {
			t.Errorf("%s: request %d went on after %d ms, ours says %d", s.name, i, r.took, held)
		}
		state = next
	}
	return compared
}

// follow is the state after a verdict that is too close to call.
func (s *setting) follow(l *limit.LeakyBucket, state limit.Leaky, now int64, admitted bool) limit.Leaky {
	if !admitted {
		return state
	}
	state = l.At(state, now)
	if state.Level == 0 {
		state.Last = now / int64(time.Millisecond)
	}
	state.Level += 1000
	return state
}

// rateOf is in thousandths a second.
func rateOf(r limit.Rate) int64 { return r.Count * 1000 * int64(time.Second) / int64(r.Period) }

func nearly(a, b, by int64) bool { return a >= b-by && a <= b+by }

func verdictOf(r limit.Result) string {
	switch {
	case !r.OK:
		return "REJECTED"
	case r.Delay > 0:
		return "DELAYED"
	}
	return "PASSED"
}

// askNGINX starts nginx on a unix socket, asks it by all settings at once, and
// reads its log, each setting's requests in the order in which they came.
func askNGINX(t *testing.T, settings []setting) map[string][]answered {
	t.Helper()
	dir, err := os.MkdirTemp("", "nginx") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	stop := startNGINX(t, dir, settings)
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "s"))
		},
	}}
	var group sync.WaitGroup
	start := time.Now()
	for _, s := range settings {
		for _, at := range s.at {
			group.Go(func() {
				<-time.After(time.Until(start.Add(at)))
				if err := get(t.Context(), client, s.name); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	stop()
	return readLog(t, filepath.Join(dir, "access.log"))
}

func get(ctx context.Context, client *http.Client, name string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://nginx/"+name, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusTooManyRequests {
		return fmt.Errorf("nginx answered %s", response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// startNGINX starts nginx in the foreground and waits until it listens.
func startNGINX(t *testing.T, dir string, settings []setting) (stop func()) {
	t.Helper()
	var zones, places strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&zones, "limit_req_zone $uri zone=%s:1m rate=%s;\n", s.name, s.rate)
		fmt.Fprintf(&places, "location = /%s { limit_req zone=%s %s; }\n", s.name, s.name, s.words)
		write(t, filepath.Join(dir, s.name), "ok\n")
	}
	write(t, filepath.Join(dir, "nginx.conf"), fmt.Sprintf(`daemon off; master_process off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log notice;
events { worker_connections 512; }
http {
log_format told '$uri $msec $request_time $limit_req_status';
access_log %[1]s/access.log told;
client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
limit_req_status 429;
%[2]s
server { listen unix:%[1]s/s; root %[1]s;
%[3]s}
}
`, dir, &zones, &places))
	binary, err := exec.LookPath("nginx")
	if err != nil {
		binary = "/usr/sbin/nginx" // which is not in everybody's path
	}
	var said bytes.Buffer
	server := exec.Command(binary, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "error.log"))
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatalf("nginx, of the package nginx: %v", err)
	}
	gone := make(chan struct{})
	go func() { _ = server.Wait(); close(gone) }()
	stop = sync.OnceFunc(func() { _ = server.Process.Signal(os.Interrupt); <-gone })
	t.Cleanup(stop)
	for deadline := time.Now().Add(time.Minute); ; {
		c, err := net.Dial("unix", filepath.Join(dir, "s"))
		if err == nil {
			c.Close()
			return stop
		}
		select {
		case <-gone:
			t.Fatalf("nginx ended: %s", &said)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not listen: %v %s", err, &said)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readLog reads what nginx logged when requests ended. Those of one millisecond
// were decided in the order of what became of them.
func readLog(t *testing.T, file string) map[string][]answered {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	logged := map[string][]answered{}
	for line := range strings.Lines(string(text)) {
		var name, verdict string
		var ended, took [2]int64 // seconds and ms
		if _, err := fmt.Sscanf(strings.NewReplacer(".", " ", "/", "").Replace(line), "%s %d %d %d %d %s", &name, &ended[0], &ended[1], &took[0], &took[1], &verdict); err != nil {
			t.Fatalf("nginx logged %q: %v", line, err)
		}
		a := answered{took: 1000*took[0] + took[1], verdict: verdict}
		a.came = 1000*ended[0] + ended[1] - a.took
		logged[name] = append(logged[name], a)
	}
	rank := map[string]int{"PASSED": 0, "DELAYED": 1, "REJECTED": 2}
	for _, list := range logged {
		slices.SortStableFunc(list, func(a, b answered) int {
			return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(rank[a.verdict], rank[b.verdict]), cmp.Compare(a.took, b.took))
		})
	}
	return logged
}
