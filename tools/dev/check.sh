#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check: tools/dev/check.sh quick|full; make soak: check.sh soak|soak-full. Runs stages, adds up their counts, and ends with
# "N passed, N failed". Every stage is a make target, so each can be run by hand as well.
set -u
MAKE=${MAKE:-make}
JOBS=${JOBS:-$(nproc)}
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
out=build/check
mkdir -p "$out" || exit 1
totals=$top/$out/totals
: >"$totals"
bare_root=build/bare-root/first-contact.root
what_failed=
began=$(date +%s)

say() { printf '== %s (%s s)\n' "$*" "$(($(date +%s) - began))"; }

# note_failed LINES: what has failed since the totals had so many, for the last lines of the output
note_failed()
{
	names=$(tail -n "+$(($1 + 1))" "$totals" | awk '$2 > 0 { $1 = $2 = ""; print (NF > 2 ? $0 : " (see above)") }' | tr -d '\n')
	[ -z "$names" ] || what_failed="$what_failed
failed in $name:$names"
}

# The logs of this run that do not end as those of a success: their failures, or how they end. What CI shows is often no more than the
# end of this output.
say_why()
{
	find build*/check build/bare-root/first-contact-check -name '*.log' -newermt "@$began" 2>/dev/null | sort | while read -r log; do
		if grep -q '^\[  FAILED  \]' "$log"; then
			printf '%s:\n' "$log"
			grep -hE '^\[ +(ERROR|LINE|FAILED) +\]|^(CHECK|AWAIT|case: |ERROR: )|: error: ' "$log" | head -n 8
		elif grep -q '^\[==========\]' "$log" && ! grep -q '^\[  PASSED  \]' "$log"; then
			printf '%s, its end:\n' "$log"
			tail -n 6 "$log"
		fi
	done | head -n 60
}

# stage NAME make-arguments...: counts itself as one failure if it fails without having counted any
stage()
{
	name=$1
	shift
	say "$name"
	before=$(awk '{ f += $2 } END { print f + 0 }' "$totals")
	lines=$(wc -l <"$totals")
	"$MAKE" -s --no-print-directory -j"$JOBS" TOTALS="$totals" "$@"
	status=$?
	after=$(awk '{ f += $2 } END { print f + 0 }' "$totals")
	# a stage of tests that ran none is no success
	ran=$(tail -n "+$((lines + 1))" "$totals" | awk '{ n += $1 + $2 } END { print n + 0 }')
	case " $* " in *" run-tests "*) [ "$ran" -gt 0 ] || status=1 ;; esac
	if [ "$status" -ne 0 ] && [ "$before" = "$after" ]; then
		printf 'FAIL %s: make %s\n' "$name" "$*"
		echo "0 1" >>"$totals"
	fi
	note_failed "$lines"
}

# script_stage NAME COMMAND...: one that adds its counts itself; 77: it was impossible here, and has said why
script_stage()
{
	name=$1
	shift
	say "$name"
	lines=$(wc -l <"$totals")
	TOTALS="$totals" "$@"
	status=$?
	if [ "$status" != 0 ] && [ "$status" != 77 ] && [ "$(wc -l <"$totals")" = "$lines" ]; then
		printf 'FAIL %s: %s\n' "$name" "$*"
		echo "0 1" >>"$totals"
	fi
	note_failed "$lines"
}

quick()
{
	stage "set-up" DEPS=check deps
	stage "tests" WERROR=1 run-tests
}

# Those of `make check` on the bare Debian that failed or were skipped there, or a part of them: names.
not_passed_there()
{
	sed -n 's/^\(skip\|FAIL\)  *\([^ ]*\) .*/\2/p' build/bare-root/first-contact-check.log
	grep -lE '^\[  SKIPPED \] [1-9]|^not tried, ' build/bare-root/first-contact-check/*.log | sed 's|.*/||; s|\.log$||'
}

# What was built there, by the same compiler, is not built again; make looks whether it is what it would make.
take_what_was_built()
{
	tar -C "$bare_root/w/simd/build" --exclude=./check --exclude='./demo*' -c . | tar -C build -x
}

# `make check` on a bare Debian: what it could not run is left to run here, and what failed there is run here as well, to say where it
# fails. Where no such root can be made, or the tests did not come to their end in it, all are run here.
bare_and_quick()
{
	say "the two commands on a bare Debian"
	TOTALS= KEEP=1 tools/dev/first-contact
	status=$?
	[ "$status" = 0 ] || [ "$status" = 77 ] || { echo "0 1" >>"$totals"; what_failed="$what_failed
failed on the bare Debian: build/bare-root/first-contact-*.log
$(grep '^failed in' build/bare-root/first-contact-check.log 2>/dev/null)"; }
	if [ "$status" != 77 ] && tail -n 3 build/bare-root/first-contact-check.log 2>/dev/null | grep -q '^[1-9][0-9]* passed, '; then
		[ "$status" != 0 ] || tail -n 1 build/bare-root/first-contact-check.log | awk '{ print $1 + 1, 0 }' >>"$totals"
		left=$(not_passed_there | tr '\n' ' ')
		take_what_was_built
		[ -z "$left" ] || stage "tests that did not pass there" WERROR=1 ONLY="$left" run-tests
		return
	fi
	stage "tests" WERROR=1 run-tests
}

full()
{
	stage "set-up" DEPS=full deps
	bare_and_quick
	# the root of the bare Debian has all built and installed already
	script_stage "simd.service, booted" env ROOT="$bare_root" tools/dev/check-boot
	rm -rf --one-file-system "$bare_root"
	# clang's warnings come with the sanitizers, but for what these leave out; -g1 has the lines that their reports name, and builds faster
	stage "clang's warnings" WERROR=1 CC=clang SAN=undefined OPT='-O1 -g1' syntax
	stage "address and undefined-behaviour sanitizers" WERROR=1 CC=clang SAN=address,undefined OPT='-O1 -g1' LEVEL=unit run-tests
	stage "thread sanitizer, without assertions" WERROR=1 CC=clang SAN=thread OPT='-O1 -g1 -DNDEBUG' LEVEL=unit run-tests
	stage "kill runs" WERROR=1 LEVEL=fault run-tests
	stage "bench smoke run" WERROR=1 bench-smoke
}

# What is too long for each change. The numbers may be given in the environment.
soak()
{
	export SOAK_SECONDS="${SOAK_SECONDS:-1800}"
	stage "set-up" DEPS="${1:-check}" deps
	stage "the demo with every bridge, $SOAK_SECONDS s" WERROR=1 LEVEL=fault ONLY=fault-stack-soak LIMIT=14400 run-tests
	sed -n 's/^soak: //p' build/check/fault-stack-soak.log
}

soak_full()
{
	soak full
	unset SOAK_SECONDS
	# builds and runs of which little is their own beside those of each change
	stage "gcc, -O1, built alone" WERROR=1 CC=gcc OPT=-O1 B=build-gcc-debug tests
	stage "gcc, -O3, without assertions" WERROR=1 CC=gcc OPT='-O3 -DNDEBUG' B=build-gcc-ndebug LEVEL=unit run-tests
	stage "clang, -O2, without assertions" WERROR=1 CC=clang OPT='-O2 -DNDEBUG' B=build-clang-ndebug LEVEL=unit run-tests
	stage "undefined-behaviour sanitizer, with iceoryx" WERROR=1 CC=clang SAN=undefined OPT='-O1 -g1' LEVEL=system FULL= run-tests
	export FAULT_KILLS="${FAULT_KILLS:-10000}" KILLS="${KILLS:-200}" ATTACK_SECONDS="${ATTACK_SECONDS:-3600}" \
		RUNS="${RUNS:-5000}" ROUNDS="${ROUNDS:-1000}" CALLS="${CALLS:-2500}" LOSS_TABLE=1
	stage "long tests" WERROR=1 LEVEL=soak LIMIT=14400 run-tests
	stage "fuzzing" FUZZ_SECONDS="${FUZZ_SECONDS:-600}" fuzz
	for i in 1 2 3 4 5; do
		stage "bench, $i of 5" bench
		cp -f build/bench.json "$out/bench-$i.json"
	done
	for i in 1 2 3 4 5 6 7 8 9 10; do
		stage "a bare Debian, $i of 10" ORDER=demo,check first-contact
		stage "a bare Debian, $i of 10" ORDER=check,demo first-contact
	done
}

case ${1:-quick} in
quick) quick ;;
full) full ;;
soak) soak ;;
soak-full) soak_full ;;
*) echo "usage: $0 quick|full|soak|soak-full" >&2; exit 2 ;;
esac
say "done"
[ -z "$what_failed" ] || { say_why; printf '%s\n' "${what_failed#?}"; }
awk '{ p += $1; f += $2 } END { printf "%d passed, %d failed\n", p, f; exit f > 0 }' "$totals"
