#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cycles.sh: processes under load are patched and given back, again and again: nginx's workers, redis,
# and a program of 64 threads.
#
#   cycles.sh [--kill] CYCLES SECONDS [nginx] [redis] [crowd]
#
# A cycle is `record --carrier patch -p` of a few milliseconds. Behind each one every executable byte of
# the program is compared with its file, and what is mapped there is counted: neither trampolines nor
# chunks may be left, nor may what is mapped grow. The load goes on all the while, and no request may
# fail. With --kill the recorder is killed by SIGKILL at a moment by lot; what follows, the next
# cycle's recorder has to mend, and the last cycle ends in order.
#
# Each of the three has up to CYCLES cycles and up to SECONDS. Prints a table; status 1 where something
# was harmed. What could not be given back at once, because a thread's frame still led there, is
# counted by itself ("later"): it must be gone at the end.
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
seed=${SEED:-$$}
RANDOM=$seed

crowd_start() {
	nice -n 19 "$binary" >crowd.out & # it is its own load
	server=$!
}
crowd_ready() { [ "$(ls /proc/"$server"/task | wc -l)" -ge 65 ]; }
crowd_round() { sleep 0.5; kill -0 "$server"; }
crowd_end() {
	kill -TERM "$server"
	wait "$server" && grep -q ' 0 wrong$' crowd.out
}

load() { # NAME: rounds until it is told to end; what failed is counted
	local n=0 bad=0
	renice -n 19 $BASHPID >/dev/null # or it leaves the recorder little of the machine
	while [ -e loading ]; do
		n=$((n + 1))
		"$1_round" >>failures 2>&1 || bad=$((bad + 1))
	done
	echo "$n $bad" >loaded
}
traced() { # NAME: the processes that are patched
	case $1 in
	nginx) pgrep -P "$server" ;;
	*) echo "$server" ;;
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
	"$PUGMARK" record -o rec --carrier patch "$@" --duration 20 2>err &
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
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	return 0
}

"${CC:-cc}" -O2 -o text "$tests/carrier/text.c" || exit 1
printf '%-6s %7s %8s %8s %7s %9s %6s %6s %9s %9s %8s\n' program cycles seconds patched failed bytes_off maps \
	later maps_was maps_end rounds
one() { # NAME
	local name=$1 k=0 bad=0 off=0 maps_left=0 later=0 was until rounds broken options=() pid status=0
	local began=$SECONDS while_patched=0 patched=0 i
	if [ "$name" = crowd ]; then
		"${CC:-cc}" -O2 -pthread -o crowd "$tests/carrier/crowd.c" || return
		binary=$PWD/crowd
	else
		local file=${name}_file
		[ -x "${!file}" ] || { echo "$name: not installed"; return 0; }
		cp "${!file}" "$name.bin"
		binary=$PWD/$name.bin
	fi
	"${name}_start"
	started+=("$server")
	await "${name}_ready" || { echo "$name does not come up:"; tail -n 5 server.log; return 1; }
	mapfile -t pids < <(traced "$name")
	for pid in "${pids[@]}"; do options+=(-p "$pid"); done
	# What is tried is to patch and to give back: it is planned once.
	"$PUGMARK" plan --carrier patch -o plan "$binary" >/dev/null 2>&1 || { echo "$name: cannot be planned"; return 1; }
	options+=(--plan plan)
	touch loading
	load "$name" &
	local loader=$!
	started+=("$loader")
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
		grep -q 'witnesses patched' err && patched=$((patched + 1))
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
	wait $loader
	read -r rounds broken <loaded
	if [ "$name" = crowd ]; then crowd_end || broken=$((broken + 1)); else kill "$server" && wait "$server"; fi 2>/dev/null
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
