#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_planning.sh: how long a server's clients wait while a program is planned beside it, against how long
# they wait while nothing is: the median and the 99th percentile of RATE=2000 requests a second, in ROUNDS=20
# of SECONDS_EACH=2 in turn (short ones, since what else the machine does comes and goes): idle, beside
# planning that gives way (plan --warm, as of record -p and -a), beside a program that only computes in its
# registers and gives way as well, beside planning that does not, and beside such a program that does not.
# Asked for is a 99th percentile within 5 % of idle; what the program that gives way costs is what the
# machine and the kernel make of any, and no planning can do better. Says also with which priorities the
# threads of the planning ran that gives way.
#
#   bench_planning.sh [redis] [nginx]
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='redis nginx'
. tests/bench/lib.sh
. tests/bench/servers.sh
needs_recording
rate=${RATE:-2000} seconds=${SECONDS_EACH:-2} rounds=${ROUNDS:-20}
gcc -O2 -o "$tmp/latency" tests/bench/loads/latency.c || exit 1
large=$(copy gdb) || large=$(copy python3.11) || skip 'no large program here'

planning=''
plan() { # OPTION...: one plan after the other, until it is ended
	while :; do
		"$PUGMARK" "$@" "$large" >"$tmp/plan.out" 2>&1
		rm -rf "$XDG_CACHE_HOME"
	done
}
begin() { # idle|gives-way|rests|at-once|computes
	case $1 in
	idle) return ;;
	gives-way) plan plan --warm & ;;
	rests) chrt -i 0 sh -c 'while :; do :; done' & ;;
	at-once) plan plan --fresh --stats & ;;
	computes) sh -c 'while :; do :; done' & ;;
	esac
	planning=$!
	sleep 0.3
}
# The scheduling policy and the disk's class of each thread of the processes below $planning that have used
# most of a processor, with how many times it was seen.
priorities() {
	local pid busiest
	busiest=$(for pid in $(descendants $planning); do
		[ -r "/proc/$pid/stat" ] && printf '%s %s\n' "$(awk '{ print $14 + $15 }' "/proc/$pid/stat")" "$pid"
	done 2>/dev/null | sort -n | tail -1 | cut -d' ' -f2)
	for tid in "/proc/$busiest/task/"*; do
		[ -d "$tid" ] || continue
		printf '%s, disk %s\n' "$(chrt -p "${tid##*/}" | sed -n 's/.*policy: //p')" "$(ionice -p "${tid##*/}")"
	done 2>/dev/null
}
finish() {
	[ -n "$planning" ] || return
	# shellcheck disable=SC2046 # numbers
	kill $(descendants $planning) $planning 2>/dev/null
	wait $planning 2>/dev/null
	planning=''
}

short=0 kinds='idle gives-way rests at-once computes'
run() { # NAME
	local name=$1 kind
	port=$(free_port)
	"serve_$name" || { echo "$name: not installed"; return; }
	for kind in $kinds; do : >"$tmp/$kind"; done
	sleep 1
	for ((i = 0; i < rounds; i++)); do
		for kind in $kinds; do
			begin $kind
			"$tmp/latency" "$port" "$rate" "$seconds" "$request" >>"$tmp/$kind" || echo "$name: $kind: no reply"
			[ $kind != gives-way ] || priorities >>"$tmp/priorities"
			finish
		done
	done
	local idle
	idle=$(median "$tmp/idle" 2)
	for kind in $kinds; do
		printf '%-6s %-10s median %7.1f us   99 of 100 below %8.1f us   %.2f times idle\n' "$name" $kind \
			"$(median "$tmp/$kind")" "$(median "$tmp/$kind" 2)" "$(calc "$(median "$tmp/$kind" 2) / $idle")"
		record "$name" $kind p99 "$(median "$tmp/$kind" 2)" us
	done
	sort "$tmp/priorities" | uniq -c | sed "s/^/$name: threads of planning: /"
	awk -v a="$(median "$tmp/gives-way" 2)" -v b="$idle" 'BEGIN { exit a > 1.05 * b }' ||
		{ echo "$name: SHORT: within 1.05 was asked for"; short=1; }
	kill "$server"
	wait "$server" 2>/dev/null
}
for name in "${@:-redis nginx}"; do
	for each in $name; do
		[ "$each" = redis ] && request='GET key\r\n' || request='GET /index.html HTTP/1.1\r\nHost: a\r\n\r\n'
		run "$each"
	done
done
exit $short
