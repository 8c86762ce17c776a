#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what is missing, by name, from Debian:  tools/dev/deps.sh [build] [demo] [check] [full];  full also fetches
# decoders, a node of ROS 1 and a client of rosbridge for tests from npm.
# Asks for nothing and touches nothing when everything is there.
#
# deps.sh look: whether $CC finds what building needs, wherever it is from; a sentence for each thing that it does not.
set -u
cd "$(dirname "$0")/../.." || exit 1

# what each use needs on top of the ones before it; package:header or package:program is what `look` looks for
build='gcc:cc make libc6-dev:stdio.h binutils:ar libjansson-dev:jansson.h libmd-dev:md5.h zlib1g-dev:zlib.h libxxhash-dev:xxhash.h iceoryx
libiceoryx-binding-c-dev:iceoryx/v2.0.3/iceoryx_binding_c/api.h cyclonedds-dev:dds/dds.h scdoc:scdoc libzmq3-dev:zmq.h
libprotobuf-c-dev:protobuf-c/protobuf-c.h protobuf-c-compiler:protoc-c libexpat1-dev:expat.h libwebsockets-dev:libwebsockets.h
libssl-dev:openssl/ssl.h liblz4-dev:lz4frame.h libzstd-dev:zstd.h libbz2-dev:bzlib.h libsqlite3-dev:sqlite3.h libyaml-dev:yaml.h
libdeflate-dev:libdeflate.h libsodium-dev:sodium.h libpng-dev:png.h libturbojpeg0-dev:turbojpeg.h libncurses-dev:curses.h
libvulkan-dev:vulkan/vulkan.h libegl-dev:EGL/egl.h libgles-dev:GLES3/gl3.h glslang-tools:glslangValidator pkg-config'
demo='sumo mesa-vulkan-drivers'
check='libcmocka-dev clang-format-14 iproute2 util-linux mount procps g++ sumo libfastrtps-dev libprotobuf-dev varlink-go
python3-rosmaster python3-rostopic python3-rosnode python3-rosbag python3-rosparam python3-rosservice python3-sensor-msgs
python3-std-srvs python3-genmsg python3-numpy python3-venv python3-setuptools python3-wheel abigail-tools xz-utils openssl python3-cryptography python3-pyte mesa-vulkan-drivers libegl-mesa0 libgl1-mesa-dri'
full='clang llvm libclang-rt-14-dev debootstrap systemd-container debhelper dh-python apt-utils zsh fish libroscpp-dev libsensor-msgs-dev chromium
libfaketime'
# node of any origin does
{ command -v node && command -v npm; } >/dev/null 2>&1 || full="$full nodejs npm"

# With a compiler by its preprocessor, once for all; without one where Debian has them.
look()
{
	cc=${CC:-gcc}
	headers=$(printf '%s\n' $build | sed -n 's/.*:\(.*\.h\)$/\1/p')
	lacks=$(for h in $headers; do printf '#if !__has_include(<%s>)\n%s\n#endif\n' "$h" "$h"; done |
		$cc ${CFLAGS:-} -E -P -x c - 2>/dev/null) || lacks=cc
	if [ "$lacks" = cc ]; then
		for h in $headers; do
			set -- /usr/include/$h /usr/include/*-linux-gnu/$h
			[ -e "$1" ] || [ -e "$2" ] || lacks="$lacks $h"
		done
	fi
	lacks=$(echo $lacks)
	for p in $build; do
		what=${p#*:}
		case $what in
		cc | *.h) case " $lacks " in *" $what "*) ;; *) continue ;; esac ;;
		"$p") continue ;;
		*) ! command -v "$what" >/dev/null || continue ;;
		esac
		[ "$what" != cc ] || what="a compiler ($cc)"
		echo "deps: $what is missing; Debian's package ${p%%:*} has it" >&2
		status=1
	done
	return ${status:-0}
}

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
[ "$uses" != look ] || { look; exit; }
need=
for use in $uses; do
	case $use in
	build) need="$need $build" ;;
	demo) need="$need $build $demo" ;;
	check) need="$need $build $check" ;;
	full) need="$need $build $check $full" ;;
	*) echo "deps: unknown use \"$use\"; give build, demo, check or full, or look" >&2; exit 2 ;;
	esac
done
need=$(printf '%s\n' $need | sed 's/:.*//' | awk '!seen[$0]++')

if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "deps: this is not a Debian system; install by hand what these packages hold:" $need >&2
	exit 0
fi

# dpkg and apt take long to begin on a slow machine: each is asked once, for all
missing=$({ printf '%s\n' $need; dpkg-query -W -f='${Package} ${db:Status-Status}\n' $need 2>/dev/null; } |
	awk '$2 == "installed" { has[$1] } NF == 1 { all[++n] = $1 } END { for (i = 1; i <= n; i++) if (!(all[i] in has)) print all[i] }')
missing=$(echo $missing)
[ -n "$missing" ] || finish

if [ "$(id -u)" -eq 0 ]; then
	root=
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
	root=sudo
else
	echo "deps: missing packages; as root, run: apt-get install --no-install-recommends $missing" >&2
	exit 1
fi

# What apt is about meanwhile, so that nobody takes minutes for a standstill.
progress()
{
	unpacked=0 set_up=0
	while read -r line; do
		case $line in
		*' newly installed, '*) all=${line#*upgraded, }; all=${all%% *} ;;
		'Need to get '*) size=${line#Need to get }; echo "deps: fetching ${size%% of *}" ;;
		'Unpacking '*) unpacked=$((unpacked + 1)); [ $((unpacked % 25)) != 1 ] || echo "deps: unpacking $unpacked of $all" ;;
		'Setting up '*) set_up=$((set_up + 1)); [ $((set_up % 25)) != 1 ] || echo "deps: setting up $set_up of $all" ;;
		esac
	done
}
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.status"' EXIT
install()
{
	{
		$root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y install --no-install-recommends $missing </dev/null 2>&1
		echo $? >"$log.status"
	} | tee "$log" | progress
	return "$(cat "$log.status")"
}
update()
{
	echo "deps: updating the package lists"
	$root apt-get -qq update || { echo "deps: apt-get update failed; is the network there?" >&2; return 1; }
}
echo "deps: installing $missing"
# Lists are fetched only when they lack a package, or are older than the archive and name files that are gone: a machine without network may
# have all it needs.
install || { update && install; } || {
	tail -20 "$log" >&2
	echo "deps: apt-get install failed; install by hand: $missing" >&2
	exit 1
}
finish
