// Package goldenfile reads the files that the original programs made, from the testdata of
// whichever package has them. It is for tests only.
package goldenfile
