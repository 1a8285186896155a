package control

import "context"

// Storage keeps one state and the audit trail that belongs to it. It knows
// neither: both are bytes to it, and the names in it are basic types, so that
// a driver need not import this package. All methods are called concurrently.
// Bytes that are handed over or returned are not changed by either side.
type Storage interface {
	// Read returns the state, its revision, and the storage's clock in
	// nanoseconds since the epoch, read in the same call. A storage that was
	// never written to has no state, and revision 0.
	Read(ctx context.Context) (state []byte, revision uint64, now int64, err error)

	// Swap replaces the state and its revision and appends a record, all in one
	// step that is made as a whole or not at all, if the revision is still the
	// one named. An error means that it is not known whether that happened.
	Swap(ctx context.Context, revision, next uint64, state, record []byte) (swapped bool, err error)

	// Records returns stored records in their order, at most most, beginning
	// with the from-th that was ever appended; the first is 1. Storages are
	// bounded: where the oldest were given up, it begins with the oldest that
	// is left.
	Records(ctx context.Context, from uint64, most int) (records [][]byte, err error)

	// Watch calls changed, which does not wait, soon after each change, until
	// the context ends or the connection does. It may miss changes, and may
	// report some that were none.
	Watch(ctx context.Context, changed func()) error
}
