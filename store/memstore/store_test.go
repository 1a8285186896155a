package memstore

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/store/storetest"
)

func open(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return storetest.Harness{Driver: open(t, Config{})} })
}

// A store that is always full to the bound keeps the contract for who has room.
func TestContractOfOneShard(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return storetest.Harness{Driver: open(t, Config{MaxKeys: 4000})} })
}
