# SPDX-License-Identifier: Apache-2.0
# A part of demo.sh, for rigs with a sim-world: three hosts beside the rig's own, of which one is stopped half-way, and goes on later. The shell's
# variables are demo.sh's.

world=$out/run/world.socket
world_hosts= # pids
world_lines=0 # of the log, that were looked at
world_stopped=

# The first free port from the usual one on; the rig with it, and with a control socket of the demo's own.
world_prepare()
{
	port=8082
	while grep -qi ":$(printf %04X $port) " /proc/net/tcp /proc/net/udp; do port=$((port + 1)); done
	sed -e "s/127\.0\.0\.1:8082/127.0.0.1:$port/g" -e "s|\"sim-world\"|\"sim-world\", \"--control\", \"$world\"|" \
		"$rig" >"$out/world.json"
	rig=$out/world.json
}

world_ctl() { "$B/bin/simctl" world "$@" --world "$world"; }

world_top() # as simctl world top draws it, once
{
	world_ctl status 2>/dev/null && world_ctl clients 2>/dev/null
}

world_begin()
{
	tries=0
	until world_ctl status >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || failed "the world does not answer"
		sleep 0.1
	done
	for i in 0 1 2; do
		"$B/examples/convoy" $i "127.0.0.1:$port" >"$out/host-$i.txt" 2>&1 &
		world_hosts="$world_hosts $!"
	done
	world_last=$!
	say "demo: a world of four hosts: SUMO's town, and three cars in a convoy (pids$world_hosts); beside it, try:"
	say "  $B/bin/simctl world top --world $world"
}

world_end()
{
	[ -n "$world_hosts" ] || return 0
	# shellcheck disable=SC2086
	{ kill -CONT $world_hosts; kill -TERM $world_hosts; wait $world_hosts; } 2>/dev/null
	world_hosts=
}

# What the world reported about its hosts since the last time.
world_news()
{
	now=$(wc -l <"$out/simd.log")
	sed -n "$((world_lines + 1)),${now}p" "$out/simd.log" | sed -n 's/^\([0-9:.]*\) .*world: world: \(client .*\)$/  \1 \2/p'
	world_lines=$now
}

# Second n of the demo.
world_second()
{
	half=$((seconds / 2))
	if [ -z "$world_stopped" ] && [ "$1" -ge $half ]; then
		kill -STOP "$world_last"
		world_stopped=stopped
		printf '%s\n' "  host-2 is stopped (SIGSTOP): time goes on without it" >>"$out/world.txt"
	elif [ "$world_stopped" = stopped ] && [ "$1" -ge $((half + 3)) ]; then
		kill -CONT "$world_last"
		world_stopped=again
		printf '%s\n' "  host-2 goes on (SIGCONT): it connects again, as who it was" >>"$out/world.txt"
	fi
	world_news >>"$out/world.txt"
}
