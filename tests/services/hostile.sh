#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# hostile.sh: a recorder of nginx under load, and beside it somebody with an account who wishes its user
# ill, HOSTILE_SECONDS (60) for each manner (hostile.py; stranger.c). The recorder lives, and the trace
# has each request that nginx itself has counted: none more and none less, and nothing was lost.
#
#   hostile.sh [MANNER...]
# shellcheck disable=SC2154,SC1091 # what servers.sh sets
set -u
here=$(cd "$(dirname "$0")" && pwd)
tests=$(dirname "$here")
seconds=${HOSTILE_SECONDS:-60}
stranger=54321 # of no account
[ "$(id -u)" = 0 ] || { echo 'SKIP: recording needs root here'; exit 77; }
for program in nginx ab curl python3 setpriv "${CC:-cc}"; do
	command -v "$program" >/dev/null || { echo "SKIP: no $program here"; exit 77; }
done
dir=$(TMPDIR=/tmp mktemp -d)
chmod 755 "$dir"
server='' recorder='' hostile='' failed=0 passed=0
clean_up() {
	local pid
	for pid in $recorder $hostile $server; do
		kill "$pid" && wait "$pid"
	done 2>/dev/null
	chmod -R u+rwx "$dir" 2>/dev/null
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache

. "$here/servers.sh"
${CC:-cc} -O1 -o stranger "$tests/programs/stranger.c" || exit 1
python=/usr/bin/python3 # of this machine, for everybody
[ -x $python ] || { echo "SKIP: no $python here"; exit 77; }
elf=$(readlink -f /lib/x86_64-linux-gnu/libm.so.6)
mkdir bin
binary=$dir/bin/nginx
cp "$nginx_file" "$binary"
chmod 700 cache bin 2>/dev/null
nginx_start
for _ in $(seq 100); do nginx_ready >/dev/null 2>&1 && break; sleep 0.1; done
nginx_ready || { echo "does not answer: $(tail -n 1 server.log)"; exit 1; }

attack() { # MANNER: in the background, as the stranger, in his folder; sets hostile
	local as=(setpriv --reuid "$stranger" --regid "$stranger" --clear-groups)
	case $1 in
	cut) cp "$elf" his/large.so && chown $stranger his/large.so
		(cd his && exec "${as[@]}" "$dir/stranger" cut large.so) & ;;
	many) cp "$elf" his/one.so && mkdir his/many && chown -R $stranger his
		(cd his && exec "${as[@]}" "$dir/stranger" many one.so many 4200) & ;;
	device) mknod his/device c 1 5 && chmod 666 his/device
		(cd his && while :; do "${as[@]}" "$dir/stranger" device device; done) & ;;
	*) "${as[@]}" "$python" "$here/hostile.py" "$1" "$elf" "$dir/his" & ;;
	esac >his.log 2>&1
	hostile=$!
}

beside() { # MANNER
	local manner=$1 before own after served got status=0 lost problem='' until
	rm -rf his rec && mkdir his && chown $stranger his
	before=$(nginx_served) own=$(nginx_served)
	own=$((own - before))
	# Where links are laid, the recording is made in their midst.
	local out=$dir/rec
	[ "$manner" != links ] || out=$dir/his/rec
	attack "$manner"
	"$PUGMARK" record -o "$out" -a "$binary" >record.log 2>&1 </dev/null &
	recorder=$!
	until [ -s "$out/events" ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.1; done
	until grep -q ': recording' record.log || ! kill -0 $recorder 2>/dev/null; do sleep 0.1; done
	before=$(nginx_served)
	until=$((SECONDS + seconds))
	while [ $SECONDS -lt $until ]; do
		nginx_some 500 >wrong 2>&1 || problem="a request failed"
	done
	after=$(nginx_served)
	[ "$manner" = many ] || kill -0 $hostile 2>/dev/null || problem="nobody was hostile: $(tail -n 1 his.log)"
	kill -INT $recorder && wait $recorder
	status=$?
	recorder=
	kill $hostile 2>/dev/null && wait $hostile 2>/dev/null
	hostile=
	[ $status = 0 ] || problem="record: status $status: $(tail -n 1 record.log)"
	served=$((after - before + own)) # with the first look at the statistics
	got=$("$PUGMARK" dump -F "$nginx_calls" "$out" 2>>record.log |
		awk '$2 == "call" || $2 == "tail" || $2 == "enter"' | wc -l)
	lost=$("$PUGMARK" verify --format json "$out" 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin).get("lost", "?"))')
	[ "$got" = "$served" ] && [ "$served" -gt 500 ] || problem="$problem of $served requests $got are in the trace"
	[ "$lost" = 0 ] || problem="$problem $lost events lost"
	printf '%-9s %8s requests %8s in the trace %6s lost  %s\n' "$manner" "$served" "$got" "$lost" "${problem:-right}"
	if [ -z "$problem" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
	rm -rf "$out"
}

[ $# != 0 ] || set -- cut many device fifo links names changing storm
for each; do
	beside "$each"
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
