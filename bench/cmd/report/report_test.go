package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/algorithms"
)

var update = flag.Bool("update", false, "write what is rendered as the wanted page")

const firstRound = `goos: linux
cpu: Some CPU
BenchmarkRate/keys=1/g=1/plimsoll-2     1000   20.0 ns/op   0 B/op   0 allocs/op
BenchmarkRate/keys=1/g=1/rival-a-2      1000   60.0 ns/op  32 B/op   2 allocs/op
BenchmarkRate/keys=1/g=64/plimsoll-2    1000   4.25 ns/op   0 B/op   0 allocs/op
BenchmarkRate/keys=1/g=64/rival-a-2     1000   90.0 ns/op   3.25 %refused  32 B/op   2 allocs/op
BenchmarkProxy/none-2                   1000   100000 ns/op
BenchmarkProxy/plimsoll-2               1000   104000 ns/op
BenchmarkRedis/bucket/callers=64/plimsoll-2     1000  15000 ns/op  8000 cpu-ns/op  66000 decisions/s  1900 p99-us  13.5 redis-us/op  0 B/op  0 allocs/op
BenchmarkRedis/bucket/callers=64/redis_rate-2   1000  50000 ns/op 16000 cpu-ns/op  20000 decisions/s  4000 p99-us  27.0 redis-us/op  9 B/op  3 allocs/op
BenchmarkRedis/fleet/plimsoll-2                 1000  50000 ns/op  0.008 calls/op  0.25 redis-us/op
PASS
`

// In the second round the whole machine is three times slower: no ratio moves.
const secondRound = `
BenchmarkRate/keys=1/g=1/plimsoll-2     1000   60.0 ns/op   0 B/op   0 allocs/op
BenchmarkRate/keys=1/g=1/rival-a-2      1000  180.0 ns/op  32 B/op   2 allocs/op
BenchmarkRate/keys=1/g=64/plimsoll-2    1000   12.75 ns/op  0 B/op   0 allocs/op
BenchmarkRate/keys=1/g=64/rival-a-2     1000  270.0 ns/op   3.25 %refused  32 B/op   2 allocs/op
BenchmarkProxy/none-2                   1000   300000 ns/op
BenchmarkProxy/plimsoll-2               1000   312000 ns/op
BenchmarkRedis/bucket/callers=64/plimsoll-2     1000  45000 ns/op  24000 cpu-ns/op  22000 decisions/s  5700 p99-us  40.5 redis-us/op  0 B/op  0 allocs/op
BenchmarkRedis/bucket/callers=64/redis_rate-2   1000 150000 ns/op  48000 cpu-ns/op   6600 decisions/s 12000 p99-us  81.0 redis-us/op  9 B/op  3 allocs/op
BenchmarkRedis/fleet/plimsoll-2                 1000  50000 ns/op  0.008 calls/op  0.25 redis-us/op
`

func rounds(t *testing.T, texts ...string) (list []round) {
	t.Helper()
	for _, text := range texts {
		r, err := parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// The page ends with what the sliding window decides wrongly, on all kinds of
// traffic.
func TestMistakesHaveTheirSection(t *testing.T) {
	section := renderMistakes(algorithms.Table(1))
	for _, want := range []string{"## SlidingWindow", "many far below", "an adversary", "**15.94", "194 of 100"} {
		if !strings.Contains(section, want) {
			t.Errorf("no %q in\n%s", want, section)
		}
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	tables := tabulate(rounds(t, firstRound, secondRound), "ns/op")
	for _, c := range []struct {
		table           int
		way, contestant string
		median, ratio   float64
	}{
		{0, "keys=1/g=1", "plimsoll", 40, 1},
		{0, "keys=1/g=1", "rival-a", 120, 3},
		{1, "", "none", 200000, 1},
		{1, "", "plimsoll", 208000, 1.04},
	} {
		got := tables[c.table].cells[[2]string{c.way, c.contestant}]
		if got.median != c.median || math.Abs(got.ratio-c.ratio) > 1e-9 {
			t.Errorf("%s/%s: median %v, ratio %v, want %v, %v", c.way, c.contestant, got.median, got.ratio, c.median, c.ratio)
		}
	}
}

func TestPage(t *testing.T) {
	m := machine{cpu: "Some CPU", cores: 2, goVersion: "go1.26", date: "2026-01-02"}
	got := render(settings{unit: "ns/op", rounds: 2, benchtime: time.Second}, m, rounds(t, firstRound, secondRound))
	golden := filepath.Join("testdata", "page.md")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	if _, err := parse(strings.NewReader("BenchmarkX/a-2 10 fast ns/op\n")); err == nil {
		t.Error("a figure is broken: no error")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestCPUModel(t *testing.T) {
	if got := cpuModel("processor : 0\nmodel name\t: AMD EPYC\n"); got != "AMD EPYC" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel(""); got == "" {
		t.Error("no name at all")
	}
}

// TestRun measures for real, shortly: a benchmark of this folder.
func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "page.md")
	s := settings{pattern: "Median", unit: "ns/op", benchtime: time.Millisecond, rounds: 2, out: out, folder: "."}
	if err := run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "| of-three |") {
		t.Errorf("the benchmark is not in the page:\n%s", page)
	}
	s.pattern = "Nothing"
	if err := run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "Redis") {
		t.Errorf("nothing to run: error %v, want one that names the benchmarks", err)
	}
	if still, err := os.ReadFile(out); err != nil || !bytes.Equal(still, page) {
		t.Errorf("nothing to run: error %v, the page is now\n%s", err, still)
	}
	s.rounds = 0
	if err := run(t.Context(), s); err == nil {
		t.Error("no rounds: no error")
	}
}

// What is counted needs no benchmark.
func TestRunCountsAlone(t *testing.T) {
	out := filepath.Join(t.TempDir(), "page.md")
	s := settings{pattern: "^" + mistakes + "$", unit: "ns/op", benchtime: time.Millisecond, rounds: 1, out: out, folder: ".", seeds: 1}
	if err := run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(page), "## "+mistakes) {
		t.Errorf("error %v, page\n%s", err, page)
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {71_234.4, "71234"}, {13.76, "13.8"}, {1.769, "1.77"}, {0.13, "0.13"}, {3, "3"}, {0.008, "0.008"}} {
		if got := short(c.v); got != c.want {
			t.Errorf("short(%v) = %s, want %s", c.v, got, c.want)
		}
	}
}

func BenchmarkMedian(b *testing.B) {
	b.Run("of-three", func(b *testing.B) {
		for b.Loop() {
			median([]float64{3, 1, 2})
		}
	})
}
