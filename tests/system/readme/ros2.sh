#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Types the lines of README.md under "See it from ROS 2" while the demo runs, on a machine with a network and nothing set: the command `ros2` is
# tests/system/ros2/ros2.c. In namespaces of its own (tests/support/ns.sh).
unset MAKEFLAGS MFLAGS MAKELEVEL CYCLONEDDS_URI "${!ROS@}"
b=$(realpath "${B:-build}")
demo=
fail() { echo "README.md, ROS 2: $1"; tail -n 40 /tmp/demo/simd.log /tmp/demo.txt; exit 1; }
until_() { # a command that comes true
	until "$@" >/dev/null 2>&1; do kill -0 "$demo" || fail "the demo has ended"; sleep 0.1; done # looks again
}

[ "$SIMD_TESTS_NS" ] || { echo "readme/ros2: skipped: needs namespaces, to have a network and /opt of its own"; exit 0; }
ip link add near type veth peer name far && ip address add 10.77.0.1/24 dev near && ip link set near up && ip link set far up || fail "no network"
mount -t tmpfs tmpfs /opt && mkdir -p /opt/ros/humble/bin && ln -s "$b/test/ros2" /opt/ros/humble/bin/ros2 || fail "no /opt of its own"
echo 'export ROS_DISTRO=humble ROS_VERSION=2 PATH="/opt/ros/humble/bin:$PATH"' >/opt/ros/humble/setup.bash

sed -n '/^## See it from ROS 2/,/^## /s/^    //p' README.md | head -n 5 >/tmp/lines
[ "$(sed -n '/^## See it from ROS 2/,/^With/s/^    //p' README.md | wc -l)" -eq 5 ] || fail "it no longer has five lines"
grep -nE 'export|sudo' /tmp/lines && fail "it sets something"
DEMO_DIR=/tmp/demo DEMO_SECONDS=100000 BRIDGES=logging,ros2 tools/dev/demo.sh >/tmp/demo.txt 2>&1 &
demo=$!
until_ "$b/bin/simctl" --socket /tmp/demo/run/control info /imu
bash -e /tmp/lines >/tmp/said 2>&1 || fail "its lines end with an error: $(cat /tmp/said)"
for text in '^/imu \[sensor_msgs/msg/Imu\]$' '^/clock \[rosgraph_msgs/msg/Clock\]$' '^/simd$' '^average rate' '"orientation"'; do
	grep -q "$text" /tmp/said || fail "its lines do not show $text: $(cat /tmp/said)"
done
kill "$demo"
wait "$demo"
exit 0
