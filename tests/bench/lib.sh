# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034
# lib.sh: what the benchmarks of recordings share; sourced by bench_*.sh. Needs PUGMARK, BUILD.
#
# Only copies of programs are recorded and probed. A program's cost is the processor time that it
# takes itself (user and system, what its probes take included), not what runs beside it: other
# work of the machine then weighs little. Wall time is recorded as well.
rounds=${ROUNDS:-5}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-bench.XXXXXX") || exit 1
export XDG_CACHE_HOME=$tmp/cache
measure=$BUILD/tests/measure
pids=()
cleanup() {
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

skip() {
	echo "SKIP: $*"
	exit 77
}
needs_recording() {
	[ "$(id -u)" = 0 ] || skip 'recording needs root here'
	"$PUGMARK" doctor >"$tmp/doctor" 2>&1 || skip "recording does not work here: $(grep missing "$tmp/doctor")"
}

record() { # WORKLOAD MODE METRIC VALUE UNIT
	[ -z "${BENCH_OUT:-}" ] ||
		printf '{"workload": "%s", "mode": "%s", "metric": "%s", "value": %s, "unit": "%s"}\n' \
			"$@" >>"$BENCH_OUT"
}
median() { # of the numbers in a file, a column (1)
	awk -v c="${2:-1}" '{ print $c }' "$1" | sort -g |
		awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2; else print "nan" }'
}
calc() { awk "BEGIN { printf \"%.${2:-4}g\", $1 }"; }
field() { sed -nE "s/.*\"$2\": *\"?([^,\"}]*).*/\1/p" "$1" | head -n 1; }
copy() { # PROGRAM: its copy
	local file
	file=$(PATH=$PATH:/usr/sbin command -v "$1") || return 1
	cp -L "$file" "$tmp/$1" && echo "$tmp/$1"
}
# A bpftrace program that counts a uprobe on the entry of each function that a recording calls most,
# and how much of its calls that is. To end, bpftrace takes a tenth of a second a probe; a function
# that does not run costs nothing. Some entries the kernel must not be asked to probe.
bpftrace_program() { # BINARY RECORDING MAX OUT
	"$PUGMARK" report --format json "$2" | jq -r '.functions[] | select(.address) |
		"\(.calls) \(.address)"' | sort -rn >"$tmp/called"
	objdump -dw --no-show-raw-insn "$1" | awk -v b="$1" -v max="$3" -v out="$4" '
		NR == FNR { calls[$2] = $1; order[NR] = $2; n = NR; all += $1; next }
		{ a = $1; sub(/:$/, "", a) }
		a in calls && $2 !~ /^(lock|data16|notrack|cs|ds|es|ss|nop[wl]|int3|ud2|hlt)$/ { good[a] = 1 }
		END {
			for (i = 1; i <= n && k < max; i++)
				if (order[i] in good) {
					printf "%suprobe:%s:0x%s", (k++ ? ",\n" : ""), b, order[i] >out
					has += calls[order[i]]
				}
			print " { @hits = count(); }" >out
			if (all) printf "%.4g\n", 100 * has / all
		}' "$tmp/called" -
}
