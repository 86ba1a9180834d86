// Package flock takes advisory locks on directories and files.
package flock
