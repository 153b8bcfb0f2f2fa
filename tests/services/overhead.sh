#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# overhead.sh: does --max-overhead 5 leave a server at full load its throughput?
#
#   overhead.sh [NAME...]
#
# NAME is one of servers.sh; without one, nginx and redis. A load that does not stop runs against it,
# and windows of WINDOW=1 second alternate, ROUNDS=20 times each: untraced, recorded with
# --max-overhead PERCENT=5 for the first time (--fresh), untraced, and recorded again, which begins
# without what the time before took out; each recording is given one second.
#
# A recorded window is set against the mean of the untraced ones right before and after it, so that
# what else the machine does counts only as far as it differs between neighbours. Of these shares the
# median is shown, and the interval in which it lies with 95 % confidence, whatever their
# distribution (order statistics of the sign test). Asked for is that the median is within 6 %:
#
#   met     all of the interval is
#   SHORT   none of it is
#   NOISY   it holds both, or there were fewer than six rounds: this machine, at this time, does not say
#
# in two ways: of requests a second, which other work of the machine disturbs, and (cpu) of what
# processor time alone allows: that of all who share the processors with the server, a request. Idle
# processors are no part of the second.
#
# In two layouts, or those of LAYOUTS:
#
#   spare    the server and its load share processor 0, the recorder has processor 1: what the probes
#            cost the server, as where the recorder finds a processor with time to spare
#   shared   all three share all processors, which the load keeps busy: what the recorder's own work
#            takes away is in it
#
# A row "none" of each layout sets each untraced window against those before and after it in the same
# way: what the measurement itself is worth. "others" and "idle" are the shares of all processors that
# other work took and that nobody did, in the untraced windows.
#
# Beside it: the server's own processor time a request, against untraced; that of the recorder a
# request, in µs; how often functions were taken out; of each recording the longest planning and the
# longest gap that a change left (median, and the most); and all gaps with another cause than a change
# or the beginning.
# shellcheck disable=SC2154 # what servers.sh sets
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
export PUGMARK=${PUGMARK:-$(realpath "$here/../..")/build/pugmark}
export PUGMARK_NO_TTY=1
rounds=${ROUNDS:-20} window=${WINDOW:-1} percent=${PERCENT:-5} allowed=6
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
	recorder_apart=
	on_load=0-$last on_server=0-$last on_recorder=0-$last
	[ "$1" != spare ] || on_load=0 on_server=0 on_recorder=1-$last recorder_apart=1
	for pid in $(pids); do
		taskset -acp "$on_server" "$pid" >/dev/null
	done
}

# Processor time of all threads of processes, in ns.
spent() {
	local pid
	for pid in "$@"; do
		cat "/proc/$pid/task/"*/schedstat
	done 2>/dev/null | awk '{ n += $1 } END { printf "%.0f", n }'
}
# How far everything is: time and processor time in ns, requests.
# TIME SERVED SERVER LOAD RECORDER
state() {
	local from=${EPOCHREALTIME/./} served
	served=$("${name}_served")
	# shellcheck disable=SC2046,SC2086
	echo "$(((from + ${EPOCHREALTIME/./}) * 500)) ${served:-0} $(spent $(pids)) $(spent $loader $others) $(spent $recorder)"
}
# What is served in a window: REQUESTS-A-SECOND, and µs of processor time a request of the SERVER, of
# the RECORDER, and of ALL who share the server's processors.
measure() {
	local from
	from=$(state)
	sleep "$window"
	awk -v a="$from" -v b="$(state)" -v apart="$recorder_apart" 'BEGIN {
		split(a, x); split(b, y)
		n = y[2] - x[2]; if (n < 1) n = 1
		server = (y[3] - x[3]) / n; recorder = (y[5] - x[5]) / n
		printf "%.1f %.3f %.3f %.3f\n", n / (y[1] - x[1]) * 1e9, server / 1e3, recorder / 1e3,
			(server + (y[4] - x[4]) / n + (apart ? 0 : recorder)) / 1e3 }'
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
	window_is=$(measure)
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
	# Every probe is in place then: on a machine that is full, planning may take long.
	until [ -s "rec$number/meta.json" ] || ! kill -0 $recorder 2>/dev/null; do
		sleep 0.05
	done
	sleep 1
	measure
	kill -INT $recorder
	wait $recorder
	recorder=
}

# The windows as shares of the untraced ones around them, of every second recording from number $1 on,
# or (none) of the untraced ones themselves: rate, allowed by processor time, server's µs, in percent;
# the recorder's µs.
# A line of windows: untraced rate 1, server 2, recorder 3, all 4, others 5, idle 6; recorded the same
# four, 7 to 10.
shares() {
	awk -v which="$1" '{ for (k = 1; k <= 4; k++) { u[NR, k] = $k; r[NR, k] = $(k + 6) } }
		function row(i, a, b, rate, server, recorder, all) {
			printf "%.2f %.2f %.2f %.2f\n", 200 * rate / (u[a, 1] + u[b, 1]),
				50 * (u[a, 4] + u[b, 4]) / all, 200 * server / (u[a, 2] + u[b, 2]), recorder }
		END { if (which == "none") for (i = 2; i < NR; i++) row(i, i - 1, i + 1, u[i, 1], u[i, 2], 0, u[i, 4])
			else for (i = which; i < NR; i += 2) row(i, i, i + 1, r[i, 1], r[i, 2], r[i, 3], r[i, 4]) }' windows
}
# Of a column of numbers: MEDIAN (LOW..HIGH), where the median is with 95 % confidence; of fewer than
# six, the least and the most.
median() {
	sort -g | awk -v form="$1" '{ v[NR] = $1 }
		END { p = sum = 1 / 2 ^ NR; k = 1
			while (NR > 5 && (sum += (p *= (NR - k + 1) / k)) <= 0.025) k++
			printf form " (" form ".." form ")\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[k], v[NR + 1 - k] }'
}
column() { cut -d ' ' -f "$1" shared | median "${2:-%.1f}"; }
verdict() { # MEDIAN (LOW..HIGH)
	awk -v low="${1#*(}" -v high="${1#*..}" -v asked=$((100 - allowed)) \
		-v few=$((rounds < 6)) \
		'BEGIN { print few ? "NOISY" : low + 0 >= asked ? "met" : high + 0 < asked ? "SHORT" : "NOISY" }'
}
# The median and the most of a column of numbers, or - where there are none.
middle() { sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.0f/%.0f", v[int((NR + 1) / 2)], v[NR]; else printf "-" }'; }

report() { # LAYOUT TIME FIRST: of the recordings number FIRST, FIRST + 2, ...
	local i rate cpu all=0
	measurements=$((measurements + 1))
	shares "$3" >shared
	rate=$(column 1) cpu=$(column 2)
	rm -f planned gaps outs
	for ((i = $3; i <= 2 * rounds; i += 2)); do
		"$PUGMARK" verify --format json "rec$i" | jq -r '.notes[]?' >notes
		grep -o 'taken out, since probes cost' notes >>outs
		sed -nE 's/.*planned in ([0-9]+) ms.*/\1/p' notes | sort -g | tail -n 1 >>planned
		"$PUGMARK" dump -N '*' "rec$i" 2>/dev/null | awk '$2 != "gap" || $3 == "attach" { next }
			$3 == "plan" { d = ($6 - $5) / 1e6; if (d > max) max = d; next }
			{ n++ } END { if (max) printf "%.0f", max; print "", n + 0 }' >>gaps
	done
	all=$(awk '{ n += $NF } END { print n + 0 }' gaps)
	case $(verdict "$rate") in
	SHORT) short=$((short + 1)) ;;
	NOISY) noisy=$((noisy + 1)) ;;
	esac
	row "$1" "$2" "$rate" "$(verdict "$rate")" "$cpu" "$(verdict "$cpu")" "$(column 3)" \
		"$(column 4 %.2f | cut -d ' ' -f 1)" "$(wc -l <outs)" "$(middle <planned)" \
		"$(awk 'NF > 1 { print $1 }' gaps | middle)" "$all"
}
row() { # LAYOUT TIME RATE VERDICT CPU VERDICT SERVER RECORDER OUT PLANNED GAP OTHER
	printf '%-6s %-6s %-5s %7s %6s %4s %20s %-5s %20s %-5s %20s %8s %4s %11s %11s %5s\n' "$name" "$1" "$2" \
		"$(cut -d ' ' -f 1 windows | median %.0f | cut -d ' ' -f 1)" \
		"$(cut -d ' ' -f 5 windows | median %.0f | cut -d ' ' -f 1)" \
		"$(cut -d ' ' -f 6 windows | median %.0f | cut -d ' ' -f 1)" "${@:3}"
}
report_none() { # LAYOUT
	shares none >shared
	row "$1" none "$(column 1)" - "$(column 2)" - "$(column 3)" - - - - -
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
	echo "$(untraced) 0 0 0 1" >>windows
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

short=0 noisy=0 measurements=0
printf '%-6s %-6s %-5s %7s %6s %4s %26s %26s %20s %8s %4s %11s %11s %5s  asked: %d %%\n' server layout time 'req/s' \
	others idle 'requests/s, % of untraced' 'by processor time, %' 'us/request, %' recorder out 'planned ms' 'gap ms' other \
	$((100 - allowed))
for each in "$@"; do
	check "$each"
done
echo "$measurements measurements, $short short of what is asked, $noisy that do not say"
[ $((short + noisy)) = 0 ]
