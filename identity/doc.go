// Package identity finds out who sends a request: an ordered list of sources,
// of which the first that knows an answer names the caller, and the client's
// address behind proxies that are trusted.
//
// Nothing that a client writes is believed. Headers count only when the
// configuration names them, headers about addresses only when the connection
// comes from a listed proxy, and then they are read from the right, so that
// whatever a client puts before them changes nothing.
//
// A credential in a header is not verified here: whoever sends it is counted
// under it. A client that invents credentials is a new caller with each, so a
// limit by credential needs a limit by address beside it, unless something in
// front refuses unknown ones. Verified names come in as Request.Subject.
//
// An Identity is immutable and safe for concurrent use. Of costs one SHA-256
// block and allocates nothing, except the name of an IPv6 network and for
// credentials above about 100 bytes.
package identity
