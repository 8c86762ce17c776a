# SPDX-License-Identifier: Apache-2.0
# A part of demo.sh and demo-two.sh: each run has a folder of its own, and what the runs before have written stays beside it, three of
# them; $out.1 is the last one. The shell's variables and say() are theirs.

# While one runs in $out, the next takes $out-2, and so on. The lock lies beside the folder, which is moved away later. It is held by what the
# shell starts, too: a simd that outlives it keeps its folder.
take_folder()
{
	first=$out
	n=1
	mkdir -p "$(dirname "$out")" || exit 1
	while exec 9>"$out.lock" && ! flock -n 9; do
		n=$((n + 1))
		out=$first-$n
	done
	[ $n -eq 1 ] || say "demo: another one runs in $first; this one writes to $out"
}

keep_runs()
{
	[ -n "$(ls -A "$out" 2>/dev/null)" ] || return 0
	rm -rf "$out.3"
	for n in 2 1; do
		[ ! -e "$out.$n" ] || mv "$out.$n" "$out.$((n + 1))" || exit 1
	done
	mv "$out" "$out.1" || exit 1
	say "demo: what the last run has written is in $out.1 now"
}
