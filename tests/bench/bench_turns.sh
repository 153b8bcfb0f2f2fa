#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_turns.sh: what `record -a BINARY --rotate 8` costs a server, and how well it tells how often
# functions are called, beside one recording of all functions.
#
#   bench_turns.sh [nginx] [redis]
#
# Cost: the server's own processor time a request at full load (wrk, redis-benchmark), untraced, recorded
# whole, and in turns over TURNS=1 rounds of 8 turns of EVERY=3 seconds; of what recording adds, the part
# that turns add. Asked for is less than a fifth, and no failed request.
#
# Rates: RATE=200 requests a second, which neither recording slows down (at full load whoever records less
# has more requests, and each function more calls). Of the functions that a recording of all saw called, how
# many have their calls a second within the interval of 95 % of the turns. Asked for are 95 of 100. Under that
# load each turn has as many requests, so here too the cost is measured: at full load cheap turns have more
# requests than others. Two rounds whose shares are made by estimates, and two by what these have counted. No
# split of functions can be below an eighth: in a round each function has its turn.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='nginx redis'
. tests/bench/lib.sh
. tests/bench/servers.sh
needs_recording
shares=8 every=${EVERY:-3} rounds_of_turns=${TURNS:-1} rate=${RATE:-200}
command -v python3 jq >/dev/null || skip 'python3 and jq are needed'

start_redis() {
	serve_redis || return
	request='SET counter 1\r\n'
}
load_redis() { # SECONDS: requests, and how many of them failed
	local end=$((SECONDS + $1)) n=0 failed=0
	while [ $SECONDS -lt $end ]; do
		redis-benchmark -h 127.0.0.1 -p "$port" -q -c 8 -n 2000 -t set,get,incr,lpush,rpop >"$tmp/load" 2>&1 ||
			failed=$((failed + 1))
		grep -qi error "$tmp/load" && failed=$((failed + 1))
		n=$((n + 10000))
	done
	echo "$n $failed"
}
start_nginx() {
	serve_nginx || return
	request='GET /index.html HTTP/1.1\r\nHost: a\r\n\r\n'
}
load_nginx() {
	wrk -t 1 -c 8 -d "${1}s" "http://127.0.0.1:$port/index.html" >"$tmp/load" 2>&1
	awk '/requests in/ { n = $1 } /Socket errors/ { gsub(",", ""); f += $4 + $6 + $8 + $10 }
		/Non-2xx/ { f += $NF } END { print n + 0, f + 0 }' "$tmp/load"
}

# Begins to record, and waits until it does.
begin() { # DIR OPTIONS...
	rm -rf "$1"
	"$PUGMARK" record -q -a "$program" -o "$1" "${@:2}" 2>"$tmp/record.err" &
	recorder=$!
	for _ in $(seq 3600); do # planning a large program takes a while
		[ -e "$1/reserve" ] || [ -e "$1/turn-000001/reserve" ] && break
		kill -0 $recorder 2>/dev/null || { cat "$tmp/record.err"; return 1; }
		sleep 0.05
	done
	sleep 0.5
}
# Status 3 says that something is missing: events were lost, say.
whole_or_not() { "$@" || [ $? = 3 ]; }
end() {
	kill -INT $recorder
	whole_or_not wait $recorder
}

# Sets us (of the server's processor time a request) and adds to failed_requests.
under_load() { # NAME SECONDS
	local before n failed
	before=$(ticks "$server")
	read -r n failed < <("load_$1" "$2")
	us=$(calc "($(ticks "$server") - $before) / $(getconf CLK_TCK) / ${n:-0} * 1e6")
	failed_requests=$((failed_requests + failed))
	[ "${n:-0}" -gt 0 ]
}
ran_ns() { cut -d ' ' -f 1 "/proc/$1/schedstat"; }
# Sets mw (thousandths of a processor that the server takes) over what a command does or a while.
takes() { # COMMAND...
	local ns=$(ran_ns "$server") since=$EPOCHREALTIME
	"$@" || return
	mw=$(calc "1000 * ($(ran_ns "$server") - $ns) / 1e9 / ($EPOCHREALTIME - $since)")
}
until_turn() { # NUMBER
	local n
	for n in $(seq 9000); do
		[ ! -e "$tmp/turns/turn-$1/reserve" ] || return 0
		kill -0 $recorder 2>/dev/null || return
		sleep 0.05
	done
	return 1
}
# What turns add, in per cent of what a recording of all adds: the mean of two rounds, in which each turn counts
# alike, however long it took to plan the next one.
turns_add() { # FIRST-TURN
	local n
	until_turn "$(printf %06d "$1")" || return
	for n in $(seq $(($1 + 1)) $(($1 + 2 * shares))); do
		takes until_turn "$(printf %06d "$n")" || return
		echo "$mw"
	done | awk -v alone="$mw_alone" -v whole="$mw_whole" \
		'{ sum += $1 } END { if (!NR) exit 1; printf "%.4g", 100 * (sum / NR - alone) / (whole - alone) }'
}
# Both ways of recording under the paced load.
record_paced() {
	local right failed mw mw_alone mw_whole
	python3 tests/bench/loads/paced.py "$port" "$rate" "$request" >"$tmp/paced" 2>"$tmp/err" &
	local paced=$!
	sleep 1
	rm -rf "$tmp/whole" "$tmp/turns"
	takes sleep 5 && mw_alone=$mw
	"$PUGMARK" record -q -a "$program" -o "$tmp/whole" --duration 15 2>"$tmp/record.err" &
	recorder=$!
	sleep 5 # it is planned, and on
	takes sleep 9 && mw_whole=$mw
	whole_or_not wait $recorder || return
	"$PUGMARK" record -q -a "$program" -o "$tmp/turns" --rotate $shares --every "$every" 2>"$tmp/record.err" &
	recorder=$!
	by_estimates=$(turns_add 1) && by_counts=$(turns_add $((2 * shares + 1))) && end || return
	kill -TERM $paced && wait $paced
	read -r right failed <"$tmp/paced"
	failed_requests=$((failed_requests + failed))
	[ "${right:-0}" -gt 0 ] || { echo 'no reply was as the first one' >"$tmp/record.err"; return 1; }
}

bench_server() { # NAME
	local alone whole turns within seen by_estimates by_counts failed_requests=0 part round=$((shares * every * rounds_of_turns))
	port=$(free_port)
	"start_$1" || { echo "$1: not installed, or no load generator"; return 0; }
	for _ in $(seq 100); do
		(: </dev/tcp/127.0.0.1/"$port") 2>/dev/null && break
		sleep 0.05
	done
	under_load "$1" 5 && alone=$us || return
	begin "$tmp/whole" && under_load "$1" 5 && whole=$us && end || return
	begin "$tmp/turns" --rotate $shares --every "$every" && under_load "$1" $round && turns=$us && end || return
	part=$(calc "100 * ($turns - $alone) / ($whole - $alone)")
	record_paced || { cat "$tmp/record.err"; return 1; }
	"$PUGMARK" report --format json "$tmp/whole" >"$tmp/whole.json" 2>"$tmp/err"
	"$PUGMARK" report --format json "$tmp/turns" >"$tmp/turns.json" 2>"$tmp/err"
	read -r within seen < <(python3 tests/bench/turns_within.py "$tmp/whole/meta.json" "$tmp/whole.json" \
		"$tmp/turns.json" 2>"$tmp/outside")
	echo "$1: $alone us a request alone, $whole recorded, $turns in turns: $part % of what recording adds;" \
		"$failed_requests failed requests"
	echo "$1: at $rate requests a second $within of $seen functions within their interval, of" \
		"$(jq '"\(.recordings) recordings, \(.shares_seen) of \(.shares) shares"' "$tmp/turns.json")"
	echo "$1: at that rate two rounds by estimates add $by_estimates % of what recording adds, two by counts" \
		"$by_counts % (no split of functions less than $(calc "100 / $shares") %)"
	sed "s/^/  /" "$tmp/outside" | head -n 10
	record "$1" turns added_cpu_of_whole "$part" %
	record "$1" turns added_by_estimates "$by_estimates" %
	record "$1" turns added_by_counts "$by_counts" %
	record "$1" turns failed_requests "$failed_requests" requests
	record "$1" turns functions_within "$(calc "100 * $within / $seen")" %
	kill "$server" && wait "$server" 2>/dev/null
	[ "$failed_requests" = 0 ] && [ "$(calc "($part < 20 && $by_counts < 20 && $within >= 0.95 * $seen)")" = 1 ] ||
		{ echo "$1: a bound is missed"; return 1; }
}

failed=0
# shellcheck disable=SC2086 # they are words
[ $# -gt 0 ] || set -- $pieces
for name in "$@"; do
	bench_server "$name" || { failed=1; echo "$name: FAILED"; }
done
exit $failed
