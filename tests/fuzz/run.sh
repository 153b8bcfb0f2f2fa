#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh: runs fuzz targets one after another, sharing the time: `make fuzz`.
#
#   run.sh BUILD SECONDS NAME...
#
# The corpus grows in BUILD/corpus/NAME; what crashes is kept in BUILD/crashes, to be copied, once
# it is fixed, to tests/fuzz/crashes/NAME.
set -u
build=$1 total=$2
shift 2
each=$((total / $#))
[ $each -ge 1 ] || each=1
failed=0
mkdir -p "$build/crashes"
for name in "$@"; do
	corpus=$build/corpus/$name
	mkdir -p "$corpus"
	folders=("$corpus")
	for folder in "tests/fuzz/seeds/$name" "tests/fuzz/crashes/$name"; do
		[ -d "$folder" ] && folders+=("$folder")
	done
	echo "fuzz_$name: $each s"
	log=$build/fuzz_$name.log
	if "$build/tests/fuzz_$name" -max_total_time=$each -timeout=10 -rss_limit_mb=1024 \
		-max_len=65536 -print_final_stats=1 -artifact_prefix="$build/crashes/$name-" \
		"${folders[@]}" >"$log" 2>&1; then
		grep -E '^(Done|stat::number_of_executed|stat::peak_rss)' "$log"
		ls "$corpus" | wc -l | sed 's/^/inputs in the corpus: /'
	else
		failed=1
		tail -n 60 "$log"
		echo "fuzz_$name: FAILED; the input is in $build/crashes"
	fi
done
exit $failed
