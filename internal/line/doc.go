// Package line makes calls stand in line before a key: one at a time is at the
// front, and the others follow in order of arrival.
//
// Use it where a mutex would be right if it could be given up by a context and
// kept its order. The zero Lines is not usable: Max must be set. All functions
// may be called concurrently. A key costs memory only while somebody stands
// before it.
package line
