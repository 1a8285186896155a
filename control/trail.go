package control

import (
	"context"
	"fmt"
)

// auditPage is how many records are read at once.
const auditPage = 500

func (b *book) records(ctx context.Context, from uint64, most int) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.storage.Records(ctx, from, most)
}

func (b *book) audit(ctx context.Context, from uint64, most int) ([]Record, error) {
	stored, err := b.records(ctx, max(from, 1), min(max(most, 0), auditPage))
	if err != nil {
		return nil, &UnavailableError{err}
	}
	list := make([]Record, 0, len(stored))
	for _, line := range stored {
		r, err := open(line)
		if err != nil && r.Seq == 0 {
			r = Record{Detail: fmt.Sprintf("a record that cannot be read: %v", err)}
		}
		list = append(list, r)
	}
	return list, nil
}

// record is one record, to be undone.
func (b *book) record(ctx context.Context, seq uint64) (*Record, error) {
	list, err := b.audit(ctx, seq, 1)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || list[0].Seq != seq {
		return nil, &NotFoundError{fmt.Sprintf("of record %d", seq)}
	}
	return &list[0], nil
}

func (b *book) verify(ctx context.Context) (Verification, error) {
	v, err := b.load(ctx) // before the records: those that come meanwhile are more than it knows
	if err != nil {
		return Verification{}, &UnavailableError{err}
	}
	var c chain
	for from := uint64(1); ; from = c.Last + 1 {
		page, err := b.records(ctx, from, auditPage)
		if err != nil {
			return c.Verification, &UnavailableError{err}
		}
		for _, stored := range page {
			if !c.add(stored) {
				return c.Verification, nil
			}
		}
		if len(page) < auditPage {
			c.end(v.state)
			return c.Verification, nil
		}
	}
}
