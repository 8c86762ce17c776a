#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what is missing, by name, from Debian:  tools/dev/deps.sh [build] [demo] [check] [full];  full also fetches
# decoders, a node of ROS 1 and a client of rosbridge for tests from npm.
# Asks for nothing and touches nothing when everything is there.
set -u
cd "$(dirname "$0")/../.." || exit 1

# what each use needs on top of the ones before it
build='gcc make libc6-dev binutils libjansson-dev zlib1g-dev iceoryx libiceoryx-binding-c-dev
cyclonedds-dev scdoc libzmq3-dev libprotobuf-c-dev protobuf-c-compiler libexpat1-dev libwebsockets-dev libssl-dev
liblz4-dev libzstd-dev libbz2-dev libsqlite3-dev libyaml-dev libdeflate-dev
libsodium-dev libpng-dev libturbojpeg0-dev libncurses-dev libvulkan-dev libegl-dev libgles-dev glslang-tools'
demo='sumo mesa-vulkan-drivers'
check='libcmocka-dev pkg-config clang-format-14 iproute2 util-linux mount procps g++ sumo libfastrtps-dev varlink-go
python3-rosmaster python3-rostopic python3-rosnode python3-rosbag python3-rosparam python3-rosservice python3-sensor-msgs
python3-std-srvs openssl python3-cryptography python3-pyte mesa-vulkan-drivers libegl-mesa0 libgl1-mesa-dri'
full='clang llvm libclang-rt-14-dev debootstrap systemd-container zsh fish libroscpp-dev libsensor-msgs-dev chromium'
# node of any origin does
{ command -v node && command -v npm; } >/dev/null 2>&1 || full="$full nodejs npm"

# Decoders, a node of ROS 1 and a client of rosbridge that are not ours: from npm, by version and sum, into build/npm.
decoder=tests/system/decode
fetch_decoder()
{
	[ -f $decoder/package-lock.json ] || return 0
	cmp -s $decoder/package-lock.json build/npm/node_modules/.lock && return 0
	echo "deps: fetching the packages of $decoder/package.json from npm"
	mkdir -p build/npm && cp $decoder/package.json $decoder/package-lock.json build/npm &&
		npm --prefix build/npm ci --ignore-scripts --no-audit --no-fund --silent </dev/null &&
		cp $decoder/package-lock.json build/npm/node_modules/.lock && return 0
	echo "deps: npm could not fetch them; is the network there?" >&2
	return 1
}
finish()
{
	case " $uses " in *" full "*) fetch_decoder || exit 1 ;; esac
	exit 0
}

uses="${*:-build}"
need=
for use in $uses; do
	case $use in
	build) need="$need $build" ;;
	demo) need="$need $build $demo" ;;
	check) need="$need $build $check" ;;
	full) need="$need $build $check $full" ;;
	*) echo "deps: unknown use \"$use\"; give build, demo, check or full" >&2; exit 2 ;;
	esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "deps: this is not a Debian system; install by hand what these packages hold: $need" >&2
	exit 0
fi

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=
for p in $need; do
	case " $missing " in *" $p "*) continue ;; esac
	installed "$p" || missing="$missing $p"
done
[ -n "$missing" ] || finish

if [ "$(id -u)" -eq 0 ]; then
	root=
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
	root=sudo
else
	echo "deps: missing packages; as root, run: apt-get install --no-install-recommends$missing" >&2
	exit 1
fi

# Lists are fetched only when a package is not in them: a machine without network may still have it cached.
for p in $missing; do
	if ! apt-cache show "$p" >/dev/null 2>&1; then
		echo "deps: updating the package lists"
		$root apt-get -qq update || { echo "deps: apt-get update failed; is the network there?" >&2; exit 1; }
		break
	fi
done
echo "deps: installing$missing"
install()
{
	$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $missing </dev/null >"$log" 2>&1
}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# lists that are older than the archive name files that are gone: fetch them once and try again
install || { $root apt-get -qq update && install; } || {
	tail -20 "$log" >&2
	echo "deps: apt-get install failed; install by hand:$missing" >&2
	exit 1
}
finish
