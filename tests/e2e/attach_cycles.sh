#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# attach_cycles.sh: attaching to a loaded nginx and detaching again, CYCLES times in a row (6; 20 with
# LONG=1, 200 by CYCLES=200): no request fails, no byte of text is changed, no descriptor, probe,
# BPF program or map is left, and each recording is complete or says why not.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs nginx wrk bpftool
cycles=${CYCLES:-$((${LONG:+14} + 6))}
master= load=
at_end() { # a killed nginx would leave its workers
	kill -TERM $master $load 2>/dev/null
	wait
}
work_in_own_folder
chmod 755 "$dir"

cp "$(command -v nginx)" nginx
mkdir www logs
head -c 1000 /dev/zero | tr '\0' x >www/index.html
port=
for try in $(seq 20); do
	port=$((20000 + (RANDOM + try) % 20000))
	(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null || break
done
cat >nginx.conf <<-CONF
	user root; # who reads the folder of the test
	worker_processes 2;
	daemon off;
	pid $dir/pid;
	error_log $dir/logs/error;
	events { worker_connections 128; }
	http {
		access_log off;
		client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
		uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
		server { listen 127.0.0.1:$port; root $dir/www; }
	}
CONF
nice ./nginx -p "$dir" -e "$dir/logs/error" -c "$dir/nginx.conf" >out 2>err &
master=$!
for _ in $(seq 100); do
	(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break
	sleep 0.05
done
read -ra workers <<<"$(cat /proc/$master/task/$master/children)"
[ ${#workers[@]} = 2 ] || skip "nginx does not start: $(head -n 1 err logs/error)"

text_of() {
	for pid in "${workers[@]}"; do
		awk '$2 ~ /x/ && $6 ~ /nginx$/ { print $1 }' "/proc/$pid/maps" |
			while IFS=- read -r from to; do
				dd if="/proc/$pid/mem" bs=4096 skip=$((0x$from / 4096)) \
					count=$(((0x$to - 0x$from) / 4096)) 2>/dev/null | sha256sum
			done
	done
}
fds_of() { for pid in $master "${workers[@]}"; do readlink "/proc/$pid/fd/"*; done; }
# The numbers of the programs, maps and links that process $1 holds, with what they are.
held_by() {
	cat "/proc/$1/fdinfo/"* 2>/dev/null | sed -nE 's/^(prog|map|link)_id:\s*/\1 /p' | sort -u
}

text_of >text_before
fds_of | sed 's/socket:.*/socket/; s/\[.*//' >fds_before
nice wrk -t1 -c8 -d600s "http://127.0.0.1:$port/" >load 2>&1 &
load=$!
sleep 0.5
# All of nginx takes its 9,000 probes long to place and remove on a busy machine: a part, unless asked.
pids=(-p "${workers[0]}" -p "${workers[1]}")
[ -n "${ALL:-}" ] || pids+=(-F 'ngx_http_*')
"$PUGMARK" record -q -o rec --duration 0.1 "${pids[@]}" >out 2>err </dev/null # makes the plan
: >held
events=0 incomplete=0 lost=0 slowest=0
for cycle in $(seq "$cycles"); do
	"$PUGMARK" record -o rec --duration 0.15 "${pids[@]}" >out 2>err </dev/null &
	recorder=$!
	[ $((cycle % 10)) != 1 ] || { until [ -e rec/reserve ] || ! kill -0 $recorder 2>/dev/null; do
		sleep 0.02; done; held_by $recorder >>held; }
	wait $recorder
	status=$?
	[ $status = 0 ] || [ $status = 3 ] || claim "cycle $cycle: recorded" is $status 0
	removed=$(sed -nE 's/.*removed in ([0-9]+) ms/\1/p' err)
	[ "${removed:-0}" -le $slowest ] || slowest=$removed
	n=$(sed -nE 's/.*: ([0-9]+) witness events of .*/\1/p' err)
	[ "${n:-0}" -gt 0 ] && events=$((events + n))
	[ $status = 0 ] || lost=$((lost + 1))
	if [ $((cycle % 10)) = 0 ]; then
		"$PUGMARK" verify rec >certificate 2>&1
		grep -q '^complete' certificate || incomplete=$((incomplete + 1))
	fi
done
kill -INT $load
wait $load
sleep 0.2
text_of >text_after
fds_of | sed 's/socket:.*/socket/; s/\[.*//' >fds_after

claim 'there were events' [ $events -gt $((cycles * 100)) ]
claim 'the load went on, and was answered' eval \
	'[ "$(sed -nE "s/^ *([0-9]+) requests in.*/\1/p" load)" -gt 500 ]'
claim 'no request failed' eval '! grep -E "Socket errors|Non-2xx" load'
claim 'nginx reports nothing' eval '! grep -E "alert|crit|emerg|exited" logs/error'
claim 'its workers are the same' is "$(cat /proc/$master/task/$master/children)" "${workers[*]} "
claim 'no byte of text is changed' cmp text_before text_after
claim 'there is text' is "$(wc -l <text_after)" 2
claim 'no descriptor is left' diff fds_before fds_after
# shellcheck disable=SC2034
left=$(while read -r what id; do
	bpftool "$what" show id "$id" >/dev/null 2>&1 && echo "$what $id"
done <held)
claim 'a recorder holds programs, maps and links' [ "$(cut -d' ' -f1 held | sort -u | wc -l)" -ge 2 ]
claim 'none of them is left' is "$left" ''
claim 'no probe is left' is "$(bpftool link 2>/dev/null | grep -c "$dir")" 0
claim 'the recordings looked at are complete' is $incomplete 0
echo "$cycles cycles: $events events, $lost with losses, slowest removal of probes $slowest ms," \
	"$(sed -nE 's/^ *([0-9]+) requests in ([0-9.a-z]+).*/\1 requests in \2/p' load)"
conclude
