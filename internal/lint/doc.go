// Package lint checks, as tests, the rules of this repository that no linter
// knows: which package may import which, how long a file may be, what library
// code never does, and that documents are whole.
//
// Where a rule must be broken, the place is entered, with the reason, in the
// table next to the rule; a single call may be excused where it stands with
// "//nolint:forbidigo // the reason". A package that is new here needs an entry in
// floors_test.go.
//
// Not promised: these checks read source text without types. They catch
// mistakes, not somebody who wants to get around them.
package lint
