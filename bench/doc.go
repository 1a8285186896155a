// Package bench measures Plimsoll and its rivals at the same work in the same
// run: make bench. It is a module of its own, so that nobody who uses Plimsoll
// depends on the rivals.
//
// A benchmark's name is Work/how/contestant. The command in cmd/report runs
// them in rounds, so that all contestants of one work meet the same minute of
// the machine, and reports medians and ratios. Those of Redis start a server of
// their own, and report decisions a second and what one costs client and server.
//
// The rivals on Redis, with licence and last release:
//
//	go-redis/redis_rate    v10.0.1  BSD-2-Clause  2 April 2023
//	ulule/limiter          v3.11.2  MIT           24 May 2023
//	throttled/throttled    v2.15.0  BSD-3-Clause  23 August 2025
//	redis/go-redis         v9.23.0  BSD-2-Clause  its own EVALSHA of a plain script
//	redis/rueidis          v1.0.79  Apache-2.0    15 October 2026, the same script
//
// Not among them: mennanov/limiters (MIT) and rueidis' own rueidislimiter, which
// could not be had as modules when this was written.
package bench
