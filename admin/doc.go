// Package admin is the listener for operators and their machines: health and
// readiness for probes, metrics for Prometheus, and the state of the process
// for people.
//
// Everything here reads; nothing changes. Nobody is asked who they are, so it
// belongs on a loopback address, and there it answers only requests that name
// one: a page in a browser on the same machine cannot read it by way of a name
// of its own. Readiness says whether the process takes traffic, never how much
// of it is shed, or a load balancer would take away what is left.
//
// Stages and stores are known here only as what the pipeline tells. All
// functions may be called concurrently. Nothing here is on the path of a
// request; a status costs microseconds, a scrape milliseconds.
package admin
