#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# static.sh: what the whole static model of a program costs, beside `objdump -d` of the same file
# in the same rounds: `make bench-static`. Processor seconds, medians of ROUNDS=5 alternating runs,
# the peak memory of any run; of the sandbox SANDBOX_ROUNDS=21 rounds. With BENCH_OUT=FILE, each number is appended there as JSON.
#
# The bounds are for gdb, the largest: under 0.4 of objdump's time and under 300 MB. The others
# show that time is linear in the size of the code. A bound that is missed is printed as missed and
# fails the run.
set -u
cd "$(dirname "$0")/../.." || exit 1

rounds=${ROUNDS:-5}
sandbox_rounds=${SANDBOX_ROUNDS:-21}
max_ratio=0.4 max_mb=300
failed=0

record() { # WORKLOAD METRIC VALUE UNIT
	[ -z "${BENCH_OUT:-}" ] ||
		printf '{"workload": "%s", "mode": "static", "metric": "%s", "value": %s, "unit": "%s"}\n' \
			"$@" >>"$BENCH_OUT"
}
# Of all sections with code. The shell reads hexadecimal, not every awk does.
text_bytes() {
	local sum=0 size
	while read -r size; do
		sum=$((sum + 0x$size))
	done < <(readelf -SW "$1" | sed -E 's/^ *\[ *[0-9]+\] *//' |
		awk '$2 == "PROGBITS" && $7 ~ /X/ { print $5 }')
	echo $sum
}
find_program() {
	local found
	for found in "$(command -v "$1")" /usr/sbin/"$1" /usr/lib/postgresql/*/bin/"$1"; do
		[ -n "$found" ] && [ -x "$found" ] && realpath "$found" && return
	done
	return 1
}

printf '%-14s %9s %9s %10s %7s %7s %8s\n' program 'code MB' 'model s' 'objdump s' ratio s/MB 'peak MB'
for name in gzip lua5.4 redis-server postgres gdb; do
	if ! program=$(find_program $name); then
		printf '%-14s not installed\n' $name
		continue
	fi
	bytes=$(text_bytes "$program")
	if ! costs=$("$BUILD/tests/measure" "$rounds" "$PUGMARK" cfg "$program" --- objdump -d "$program"); then
		printf '%-14s FAILED\n' $name
		failed=1
		continue
	fi
	read -r _ model peak _ objdump _ < <(tr '\n' ' ' <<<"$costs")
	row=$(awk -v b="$bytes" -v m="$model" -v o="$objdump" -v kb="$peak" 'BEGIN {
		mb = b / 1e6; printf "%.3f %.4f %.4f %.3f %.4f %.1f", mb, m, o, m / o, m / mb, kb / 1024 }')
	read -r mb model objdump ratio per_mb peak_mb <<<"$row"
	printf '%-14s %9s %9s %10s %7s %7s %8s' $name "$mb" "$model" "$objdump" "$ratio" "$per_mb" "$peak_mb"
	record $name model_cpu_seconds "$model" s
	record $name objdump_cpu_seconds "$objdump" s
	record $name model_over_objdump "$ratio" ratio
	record $name model_peak_memory "$peak_mb" MB
	if [ $name = gdb ] && awk -v r="$ratio" -v m="$peak_mb" -v R=$max_ratio -v M=$max_mb \
		'BEGIN { exit !(r >= R || m >= M) }'; then
		printf '  MISSED: under %s of objdump and under %s MB' $max_ratio $max_mb
		failed=1
	fi
	printf '\n'
done

# What it adds to planning that files are analysed in a sandbox (user/sandbox): under 5 %, with
# bounds of 95 % confidence.
printf '\n%-14s %12s %12s %8s %16s\n' program 'sandboxed s' 'not s' 'more %' 'between %'
for name in redis-server gdb; do
	program=$(find_program $name) || continue
	if ! row=$(XDG_CACHE_HOME=/nowhere "$BUILD/tests/sandbox_cost" "$sandbox_rounds" "$program"); then
		printf '%-14s FAILED\n' $name
		failed=1
		continue
	fi
	read -r with without more low high <<<"$row"
	printf '%-14s %12s %12s %8s %16s' $name "$with" "$without" "$more" "$low..$high"
	record $name sandbox_more "$more" %
	record $name sandbox_more_at_least "$low" %
	record $name sandbox_more_at_most "$high" %
	if awk -v m="$more" 'BEGIN { exit !(m >= 5) }'; then
		printf '  MISSED: under 5 %%'
		failed=1
	elif awk -v h="$high" 'BEGIN { exit !(h >= 5) }'; then
		printf '  not sure: more than SANDBOX_ROUNDS=%s would tell' "$sandbox_rounds"
	fi
	printf '\n'
done
exit $failed
