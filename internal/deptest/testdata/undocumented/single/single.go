// Package single is one file.
package single
