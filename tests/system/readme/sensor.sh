#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Types the lines of README.md under "A sensor in 30 lines", against an installation of its own and the shipped
# configuration; in namespaces of its own (tests/support/ns.sh).
unset MAKEFLAGS MFLAGS MAKELEVEL
export XDG_RUNTIME_DIR=/tmp/run PATH="/tmp/usr/bin:$PATH" PKG_CONFIG_PATH=/tmp/usr/lib/pkgconfig LD_LIBRARY_PATH=/tmp/usr/lib
mkdir -p /tmp/run /tmp/work
made=
fail() { echo "README.md, a sensor: $1"; sed 's/^/simd: /' /tmp/simd.log; exit 1; }
until_() { # a command that comes true
	n=0
	until "$@" >/dev/null 2>&1; do
		kill -0 "$made" 2>/dev/null || fail "simd has ended"
		n=$((n + 1)); [ $n -ne 100 ] || echo "still waiting: $*"
		sleep 0.1 # looks again
	done
}

sed -n '/^## A sensor in 30 lines/,/^```c$/s/^    //p' README.md | sed 's/ *#.*//' >/tmp/lines
[ "$(wc -l </tmp/lines)" -eq 5 ] || fail "it no longer has five lines"
while IFS= read -r line; do
	case $line in
	'sudo make install') make -s B="${B:-build}" PREFIX=/tmp/usr INSTALLED=/tmp/linked install >/dev/null || fail "$line" ;;
	'simd '*) $line 2>/tmp/simd.log & made=$!; until_ simctl clock status ;;
	'cc '*) ln -s "$(pwd)/libclient" /tmp/work/libclient && (cd /tmp/work && eval "$line") || fail "$line" ;;
	./my_imu) (cd /tmp/work && exec ./my_imu 2>/tmp/sensor.log) & until_ simctl info my_imu ;;
	'simctl '*)
		$line | tr -d ' \n' >/tmp/said
		grep -q '9\.81' /tmp/said || fail "$line shows no message"
		grep -qE '"orientation":\{"x":0(\.0)?,"y":0(\.0)?,"z":0(\.0)?,"w":1(\.0)?\}' /tmp/said || fail "its orientation is no rotation: $(cat /tmp/said)"
		;;
	*) fail "nobody knows how to type \"$line\"" ;;
	esac
done </tmp/lines
[ -s /tmp/sensor.log ] && fail "the sensor complains: $(cat /tmp/sensor.log)"
kill "$made"
wait "$made" || fail "simd ends badly"
