package redisstore

// Permissions is what a user of the server must be allowed, as rules of an
// access list, beside its keys and its channel: "~plimsoll:*
// &plimsoll:*" with the default prefix. It needs
// no administrator's command, and no key of others.
const Permissions = "-@all +evalsha +script|load +time +get +set +del +getrange +zadd +zcount +zrem +zremrangebyscore +zscore +pttl +pexpire " +
	"+hget +hmget +hset +rpush +ltrim +llen +lrange +publish +subscribe"
