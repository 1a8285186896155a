// Package redistest starts real Redis servers, sentinels and clusters for
// tests, demonstrations and measurements, and breaks the way to them: a Proxy
// delays, drops and resets what passes.
//
// A server is a process of its own in a folder of its own, on a unix socket
// and, if asked for, on a free port of the loopback. It answers when it is
// ready, it dies with the process that started it, and nothing of it is left.
// Functions that take a TB end what they start with the test, and fail the test
// when redis-server is missing: scripts/install-deps.sh installs it.
//
// It knows nothing of what is tested, so that any package can use it.
package redistest
