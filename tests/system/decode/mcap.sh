#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our MCAP in @mcap/core and theirs in ours. tools/dev/deps.sh full fetches it; without it: a skip, and a failure where FULL=1 asked
# for everything.
modules=build/npm
if ! command -v node >/dev/null || [ ! -d $modules/node_modules/@mcap/core ]; then
	echo "no node, or no @mcap/core in $modules: run tools/dev/deps.sh full"
	[ -z "${FULL:-}" ] || exit 1
	exit 77
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/mcap.XXXXXX") && node tests/system/decode/mcap.js "$modules" "$B/bin/emit-mcap" "$dir" "$B/bin/simctl"
r=$?
rm -rf "$dir"
exit $r
