// Package bench compares the program's main operations with the limits of the
// machine they run on, in one run: each reports how many times as long it took as
// the bare work, such as one core's SHA-256 of the same image. Absolute times say
// little on a shared machine; the ratios do.
//
//	go test -bench . -benchtime 3x ./bench            # a small image that it makes
//	BENCH_DISK=/path/disk.raw go test -bench . ./bench  # any other
//
// docs/benchmarks.md has the figures. Nothing here fails for being slow.
package bench
