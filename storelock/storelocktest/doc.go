// Package storelocktest has what tests of store locks need: a store in memory
// ([Memory]) that can be made to fail, lag and hang, and [Conformance], which every
// backend has to pass.
package storelocktest
