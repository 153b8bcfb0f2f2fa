#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_paths.sh: what it costs to record every block, by each placement of witnesses.
#
# One run of each program is recorded by placement best. From it every block's executions are known,
# and so are the witness hits of every other placement, exactly; a hit's cost is that of its
# instruction's class (docs/paths.md). `run` is the column that is timed: the processor time that
# the program took more under each placement than alone, beside that of blocks.
#
# Under a program's own `best`, `profiled` is best again, chosen by the counts of that very run: what
# better estimates of frequencies could win. Bounds: best costs under 0.15 of blocks and under 0.6 of
# nodes, in the geometric mean; one that is missed is printed and fails.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
. tests/oracle/inputs.sh
needs_recording
cost=$BUILD/tests/paths_cost
max_blocks=0.15 max_nodes=0.6

set_up() { # NAME: sets program (a copy) and args
	case $1 in
	gzip-c) program=$(copy gzip) && make_text 200 >"$tmp/text" && args=(-9c "$tmp/text") ;;
	gzip-d) program=$(copy gzip) && make_text 3000 | gzip -c >"$tmp/text.gz" && args=(-dc "$tmp/text.gz") ;;
	lua)
		program=$(copy lua5.4) && SCALE=10 lua_script >"$tmp/work.lua" || return
		args=("$tmp/work.lua")
		;;
	mawk)
		program=$(copy mawk) && make_text 200 >"$tmp/text" || return
		args=('{ for (i = 1; i <= NF; i++) n[$i]++; gsub(/[aeiou]+/, "<&>"); len += length($0) }
			/b.*d$/ { hits++ } END { for (w in n) k++; print k, len, hits }' "$tmp/text")
		;;
	bzip2)
		program=$tmp/libbz2 && cp "$BUILD/oracle/libbz2" "$program" && make_text 250 >"$tmp/text" || return
		args=("$tmp/text")
		;;
	sqlite3)
		program=$tmp/libsqlite && cp "$BUILD/oracle/libsqlite" "$program" || return
		SCALE=20 sqlite_script >"$tmp/work.sql"
		args=(:memory: "$tmp/work.sql")
		;;
	*) return 1 ;;
	esac
}

run_cost() { # PLACEMENT: processor seconds of the program under it
	"$PUGMARK" record -q -o "$tmp/rec.$1" --binary "$program" --level paths --placement "$1" -- \
		"$measure" 1 "$program" "${args[@]}" >"$tmp/out" 2>"$tmp/err" || return
	tail -n 1 "$tmp/out" | cut -d ' ' -f 2
}

printf '%-8s %-9s %6s %10s %10s %11s %11s %11s\n' program placement sites hits blocks 'hits/block' \
	'cost/blocks' 'run/blocks'
: >"$tmp/ratios"
for name in gzip-c gzip-d lua mawk bzip2 sqlite3; do
	if ! set_up $name; then
		printf '%-8s cannot be set up here\n' $name
		continue
	fi
	"$measure" 1 "$program" "${args[@]}" >"$tmp/out" 2>&1
	alone=$(tail -n 1 "$tmp/out" | cut -d ' ' -f 2)
	for placement in blocks targets edges nodes best; do
		printf '%s %s\n' $placement "$(run_cost $placement || echo nan)"
	done >"$tmp/runs"
	{
		"$cost" "$program" "$tmp/rec.best" &&
			"$cost" "$program" "$tmp/rec.best" profile | sed -n 's/^best/profiled/p'
	} >"$tmp/costs" || { echo "$name: FAILED"; exit 1; }
	awk -v alone="$alone" 'NR == FNR { run[$1] = $2 - alone; next }
		$1 == "blocks" { all = $4 }
		{ printf "%s %d %d %d %.4f %.4f %s\n", $1, $5, $2, $3, $2 / $3, $4 / all,
			($1 in run) ? sprintf("%.3f", run[$1] / run["blocks"]) : "-" }' \
		"$tmp/runs" "$tmp/costs" >"$tmp/rows"
	while read -r placement sites hits blocks share of_blocks run; do
		printf '%-8s %-9s %6s %10s %10s %11s %11s %11s\n' $name "$placement" "$sites" "$hits" "$blocks" \
			"$share" "$of_blocks" "$run"
		record "paths-$name" "$placement" hits_per_block "$share" ratio
		record "paths-$name" "$placement" cost_over_blocks "$of_blocks" ratio
		[ "$run" = - ] || record "paths-$name" "$placement" run_over_blocks "$run" ratio
		echo "$placement $of_blocks" >>"$tmp/ratios"
	done <"$tmp/rows"
done
mean() { # PLACEMENT
	awk -v p="$1" '$1 == p { s += log($2); n++ } END { printf "%.3f", n ? exp(s / n) : 9 }' "$tmp/ratios"
}
best=$(mean best) of_nodes=$(calc "$(mean best) / $(mean nodes)")
record paths best geometric_mean_of_blocks "$best" ratio
record paths best geometric_mean_of_nodes "$of_nodes" ratio
record paths profiled geometric_mean_of_blocks "$(mean profiled)" ratio
printf 'best costs %s of blocks and %s of nodes in the geometric mean; profiled %s of blocks\n' \
	"$best" "$of_nodes" "$(mean profiled)"
failed=0
bound() { # WHAT VALUE MAX
	awk "BEGIN { exit !($2 < $3) }" && return
	failed=1
	printf 'MISSED: best is to cost under %s of %s: over by %s\n' "$3" "$1" "$(calc "$2 - $3")"
}
bound blocks "$best" $max_blocks
bound nodes "$of_nodes" $max_nodes
exit $failed
