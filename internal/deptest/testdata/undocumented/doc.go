// Package good has a comment where it belongs.
package good
