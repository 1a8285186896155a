package bench

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
)

// Everybody has the settings that the library comes with.

// buckets decide one limit on the rate of a caller.
var buckets = []redisContestant{
	{ours, ourBucketOnRedis},
	{"evalsha", all(evalshaBucket)},
	{"rueidis-evalsha", all(rueidisBucket)},
	{"redis_rate", all(redisRate)},
	{"ulule", all(ululeOnRedis)},
	{"throttled", all(throttledOnRedis)},
}

const ours = "plimsoll"

// slotUse is what becomes of a slot: it is held for good, or given back at once.
type slotUse bool

const (
	held      slotUse = false
	givenBack slotUse = true
)

// withSlot are so many limits on a caller's rate, and one of its slots. Ours
// are one script; the others know no slots, and call the set of slots that one
// writes for them after the limits.
func withSlot(limits int, use slotUse) []redisContestant {
	return []redisContestant{
		{ours, ourLimitsAndSlot(limits, use)},
		{"evalsha", all(inTurn(limits, evalshaBucket, evalshaSlot(use)))},
		{"rueidis-evalsha", all(inTurn(limits, rueidisBucket, rueidisSlot(use)))},
		{"redis_rate", all(inTurn(limits, redisRate, evalshaSlot(use)))},
	}
}

var hotKeys = []redisContestant{
	{ours, ourHotKey},
	{"plimsoll-no-leases", ourBucketOnRedis},
	{"rueidis-evalsha", all(rueidisBucket)},
	{"redis_rate", all(redisRate)},
}

// all gives one function to all callers.
func all(start func(b *testing.B) func(name string) (bool, error)) func(*testing.B) func() askRedis {
	return func(b *testing.B) func() askRedis {
		b.Helper()
		ask := start(b)
		return func() askRedis { return func(key int) (bool, error) { return ask(names()[key]) } }
	}
}

// inTurn asks for limits and then for a slot, until one refuses.
func inTurn(limits int, bucket, slot func(b *testing.B) func(string) (bool, error)) func(*testing.B) func(string) (bool, error) {
	return func(b *testing.B) func(string) (bool, error) {
		b.Helper()
		take, hold := bucket(b), slot(b)
		return func(name string) (bool, error) {
			for i := range limits {
				if ok, err := take(name + "/" + strconv.Itoa(i)); err != nil || !ok {
					return ok, err
				}
			}
			return hold(name)
		}
	}
}

// gcraScript is the script that one finds everywhere, on one key in seconds.
const gcraScript = `
local burst, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local interval = 1 / rate
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
tat = math.max(tat, now) + cost * interval
local allowAt = tat - burst * interval
if allowAt > now then return {0, tostring(allowAt - now)} end
redis.call('SET', KEYS[1], string.format('%.6f', tat), 'PX', math.ceil((tat - now) * 1000))
return {1, '0'}`

// slotScript holds one of many slots in a sorted set by the end of its lease.
const slotScript = `
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`

const slotLeaseMS = 60_000

func goRedis(b *testing.B) *redis.Client {
	b.Helper()
	client := redis.NewClient(&redis.Options{Addr: redisOf(b).Addr})
	b.Cleanup(func() { _ = client.Close() })
	return client
}

func evalshaBucket(b *testing.B) func(string) (bool, error) {
	b.Helper()
	client, script, ctx := goRedis(b), redis.NewScript(gcraScript), context.Background()
	return func(name string) (bool, error) {
		v, err := script.Run(ctx, client, []string{name}, redisBurst, redisPerSecond, 1).Slice()
		return err == nil && v[0] == int64(1), err
	}
}

func evalshaSlot(use slotUse) func(b *testing.B) func(string) (bool, error) {
	return func(b *testing.B) func(string) (bool, error) {
		b.Helper()
		client, script, ctx := goRedis(b), redis.NewScript(slotScript), context.Background()
		return func(name string) (bool, error) {
			set, member := name+"/slots", strconv.FormatUint(rand.Uint64(), 36)
			n, err := script.Run(ctx, client, []string{set}, member, redisBurst, slotLeaseMS).Int()
			if err == nil && n == 1 && use == givenBack {
				err = client.ZRem(ctx, set, member).Err()
			}
			return n == 1, err
		}
	}
}

func rueidisClient(b *testing.B) rueidis.Client {
	b.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redisOf(b).Addr}, ForceSingleClient: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	return client
}

func rueidisBucket(b *testing.B) func(string) (bool, error) {
	b.Helper()
	client, script, ctx := rueidisClient(b), rueidis.NewLuaScript(gcraScript), context.Background()
	args := []string{strconv.Itoa(redisBurst), strconv.Itoa(redisPerSecond), "1"}
	return func(name string) (bool, error) {
		v, err := script.Exec(ctx, client, []string{name}, args).ToArray()
		if err != nil {
			return false, err
		}
		n, err := v[0].AsInt64()
		return n == 1, err
	}
}

func rueidisSlot(use slotUse) func(b *testing.B) func(string) (bool, error) {
	return func(b *testing.B) func(string) (bool, error) {
		b.Helper()
		client, script, ctx := rueidisClient(b), rueidis.NewLuaScript(slotScript), context.Background()
		most, lease := strconv.Itoa(redisBurst), strconv.Itoa(slotLeaseMS)
		return func(name string) (bool, error) {
			set, member := name+"/slots", strconv.FormatUint(rand.Uint64(), 36)
			n, err := script.Exec(ctx, client, []string{set}, []string{member, most, lease}).AsInt64()
			if err == nil && n == 1 && use == givenBack {
				err = client.Do(ctx, client.B().Zrem().Key(set).Member(member).Build()).Error()
			}
			return n == 1, err
		}
	}
}

func redisRate(b *testing.B) func(string) (bool, error) {
	b.Helper()
	l, ctx := redis_rate.NewLimiter(goRedis(b)), context.Background()
	rule := redis_rate.Limit{Rate: redisPerSecond, Burst: redisBurst, Period: time.Second}
	return func(name string) (bool, error) {
		r, err := l.Allow(ctx, name, rule)
		return err == nil && r.Allowed == 1, err
	}
}

// ululeOnRedis counts in a fixed window, which is all that it knows.
func ululeOnRedis(b *testing.B) func(string) (bool, error) {
	b.Helper()
	s, err := ululeredis.NewStore(goRedis(b))
	if err != nil {
		b.Fatal(err)
	}
	l, ctx := limiter.New(s, limiter.Rate{Period: time.Hour, Limit: redisBurst}), context.Background()
	return func(name string) (bool, error) {
		c, err := l.Get(ctx, name)
		return err == nil && !c.Reached, err
	}
}

// throttledOnRedis reads, and writes if nobody wrote meanwhile: callers that
// meet on a key try again.
func throttledOnRedis(b *testing.B) func(string) (bool, error) {
	b.Helper()
	s, err := goredisstore.NewCtx(goRedis(b), "throttled:")
	if err != nil {
		b.Fatal(err)
	}
	l, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{MaxRate: throttled.PerSec(redisPerSecond), MaxBurst: redisBurst})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	return func(name string) (bool, error) {
		limited, _, err := l.RateLimitCtx(ctx, name, 1)
		return !limited && err == nil, err
	}
}
