#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sudo make demo: what it writes belongs to the owner of the checkout, if that is who called sudo. In namespaces of its own
# (tests/support/ns.sh).
unset MAKEFLAGS MFLAGS MAKELEVEL SUDO_UID SUDO_GID
fail() { echo "sudo make: $1"; cat /tmp/said; exit 1; }

make -n demo | grep -c 'tools/dev/as-owner build ' >/tmp/said
[ "$(cat /tmp/said)" = 2 ] || fail "make demo does not build and run as its owner"
as_owner=$(pwd)/tools/dev/as-owner
mkdir -p /tmp/own/build && touch /tmp/own/build/roots
if [ "$(id -u)" = 0 ] && chown 12345:12346 /tmp/own 2>/tmp/said; then
	own() { (cd /tmp/own && env "$@" "$as_owner" build sh -c 'echo $(id -u) $(id -g); touch build/new') >/tmp/said 2>&1; }
	own SUDO_UID=4 SUDO_GID=4 && [ "$(cat /tmp/said)" = '0 0' ] || fail "somebody else gets it"
	own SUDO_UID=12345 SUDO_GID=12346 && [ "$(cat /tmp/said)" = '12345 12346' ] || fail "it does not run as its owner"
	stat -c '%u:%g' /tmp/own/build/new /tmp/own/build/roots | sort -u >/tmp/said
	[ "$(cat /tmp/said)" = 12345:12346 ] || fail "it does not belong to its owner"
	own A=b && [ "$(cat /tmp/said)" = '0 0' ] || fail "without sudo it is somebody else's"
fi
exit 0
