package store

import (
	"encoding/json"
	"fmt"
)

// record is a ledger as it lies in a store between two calls.
type record struct {
	Now     int64          `json:"now"`
	Offset  int64          `json:"offset"`
	Born    int64          `json:"born"`
	Lost    float64        `json:"lost"`
	Faded   int64          `json:"faded"`
	Workers []workerRecord `json:"workers"`
}

type workerRecord struct {
	Report       Report  `json:"report"`
	Heard        int64   `json:"heard"`
	Brought      float64 `json:"brought"`
	Granted      float64 `json:"granted"`
	GrantedUntil int64   `json:"grantedUntil"`
	Held         float64 `json:"held"`
	HeldUntil    int64   `json:"heldUntil"`
}

// MarshalBinary is all that a ledger knows, so that a remote store can keep it
// for the next worker that reports. It is about half a kilobyte for a worker.
func (l *Ledger) MarshalBinary() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		return nil, nil
	}
	r := record{Now: l.now, Offset: l.offset, Born: l.born, Lost: l.lost, Faded: l.faded}
	for _, w := range l.workers {
		r.Workers = append(r.Workers, workerRecord{
			w.report, w.heard, w.brought, w.granted.size, w.granted.until, w.held.size, w.held.until,
		})
	}
	return json.Marshal(&r)
}

// UnmarshalBinary makes a ledger one that MarshalBinary wrote; nothing makes
// it an empty one. It does not trust what it reads further than a report.
func (l *Ledger) UnmarshalBinary(data []byte) error {
	var r record
	if len(data) > 0 {
		if err := json.Unmarshal(data, &r); err != nil {
			return fmt.Errorf("store: read ledger: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun, l.now, l.offset, l.born, l.faded = len(data) > 0, r.Now, r.Offset, r.Born, r.Faded
	l.lost, l.workers = figure(r.Lost), nil
	for i := range min(len(r.Workers), maxWorkers) {
		w := &r.Workers[i]
		l.workers = append(l.workers, &worker{
			report: sane(w.Report), heard: w.Heard, brought: figure(w.Brought),
			granted: lease{figure(w.Granted), w.GrantedUntil}, held: lease{figure(w.Held), w.HeldUntil},
		})
	}
	return nil
}
