#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_planning.sh: how long a server's clients wait while a program is planned beside it, against how long
# they wait while nothing is: the median and the 99th percentile of RATE=2000 requests a second, in
# ROUNDS of SECONDS=8 each in turn: idle, beside planning that gives way (plan --warm, as of record -p and
# -a), beside planning that does not, and beside a program that only computes, at the same priority as
# that. Asked for is a 99th percentile within 5 % of idle.
#
#   bench_planning.sh [redis] [nginx]
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='redis nginx'
. tests/bench/lib.sh
. tests/bench/servers.sh
needs_recording
rate=${RATE:-2000} seconds=${SECONDS_EACH:-8}
gcc -O2 -o "$tmp/latency" tests/bench/loads/latency.c || exit 1
large=$(copy gdb) || large=$(copy python3.11) || skip 'no large program here'

planning=''
plan() { # OPTION...: one plan after the other, until it is ended
	while :; do
		"$PUGMARK" "$@" "$large" >"$tmp/plan.out" 2>&1
		rm -rf "$XDG_CACHE_HOME"
	done
}
begin() { # idle|gives-way|at-once|computes
	case $1 in
	idle) return ;;
	gives-way) plan plan --warm & ;;
	at-once) plan plan --fresh --stats & ;;
	computes) sh -c 'while :; do :; done' & ;;
	esac
	planning=$!
	sleep 0.3
}
finish() {
	[ -n "$planning" ] || return
	# shellcheck disable=SC2046 # numbers
	kill $(descendants $planning) $planning 2>/dev/null
	wait $planning 2>/dev/null
	planning=''
}

short=0
run() { # NAME
	local name=$1 kind
	port=$(free_port)
	"serve_$name" || { echo "$name: not installed"; return; }
	for kind in idle gives-way at-once computes; do : >"$tmp/$kind"; done
	sleep 1
	for ((i = 0; i < rounds; i++)); do
		for kind in idle gives-way at-once computes; do
			begin $kind
			"$tmp/latency" "$port" "$rate" "$seconds" "$request" >>"$tmp/$kind" || echo "$name: $kind: no reply"
			finish
		done
	done
	local idle
	idle=$(median "$tmp/idle" 2)
	for kind in idle gives-way at-once computes; do
		printf '%-6s %-10s median %7.1f us   99 of 100 below %8.1f us   %.2f times idle\n' "$name" $kind \
			"$(median "$tmp/$kind")" "$(median "$tmp/$kind" 2)" "$(calc "$(median "$tmp/$kind" 2) / $idle")"
		record "$name" $kind p99 "$(median "$tmp/$kind" 2)" us
	done
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
