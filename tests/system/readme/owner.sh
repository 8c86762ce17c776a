#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sudo make demo and check: what they write belongs to the owner of the checkout, if that is who called sudo. In namespaces of its own
# (tests/support/ns.sh).
unset MAKEFLAGS MFLAGS MAKELEVEL SUDO_UID SUDO_GID FULL
fail() { echo "sudo make: $1"; cat /tmp/said; exit 1; }

make -n demo | grep -c 'tools/dev/as-owner build ' >/tmp/said
[ "$(cat /tmp/said)" = 2 ] || fail "make demo does not build and run as its owner"
make -n check | grep -q 'tools/dev/check.sh quick' || fail "make check is not check.sh"
as_owner=$(pwd)/tools/dev/as-owner
tools=$(pwd)/tools/dev
mkdir -p /tmp/own/build && touch /tmp/own/build/roots
if [ "$(id -u)" = 0 ] && chown 12345:12346 /tmp/own 2>/tmp/said; then
	own() { (cd /tmp/own && env "$@" "$as_owner" build sh -c 'echo $(id -u) $(id -g); touch build/new') >/tmp/said 2>&1; }
	own SUDO_UID=4 SUDO_GID=4 && [ "$(cat /tmp/said)" = '0 0' ] || fail "somebody else gets it"
	own SUDO_UID=12345 SUDO_GID=12346 && [ "$(cat /tmp/said)" = '12345 12346' ] || fail "it does not run as its owner"
	stat -c '%u:%g' /tmp/own/build/new /tmp/own/build/roots | sort -u >/tmp/said
	[ "$(cat /tmp/said)" = 12345:12346 ] || fail "it does not belong to its owner"
	own A=b && [ "$(cat /tmp/said)" = '0 0' ] || fail "without sudo it is somebody else's"
	# a make that writes as root, and ends as told; and one that is ended
	mkdir -p /tmp/own/tools/dev /tmp/own/build/bare-root && cp "$tools/as-owner" "$tools/check.sh" /tmp/own/tools/dev &&
		chown -R 12345:12346 /tmp/own && touch /tmp/own/build/bare-root/its
	printf '#!/bin/sh\nmkdir -p build/obj build-thread\ntouch build/obj/a.o build-thread/b.o\nsh -c "$THEN"\n' >/tmp/make
	chmod +x /tmp/make
	for then in 'exit 1' 'kill -TERM $(ps -o ppid= $PPID)'; do
		rm -rf /tmp/own/build/obj /tmp/own/build-thread
		(cd /tmp/own && exec env SUDO_UID=12345 SUDO_GID=12346 MAKE=/tmp/make THEN="$then" tools/dev/check.sh quick) >/tmp/said 2>&1
		case $then:$? in exit*:1 | kill*:143) ;; *) fail "check.sh does not end as its make" ;; esac
		find /tmp/own ! -user 12345 >/tmp/said
		[ "$(cat /tmp/said)" = /tmp/own/build/bare-root/its ] || fail "what check makes does not belong to its owner"
	done
fi
exit 0
