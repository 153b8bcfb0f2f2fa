#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cycles.sh: processes under load are patched and given back, again and again: nginx's workers, redis,
# and a program of 64 threads.
#
#   cycles.sh [--kill] CYCLES SECONDS [nginx] [redis] [crowd]
#
# A cycle is `record --carrier patch` of a few milliseconds, with a -p for each process: COPIES=4 of redis
# and workers of nginx, and half as many programs of 64 threads. Behind each one every executable byte of
# the processes is compared with their file, and what is mapped there is counted: neither trampolines nor
# chunks may be left, nor may what is mapped grow. The load goes on all the while, at each of them, and
# no request may fail. With --kill the recorder is killed by SIGKILL at a moment by lot; what follows, the
# next cycle's recorder has to mend, and the last cycle ends in order.
#
# Each of the three has up to CYCLES cycles and up to SECONDS. Prints a table, in which "patched" is how
# many times a process was patched and given back (with --kill: how many recorders were killed while
# one was); status 1 where something was harmed. What could not be given back at once, because a thread's
# frame still led there, is counted by itself ("later"): it must be gone at the end.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$tests/services/servers.sh"
needs_recording
needs "${CC:-cc}"
kills=0
[ "${1:-}" != --kill ] || { kills=1; shift; }
cycles=${1:-3333} seconds=${2:-600}
shift 2
[ $# -gt 0 ] || set -- nginx redis crowd
work_in_own_folder
seed=${SEED:-$$} copies=${COPIES:-4}
RANDOM=$seed
nginx_workers=$copies
first_port=$port

crowd_start() {
	nice -n 19 "$binary" >"crowd.$port" & # it is its own load
	server=$!
}
crowd_ready() { [ "$(ls /proc/"$server"/task | wc -l)" -ge 65 ]; }
crowd_round() { sleep 0.5; kill -0 "$server"; }
crowd_end() {
	kill -TERM "$server"
	wait "$server" && grep -q ' 0 wrong$' "crowd.$port"
}

# The server is one of those that run, at its own port.
choose() { # WHICH
	port=$((first_port + $1))
	server=${servers[$1]}
}
load() { # NAME WHICH: rounds until it is told to end; what failed is counted
	local n=0 bad=0
	choose "$2"
	mkdir -p "load.$2"
	renice -n 19 $BASHPID >/dev/null # or it leaves the recorder little of the machine
	while [ -e loading ]; do
		n=$((n + 1))
		(cd "load.$2" && "$1_round") >>failures 2>&1 || bad=$((bad + 1))
	done
	echo "$n $bad" >"load.$2/done"
}
traced() { # NAME: the processes that are patched
	case $1 in
	nginx) pgrep -P "${servers[0]}" ;;
	*) printf '%s\n' "${servers[@]}" ;;
	esac
}
# What is not as it was: bytes, mappings of ours. Sets most: mappings.
look() {
	local seen
	bytes=1 left=1 most=0 # where they cannot be read
	seen=$(./text "$binary" "${pids[@]}") && read -r bytes left most <<<"$seen"
}
cycle() { # OPTION...
	local recorder wait i
	rm -rf rec
	if [ $kills = 0 ]; then
		timeout 60 "$PUGMARK" record -o rec --carrier patch "$@" --duration 0.03 2>err
		status=$?
		[ $status = 3 ] && status=0 # what is lost is not asked here
		return $status
	fi
	: >err
	"$PUGMARK" record -o rec --carrier patch "$@" --duration 100 2>err &
	recorder=$!
	wait=$((RANDOM % 4000))
	if [ $((RANDOM % 2)) = 0 ]; then # or some time after it is patched
		for ((i = 0; i < 500; i++)); do
			grep -q 'patched' err && break
			sleep 0.01
		done
		wait=$((wait % 300))
	fi
	sleep "$((wait / 1000)).$(printf %03d $((wait % 1000)))"
	grep -q memfd:pugmark "/proc/${pids[0]}/maps" 2>/dev/null && while_patched=$((while_patched + 1))
	# It may have a child that holds the process stopped: that ends with it.
	kill -KILL $recorder 2>/dev/null || { wait $recorder; return 1; } # it has ended by itself
	wait $recorder 2>/dev/null
	return 0
}

"${CC:-cc}" -O2 -o text "$tests/carrier/text.c" || exit 1
printf '%-6s %7s %8s %8s %7s %9s %6s %6s %9s %9s %8s\n' program cycles seconds patched failed bytes_off maps \
	later maps_was maps_end rounds
one() { # NAME
	local name=$1 k=0 bad=0 off=0 maps_left=0 later=0 was until rounds broken options=() pid status=0
	local began=$SECONDS while_patched=0 patched=0 i n_servers=$copies loaders=() its_rounds its_broken
	if [ "$name" = crowd ]; then
		"${CC:-cc}" -O2 -pthread -o crowd "$tests/carrier/crowd.c" || return
		binary=$PWD/crowd
	else
		local file=${name}_file
		[ -x "${!file}" ] || { echo "$name: not installed"; return 0; }
		cp "${!file}" "$name.bin"
		binary=$PWD/$name.bin
	fi
	[ "$name" != nginx ] || n_servers=1
	[ "$name" != crowd ] || n_servers=$(((copies + 1) / 2))
	servers=()
	for ((i = 0; i < n_servers; i++)); do
		port=$((first_port + i))
		"${name}_start"
		started+=("$server")
		servers+=("$server")
		await "${name}_ready" || { echo "$name does not come up:"; tail -n 5 server.log; return 1; }
	done
	mapfile -t pids < <(traced "$name")
	for pid in "${pids[@]}"; do options+=(-p "$pid"); done
	# What is tried is to patch and to give back: it is planned once.
	"$PUGMARK" plan --carrier patch -o plan "$binary" >/dev/null 2>&1 || { echo "$name: cannot be planned"; return 1; }
	options+=(--plan plan)
	touch loading
	for ((i = 0; i < n_servers; i++)); do
		load "$name" $i &
		loaders+=($!)
		started+=($!)
	done
	sleep 1
	# What stays is what the first one leaves, for the next one to use again.
	cycle "${options[@]}"
	look
	was=$most
	until=$((SECONDS + seconds))
	while [ $k -lt "$cycles" ] && [ $SECONDS -lt $until ]; do
		k=$((k + 1))
		cycle "${options[@]}" || { bad=$((bad + 1)); head -n 3 err; }
		[ $kills = 0 ] || continue
		patched=$((patched + $(grep -c 'witnesses patched' err)))
		look
		if [ $left != 0 ]; then later=$((later + 1)); elif [ $bytes != 0 ]; then off=$((off + bytes)); fi
	done
	# The last one takes out whatever is left.
	kills_was=$kills kills=0
	for ((i = 0; i < 5; i++)); do
		cycle "${options[@]}" || { bad=$((bad + 1)); head -n 3 err; }
		look
		[ $left = 0 ] && break
		later=$((later + 1))
	done
	kills=$kills_was
	[ $kills = 0 ] || patched=$while_patched
	off=$((off + bytes)) maps_left=$left
	rm loading
	wait "${loaders[@]}"
	rounds=0 broken=0
	for ((i = 0; i < n_servers; i++)); do
		read -r its_rounds its_broken <"load.$i/done"
		rounds=$((rounds + its_rounds)) broken=$((broken + its_broken))
		choose $i
		if [ "$name" = crowd ]; then crowd_end || broken=$((broken + 1)); else kill "$server" && wait "$server"; fi 2>/dev/null
	done
	printf '%-6s %7d %8d %8d %7d %9d %6d %6d %9d %9d %8d\n' "$name" $k $((SECONDS - began)) $patched "$broken" $off \
		$maps_left $later "$was" $most "$rounds"
	[ "$broken" = 0 ] || head -n 20 failures
	claim "$name: no request failed" is "$broken" 0
	claim "$name: each recording ended in order" is $bad 0
	claim "$name: every byte is restored" is $off 0
	claim "$name: nothing stays mapped that could go" is $maps_left 0
	claim "$name: what is mapped does not grow" [ $most -le $((was + 4)) ]
	claim "$name: it was patched" [ $patched -gt 0 ]
}
for name; do
	one "$name"
done
echo "seed $seed"
conclude
