#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each call that waits, and a RouDi that is killed, while Debian's libfaketime sets the wall clock of the test, simd, RouDi and bridges by an
# hour forward and back (test_waits.c writes the file). tools/dev/deps.sh full installs it; without: a skip, and a failure where FULL=1
# asked for everything.
lib=
for f in /usr/lib/*/faketime/libfaketimeMT.so.1; do
	[ ! -e "$f" ] || lib=$f
done
if [ ! "$lib" ]; then
	echo "no libfaketime: run tools/dev/deps.sh full"
	[ -z "${FULL:-}" ] || exit 1
	exit 77
fi
# The time of files is left alone, and CLOCK_MONOTONIC, whose waits libfaketime would otherwise convert
exec tests/support/ns.sh env FAKETIME_TIMESTAMP_FILE=/tmp/out-faketime FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
	FAKETIME_FORCE_MONOTONIC_FIX=0 NO_FAKE_STAT=1 LD_PRELOAD="$PWD/${B:-build}/test/lib/mono.so $lib" "${B:-build}/test/system-stack-waits"
