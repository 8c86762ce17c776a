#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make demo: simd, SUMO as the engine, sensors and bridges for DEMO_SECONDS of simulated time (on a slow machine ten times as long, at
# most), a live table meanwhile, then totals, and what to look at next. Everything it starts ends with it, on Ctrl-C too; all it
# writes lies in DEMO_DIR ($B/demo), or, while another one runs there, in $B/demo-2. What the runs before have written stays beside it, three of them: $B/demo.1 is the last one.
# RIG: a name, of config/rigs/NAME.json, or a path.
set -u
B=${B:-build}
seconds=${DEMO_SECONDS:-20}
bridges=${BRIDGES:-logging,mcap,ros2,foxglove}
rig=${RIG:-demo}
out=${DEMO_DIR:-$B/demo}
ctl() { "$B/bin/simctl" --socket "$out/run/control" "$@"; }
say() { printf '%s\n' "$*"; }
. tools/dev/demo-keep.sh

case $seconds in
'' | *[!0-9]*) say "demo: DEMO_SECONDS must be a whole number of seconds, not \"$seconds\"" >&2; exit 2 ;;
esac

[ "$rig" != two-machines ] || exec tools/dev/demo-two.sh
case $rig in
*/* | *.json) ;;
*)
	if [ ! -f "config/rigs/$rig.json" ]; then
		say "demo: there is no rig \"$rig\"; RIG is a path, or one of" $(basename -s .json config/rigs/*.json) >&2
		exit 2
	fi
	rig=config/rigs/$rig.json
	;;
esac
# the bridges are added to it by its name, and those that keep data to what it waits for
config=$("$B/bin/simd" --print-config --rig "$rig") || exit 2
of_rig() { printf '%s\n' "$config" | awk -v from="  ($rig)" -v key="^rigs[[][0-9]+[]][.]$1 = " '
	index($0, from) == length($0) - length(from) + 1 && sub(key, "") { print substr($0, 1, length($0) - length(from)); exit }'; }
rig_name=$(of_rig name | tr -d '"')
wait_for=$(of_rig wait_for)
[ "$wait_for" != "[]" ] || wait_for=

take_folder
if ctl clock status >/dev/null 2>&1; then
	say "demo: another one runs in $out: end it first, with Ctrl-C there or $B/bin/simctl --socket $out/run/control shutdown" >&2
	exit 1
fi
keep_runs
mkdir -p "$out" || exit 1
# what a simd that was killed has left to the next one is not a user's
[ ! -d "$out.1/run" ] || mv "$out.1/run" "$out/run" || exit 1

world=
if grep -q '"sim-world"' "$rig"; then
	. tools/dev/demo-world.sh
	world_prepare
fi

# One fragment that adds the chosen bridges to the rig; a bridge writes below $out unless its own file says more.
fragment=$out/bridges.json
list=
extra=
for b in $(printf '%s' "$bridges" | tr ',' ' '); do
	if [ -f "config/rigs/demo/bridge-$b.json" ]; then
		sed "s/\"name\": \"demo\"/\"name\": \"$rig_name\"/; s|\"OUT/|\"$out/|" "config/rigs/demo/bridge-$b.json" >"$out/bridge-$b.json"
		extra="$extra --rig $out/bridge-$b.json"
	else
		stem=$b
		[ "$b" != mcap ] || stem=demo # the file is demo.mcap
		[ -z "$wait_for" ] || wait_for="${wait_for%]},\"$b\"]"
		list="$list${list:+,}{\"name\":\"$b\",\"plugin\":\"$b\",\"connection\":\"$out/$stem\"}"
	fi
done
printf '{"rigs":[{"name":"%s","bridges":[%s]%s}]}\n' "$rig_name" "$list" "${wait_for:+,\"wait_for\":$wait_for}" >"$fragment"

simd=
peer=
master=
stop()
{
	[ -n "$simd" ] || return 0
	[ -z "$world" ] || world_end
	kill -TERM "$simd" 2>/dev/null
	wait "$simd"
	status=$?
	[ -z "$peer" ] || { kill -TERM "$peer" && wait "$peer"; } 2>/dev/null
	[ -z "$master" ] || { kill -TERM "$master" && wait "$master"; } 2>/dev/null
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

# somebody for bridge_lgsvl, bridge_rosbridge or bridge_cyber to talk to; where port 9090 is taken, that is whoever has it
peer_of=
case ",$bridges," in
*,lgsvl,*) peer_of=lgsvl ;;
*,rosbridge,*) peer_of=rosbridge ;;
*,cyber,*) peer_of=cyber ;;
esac
[ -z "$peer_of" ] || { "$B/test/$peer_of-peer" 9090 >"$out/$peer_of-peer.txt" 2>&1 & peer=$!; }

# ROS 1 needs a master: where one has the port already, ours ends by itself
start_master()
{
	uri=${ROS_MASTER_URI:-http://localhost:11311}
	port=${uri##*:}
	case $uri in http://localhost:* | http://127.0.0.1:*) ;; *) return ;; esac
	if command -v rosmaster >/dev/null; then
		ROS_HOME=$out/ros rosmaster --core -p "${port%%/*}" >"$out/rosmaster.log" 2>&1 &
		master=$!
	else
		say "demo: start a ROS master; there is none here (Debian: python3-rosmaster)"
	fi
}
case ",$bridges," in *,ros1,*) start_master ;; esac

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
	[ $tries -lt 1200 ] || failed "simd does not answer"
	sleep 0.1
done

# the seconds begin with those of the simulation, which is there later where other programs have the CPUs
time_runs() { ctl clock status | awk '/^time:/ && $2 > 0 { runs = 1 } END { exit !runs }'; }
tries=0
until time_runs || [ $tries -ge 200 ]; do
	kill -0 "$simd" 2>/dev/null || failed "simd ended early"
	tries=$((tries + 1))
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
	[ -z "$world" ] || table="$table

$(COLUMNS=$width world_top)
$(tail -n 6 "$out/world.txt" | cut -c1-"$width")"
	[ $drawn -eq 0 ] || printf '\033[%dA' "$drawn"
	printf '%s\n' "$table" | while IFS= read -r line; do printf '\033[2K%s\n' "$line"; done
	printf '[%s] %d of %d s\033[K\n\033[J' "$(bar "$1" "$seconds")" "$1" "$seconds"
	drawn=$(($(printf '%s\n' "$table" | wc -l) + 1))
}

say "demo: simd runs (pid $simd); beside it, try:"
say "  $B/bin/simctl --socket $out/run/control list"
say_page()
{
	case ",$bridges," in *,foxglove,*) ;; *) return ;; esac
	for i in $(seq 50); do
		page=$(COLUMNS=1000 ctl bridge list | sed -n 's/^foxglove .* connected .*\(http:[^ ]*\).*/\1/p')
		[ -z "$page" ] || break
		sleep 0.1
	done
	if [ -n "$page" ]; then
		say "and look at it in a browser, or with Foxglove (ws://${page#http://}):"
		say "  $page?token=$(cat "$out/foxglove.token")"
	else
		say "its web page is not there: $(COLUMNS=1000 ctl bridge list | sed -n 's/^foxglove .*-disconnected\( *[0-9][0-9]*\)\{7\} *//p')"
	fi
}
say_page
[ -z "$world" ] || world_begin
simulated_s() { ctl clock status | awk '/^time:/ { printf "%d", $2 }'; }
began=$(simulated_s)
n=0
looks=0
said=0
while [ $n -lt "$seconds" ] && [ $looks -lt $((10 * seconds)) ]; do
	sleep 1
	looks=$((looks + 1))
	kill -0 "$simd" 2>/dev/null || failed "simd ended early"
	now=$(simulated_s)
	n=$((${now:-$began} - ${began:-0}))
	[ $n -le "$seconds" ] || n=$seconds
	[ -z "$world" ] || world_second $n
	if [ -t 1 ]; then
		draw $n
	elif [ $n -ge $((said + 5)) ] || [ $n -eq "$seconds" ]; then
		said=$n
		say "demo: $n of $seconds s, $(ctl summary | awk '/messages/ { c++; m += $3 } END { printf "%d messages on %d channels", m, c }')"
		[ -z "$world" ] || world_top
	fi
done

# what is on its way arrives: the numbers below are those of the files
ctl clock pause --drain >/dev/null || say "demo: some messages have not arrived: the numbers below are not those of the files" >&2
ctl summary --json --pretty >"$out/summary.json" || failed "no summary"
ctl summary
if [ -n "$world" ]; then
	say ""
	say "what became of the world's hosts:"
	cat "$out/world.txt"
fi
trap '' INT TERM HUP
stop || failed "simd did not end cleanly"
if [ "$peer_of" = cyber ] && grep -q '^channel' "$out/cyber-peer.txt"; then
	say ""
	say "what the peer of cyber has decoded:"
	sed '1d;/^    last: /d' "$out/cyber-peer.txt"
fi
say ""
log=$out/logging.txt.gz
if [ -e "$log" ]; then
	say "look next at every message, two lines each ($(du -k "$log" | cut -f1) KiB):  zcat $log | head"
else
	say "look next at every message: none were logged; BRIDGES=logging,mcap,ros2 logs them"
fi
[ ! -e "$out/demo.mcap" ] ||
	say "look next at the recording ($(du -k "$out/demo.mcap" | cut -f1) KiB):  $B/bin/simctl bag info $out/demo.mcap, or open it in Foxglove"
[ -z "$peer" ] || say "look next at what the peer of $peer_of got:  $out/$peer_of-peer.txt"
say "look next at what each channel and bridge carried, and at what simd said:  $out/summary.json, $out/simd.log"
ros=2 how= page=README.md
case ",$bridges," in
*,ros2,*) ;;
*,ros1,*) ros=1 how=" BRIDGES=$bridges" page=tools/bridge/ros1/README.md ;;
esac
say "look next at it from ROS $ros, and drive it:  make demo DEMO_SECONDS=600$how, and \"See it from ROS $ros\" in $page"
exit 0
