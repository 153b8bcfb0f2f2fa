#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# plans.sh: what choosing witnesses saves and costs, for programs and libraries as the distribution
# built them: `make bench-static`. For each, the probes of the four modes, the reductions against
# mode full beside those that the Casper paper reports (36.3 % branch, 66.4 % casper), expected cost,
# share of instruction classes in mode best, time of one thread and peak memory. With BENCH_OUT=FILE,
# each number is appended there as JSON.
#
#   plans.sh [FILE...]    without one: all; the bound on how many there are is then not looked at
#
# Bounds: best costs less than casper everywhere; redis-server under 1 s, gdb under 8 s and 1 GB. What
# is missed is printed as missed and fails the run; a mean below the paper's is printed as SHORT.
set -u
cd "$(dirname "$0")/../.." || exit 1
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export XDG_CACHE_HOME=$cache PATH=/usr/bin:/usr/sbin:$PATH
failed=0 rows=0
lib=/usr/lib/x86_64-linux-gnu
[ -d $lib ] || lib=/usr/lib64

files=(gzip lua5.4 sed grep mawk bash perl python3 redis-server git openssl sqlite3 gdb
	"$lib/libz.so.1" "$lib/libsqlite3.so.0" "$lib/libcrypto.so.3" "$lib/libzstd.so.1"
	"$lib/libelf.so.1")
[ $# = 0 ] || files=("$@")

record() { # WORKLOAD METRIC VALUE UNIT
	[ -z "${BENCH_OUT:-}" ] ||
		printf '{"workload": "%s", "mode": "static", "metric": "%s", "value": %s, "unit": "%s"}\n' \
			"$@" >>"$BENCH_OUT"
}
missed() {
	printf '  MISSED: %s\n' "$1"
	failed=1
}
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

printf '%-18s %7s %7s %7s %7s  %6s %6s %6s  %8s %8s  %5s %5s %5s  %6s %6s\n' program full branch \
	casper best 'branch' 'casper' 'best' 'cost/full' '' 'emul' 'step' '' best peak
printf '%-18s %7s %7s %7s %7s  %6s %6s %6s  %8s %8s  %5s %5s %5s  %6s %6s\n' '' probes probes probes \
	probes '% less' '% less' '% less' casper best '%' '%' open s MB
branches='' caspers='' bests='' fullcosts='' bestcosts=''
for file in "${files[@]}"; do
	path=$file # a library need not be executable
	[ -e "$path" ] || path=$(command -v "$file") || continue
	path=$(realpath "$path")
	name=$(basename "$file")
	declare -A sites=() share=() cost=()
	for mode in full branch casper best; do
		if ! /usr/bin/time -f '%M' -o "$cache/time" "$PUGMARK" plan --fresh --format json \
			--mode $mode "$path" >"$cache/$mode" 2>"$cache/err"; then
			missed "$name, $mode: $(head -n 1 "$cache/err")"
			continue 2
		fi
		read -r sites[$mode] share[$mode] cost[$mode] < <(jq -r \
			'"\(.sites) \(100 * .reduction) \(1 - .cost_reduction)"' "$cache/$mode")
	done
	seconds=$(jq .seconds "$cache/best") peak=$(($(cat "$cache/time") / 1024))
	read -r emulated stepped open < <(jq -r '"\(100 * .sites_by_class.emulated / .sites) \(
		100 * .sites_by_class.stepped / .sites) \(.unresolved)"' "$cache/best")
	printf '%-18s %7d %7d %7d %7d  %6.1f %6.1f %6.1f  %8.3f %8.3f  %5.1f %5.1f %5d  %6.2f %6d\n' \
		"$name" "${sites[full]}" "${sites[branch]}" "${sites[casper]}" "${sites[best]}" \
		"${share[branch]}" "${share[casper]}" "${share[best]}" "${cost[casper]}" "${cost[best]}" \
		"$emulated" "$stepped" "$open" "$seconds" "$peak"
	for mode in branch casper best; do
		record "$name" "plan_reduction_$mode" "${share[$mode]}" '%'
		record "$name" "plan_cost_over_full_$mode" "${cost[$mode]}" ratio
	done
	record "$name" plan_seconds "$seconds" s
	record "$name" plan_peak_memory "$peak" MB
	less "${cost[best]}" "${cost[casper]}" || missed "best costs less than casper"
	[ "$name" != redis-server ] || less "$seconds" 1 || missed 'under 1 s'
	[ "$name" != gdb ] || { less "$seconds" 8 && less "$peak" 1024; } || missed 'under 8 s and 1 GB'
	branches+=" ${share[branch]}" caspers+=" ${share[casper]}" bests+=" ${share[best]}"
	fullcosts+=" ${cost[casper]}" bestcosts+=" ${cost[best]}"
	rows=$((rows + 1))
done
mean() { awk '{ for (i = 1; i <= NF; i++) s += $i; printf "%.3f", NF ? s / NF : 0 }' <<<"$1"; }
printf '%-18s %7s %7s %7s %7s  %6.1f %6.1f %6.1f  %8.3f %8.3f\n' "mean of $rows" '' '' '' '' \
	"$(mean "$branches")" "$(mean "$caspers")" "$(mean "$bests")" "$(mean "$fullcosts")" \
	"$(mean "$bestcosts")"
printf '%-18s %7s %7s %7s %7s  %6s %6s   (Java programs, static sites)\n' 'the paper' '' '' '' '' 36.3 66.4
short() { # MODE MEAN PAPER
	! less "$2" "$3" || printf '  SHORT of the paper: %s leaves out %.1f %%, not %s\n' "$@"
}
short branch "$(mean "$branches")" 36.3
short casper "$(mean "$caspers")" 66.4
record mean plan_reduction_branch "$(mean "$branches")" '%'
record mean plan_reduction_casper "$(mean "$caspers")" '%'
[ $# -gt 0 ] || [ $rows -ge 12 ] || missed "only $rows programs are installed"
exit $failed
