#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every mapping's CDR, decoded by @foxglove/rosmsg2-serialization, its bytes of ROS 1 by rosmsg-serialization, its JSON by node and its CBOR by cbor-js. tools/dev/deps.sh full fetches it; without it there is
# nothing to compare with: a skip, and a failure where FULL=1 asked for everything.
modules=build/npm
if ! command -v node >/dev/null || [ ! -d $modules/node_modules/@foxglove/ros1 ] || [ ! -d $modules/node_modules/cbor-js ]; then
	echo "no node, or no decoder in $modules: run tools/dev/deps.sh full"
	[ -z "${FULL:-}" ] || exit 1
	exit 77
fi
lines=${TMPDIR:-/tmp}/decode.jsonl
"$B/bin/emit-cdr" >"$lines" && node tests/system/decode/decode.js "$modules" schemas/ros <"$lines"
