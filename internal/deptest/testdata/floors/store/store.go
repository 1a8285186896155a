package store

import (
	_ "github.com/plimsoll-go/plimsoll/limit"
	_ "github.com/plimsoll-go/plimsoll/store/memstore"
	_ "github.com/redis/go-redis/v9"
)
