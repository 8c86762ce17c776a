#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check: tools/dev/check.sh quick|full; make soak: check.sh soak|soak-full. Runs stages, shows what they cost, and ends with
# "N passed, N failed". Every stage is a make target, so each can be run by hand as well.
#
# build/check.json holds it: {"commit","level":"quick|full","passed","failed","wall_s","stages":[{"name","wall_s","compile_cpu_s",
# "link_cpu_s","passed","failed"}],"tests":[{"stage","name","passed","failed","skipped","wall_s","cpu_s"}]}. It is made from $results, to
# which a stage adds a line "stage NAME passed failed skipped wall_s compile_cpu_s link_cpu_s" and each test before it a line
# "test STAGE NAME passed failed skipped wall_s cpu_s", with tabs; the passed and failed of a stage are those that no line of a test has.
set -u
MAKE=${MAKE:-make}
JOBS=${JOBS:-$(nproc)}
level=${1:-quick}
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
out=build/check
mkdir -p "$out" || exit 1
results=$top/$out/results
: >"$results"
bare_root=build/bare-root/first-contact.root
what_failed=
began=$(date +%s)
tab=$(printf '\t')

say() { printf '== %s (%s s)\n' "$*" "$(($(date +%s) - began))"; }

# counted passed|failed [FROM]: the sum over all lines, or those behind the first FROM
counted()
{
	tail -n "+$((${2:-0} + 1))" "$results" | awk -F '\t' -v what="$1" '
		{ at = ($1 == "test" ? 4 : 3) + (what == "failed"); n += $at }
		END { print n + 0 }'
}

# The CPU seconds that one kind of the stage's commands took: what `times` reports for them (timed-sh).
cpu_of()
{
	[ -f "$out/times.$1" ] || { echo 0; return; }
	tr 'ms' '  ' <"$out/times.$1" | awk '{ s += 60 * ($1 + $3) + $2 + $4 } END { printf "%.1f", s }'
}

# add_stage PASSED FAILED: its own line, and for the last lines of the output what has failed in it
add_stage()
{
	printf 'stage\t%s\t%s\t%s\t0\t%s\t%s\t%s\n' "$name" "$1" "$2" "$(($(date +%s) - stage_began))" \
		"$(cpu_of compile)" "$(cpu_of link)" >>"$results"
	names=$(tail -n "+$((lines + 1))" "$results" | awk -F '\t' '
		$1 == "test" && $5 > 0 { printf " %s", $3 }
		$1 == "stage" && $4 > 0 { printf " (see above)" }')
	[ -z "$names" ] || what_failed="$what_failed
failed in $name:$names"
}

begin_stage()
{
	name=$1
	say "$name"
	stage_began=$(date +%s)
	lines=$(wc -l <"$results")
	rm -f "$out"/times.*
}

# The logs of this run that do not end as those of a success: their failures, or how they end. What CI shows is often no more than the
# end of this output.
say_why()
{
	find build*/check -name '*.log' -newermt "@$began" 2>/dev/null | sort | while read -r log; do
		if grep -q '^\[  FAILED  \]' "$log"; then
			printf '%s:\n' "$log"
			grep -hE '^\[ +(ERROR|LINE|FAILED) +\]|^(CHECK|AWAIT|case: |ERROR: )|: error: ' "$log" | head -n 8
		elif grep -q '^\[==========\]' "$log" && ! grep -q '^\[  PASSED  \]' "$log"; then
			printf '%s, its end:\n' "$log"
			tail -n 6 "$log"
		fi
	done | head -n 60
}

# stage NAME make-arguments...: a failure of the stage itself, if it fails and none of its tests has
stage()
{
	begin_stage "$1"
	shift
	STAGE_TIMES="$top/$out/times" "$MAKE" -s --no-print-directory -j"$JOBS" RESULTS="$results" STAGE="$name" "$@"
	status=$?
	# a stage of tests that ran none is no success
	case " $* " in *" run-tests "*) [ "$(($(counted passed "$lines") + $(counted failed "$lines")))" -gt 0 ] || status=1 ;; esac
	if [ "$status" -ne 0 ] && [ "$(counted failed "$lines")" = 0 ]; then
		printf 'FAIL %s: make %s\n' "$name" "$*"
		add_stage 0 1
		return 1
	fi
	add_stage 0 0
	return "$status"
}

# script_stage NAME COMMAND...: one that prints "ok ..." or "FAIL ..." for each thing it looks at; 77: it was impossible here, and has
# said why
script_stage()
{
	begin_stage "$1"
	shift
	"$@" >"$out/stage.log" 2>&1
	status=$?
	cat "$out/stage.log"
	failed=$(grep -c '^FAIL ' "$out/stage.log")
	[ "$status" = 0 ] || [ "$status" = 77 ] || [ "$failed" != 0 ] || { printf 'FAIL %s: %s\n' "$name" "$*"; failed=1; }
	add_stage "$(grep -c '^ok ' "$out/stage.log")" "$failed"
	return "$status"
}

# Nothing else can succeed without the packages; the stage has said which are missing.
set_up() { stage "set-up" DEPS="$1" deps || finish; }

quick()
{
	set_up check
	stage "tests" WERROR=1 run-tests
}

# What was built there, by the same compiler, is not built again; make looks whether it is what it would make.
take_what_was_built()
{
	tar -C "$bare_root/w/simd/build" --exclude=./check --exclude=./check.json --exclude='./demo*' -c . | tar -C build -x
}

full()
{
	set_up full
	# much of the next stage is one program at a time: meanwhile some of what the sanitizers need is built, behind everything else
	nice -n 19 "$MAKE" -s -j"$JOBS" WERROR=1 CC=clang SAN=address,undefined OPT='-O1 -g1' LEVEL=unit built-tests >"$out/beside.log" 2>&1 &
	beside=$!
	script_stage "make demo and some tests on a bare Debian" env KEEP=1 tools/dev/first-contact demo,some && take_what_was_built
	kill "$beside" 2>/dev/null
	wait "$beside"
	# the root of the bare Debian has all built and installed already
	script_stage "simd.service, booted" env ROOT="$bare_root" tools/dev/check-boot
	rm -rf --one-file-system "$bare_root"
	stage "all tests but those of the address sanitizer" WERROR=1 LEVEL=plain run-tests
	# clang's warnings come with the sanitizers, but for what these leave out; -g1 has the lines that their reports name, and builds faster
	stage "clang's warnings" WERROR=1 CC=clang SAN=undefined OPT='-O1 -g1' syntax
	stage "address and undefined-behaviour sanitizers" WERROR=1 CC=clang SAN=address,undefined OPT='-O1 -g1' LEVEL=unit run-tests
	stage "thread sanitizer, without assertions" WERROR=1 CC=clang SAN=thread OPT='-O1 -g1 -DNDEBUG' LEVEL=unit run-tests
	stage "bench smoke run" WERROR=1 bench-smoke
}

# What is too long for each change. The numbers may be given in the environment.
soak()
{
	export SOAK_SECONDS="${SOAK_SECONDS:-1800}"
	set_up "${1:-check}"
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
		ROUNDS="${ROUNDS:-1000}" CALLS="${CALLS:-2500}" LOSS_TABLE=1
	# of models in virtual time thousands, of whole stacks twenty
	stage "tests on a bad machine" WERROR=1 LEVEL=whole HUNT="$(date +%s)" LIMIT=3000 RUNS="${RUNS:-20}" run-tests
	stage "long tests" WERROR=1 LEVEL=soak LIMIT=14400 RUNS="${RUNS:-5000}" run-tests
	script_stage "Debian packages" tools/dev/check-deb
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

# What it cost: where the time of a run goes, before anybody makes something faster.
show_costs()
{
	echo "the stages: seconds, CPU seconds of compiling and of linking"
	awk -F '\t' '$1 == "stage" { printf "%7d %7.1f %7.1f  %s\n", $6, $7, $8, $2 }' "$results"
	echo "the most expensive tests: CPU seconds, seconds"
	grep "^test$tab" "$results" | sort -t "$tab" -k 8,8nr | head -n 20 | awk -F '\t' '{ printf "%7.2f %7.2f  %s%s\n", $8, $7, $3,
		$2 ~ "^(tests|all tests.*)$" ? "" : " (" $2 ")" }'
}

write_json()
{
	commit=$(git rev-parse HEAD 2>/dev/null)
	awk -F '\t' -v commit="$commit" -v level="$level" -v wall="$(($(date +%s) - began))" '
		function text(s) { gsub(/["\\]/, "\\\\&", s); return "\"" s "\"" }
		$1 == "stage" {
			stages = stages sprintf("%s{\"name\":%s,\"wall_s\":%s,\"compile_cpu_s\":%s,\"link_cpu_s\":%s,\"passed\":%s,\"failed\":%s}",
				stages ? ",\n" : "", text($2), $6, $7, $8, $3, $4)
			passed += $3
			failed += $4
		}
		$1 == "test" {
			tests = tests sprintf("%s{\"stage\":%s,\"name\":%s,\"passed\":%s,\"failed\":%s,\"skipped\":%s,\"wall_s\":%s,\"cpu_s\":%s}",
				tests ? ",\n" : "", text($2), text($3), $4, $5, $6, $7, $8)
			passed += $4
			failed += $5
		}
		END {
			printf "{\"commit\":%s,\"level\":%s,\"passed\":%d,\"failed\":%d,\"wall_s\":%d,\n\"stages\":[\n%s\n],\n\"tests\":[\n%s\n]}\n",
				text(commit), text(level), passed, failed, wall, stages, tests
		}' "$results" >build/check.json
}

finish()
{
	say "done"
	show_costs
	write_json
	[ -z "$what_failed" ] || { say_why; printf '%s\n' "${what_failed#?}"; }
	printf '%s passed, %s failed\n' "$(counted passed)" "$(counted failed)"
	[ "$(counted failed)" = 0 ]
	exit
}

# By sudo from a checkout of one's own: what was written becomes its owner's, also where the run was interrupted.
hand_back()
{
	for dir in build build-*; do
		[ ! -d "$dir" ] || tools/dev/as-owner "$dir" true
	done
}

trap hand_back EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
case $level in
quick) quick ;;
full) full ;;
soak) soak ;;
soak-full) soak_full ;;
*) echo "usage: $0 quick|full|soak|soak-full" >&2; exit 2 ;;
esac
finish
