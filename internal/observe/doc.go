// Package observe runs what operators see: three workers on a Redis, behind
// proxies that break it, under a load that is more than they can do, scraped
// by a real Prometheus. A story goes through what happens in a bad hour in half
// a minute; then every panel of every dashboard is asked for, and drawn.
//
// It proves in tests that each panel has something to show, draws the pictures
// of docs/dashboards.md, and is what examples/observability starts. Everything
// listens on loopback, and ends with Close.
package observe
