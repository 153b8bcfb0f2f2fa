#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# overhead.sh: does --max-overhead 5 leave a server at full load its throughput?
#
#   overhead.sh [NAME...]
#
# NAME is one of servers.sh; without one, nginx and redis. A load that does not stop runs against it,
# and windows of WINDOW=2 seconds alternate, ROUNDS=5 times each: untraced, recorded with
# --max-overhead PERCENT=5 for the first time (--fresh), untraced, and recorded again, which begins
# without what the time before took out; each recording is given one second.
# A recorded window is set against the mean of the untraced ones before and after it; the median of
# the rounds must be within 6 %. The spread is shown, and what share of all processors other work of the
# machine took in the untraced windows: where that is much, it is what was measured; and what share was
# idle, where server and load waited for each other. In two layouts, or those of LAYOUTS:
#
#   spare    the server and its load share processor 0, the recorder has processor 1: what the probes
#            cost the server, as where the recorder finds a processor with time to spare
#   shared   all three share all processors, which the load keeps busy: what the recorder's own work
#            takes away is in it
#
# A row "none" of each layout sets each untraced window against those before and after it in the same
# way: what the measurement itself is worth.
#
# Beside it: processor time a request; how often functions were taken out, of the longest of these
# changes how long it was planned, and the longest gap that it left.
# shellcheck disable=SC2154 # what servers.sh sets
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
export PUGMARK=${PUGMARK:-$(realpath "$here/../..")/build/pugmark}
export PUGMARK_NO_TTY=1
rounds=${ROUNDS:-5} window=${WINDOW:-2} percent=${PERCENT:-5} allowed=6
layouts=${LAYOUTS:-spare shared}

skip() {
	echo "SKIP overhead: $*"
	exit 77
}
. "$here/servers.sh"
. "$here/running.sh"
[ "$(id -u)" = 0 ] || skip "recording needs root"
for tool in curl wrk redis-cli redis-benchmark jq taskset; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
[ $# -gt 0 ] || set -- nginx redis
dir=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-overhead.XXXXXX") || exit 1
server='' loader='' others='' recorder=''
cleanup() {
	for pid in $recorder $loader $others $server; do
		kill -INT "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME=$dir/cache

# A load without an end, in the background, on the processors $on_load.
nginx_load() { taskset -c "$on_load" wrk -t 1 -c 16 -d 600 "http://127.0.0.1:$port/" >load.log 2>&1 & }
redis_load() { # both at once: no window differs from the next by what is asked for
	taskset -c "$on_load" redis-benchmark -p "$port" -t set -n 100000 -c 8 -q -l >load.log 2>&1 &
	others=$!
	taskset -c "$on_load" redis-benchmark -p "$port" -t get -n 100000 -c 8 -q -l >load2.log 2>&1 &
}
layout() { # NAME: which processors are whose
	local last=$(($(nproc --all) - 1)) pid
	on_load=0-$last on_server=0-$last on_recorder=0-$last
	[ "$1" != spare ] || on_load=0 on_server=0 on_recorder=1-$last
	for pid in $(pids); do
		taskset -acp "$on_server" "$pid" >/dev/null
	done
}

# What is served in a window of so many seconds: REQUESTS-A-SECOND CPU-US-A-REQUEST.
measure() {
	local from
	from=$(mark)
	sleep "$1"
	between "$from" "$(mark)"
}
# Processor time since the boot, in ticks: of all, of all but idle ones, and of server and load.
ticks() {
	local pid
	{
		sed -n '1s/^cpu/total/p' /proc/stat
		for pid in $(pids) $loader $others; do
			sed 's/.*) /one /' "/proc/$pid/stat" 2>/dev/null
		done
	} | awk '$1 == "total" { for (i = 2; i <= 9; i++) all += $i; busy = all - $5 - $6 }
		$1 == "one" { ours += $13 + $14 } END { print all, busy, ours }'
}
untraced() { # measure, and the shares of the processors that others took and that were idle, in percent
	local from window_is
	from=$(ticks)
	window_is=$(measure "$window")
	echo "$window_is $(awk -v a="$from" -v b="$(ticks)" 'BEGIN { split(a, x); split(b, y)
		all = y[1] - x[1]; busy = y[2] - x[2]
		printf "%.0f %.0f", 100 * (busy - y[3] + x[3]) / all, 100 * (all - busy) / all }')"
}

recorded() { # NUMBER OPTION...
	local number=$1
	shift
	taskset -c "$on_recorder" "$PUGMARK" record -q -o "rec$number" -a "$binary" \
		--max-overhead "$percent" "$@" >record.log 2>&1 &
	recorder=$!
	for _ in $(seq 100); do
		[ -s "rec$number/meta.json" ] && break # every probe is in place
		sleep 0.05
	done
	sleep 1
	measure "$window"
	kill -INT $recorder
	wait $recorder
	recorder=
}

# The windows (untraced rate, µs, shares of others and idle; recorded rate and µs) as shares of untraced:
# those of every second recording from number $1 on; none: the untraced ones themselves.
shares() {
	awk -v which="$1" '{ rate[NR] = $1; us[NR] = $2; r[NR] = $5; u[NR] = $6 }
		function row(is, took, a, b) {
			printf "%.1f %.1f\n", 200 * is / (rate[a] + rate[b]), 200 * took / (us[a] + us[b]) }
		END { if (which == "none") for (i = 2; i < NR; i++) row(rate[i], us[i], i - 1, i + 1)
			else for (i = which; i < NR; i += 2) row(r[i], u[i], i, i + 1) }' windows
}
# Of a column of numbers: the median, and the least and the most.
spread() {
	sort -g | awk -v form="$1" '{ v[NR] = $1 }
		END { printf form " (" form ".." form ")\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
}

report() { # LAYOUT TIME FIRST: of the recordings number FIRST, FIRST + 2, ...
	local i rate cpu out planned gap verdict=met
	measurements=$((measurements + 1))
	shares "$3" >shared
	rate=$(cut -d ' ' -f 1 shared | spread %.1f)
	cpu=$(cut -d ' ' -f 2 shared | spread %.1f)
	for ((i = $3; i <= 2 * rounds; i += 2)); do
		"$PUGMARK" verify --format json "rec$i" | jq -r '.notes[]?'
	done >notes
	out=$(grep -c 'taken out, since probes cost' notes)
	planned=$(sed -nE 's/.*planned in ([0-9]+) ms.*/\1/p' notes | sort -g | tail -n 1)
	gap=$(for ((i = $3; i <= 2 * rounds; i += 2)); do "$PUGMARK" dump -N '*' "rec$i"; done |
		awk '$2 == "gap" && $3 == "plan" { d = ($6 - $5) / 1e6; if (d > max) max = d } END { printf "%.0f", max }')
	awk -v r="${rate%% *}" -v a=$allowed 'BEGIN { exit r >= 100 - a }' && verdict=SHORT && short=$((short + 1))
	row "$1" "$2" "$rate" "$cpu" "$out" "${planned:--}" "$gap" $verdict
}
row() { # LAYOUT TIME RATE CPU OUT PLANNED GAP VERDICT
	printf '%-6s %-6s %-5s %22s %8s %6s %22s %22s %4s %8s %7s  %s\n' "$name" "$1" "$2" \
		"$(cut -d ' ' -f 1 windows | spread %.0f)" "$(cut -d ' ' -f 3 windows | spread %.0f | cut -d ' ' -f 1)" \
		"$(cut -d ' ' -f 4 windows | spread %.0f | cut -d ' ' -f 1)" "${@:3}"
}
report_none() { # LAYOUT
	shares none >shared
	row "$1" none "$(cut -d ' ' -f 1 shared | spread %.1f)" "$(cut -d ' ' -f 2 shared | spread %.1f)" - - - -
}

measure_layout() { # NAME
	local i
	layout "$1"
	"${name}_load"
	loader=$!
	sleep 1
	for ((i = 1; i <= 2 * rounds; i += 2)); do
		echo "$(untraced) $(recorded "$i" --fresh)"
		echo "$(untraced) $(recorded $((i + 1)))"
	done >windows
	echo "$(untraced) 0 0" >>windows
	# shellcheck disable=SC2086
	kill $loader $others
	# shellcheck disable=SC2086
	wait $loader $others 2>/dev/null
	loader='' others=''
	report_none "$1"
	report "$1" first 1
	report "$1" again 2
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/$name-$1" && cp -r . "$KEEP/$name-$1"; }
}

check() { # NAME
	name=$1
	local file=${name}_file
	[ -x "${!file}" ] || { printf '%-8s SKIP: %s is not installed\n' "$name" "${!file}"; return; }
	mkdir "$dir/$name" "$dir/$name/bin" && cd "$dir/$name" || return
	binary=$PWD/bin/$(basename "${!file}")
	cp "${!file}" "$binary"
	"${name}_start"
	for _ in $(seq 50); do
		"${name}_ready" >/dev/null 2>&1 && break
		sleep 0.2
	done
	"$PUGMARK" doctor >doctor.log 2>&1
	"$PUGMARK" plan "$binary" >/dev/null 2>&1
	for each_layout in $layouts; do
		measure_layout "$each_layout"
	done
	kill "$server"
	wait "$server" 2>/dev/null
	server=''
	cd / && rm -rf "${dir:?}/$name"
}

short=0 measurements=0
printf '%-6s %-6s %-5s %22s %8s %6s %22s %22s %4s %8s %7s  asked: %d %%\n' server layout time 'untraced req/s' \
	'others %' 'idle %' 'recorded, % of that' 'us/request, %' 'out' 'plan ms' 'gap ms' $((100 - allowed))
for each in "$@"; do
	check "$each"
done
echo "$measurements measurements, $short short of what is asked"
[ $short = 0 ]
