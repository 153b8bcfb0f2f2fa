# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# lib.sh: what the benchmarks of recordings share; sourced by bench_*.sh. Needs PUGMARK, BUILD.
#
# Only copies of programs are recorded and probed. A program's cost is the processor time that it
# takes itself (user and system, what its probes take included), not what runs beside it: other
# work of the machine then weighs little. Wall time is recorded as well.
#
# A benchmark that takes its workloads as arguments names them in $pieces before.
if [ "${1:-}" = --pieces ]; then
	echo "${pieces:-}"
	exit 0
fi
rounds=${ROUNDS:-5}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-bench.XXXXXX") || exit 1
export XDG_CACHE_HOME=$tmp/cache
measure=$BUILD/tests/measure
descendants() { # PID: a recorder that is ended leaves what it started, so it is asked for before
	local pid
	for pid in $(pgrep -P "$1"); do
		echo "$pid"
		descendants "$pid"
	done
}
cleanup() {
	# shellcheck disable=SC2046 # numbers
	kill $(descendants $$) 2>/dev/null
	wait
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
# A bpftrace program that counts a uprobe on the entry of every function of a binary, or of those in
# CALLED alone, but those that the kernel must not be asked to probe. Prints how many.
bpftrace_program() { # BINARY OUT [CALLED]
	"$PUGMARK" cfg --list "$1" | awk 'NR > 1 { print $1 }' >"$tmp/entries"
	[ $# -lt 3 ] || { grep -Fxf "$3" "$tmp/entries" >"$tmp/called" && mv "$tmp/called" "$tmp/entries"; } || return
	objdump -dw --no-show-raw-insn "$1" | awk -v b="$1" -v out="$2" '
		NR == FNR { entry[$1] = 1; next }
		{ a = $1; sub(/:$/, "", a) }
		a in entry && $2 !~ /^(lock|data16|notrack|cs|ds|es|ss|nop[wl]|int3|ud2|hlt)$/ {
			printf "%suprobe:%s:0x%s", (k++ ? ",\n" : ""), b, a >out
		}
		END { print " { @hits = count(); }" >out; print k + 0 }' "$tmp/entries" -
}
# The functions of a binary that a recording saw called, by address.
called_in() { # RECORDING BINARY
	"$PUGMARK" dump --format text "$1" | awk -v m="$(basename "$2")" '
		$2 == "enter" && $3 == m { print $4 }
		($2 == "call" || $2 == "tail") && $NF ~ "^" m ":" { sub(/.*:/, "", $NF); print $NF }' | sort -u
}
