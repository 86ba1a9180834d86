#!/bin/bash
# bench-compare.sh BASE COUNT PACKAGES [ARGUMENTS]: runs the benchmarks as they
# are here and as they were at BASE, and compares the two.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$1 count=$2 packages=$3
shift 3

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"

bench() { go test -run '^$' -bench . -benchmem -count "$count" "$@" $packages; }
(cd "$work/base" && bench "$@") >"$work/old" || { cat "$work/old"; exit 1; }
bench "$@" >"$work/new" || { cat "$work/new"; exit 1; }
go tool -modfile=tools/go.mod benchstat "$base=$work/old" "here=$work/new"
