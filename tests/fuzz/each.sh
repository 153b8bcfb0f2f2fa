#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# each.sh: runs each fuzz target by itself for as long as is asked, several side by side, and then says
# how many lines of its readers its inputs reach: `make fuzz-each`.
#
#   each.sh FUZZ_BUILD COVER_BUILD SECONDS JOBS NAME...
#
# The corpus and what crashes are where run.sh has them. The table is in COVER_BUILD/fuzz-each.txt as
# well.
set -u
build=$1 cover=$2 seconds=$3 jobs=$4
shift 4
here=$(dirname "$0")
failed=0

printf '%s\n' "$@" | xargs -P "$jobs" -n 1 "$here/run.sh" "$build" "$seconds" || failed=1

ran=()
for name in "$@"; do
	folders=()
	for folder in "$build/corpus/$name" "tests/fuzz/seeds/$name" "tests/fuzz/crashes/$name"; do
		[ -d "$folder" ] && folders+=("$folder")
	done
	rm -f "$cover/$name.profraw"
	if LLVM_PROFILE_FILE=$cover/$name.profraw "$cover/tests/replay_$name" --whole "${folders[@]}" \
		>"$cover/$name.log" 2>&1 && [ -s "$cover/$name.profraw" ]; then
		ran+=("$name")
	else
		failed=1
		tail -n 5 "$cover/$name.log"
		echo "replay_$name: FAILED over the corpus of fuzz_$name"
	fi
done
[ ${#ran[@]} = 0 ] || "$here/coverage.py" "$here/README.md" "$cover" "${ran[@]}" >"$cover/fuzz-each.txt" || failed=1
cat "$cover/fuzz-each.txt"
exit $failed
