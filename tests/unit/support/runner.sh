#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The runner: limits, what a test costs, and the hunt for verdicts that depend on the machine.
B=${B:-build}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "$1"; cat "$dir/said"; exit 1; }
# test_of NAME LINES: a script that is a test
test_of() { printf '#!/bin/sh\n%s\n' "$2" >"$dir/$1" && chmod +x "$dir/$1"; }
run() { "$B/test/run" --logs "$dir/logs" --results "$dir/results" --stage some "$@" >"$dir/said" 2>&1; }

# one that never ends does, one that works is counted, with what it starts; one that skips is no success and no failure
test_of hangs 'echo "still waiting at here:1: it"; exec tail -f /dev/null'
test_of works 'sh -c "i=0; while [ \$i -lt 100000 ]; do i=\$((i + 1)); done"'
test_of skips 'exit 77'
run --jobs 2 -:1:"$dir/hangs" -:300:"$dir/works" -:300:"$dir/skips" && fail "one that hangs is a success"
grep -q '^FAIL hangs .* over its time limit' "$dir/said" || fail "the limit is not kept"
grep -q '^still waiting at here:1: it' "$dir/said" || fail "what was waited for is not shown"
grep -qx '1 passed, 1 failed' "$dir/said" || fail "they are counted wrong"
awk -F '\t' '$1 == "test" && $2 == "some" && $3 == "works" && $4 == 1 && $5 == 0 && $8 > 0 { ok = 1 } END { exit !ok }' "$dir/results" ||
	fail "what works cost nothing: $(cat "$dir/results")"

# the hunted have one processor and the last place, stand still now and then, and what they stop themselves stays stopped
test_of hunted '[ "$(nproc)" = 1 ] && [ "$(nice)" = 19 ] || exit 1
tail -f /dev/null &
until grep -q "^TracerPid:[^0-9]*[1-9]" /proc/$!/status; do :; done
kill -STOP $!
until grep -q "^State:.T (stopped" /proc/$!/status && grep -q "^TracerPid:[^0-9]*0" /proc/$!/status; do :; done
until grep -q "^TracerPid:[^0-9]*[1-9]" /proc/$!/status; do :; done
until grep -q "^TracerPid:[^0-9]*0" /proc/$!/status; do :; done
until grep -q "^State:.T (stopped" /proc/$!/status; do :; done
kill -KILL $!
wait
exit 0'
if [ -r /proc/sys/kernel/yama/ptrace_scope ] && [ "$(cat /proc/sys/kernel/yama/ptrace_scope)" -gt 1 ] && [ "$(id -u)" != 0 ]; then
	echo "no process may be traced here"
	exit 0
fi
run --hunt 7 -:3000:"$dir/hunted" || fail "a hunted test has failed"
