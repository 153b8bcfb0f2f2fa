# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# servers.sh: copies of redis and nginx on a free port of 127.0.0.1, and the processor time that they take;
# sourced by bench_*.sh behind lib.sh. serve_NAME sets program and server (its process); false: there is none.
free_port() {
	local p
	for p in $(seq $((20000 + $$ % 20000)) 65000); do
		(: </dev/tcp/127.0.0.1/"$p") 2>/dev/null || break
	done
	echo "$p"
}
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

serve_redis() {
	command -v redis-server redis-benchmark >/dev/null && program=$(copy redis-server) || return
	"$program" --bind 127.0.0.1 --port "$port" --save '' --dir "$tmp" >"$tmp/server.log" 2>&1 &
	server=$!
}
serve_nginx() {
	command -v wrk >/dev/null && program=$(copy nginx) || return
	mkdir -p "$tmp/www"
	seq 500 >"$tmp/www/index.html"
	chmod 755 "$tmp"
	cat >"$tmp/nginx.conf" <<-CONF
		daemon off; master_process off; worker_processes 1; pid $tmp/nginx.pid;
		error_log $tmp/nginx.log;
		events { worker_connections 64; }
		http {
			access_log $tmp/access.log; keepalive_requests 1000000;
			client_body_temp_path $tmp/b; proxy_temp_path $tmp/p; fastcgi_temp_path $tmp/f;
			uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
			server { listen 127.0.0.1:$port; root $tmp/www; }
		}
	CONF
	"$program" -c "$tmp/nginx.conf" >"$tmp/server.log" 2>&1 &
	server=$!
}
