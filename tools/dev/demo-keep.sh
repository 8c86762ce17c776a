# SPDX-License-Identifier: Apache-2.0
# A part of demo.sh and demo-two.sh: what the runs before have written stays beside $out, three of them; $out.1 is the last one. The
# shell's variables and say() are theirs.

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
