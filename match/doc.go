// Package match compiles patterns of method, host, path and headers, and
// resolves a request to one route out of a closed set.
//
// It serves the rules that classify requests and the limits that mean only
// some of them. Matching allocates nothing for a clean path. Paths are matched
// decoded and cleaned, so that //login, /a/../login and /%6cogin are /login to
// every rule, whatever the service behind makes of them.
package match
