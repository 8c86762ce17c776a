#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The driver of a headless Chromium, on a page of its own; in namespaces of its own (tests/support/ns.sh). tools/dev/deps.sh full installs
# both; without: a skip, and a failure where FULL=1 asked for everything.
if ! command -v node >/dev/null || ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
	echo "no node, or no chromium: run tools/dev/deps.sh full"
	[ -z "${FULL:-}" ] || exit 1
	exit 77
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/page.XXXXXX") && node tests/system/page/test_browser.js "$dir"
r=$?
rm -rf "$dir"
exit $r
