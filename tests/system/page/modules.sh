#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page's decoders, trees, tables and protocol in node. tools/dev/deps.sh full fetches the decoder to compare with; without it there is
# nothing to compare with: a skip, and a failure where FULL=1 asked for everything.
modules=build/npm
if ! command -v node >/dev/null || [ ! -d $modules/node_modules/@foxglove/rosmsg2-serialization ]; then
	echo "no node, or no decoder in $modules: run tools/dev/deps.sh full"
	[ -z "${FULL:-}" ] || exit 1
	exit 77
fi
# the same files as the browser's, in a folder that says that they are modules
dir=$(mktemp -d "${TMPDIR:-/tmp}/page.XXXXXX") && cp tools/bridge/foxglove/page/*.js "$dir" && echo '{ "type": "module" }' >"$dir/package.json" &&
	node tests/system/page/modules.js "$modules" "$dir" schemas/ros
r=$?
rm -rf "$dir"
exit $r
