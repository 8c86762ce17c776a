#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ns.sh [-s SIZE] COMMAND [ARG...]: run a test in mount, net and pid namespaces of its own, with a private
# /tmp, /run and /dev/shm (SIZE, default 2g) and `lo` up, so that RouDi (one per machine: fixed names there), root's simd,
# which is in /run, and listeners never meet those of another run, and nothing outlives it. The checkout stays visible. The exit
# code is the command's. Where namespaces are refused and SIMD_TESTS_ALONE is set, the command runs under a lock,
# one at a time, and what it leaves behind is killed.
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
case $here in /tmp|/tmp/*|/run/*|/dev/shm/*) keep=1; exec 9<"$here";; esac
mount -t proc proc /proc &&
mount -t tmpfs -o mode=1777 tmpfs /tmp &&
mount -t tmpfs -o mode=755 tmpfs /run &&
mount -t tmpfs -o mode=1777,size=$size tmpfs /dev/shm || exit 125
if [ $keep ]; then
	mkdir -p "$here" && mount -c --bind /proc/self/fd/9 "$here" || exit 125
	exec 9<&-
fi
ip link set lo up 2>/dev/null
unset TMPDIR
export SIMD_TESTS_NS=1 # where a test may mount
cd "$here" || exit 125
exec "$@"
'

# A refusal shows before the command runs; then nothing of it has run yet.
if unshare $flags --pid --fork --kill-child sh -c 'mount -t proc proc /proc && mount -t tmpfs tmpfs /tmp' 2>/dev/null; then
	exec unshare $flags --pid --fork --kill-child sh -c "$inside" ns "$size" "$here" "$@"
fi
if [ -z "$SIMD_TESTS_ALONE" ]; then
	echo "ns.sh: namespaces are refused here. Without them the tests use this machine's own RouDi, ports, /tmp and" \
		"/dev/shm, and remove what appears there meanwhile: if nobody else needs them, set SIMD_TESTS_ALONE=1" >&2
	exit 1
fi
echo "ns.sh: namespaces are refused here; running one at a time" >&2

# Nothing ends a test's processes with it here, so they carry a mark, by which they are found afterwards: what
# one test leaves behind would make all that follow fail. The lock leaves no file.
mark=SIMD_TEST_RUN=$$.$(date +%s)
exec 9</tmp
flock 9
there=$(ls -A /tmp /dev/shm)
env "$mark" "$@" 9<&-
code=$?
for p in /proc/[0-9]*; do
	if tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qx "$mark"; then
		echo "ns.sh: left behind: ${p#/proc/} $(cat "$p/comm" 2>/dev/null)" >&2
		kill -9 "${p#/proc/}" 2>/dev/null
	fi
done
for dir in /tmp /dev/shm; do
	ls -A $dir | while IFS= read -r f; do
		case "
$there
" in *"
$f
"*) ;; *) rm -rf "${dir:?}/$f" ;; esac
	done
done
exit $code
