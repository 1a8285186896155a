// Package comment has its comment in the wrong file.
package comment
