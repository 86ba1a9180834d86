#!/bin/bash
# A tour of pbs-like on a real disk image: an ext4 file system that holds the
# source of the Go toolchain. Needs mkfs.ext4 and debugfs, no root and no mount.
#
#   scripts/demo.sh [DIRECTORY]
#
# What it made stays in DIRECTORY, or in a new one below the temporary directory.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
export PATH="$here/bin:$PATH:/usr/sbin:/sbin"
for tool in pbs-like mkfs.ext4 debugfs; do
	command -v "$tool" >/dev/null || { echo "demo: $tool is missing: run make build, apt-get install e2fsprogs" >&2; exit 1; }
done
unset PBS_REPOSITORY PBS_LIKE_ONLY_HOST PBS_LIKE_LOCK_WAIT
dir=${1:-$(mktemp -d "${TMPDIR:-/tmp}/pbs-like-demo.XXXXXX")}
mkdir -p "$dir"
cd "$dir"
export PBS_LIKE_DATASTORE=$dir/store

exec 2>&1 # refusals belong to the story, also in a file
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
run() { # show a command and run it
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	"$@"
}
refused() { # the command must end with this exit code
	local want=$1 code=0
	shift
	run "$@" || code=$?
	[ "$code" = "$want" ] || { echo "demo: exit code $code, expected $want" >&2; exit 1; }
	echo "(exit code $code, as it should be)"
}
# A backup that nobody ends would outlive the demo.
holder=
trap '[ -z "$holder" ] || kill -KILL "$holder" 2>/dev/null || true' EXIT

say "A disk image: ext4, filled with $(go env GOROOT 2>/dev/null || echo /usr/share)/src"
content=$(go env GOROOT 2>/dev/null)/src
[ -d "$content" ] || content=/usr/share
size=$(($(du -sm --apparent-size "$content" | cut -f1) * 3 / 2 + 64))
truncate -s "${size}M" disk.raw
mkfs.ext4 -q -F -O ^has_journal -b 4096 -d "$content" disk.raw
printf 'cores: 4\nmemory: 8192\nscsi0: local:vm-100-disk-0,size=%sM\n' "$size" >100.conf
ls -lsh disk.raw 100.conf

say 'A new datastore and a first backup'
run pbs-like init "$dir/store"
run pbs-like backup drive-scsi0.img:disk.raw qemu-server.conf:100.conf --backup-type vm --backup-id 100 --notes 'before the change'
first=$(ls store/vm/100 | grep Z | tail -n 1)

say 'A file in the image changes, and a second backup: what is known is reused'
cp --sparse=always disk.raw disk2.raw
date >changed.txt
debugfs -w -R "write changed.txt demo-$$.txt" disk2.raw 2>/dev/null
run pbs-like backup drive-scsi0.img:disk2.raw qemu-server.conf:100.conf --backup-type vm --backup-id 100 --notes 'after the change'
second=$(ls store/vm/100 | grep Z | tail -n 1)
run pbs-like list
run pbs-like snapshots vm/100
run pbs-like files "vm/100/$second"

say 'A third backup begins, and is held in the middle of its data'
mkfifo pipe
echo "$ pbs-like backup stream.didx:pipe --backup-type vm --backup-id 100 &"
pbs-like backup stream.didx:pipe --backup-type vm --backup-id 100 &
holder=$!
exec 3>pipe
head -c 8M /dev/urandom >&3 # more than the pipe holds: when this is through, the backup is at work
echo "(process $holder is running)"

say 'Its base, its group and a further backup are refused, by name of the holder'
refused 11 pbs-like remove-snapshot "vm/100/$second" --yes
refused 11 pbs-like remove-group vm/100 --yes
refused 11 pbs-like backup drive-scsi0.img:disk2.raw --backup-type vm --backup-id 100
say 'What only reads goes on beside it'
run pbs-like restore "vm/100/$second" drive-scsi0.img out.raw
run cmp disk2.raw out.raw

say 'kill -9, and the locks are gone with the process'
run kill -KILL "$holder"
wait "$holder" 2>/dev/null || true
holder=
exec 3>&-
run pbs-like snapshots vm/100
third=$(ls store/vm/100 | grep Z | tail -n 1)
run pbs-like remove-snapshot "vm/100/$third" --yes
run pbs-like remove-snapshot "vm/100/$second" --yes

say 'Restored and compared byte for byte'
run pbs-like restore "vm/100/$first" drive-scsi0.img out.raw --overwrite
run cmp disk.raw out.raw
run pbs-like restore vm/100 qemu-server.conf restored.conf
run cat restored.conf
ls -lsh disk.raw out.raw

say 'Another group comes and goes'
run pbs-like backup etc.conf:100.conf --backup-id short-lived
run pbs-like remove-group host/short-lived --dry-run
run pbs-like remove-group host/short-lived --yes

say 'A datastore that a Proxmox Backup Server wrote'
mkdir golden
tar -xzf "$here/testdata/golden/store.tar.gz" -C golden --strip-components=1
export PBS_LIKE_DATASTORE=$dir/golden
run pbs-like list
run pbs-like snapshots vm/100
run pbs-like restore vm/100/2024-01-01T00:00:00Z drive-scsi0.img golden.raw
printf '1f84ca7c96e737b508df78a9ac9a9ce4cd4b934cd7e4eae9d5ec37186ab007af  golden.raw\n' >golden.sha256
run sha256sum -c golden.sha256
refused 13 pbs-like remove-snapshot vm/100/2024-01-01T00:00:00Z --yes
run pbs-like remove-snapshot vm/100/2024-01-08T00:00:00Z --yes
run pbs-like remove-group ct/200 --yes
run pbs-like list

say "Done. To look around: export PBS_LIKE_DATASTORE=$dir/store"
