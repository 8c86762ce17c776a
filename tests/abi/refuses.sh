#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/dev/check-abi finds what it is there for: the stored release is made to differ from today's in one thing at a time.
command -v abidiff >/dev/null || { echo "no abidiff: run tools/dev/deps.sh check"; exit 77; }
readelf -p .comment "${B:-build}/lib/libsimclient.so" | grep -q clang && { echo "the library is clang's"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "$1"; cat "$dir/said"; exit 1; }
stored=$(ls -d tests/abi/[0-9]* | sort -V | tail -1)
# of the stored release those of which nothing is changed; ABI names the folder
fresh() { rm -rf "$dir/abi" && mkdir "$dir/abi" && cp -r "$stored" "$dir/abi/" && to=$dir/abi/${stored##*/}; }
check() { ABI=$dir/abi tools/dev/check-abi >"$dir/said" 2>&1; }
edit() { xz -dc "$stored/$1" | awk "$2" | xz -0 >"$to/$1"; cmp -s "$stored/$1" "$to/$1" && fail "nothing was edited"; }
# a struct of then without a member that it has now: the one that the pattern finds
without() { edit "$1" "/$2/ { in_it = 1 } in_it && /$3/ && !done { done = 1; next } { print }"; }

fresh
check || fail "today's library differs from the newest release: tools/dev/check-abi"
# functions
edit libsimclient.abi.xz '{ gsub(/sim_flush/, "sim_flushed") } { print }'
check && fail "a function may go"
grep -q 'Removed function' "$dir/said" && grep -q 'give the library a new SONAME' "$dir/said" || fail "a function that is gone is not reported"
# structs: a caller's with its size may grow at its end; in its middle not, and no other
fresh
without headers.txt.xz '^struct sim_client_options' 'int timeout_ms;'
check || fail "options may not grow"
fresh
without headers.txt.xz '^struct sim_client_options' 'char .socket;'
check && fail "options may grow in the middle"
grep -q sim_client_options "$dir/said" || fail "options that changed are not reported"
fresh
without headers.txt.xz '^struct sim_subscriber_stats' 'uint64_t invalid;'
check && fail "what a caller has room for may grow"
fresh
without headers.txt.xz '^struct sim_bridge_host' 'int64_t .*now.*ctx'
check && fail "the table of a plug-in may change"
# what is shared
fresh
sed -i 's/^\(file pages.h [0-9]*\) .*/\1 0/' "$to/wire.txt"
check && fail "pages may change without WIRE_ABI"
fresh
sed -i 's/^file pages.h [0-9]* .*/file pages.h 1 0/' "$to/wire.txt"
check || fail "pages may not change with WIRE_ABI"
fresh
echo 'control method Hello takes old: int' >>"$to/wire.txt"
check && fail "a parameter may go"
fresh
sed -i '/^control method Hello takes abi/d' "$to/wire.txt"
check && fail "simd may want a parameter that nobody sent"
# another SONAME is another library
fresh
edit libsimclient.abi.xz '{ gsub(/soname=.libsimclient.so.[0-9]*/, "soname='\''libsimclient.so.x") } /name=.sim_flush/ { next } { print }'
check && grep -q 'another library' "$dir/said" || fail "a new SONAME is no excuse"
exit 0
