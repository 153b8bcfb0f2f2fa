#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_servers.sh: what it costs to record servers under load: redis under redis-benchmark, nginx
# under wrk, both on ports of their own on 127.0.0.1.
#
#   bench_servers.sh [redis] [nginx]
#
# Each of ROUNDS=5 rounds puts the same server under the same load alone and recorded (-p) in modes
# best and full; the cost is the server's own processor time a request. For the shares of witness
# events, one load is recorded by the plans of all modes at once.
# shellcheck disable=SC2317 # functions that are called by a name in a variable
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='redis nginx'
. tests/bench/lib.sh
. tests/bench/servers.sh
needs_recording
modes='full branch casper best'

start_redis() {
	serve_redis || return
	load=redis_load
}
redis_load() { # prints the number of requests
	local n=${REQUESTS:-2000}
	redis-benchmark -h 127.0.0.1 -p "$port" -q -c 8 -n "$n" \
		-t set,get,incr,lpush,rpop,sadd,hset,mset >/dev/null && echo $((n * 8))
}
start_nginx() {
	serve_nginx || return
	load=nginx_load
}
nginx_load() {
	wrk -t 1 -c 8 -d "${SECONDS_OF_LOAD:-1}s" "http://127.0.0.1:$port/index.html" |
		awk '/requests in/ { print $1 }'
}

# Puts the load on the server, recorded where a mode is given; sets requests and cpu (seconds).
under_load() { # [RECORD OPTIONS...]
	local before recorder=
	if [ $# -gt 0 ]; then
		rm -rf "$tmp/rec"
		"$PUGMARK" record -q -o "$tmp/rec" -p "$server" "$@" 2>"$tmp/record.err" &
		recorder=$!
		for _ in $(seq 200); do
			[ ! -e "$tmp/rec/reserve" ] && kill -0 $recorder 2>/dev/null || break
			sleep 0.05
		done
		sleep 0.3
		kill -0 $recorder 2>/dev/null || { cat "$tmp/record.err"; return 1; }
	fi
	before=$(ticks "$server")
	requests=$($load)
	cpu=$(calc "($(ticks "$server") - $before) / $(getconf CLK_TCK)")
	[ -z "$recorder" ] || { kill -INT $recorder; wait $recorder; }
	[ "${requests:-0}" -gt 0 ]
}

profiled() { # NAME: what the counts of an earlier recording make of mode best
	local e w g p
	REQUESTS=300 under_load --plan "$tmp/plan.best" || return
	"$PUGMARK" plan --profile "$tmp/rec" -o "$tmp/plan.profile" "$program" >/dev/null || return
	REQUESTS=300 under_load --plan "$tmp/plan.profile" || return
	read -r _ e _ w _ g < <("$PUGMARK" dump --count "$tmp/rec")
	p=$(calc "100 * $w / $e")
	record "$1" profile witness_share "$p" %
	echo "$1 best, profile: $p % of $e, $g gaps"
}

bench_server() { # NAME
	local mode i=0 e w g line=$1 p twins=()
	port=$(free_port)
	"start_$1" || { echo "$1: not installed, or no load generator"; return 0; }
	for _ in $(seq 100); do
		(: </dev/tcp/127.0.0.1/"$port") 2>/dev/null && break
		sleep 0.05
	done
	for mode in full best; do
		"$PUGMARK" plan --mode $mode -o "$tmp/plan.$mode" "$program" >/dev/null || return
	done
	for _ in $(seq "$rounds"); do
		for mode in alone best full; do
			if [ $mode = alone ]; then under_load; else under_load --plan "$tmp/plan.$mode"; fi || return
			calc "$cpu / $requests * 1e6" 6 >>"$tmp/t.$1.$mode"
			echo >>"$tmp/t.$1.$mode"
			[ $mode != best ] || lost=$(field "$tmp/rec/meta.json" lost)
		done
	done
	local alone
	alone=$(median "$tmp/t.$1.alone")
	record "$1" none cpu_per_request "$alone" us
	for mode in best full; do
		p=$(calc "$(median "$tmp/t.$1.$mode") - $alone")
		record "$1" "$mode" added_cpu_per_request "$p" us
		line="$line $mode adds $p us"
	done
	record "$1" best lost_events "${lost:-null}" events
	echo "$line to $alone us of processor time a request; $lost events lost"
	local way opts
	for way in best plain; do
		opts=()
		[ $way = best ] || opts=(--no-times)
		under_load --plan "$tmp/plan.best" "${opts[@]}" || return
		read -r _ e _ w _ < <("$PUGMARK" dump --count "$tmp/rec")
		p=$(calc "$(stat -c %s "$tmp/rec/events") / $e * 2")
		record "$1" $way bytes_per_call "$p" bytes
		echo "$1 $way: $p bytes on disk a call, of $((e / 2)) calls"
	done
	read -r _ cpu _ < <(ANY_STATUS=1 "$measure" "$rounds" "$PUGMARK" verify "$tmp/rec")
	record "$1" best recovery_speed "$(calc "$e / $cpu / 1e6")" Mevents/s
	echo "$1 recovered at $(calc "$e / $cpu / 1e6") M events a second of one core, start included"
	for mode in branch casper best; do twins+=(--twin "$mode"); done
	REQUESTS=300 SECONDS_OF_LOAD=1 under_load --mode full "${twins[@]}" || return
	line=$1
	for mode in $modes; do
		read -r _ e _ w _ g < <("$PUGMARK" dump --module $i --count "$tmp/rec")
		record "$1" "$mode" witness_share "$(calc "100 * $w / $e")" %
		record "$1" "$mode" events "$e" events
		record "$1" "$mode" gaps "$g" gaps
		line="$line $mode $(calc "100 * $w / $e") %$([ "$g" = 0 ] || echo " ($g gaps)"),"
		i=$((i + 1))
	done
	echo "${line%,} of $e call and return events"
	profiled "$1" || return
	kill "$server" && wait "$server" 2>/dev/null
}

failed=0
# shellcheck disable=SC2086 # they are words
[ $# -gt 0 ] || set -- $pieces
for name in "$@"; do
	bench_server "$name" || { failed=1; echo "$name: FAILED"; }
done
exit $failed
