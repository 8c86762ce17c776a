#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ns.sh [-s SIZE] COMMAND [ARG...]: run a test in mount, net and pid namespaces of its own, with a private
# /tmp and /dev/shm (SIZE, default 2g) and `lo` up, so that RouDi (one per machine: fixed names there) and
# listeners never meet those of another run, and nothing outlives it. The checkout stays visible. The exit
# code is the command's. Where namespaces are refused the command runs under a lock, one at a time.
size=2g
if [ "$1" = -s ]; then
	size=$2
	shift 2
fi
[ $# -gt 0 ] || { echo "usage: ns.sh [-s SIZE] COMMAND [ARG...]" >&2; exit 2; }

here=$(pwd)
flags=-mn
[ "$(id -u)" = 0 ] || flags=-mnUr

# Inside: $1 size, $2 directory, then the command.
inside='
size=$1 here=$2
shift 2
keep=
case $here in /tmp|/tmp/*|/dev/shm/*) keep=1; exec 9<"$here";; esac
mount -t proc proc /proc &&
mount -t tmpfs -o mode=1777 tmpfs /tmp &&
mount -t tmpfs -o mode=1777,size=$size tmpfs /dev/shm || exit 125
if [ $keep ]; then
	mkdir -p "$here" && mount -c --bind /proc/self/fd/9 "$here" || exit 125
	exec 9<&-
fi
ip link set lo up 2>/dev/null
unset TMPDIR
cd "$here" || exit 125
exec "$@"
'

# A refusal shows before the command runs; then nothing of it has run yet.
if unshare $flags --pid --fork --kill-child sh -c 'mount -t proc proc /proc && mount -t tmpfs tmpfs /tmp' 2>/dev/null; then
	exec unshare $flags --pid --fork --kill-child sh -c "$inside" ns "$size" "$here" "$@"
fi
lock=/tmp/simd-test-$(id -u).lock
echo "ns.sh: namespaces are refused here; running one at a time under $lock" >&2
exec flock "$lock" "$@"
