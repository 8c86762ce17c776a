#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The interface file as an implementation of Varlink reads it that is not ours: Debian's varlink-go makes a client of it.
# tools/dev/deps.sh check installs it.
name=io.simd.Control
generate=varlink-go-interface-generator
if ! command -v $generate >/dev/null; then
	echo "no $generate: run tools/dev/deps.sh check"
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# it was written when the names of interfaces had small letters only
sed "s/^interface $name/interface io.simd.control/" schemas/wire/$name.varlink >"$dir/x.varlink"
generate_in() { (cd "$dir" && $generate "$1"); }
generate_in x.varlink || exit 1
for m in Hello Events CallService ListBridges; do
	grep -q "^func (m ${m}_methods) Call(" "$dir/iosimdcontrol.go" || { echo "its client has no $m"; exit 1; }
done
# it does look at what it reads
sed 's/^error Failed (/error Failed ((/' "$dir/x.varlink" >"$dir/bad.varlink"
generate_in bad.varlink >/dev/null 2>&1 && { echo "$generate accepts anything"; exit 1; }
exit 0
