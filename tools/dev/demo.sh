#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make demo: simd, SUMO as the engine, sensors and bridges for DEMO_SECONDS, a live table meanwhile, then
# what flowed. Everything it starts ends with it, on Ctrl-C too; all it writes lies in $B/demo.
set -u
B=${B:-build}
seconds=${DEMO_SECONDS:-20}
bridges=${BRIDGES:-logging,ros2}
rig=${RIG:-config/rigs/demo.json}
out=$B/demo
ctl() { "$B/bin/simctl" --socket "$out/run/control" "$@"; }
say() { printf '%s\n' "$*"; }

case $seconds in
'' | *[!0-9]*) say "demo: DEMO_SECONDS must be a whole number of seconds, not \"$seconds\"" >&2; exit 2 ;;
esac

rm -rf "$out"
mkdir -p "$out" || exit 1

# One fragment that adds the chosen bridges to the rig; a bridge writes below $B/demo unless its own file says more.
fragment=$out/bridges.json
list=
extra=
for b in $(printf '%s' "$bridges" | tr ',' ' '); do
	if [ -f "config/rigs/demo/bridge-$b.json" ]; then
		extra="$extra --rig config/rigs/demo/bridge-$b.json"
	else
		list="$list${list:+,}{\"name\":\"$b\",\"plugin\":\"$b\",\"connection\":\"$out/$b\"}"
	fi
done
printf '{"rigs":[{"name":"demo","bridges":[%s]}]}\n' "$list" >"$fragment"

simd=
stop()
{
	[ -n "$simd" ] || return 0
	kill -TERM "$simd" 2>/dev/null
	wait "$simd"
	status=$?
	simd=
	return $status
}
leave()
{
	trap '' INT TERM HUP
	say ""
	say "demo: stopping"
	stop
	exit 130
}
trap leave INT TERM HUP

# shellcheck disable=SC2086
"$B/bin/simd" --runtime-dir "$out/run" --rig "$rig" --rig "$fragment" $extra >"$out/simd.log" 2>&1 &
simd=$!

failed()
{
	say "demo: $1; the last lines of $out/simd.log:" >&2
	tail -n 15 "$out/simd.log" >&2
	stop
	exit 1
}

tries=0
until ctl clock status >/dev/null 2>&1; do
	kill -0 "$simd" 2>/dev/null || failed "simd did not start"
	tries=$((tries + 1))
	[ $tries -lt 200 ] || failed "simd does not answer"
	sleep 0.1
done

bar() # done, all
{
	awk -v n="$1" -v all="$2" 'BEGIN { for (i = 0; i < 30; i++) printf i < 30 * n / all ? "#" : "." }'
}

drawn=0
draw() # a table that is drawn over the last one, fitted to the screen: a wrapped line would count twice
{
	width=$(stty size 2>/dev/null </dev/tty | cut -d' ' -f2)
	[ "${width:-0}" -gt 0 ] || width=80
	table=$(COLUMNS=$width ctl list)
	[ $drawn -eq 0 ] || printf '\033[%dA' "$drawn"
	printf '%s\n' "$table" | while IFS= read -r line; do printf '\033[2K%s\n' "$line"; done
	printf '[%s] %d of %d s\033[K\n\033[J' "$(bar "$1" "$seconds")" "$1" "$seconds"
	drawn=$(($(printf '%s\n' "$table" | wc -l) + 1))
}

say "demo: simd runs (pid $simd); beside it, try:"
say "  $B/bin/simctl --socket $out/run/control list"
n=0
while [ $n -lt "$seconds" ]; do
	sleep 1
	n=$((n + 1))
	kill -0 "$simd" 2>/dev/null || failed "simd ended early"
	if [ -t 1 ]; then
		draw $n
	elif [ $((n % 5)) -eq 0 ] || [ $n -eq "$seconds" ]; then
		say "demo: $n of $seconds s, $(ctl summary | awk '/messages/ { c++; m += $3 } END { printf "%d messages on %d channels", m, c }')"
	fi
done

ctl clock pause >/dev/null
ctl summary --json --pretty >"$out/summary.json" || failed "no summary"
ctl summary
trap '' INT TERM HUP
stop || failed "simd did not end cleanly"
say "log: $out/simd.log; summary: $out/summary.json"
for f in "$out"/*.txt.gz; do
	[ -e "$f" ] && say "messages: $f ($(wc -c <"$f") bytes; look at it with: zcat $f | head)"
done
exit 0
