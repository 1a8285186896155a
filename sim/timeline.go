package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event reads what happens at the parser's time.
func (p *parser) event(line string, w words) error {
	if len(w) == 0 {
		return errors.New("a time needs what happens then")
	}
	read, known := happenings[w[0]]
	if !known {
		return fmt.Errorf("unknown word %q, allowed: %s", w[0], strings.Join(sortedKeys(happenings), ", "))
	}
	act, err := read(p.scenario, w[1:])
	if err != nil {
		return fmt.Errorf("%s: %w", w[0], err)
	}
	p.scenario.events = append(p.scenario.events, event{p.at, line, act})
	return nil
}

// happenings are the words of the timeline.
var happenings = map[string]func(*Scenario, words) (func(*world), error){
	"load":    readLoad,
	"abuser":  readAbuser,
	"streams": readStreams,
	"mix": func(_ *Scenario, w words) (func(*world), error) {
		var m mix
		err := m.read(w)
		return func(world *world) { world.traffic.setMix(m) }, err
	},
	"retries": func(_ *Scenario, w words) (func(*world), error) {
		var r retries
		err := r.read(w)
		return func(world *world) { world.traffic.setRetries(r) }, err
	},
	"service": func(_ *Scenario, w words) (func(*world), error) {
		var d time.Duration
		err := w.scan("D", &d)
		return func(world *world) { world.setService(d) }, err
	},
	"hang": func(_ *Scenario, w words) (func(*world), error) {
		var share float64
		err := w.scan("P", &share)
		return func(world *world) { world.hang.Store(int64(share * hangUnit)) }, err
	},
	"store":  readStore,
	"worker": readWorkers, "workers": readWorkers,
}

func readLoad(s *Scenario, w words) (func(*world), error) {
	var multiple float64
	err := w.scan("X", &multiple)
	rate := &s.setup
	return func(world *world) { world.traffic.everybody.set(multiple * rate.capacity()) }, err
}

func readAbuser(s *Scenario, w words) (func(*world), error) {
	var multiple float64
	err := w.scan("X", &multiple)
	rate := &s.setup
	return func(world *world) { world.traffic.abuser.set(multiple * rate.capacity()) }, err
}

func readStreams(_ *Scenario, w words) (func(*world), error) {
	var rate float64
	var lasting time.Duration
	err := w.scan("R lasting D", &rate, &lasting)
	return func(world *world) {
		world.traffic.lasting.Store(int64(lasting))
		world.traffic.streams.set(rate)
	}, err
}

// readStore reads what becomes of the store.
func readStore(_ *Scenario, w words) (func(*world), error) {
	var d time.Duration
	var share float64
	switch {
	case w.lengths(1):
		act, known := storeFaults[w[0]]
		if !known {
			return nil, fmt.Errorf("unknown word %q, allowed: %s, D away, loses P, clock D", w[0], strings.Join(sortedKeys(storeFaults), ", "))
		}
		return func(world *world) { act(world.shared) }, nil
	case w[len(w)-1] == "away":
		err := w.scan("D away", &d)
		return func(world *world) { world.shared.weather(func(n *network) { n.trip = d }) }, err
	case w[0] == "loses":
		err := w.scan("loses P", &share)
		return func(world *world) { world.shared.weather(func(n *network) { n.loss = share }) }, err
	}
	err := w.scan("clock S", &d)
	return func(world *world) { world.shared.step(d) }, err
}

var storeFaults = map[string]func(*shared){
	"lost":     func(s *shared) { s.weather(func(n *network) { n.lost = true }) },
	"refusing": func(s *shared) { s.weather(func(n *network) { n.refusing = true }) },
	"back":     func(s *shared) { s.weather(func(n *network) { n.lost, n.refusing, n.loss = false, false, 0 }) },
	"paused":   (*shared).pause,
	"resumed":  (*shared).resume,
	"reset":    (*shared).reset,
	"empty":    (*shared).restart,
}

// readWorkers reads what becomes of some workers, counted from 1.
func readWorkers(s *Scenario, w words) (func(*world), error) {
	if len(w) < 2 {
		return nil, errors.New("want numbers and a word, such as: 2,3 killed")
	}
	list, err := s.numbers(w[0])
	if err != nil {
		return nil, err
	}
	act, known := workerFaults[w[1]]
	switch {
	case w[1] == "take":
		act, err = readTakes(w[1:])
	case !known || len(w) > 2:
		err = fmt.Errorf("unknown words %q, allowed: take D, %s", strings.Join(w[1:], " "), strings.Join(sortedKeys(workerFaults), ", "))
	}
	return func(world *world) {
		for _, i := range list {
			act(world, i)
		}
	}, err
}

// numbers reads those of workers, and returns their places in order.
func (s *Scenario) numbers(list string) (places []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > s.setup.workers {
			return nil, fmt.Errorf("%q is not the number of a worker, 1 to %d", text, s.setup.workers)
		}
		places = append(places, n-1)
	}
	slices.Sort(places)
	return places, nil
}

// readTakes reads how long the handlers of some workers take, unlike those of
// the others, until a worker is started anew.
func readTakes(w words) (func(*world, int), error) {
	var d time.Duration
	err := w.scan("take D", &d)
	return func(world *world, i int) { world.process(i).server.setService(d) }, err
}

var workerFaults = map[string]func(*world, int){
	"killed":  (*world).kill,
	"started": (*world).start,
	"frozen":  func(w *world, i int) { w.process(i).freeze() },
	"thawed":  func(w *world, i int) { w.process(i).thaw() },
	"split":   func(w *world, i int) { w.process(i).link.cut.Store(true) },
	"joined":  func(w *world, i int) { w.process(i).link.cut.Store(false) },
}
