#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# overhead.sh: does --max-overhead 5 leave a server at full load its throughput?
#
#   overhead.sh [NAME...]
#
# NAME is one of servers.sh; without one, nginx and redis. A load that does not stop runs against it,
# and windows of WINDOW=3 seconds alternate, ROUNDS=5 times each: untraced, and recorded with
# --max-overhead PERCENT=5, each recording begun anew and given one second to find what to take out.
# A recorded window is set against the mean of the untraced ones before and after it; the median of
# the rounds must be within 6 %. Beside it: processor time a request, which other work of the machine
# touches less; how long after it was asked to a function was out, and for how long nothing was seen.
# shellcheck disable=SC2154 # what servers.sh sets
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
export PUGMARK=${PUGMARK:-$(realpath "$here/../..")/build/pugmark}
export PUGMARK_NO_TTY=1
rounds=${ROUNDS:-5} window=${WINDOW:-3} percent=${PERCENT:-5} allowed=6

skip() {
	echo "SKIP overhead: $*"
	exit 77
}
. "$here/servers.sh"
. "$here/running.sh"
[ "$(id -u)" = 0 ] || skip "recording needs root"
for tool in curl wrk redis-cli redis-benchmark jq; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
[ $# -gt 0 ] || set -- nginx redis
dir=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-overhead.XXXXXX") || exit 1
server='' loader='' recorder=''
cleanup() {
	for pid in $recorder $loader $server; do
		kill -INT "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME=$dir/cache

# A load without an end, in the background.
nginx_load() { wrk -t 1 -c 16 -d 600 "http://127.0.0.1:$port/" >load.log 2>&1 & }
redis_load() { redis-benchmark -p "$port" -t set,get -n 100000 -c 16 -q -l >load.log 2>&1 & }

# What is served in a window of so many seconds: REQUESTS-A-SECOND CPU-US-A-REQUEST.
measure() {
	local from
	from=$(mark)
	sleep "$1"
	between "$from" "$(mark)"
}

recorded() { # NUMBER
	"$PUGMARK" record -q -o "rec$1" -a "$binary" --max-overhead "$percent" >record.log 2>&1 &
	recorder=$!
	for _ in $(seq 100); do
		[ -s "rec$1/events" ] && break
		sleep 0.05
	done
	sleep 1
	measure "$window"
	kill -INT $recorder
	wait $recorder
	recorder=
}

# The rounds in `windows` (untraced rate and µs, recorded rate and µs) as shares of untraced.
shares() {
	awk '{ rate[NR] = $1; us[NR] = $2; r[NR] = $3; u[NR] = $4 }
		END { for (i = 1; i < NR; i++)
			printf "%.1f %.1f\n", 200 * r[i] / (rate[i] + rate[i + 1]), 200 * u[i] / (us[i] + us[i + 1]) }' windows
}
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.1f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

check() { # NAME
	name=$1
	local file=${name}_file i
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
	"${name}_load"
	loader=$!
	sleep 1
	for ((i = 1; i <= rounds; i++)); do
		echo "$(measure "$window") $(recorded "$i")"
	done >windows
	echo "$(measure "$window") 0 0" >>windows
	kill "$loader" "$server"
	wait "$loader" "$server" 2>/dev/null
	loader='' server=''
	shares >shared
	local rate cpu out gap
	rate=$(cut -d ' ' -f 1 shared | median)
	cpu=$(cut -d ' ' -f 2 shared | median)
	out=$("$PUGMARK" verify --format json rec1 | jq '[.notes[]? | select(test("taken out"))] | length')
	gap=$("$PUGMARK" dump -N '*' rec1 | awk '$2 == "gap" && $3 == "plan" { d = ($6 - $5) / 1e6; if (d > max) max = d }
		END { printf "%.0f", max }')
	local verdict=met
	awk -v r="$rate" -v a=$allowed 'BEGIN { exit r >= 100 - a }' && verdict=SHORT && short=$((short + 1))
	printf '%-8s %9.0f/s untraced  %5.1f %% recorded  %5.1f %% us/req  %3s times taken out  longest gap %5s ms  asked: %d %%: %s\n' \
		"$name" "$(cut -d ' ' -f 1 windows | median)" "$rate" "$cpu" "$out" "$gap" $((100 - allowed)) $verdict
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/$name" && cp -r . "$KEEP/$name"; }
	cd / && rm -rf "${dir:?}/$name"
}

short=0
for each in "$@"; do
	check "$each"
done
echo "$# services, $short short of what is asked"
[ $short = 0 ]
