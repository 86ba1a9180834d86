// Package testds gives tests a datastore in a temporary directory, new or
// written by the original program, and looks at it again when the test is over:
// every snapshot that is listed as finished has to restore whole, nothing may be
// left behind, no lock held and no descriptor open.
//
//	store := testds.New(t)
//	ds := store.Open(datastore.Options{})
package testds
