#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh: services that run go on running while they are recorded, and all that they do is seen.
#
#   check.sh [--quick] [NAME...]
#
# NAME is one of servers.sh; without one, all, or nginx and redis with --quick. Each server is the
# distribution's own, a copy of its binary on loopback. Two claims a server:
#
#   load   under a load that does not stop, `record -a` attaches, records SECONDS=10, and detaches: no
#          request fails, and the trace has no gap that is not explained.
#   count  a load of N requests from idle to idle is recorded: the calls of the function that serves
#          a request are as many as the server's own statistics say.
#
# Prints a table: requests a second before, during and after, processor time a request without and
# with the recording, events, witnesses, gaps. KEEP=DIR keeps the recordings that are not right.
# shellcheck disable=SC2154 # what servers.sh sets
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
export PUGMARK=${PUGMARK:-$(realpath "$here/../..")/build/pugmark}
all="nginx redis memcached lighttpd haproxy apache postgres"
seconds=${SECONDS_RECORDED:-10}
requests=${REQUESTS:-8000}
tools='curl wrk ab redis-cli redis-benchmark pgbench psql setpriv jq'

skip() {
	echo "SKIP check-services: $*"
	exit 77
}
. "$here/servers.sh"
. "$here/running.sh"

[ "$(id -u)" = 0 ] || skip "recording needs root"
for tool in $tools; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
if [ "${1:-}" = --quick ]; then
	all="nginx redis" seconds=2
	shift
fi
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $all

dir=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-services.XXXXXX") || exit 1
server='' loader='' recorder=''
cleanup() {
	touch "$dir/stop"
	for pid in $recorder $loader $server; do
		kill -INT "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME=$dir/cache
${CC:-cc} -O2 -Wall -o "$dir/load" "$here/load.c" || skip "no compiler for the load"

problems=
problem() { problems="$problems${problems:+; }$*"; }

# Rounds of load until `stop` is there; which were right and which failed, in `rounds`.
load_main() {
	local until=$((SECONDS + 120))
	while [ ! -e stop ] && [ $SECONDS -lt $until ]; do
		if "${name}_round" >wrong 2>&1; then
			echo right
		else
			echo failed
			cp round failed-round
		fi >>rounds
	done
}

record_load() {
	local marks=() status=0
	rm -f stop rounds
	load_main &
	loader=$!
	sleep 1
	marks+=("$(mark)")
	sleep "$half"
	marks+=("$(mark)")
	"$PUGMARK" record -q -o load.rec -a "$binary" --duration "$seconds" >record.log 2>&1 &
	recorder=$!
	until [ -s load.rec/events ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.1; done
	marks+=("$(mark)")
	sleep "$((seconds - 1))"
	marks+=("$(mark)")
	wait $recorder || status=$?
	recorder=
	sleep 1
	marks+=("$(mark)")
	sleep "$half"
	marks+=("$(mark)")
	touch stop
	wait $loader
	loader=
	case $status in
	0) ;;
	3) problem "events were lost" ;;
	*) problem "record: $(tail -n 1 record.log)" ;;
	esac
	! grep -q failed rounds || problem "requests failed: $(tail -n 2 failed-round | tr '\n' ' ')"
	read -r rate_before cpu_before < <(between "${marks[0]}" "${marks[1]}")
	read -r rate_during cpu_during < <(between "${marks[2]}" "${marks[3]}")
	read -r rate_after _ < <(between "${marks[4]}" "${marks[5]}")
	# A probe on each call of a busy server takes most of what it could do, but not all of it. A query
	# of PostgreSQL is thousands of calls, some of them on instructions that are single-stepped.
	[ "$((rate_during * 1000))" -gt "$rate_before" ] && [ "$rate_during" -gt 10 ] && [ "$((rate_after * 10))" -gt "$rate_before" ] &&
		[ "$rate_before" -gt 100 ] && grep -q right rounds ||
		problem "hardly any load: $rate_before, $rate_during, $rate_after requests a second"
}

# What is not recovered, but for threads that ran before: a gap a thread, at its beginning.
verify_load() {
	"$PUGMARK" verify --format json load.rec >verify.json 2>verify.log
	read -r events witnesses gaps < <(jq -r '"\(.events) \(.witness_events) \(.gaps | length)"' verify.json)
	jq -r '.gaps[] | "\(.tid) \(.cause)"' verify.json >gaps
	explained=$(awk '$2 == "attach" && !seen[$1]++' gaps | wc -l)
	[ "${gaps:-none}" = "$explained" ] ||
		problem "gaps: $(cut -d ' ' -f 2 gaps | sort | uniq -c | tr -s ' \n' ' ')"
	[ "${events:-0}" -gt 1000 ] || problem "hardly any events"
}

record_count() {
	local before own after got served
	before=$("${name}_served")
	own=$("${name}_served")
	own=$((own - before))
	"$PUGMARK" record -q -o count.rec -a "$binary" >record.log 2>&1 &
	recorder=$!
	until [ -s count.rec/meta.json ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.1; done
	sleep 1
	"${name}_some" "$requests" >wrong 2>&1 || problem "the counted load failed: $(tail -n 1 some)"
	sleep 1
	kill -INT $recorder
	wait $recorder || problem "record: $(tail -n 1 record.log)"
	recorder=
	after=$("${name}_served")
	served=$((after - before - 2 * own))
	local calls=${name}_calls
	got=$("$PUGMARK" dump -F "${!calls}" count.rec | awk '$2 == "call" || $2 == "tail" || $2 == "enter"' | wc -l)
	counted="$got of $served"
	[ "$got" = "$served" ] && [ "$served" -ge "$requests" ] || problem "calls of ${!calls}: $counted"
}

check() { # NAME
	name=$1
	local file=${name}_file
	problems='' half=$(((seconds + 3) / 4))
	rate_before='' rate_during='' rate_after='' cpu_before='' cpu_during=''
	events='' witnesses='' gaps='' counted=''
	if [ ! -x "${!file}" ]; then
		printf '%-10s SKIP: %s is not installed\n' "$name" "${!file}"
		return
	fi
	mkdir "$dir/$name" && cd "$dir/$name" || return
	mkdir bin
	binary=$PWD/bin/$(basename "${!file}")
	cp "${!file}" "$binary"
	cp "$dir/load" .
	"${name}_start" || problem "does not start"
	for _ in $(seq 50); do
		"${name}_ready" >/dev/null 2>&1 && break
		sleep 0.2
	done
	if "${name}_ready" >/dev/null 2>&1; then
		"$PUGMARK" plan "$binary" >/dev/null 2>&1
		record_count
		record_load
		verify_load
	else
		problem "does not answer: $(tail -n 1 server.log)"
	fi
	kill "$server"
	wait "$server" 2>/dev/null
	server=
	printf '%-10s %8s %8s %8s %7s %7s %10s %10s %6s %14s  %s\n' "$name" "$rate_before" "$rate_during" \
		"$rate_after" "$cpu_before" "$cpu_during" "$events" "$witnesses" "$gaps" "$counted" \
		"${problems:-right}"
	total=$((total + 1))
	if [ -n "$problems" ]; then
		wrong=$((wrong + 1))
		[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/$name" && cp -r "$dir/$name" "$KEEP"; }
	fi
	cd / && rm -rf "${dir:?}/$name"
}

total=0 wrong=0
printf '%-10s %8s %8s %8s %7s %7s %10s %10s %6s %14s  %s\n' server 'req/s' recorded after 'us/req' \
	recorded events witnesses gaps counted verdict
for each in "$@"; do
	check "$each"
done
echo "$total services, $wrong not right"
[ $wrong = 0 ] && [ $total -gt 0 ]
