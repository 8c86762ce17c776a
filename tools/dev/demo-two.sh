#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make demo RIG=two-machines: two machines in namespaces of this one, with a cable between them. On a SUMO and the sensors of
# config/rigs/demo.json, on b the bridges: what they write has come over the link, and their time is that of a. demo.sh runs it; its
# variables are B, DEMO_SECONDS and DEMO_DIR. Each machine has its own network, /tmp and /dev/shm, and all ends with it.
set -u
B=${B:-build}
seconds=${DEMO_SECONDS:-20}
out=${DEMO_DIR:-$B/demo-two}
here=$(pwd)
say() { printf '%s\n' "$*"; }

if [ "${1:-}" != inside ]; then
	flags=-mn
	[ "$(id -u)" = 0 ] || flags=-mnUr
	case $here in
	/tmp | /tmp/* | /dev/shm/*) say "demo: two machines have a /tmp and a /dev/shm of their own: run it in a checkout elsewhere" >&2; exit 2 ;;
	esac
	. tools/dev/demo-keep.sh
	take_folder
	DEMO_DIR=$out
	export DEMO_DIR
	keep_runs
	mkdir -p "$out/a" "$out/b" || exit 1
	unshare $flags --pid --fork --kill-child true 2>/dev/null || { say "demo: namespaces are refused here" >&2; exit 2; }
	exec unshare $flags --pid --fork --kill-child sh "$0" inside
fi

own_places() { mount -t tmpfs -o mode=1777 tmpfs /tmp && mount -t tmpfs -o mode=1777,size=2g tmpfs /dev/shm && ip link set lo up; }
mount -t proc proc /proc && own_places || exit 1

# The rig of the demo, less its end; then what each machine has of it.
channels=$(sed -n '/"channels"/,/^  \],/p' config/rigs/demo.json)
processes=$(sed -n '/"processes"/,/^  \],/p' config/rigs/demo.json)
"$B/bin/simctl" link make-keys "$out/keys" --host a --host b >"$out/keys.log" || exit 1
link() # name, address, the other's, what it does with time
{
	printf '{"name":"link","plugin":"link","channels":["*"],"options":{"host":"%s","interface":"%s","peers":["%s"],"keys":"%s","time":"%s","reliable":["lidar/*"]}}' \
		"$1" "$2" "$3" "$out/keys/$1" "$4"
}
printf '{"rigs":[{"name":"demo",%s%s"inbound":["*"],"bridges":[%s]}]}\n' "$channels" "$processes" "$(link a 10.1.0.1 10.1.0.2 give)" >"$out/a.json"
printf '{"TimeSource":"link","rigs":[{"name":"demo",%s"inbound":["*"],"bridges":[%s,{"name":"logging","plugin":"logging","connection":"%s"},{"name":"mcap","plugin":"mcap","connection":"%s"}]}]}\n' \
	"$channels" "$(link b 10.1.0.2 10.1.0.1 follow)" "$out/b/logging" "$out/b/demo" >"$out/b.json"

# Machine b: a shell that waits there; then the cable.
unshare -mn sh -c '
	mount -t tmpfs -o mode=1777 tmpfs /tmp && mount -t tmpfs -o mode=1777,size=2g tmpfs /dev/shm && ip link set lo up || exit 1
	until ip addr add 10.1.0.2/24 dev cable 2>/dev/null; do sleep 0.1; done
	ip link set cable up
	exec "$0/bin/simd" --config "$1/b.json" --runtime-dir "$1/b/run" >"$1/b/simd.log" 2>&1' "$B" "$out" &
b=$!
until [ "$(readlink /proc/$b/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
if ! ip link add cable type veth peer name cable netns $b || ! ip addr add 10.1.0.1/24 dev cable || ! ip link set cable up; then
	say "demo: no cable between two machines here: the kernel refuses veth" >&2
	exit 2
fi
"$B/bin/simd" --config "$out/a.json" --runtime-dir "$out/a/run" >"$out/a/simd.log" 2>&1 &
a=$!
stop() { kill -TERM $a $b 2>/dev/null; wait; }
trap 'stop; exit 130' INT TERM HUP

say "demo: machine a (SUMO, sensors; $out/a) and machine b (bridges; $out/b), $seconds s"
n=0
until "$B/bin/simctl" --socket "$out/b/run/control" list 2>/dev/null | grep -q '^a '; do
	n=$((n + 1))
	if [ $n -gt 300 ] || ! kill -0 $a || ! kill -0 $b; then
		say "demo: the machines do not link:" >&2
		tail -5 "$out/a/simd.log" "$out/b/simd.log" >&2
		stop
		exit 1
	fi
	sleep 0.1
done
sleep "$seconds"
for m in a b; do
	say ""
	say "machine $m: simctl list, simctl bridge list"
	"$B/bin/simctl" --socket "$out/$m/run/control" list
	"$B/bin/simctl" --socket "$out/$m/run/control" bridge list
	"$B/bin/simctl" --socket "$out/$m/run/control" clock status
done
stop
say ""
say "demo: what b has written is in $out/b"
