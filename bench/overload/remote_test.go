package overload

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// TestMain is the other process, when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		flags, r := flag.NewFlagSet("serve", flag.ExitOnError), Run{}
		flags.StringVar(&r.Contestant, "contestant", "", "")
		flags.StringVar(&r.Setting, "setting", "", "")
		flags.StringVar(&r.Experiment, "experiment", "", "")
		socket := flags.String("socket", "", "")
		flags.Parse(os.Args[2:])
		if err := r.Serve(context.Background(), *socket, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAServiceInAProcessOfItsOwn(t *testing.T) {
	e, _ := FindExperiment("E2-one")
	for _, c := range []struct{ contestant, setting string }{{"plimsoll", "200, as it comes"}, {"fixed cap", "8"}} {
		m, err := startRemote(t.Context(), Run{c.contestant, c.setting, e.Name, 1}, &e)
		if err != nil {
			t.Fatal(err)
		}
		if m.capacity() < 5 {
			t.Errorf("it does %v calls a second", m.capacity())
		}
		later := Call{Class: priority.Critical, Caller: 3, Due: time.Now().Add(time.Minute)}
		if admitted, inTime := m.serve(t.Context(), later); !admitted || !inTime {
			t.Errorf("%s: a call alone: admitted %v, in time %v", c.contestant, admitted, inTime)
		}
		past := Call{Class: priority.Critical, Due: time.Now().Add(-time.Second)}
		if _, inTime := m.serve(t.Context(), past); inTime {
			t.Errorf("%s: a call that was due is in time", c.contestant)
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		if _, inTime := m.serve(left, later); inTime {
			t.Errorf("%s: the answer to a caller that left is in time", c.contestant)
		}
		processor, err := m.end()
		if err != nil || processor <= 0 {
			t.Errorf("%s: used %v s of processor time: %v", c.contestant, processor, err)
		}
		if _, err := os.Stat(m.dir); err == nil {
			t.Errorf("%s is left", m.dir)
		}
	}
}

func TestAServiceThatCannotStart(t *testing.T) {
	e, _ := FindExperiment("E2-one")
	if _, err := startRemote(t.Context(), Run{"plimsoll", "no such", e.Name, 1}, &e); err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Errorf("%v", err)
	}
}

func TestAFrameCarriesTheCall(t *testing.T) {
	want := Call{Class: priority.High, Caller: 99, Pick: 1 << 60, Due: time.Unix(1_800_000_000, 42)}
	f := newFrame(7, want)
	if got := f.call(); got != want || f.ID != 7 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// groups makes folders that look like control groups of both versions.
func groups(t *testing.T) (two, one *quota) {
	t.Helper()
	root := t.TempDir()
	for _, version := range []string{"two", "one"} {
		if err := os.Mkdir(filepath.Join(root, version), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &quota{filepath.Join(root, "two", "mine")}, &quota{filepath.Join(root, "one", "mine")}
}

func TestAQuotaTakesTheVersionThatIsThere(t *testing.T) {
	two, one := groups(t)
	inTwo, inOne := map[string]string{"cpu.max": "100000 100000"}, map[string]string{"cpu.cfs_quota_us": "100000"}
	got, err := firstQuota(two, inTwo, one, inOne)
	if err != nil || got != one {
		t.Fatalf("without version 2: %v, %v", got, err)
	}
	if text, _ := os.ReadFile(filepath.Join(one.dir, "cpu.cfs_quota_us")); string(text) != "100000" {
		t.Errorf("the quota is %q", text)
	}
	for name, text := range map[string]string{"cgroup.controllers": "cpu", "cgroup.subtree_control": "cpu memory"} {
		os.WriteFile(filepath.Join(filepath.Dir(two.dir), name), []byte(text), 0o600)
	}
	if got, err := firstQuota(two, inTwo, one, inOne); err != nil || got != two {
		t.Fatalf("with version 2: %v, %v", got, err)
	}
	// Both are taken now: neither can be made again.
	if _, err := firstQuota(two, inTwo, one, inOne); err == nil || !strings.Contains(err.Error(), "version 2: ") {
		t.Errorf("%v", err)
	}
	if got := one.inside([]string{"run", "it"}); got[3] != one.dir || got[5] != "it" {
		t.Errorf("inside: %q", got)
	}
}

// Streams ask nothing of the service, so nobody else should notice them; in
// virtual time, behind a cap that takes them for calls, and behind ours.
func TestStreamsInVirtualTime(t *testing.T) {
	normal, streams := map[string]float64{}, map[string]float64{}
	for name, setting := range map[string]string{"fixed cap": "40", "plimsoll": "twice what saturates"} {
		synctest.Test(t, func(t *testing.T) {
			result, err := Run{name, setting, "E1-streams", 1}.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			normal[name], streams[name] = result.Good[priority.Normal.Index()], result.Streams
		})
	}
	if normal["fixed cap"] > 0.5 || streams["fixed cap"] > 0.5 || normal["plimsoll"] < 0.99 || streams["plimsoll"] < 0.95 {
		t.Errorf("normal calls answered: %v; streams open: %v", normal, streams)
	}
}

func TestTwoKindsOfCallsHaveTheMeanOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMixed()
		began := time.Now()
		const calls = 500
		for i := range calls {
			if err := s.Work(t.Context(), Call{Pick: uint64(i * callers)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(began); got != calls*wait {
			t.Errorf("%d calls took %v", calls, got)
		}
	})
}
