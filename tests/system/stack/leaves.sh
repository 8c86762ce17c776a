#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A test that fails with a simd running does not make the next one of its program fail (tests/support/test.c), as the first process of
# a pid namespace and as any other.
set -u
ends()
{
	out=$("$@" "${B:-build}/test/stack-leaves" 2>&1)
	code=$?
	case $out in
	*"FAILED  ] the_test_fails_and_leaves_all_behind"*"OK ] the_next_test_begins_clean"*) [ $code = 1 ] && return ;;
	esac
	echo "leaves.sh: $*: exit code $code"
	echo "$out" | sed 's/^\[/ [/' # not what the runner counts
	exit 1
}
ends env
first="unshare --pid --fork --kill-child --mount-proc"
if $first true 2>/dev/null; then
	ends $first
fi
