#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each encoding of logs, of all types, in decoders that are not ours. tools/dev/deps.sh full fetches them; without: a skip, and a failure
# where FULL=1 asked for everything.
modules=build/npm
if ! command -v node >/dev/null || [ ! -d $modules/node_modules/@mcap/core ]; then
	echo "no node, or no @mcap/core in $modules: run tools/dev/deps.sh full"
	[ -z "${FULL:-}" ] || exit 1
	exit 77
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/encodings.XXXXXX") && node tests/system/decode/encodings.js "$modules" "$B/bin" "$dir"
r=$?
rm -rf "$dir"
exit $r
