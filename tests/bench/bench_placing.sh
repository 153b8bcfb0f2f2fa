#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_placing.sh: how long it takes to place and to remove all probes of a running nginx, idle and
# under wrk, beside what the kernel needs for the emptiest program on the same instructions: what is
# more than that is ours. ROUNDS=5 of each in turns; medians.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
needs_recording
command -v wrk >/dev/null && program=$(copy nginx) || skip 'no nginx and wrk'
port=$((20000 + $$ % 20000))
mkdir -p "$tmp/www"
seq 500 >"$tmp/www/index.html"
cat >"$tmp/nginx.conf" <<-CONF
	daemon off; worker_processes 2; user root; pid $tmp/nginx.pid;
	error_log $tmp/nginx.log;
	events { worker_connections 64; }
	http {
		access_log off;
		client_body_temp_path $tmp/b; proxy_temp_path $tmp/p; fastcgi_temp_path $tmp/f;
		uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
		server { listen 127.0.0.1:$port; root $tmp/www; }
	}
CONF
"$program" -c "$tmp/nginx.conf" >"$tmp/server.log" 2>&1 &
"$PUGMARK" plan --list "$program" --format json | sed -nE 's/.*"address":"([0-9a-f]+)".*/\1/p' >"$tmp/sites"
[ -s "$tmp/sites" ] || skip 'no plan'

measure_as() { # NAME
	local i
	: >"$tmp/ours"
	: >"$tmp/floor"
	for ((i = 0; i < rounds; i++)); do
		"$PUGMARK" record -o "$tmp/rec" -a "$program" --duration 0.2 2>&1 </dev/null |
			sed -nE 's/.* placed in ([0-9]+) ms, removed in ([0-9]+) ms.*/\1 \2/p' >>"$tmp/ours"
		"$BUILD/tests/placing" "$program" 200 <"$tmp/sites" >>"$tmp/floor"
	done
	printf '%-12s %8d %12s %12s %12s %12s\n' "$1" "$(wc -l <"$tmp/sites")" "$(median "$tmp/ours" 1)" \
		"$(median "$tmp/floor" 1)" "$(median "$tmp/ours" 2)" "$(median "$tmp/floor" 2)"
	record "placing-$1" best placed "$(median "$tmp/ours" 1)" ms
	record "placing-$1" kernel placed "$(median "$tmp/floor" 1)" ms
	record "placing-$1" best removed "$(median "$tmp/ours" 2)" ms
	record "placing-$1" kernel removed "$(median "$tmp/floor" 2)" ms
}

printf '%-12s %8s %12s %12s %12s %12s\n' 'nginx, ms' probes placed 'by kernel' removed 'by kernel'
measure_as idle
wrk -t 1 -c 8 -d 600s "http://127.0.0.1:$port/index.html" >"$tmp/load" 2>&1 &
sleep 0.5
measure_as loaded
