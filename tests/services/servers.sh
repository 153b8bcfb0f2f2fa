# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034
# servers.sh: the servers that check.sh records, each by the same few functions. In the current folder,
# on loopback, as a copy of the distribution's binary.
#
#   NAME_file      the distribution's binary
#   NAME_start     starts $binary in the background; sets server (its first process)
#   NAME_ready     whether it answers
#   NAME_round     a second of load or less; fails if one request did
#   NAME_some N    exactly N requests; fails if one did
#   NAME_served    how many requests it has served, by its own statistics
#   NAME_calls     a function that it calls once a request

port=$((20000 + $$ % 12000)) # below those that the kernel gives out

# --- nginx: a master and two workers (nginx_workers), which serve a file ---------------------------------------------
nginx_file=/usr/sbin/nginx
nginx_calls=ngx_http_process_request
nginx_start() {
	mkdir -p nginx/logs nginx/html
	head -c 1000 /dev/zero | tr '\0' x >nginx/html/index.html
	cat >nginx/conf <<-CONF
		daemon off;
		user root;
		worker_processes ${nginx_workers:-2};
		pid nginx.pid;
		error_log logs/error.log;
		events { worker_connections 256; }
		http {
			access_log off;
			client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
			uwsgi_temp_path uwsgi; scgi_temp_path scgi;
			keepalive_requests 1000000000;
			server {
				listen 127.0.0.1:$port;
				root html;
				location = /status { stub_status; }
			}
		}
	CONF
	"$binary" -p "$PWD/nginx" -c conf >server.log 2>&1 &
	server=$!
}
nginx_served() { curl -sf "http://127.0.0.1:$port/status" | awk 'NR == 3 { print $3 }'; }
nginx_ready() { [ -n "$(nginx_served)" ]; }
nginx_round() {
	wrk -t 1 -c 16 -d 1 "http://127.0.0.1:$port/" >round 2>&1 &&
		grep -q 'requests in' round && ! grep -E 'Socket errors|Non-2xx' round
}
nginx_some() {
	ab -q -k -n "$1" -c 8 "http://127.0.0.1:$port/" >some 2>&1 &&
		grep -q "^Complete requests: *$1$" some && grep -q '^Failed requests: *0$' some
}

# --- lighttpd: one process -----------------------------------------------------------------------------
lighttpd_file=/usr/sbin/lighttpd
lighttpd_calls=plugins_call_handle_request_done
lighttpd_start() {
	mkdir -p lighttpd/html
	head -c 1000 /dev/zero | tr '\0' x >lighttpd/html/index.html
	cat >lighttpd/conf <<-CONF
		server.modules = ("mod_status")
		server.document-root = "$PWD/lighttpd/html"
		server.bind = "127.0.0.1"
		server.port = $port
		server.errorlog = "$PWD/lighttpd/error.log"
		server.max-keep-alive-requests = 1000000000
		index-file.names = ("index.html")
		status.status-url = "/status"
	CONF
	"$binary" -D -f lighttpd/conf >server.log 2>&1 &
	server=$!
}
# It adds up once a second.
lighttpd_served() {
	sleep 1.5
	curl -sf "http://127.0.0.1:$port/status?auto" | awk '/^Total Accesses/ { print $3 }'
}
lighttpd_ready() { [ -n "$(lighttpd_served)" ]; }
lighttpd_round() { nginx_round; }
lighttpd_some() { nginx_some "$1"; }

# --- Apache: processes of several threads each, whose modules it loads by itself ---------------------------
apache_file=/usr/sbin/apache2
apache_calls=ap_run_log_transaction
apache_start() {
	local modules=/usr/lib/apache2/modules
	mkdir -p apache/html
	head -c 1000 /dev/zero | tr '\0' x >apache/html/index.html
	chmod 711 .. . apache
	cat >apache/conf <<-CONF
		ServerRoot $PWD/apache
		ServerName 127.0.0.1
		Listen 127.0.0.1:$port
		PidFile $PWD/apache/pid
		ErrorLog $PWD/apache/error.log
		DefaultRuntimeDir $PWD/apache
		LoadModule mpm_event_module $modules/mod_mpm_event.so
		LoadModule authz_core_module $modules/mod_authz_core.so
		LoadModule dir_module $modules/mod_dir.so
		LoadModule status_module $modules/mod_status.so
		User nobody
		Group nogroup
		StartServers 2
		ServerLimit 2
		ThreadsPerChild 32
		MaxRequestWorkers 64
		MinSpareThreads 1
		MaxSpareThreads 64
		MaxKeepAliveRequests 0
		ExtendedStatus On
		DocumentRoot $PWD/apache/html
		DirectoryIndex index.html
		<Location /status>
			SetHandler server-status
		</Location>
	CONF
	"$binary" -DFOREGROUND -f "$PWD/apache/conf" >server.log 2>&1 &
	server=$!
}
apache_served() { curl -sf "http://127.0.0.1:$port/status?auto" | awk '/^Total Accesses/ { print $3 }'; }
apache_ready() { [ -n "$(apache_served)" ]; }
apache_round() { nginx_round; }
apache_some() { nginx_some "$1"; }

# --- HAProxy: two threads, which answer by themselves; its statistics have a port of their own -----------
haproxy_file=/usr/sbin/haproxy
haproxy_calls=http_process_req_common
haproxy_start() {
	cat >haproxy.conf <<-CONF
		global
			nbthread 2
		defaults
			mode http
			timeout client 1m
			timeout server 1m
			timeout connect 1s
			timeout http-keep-alive 1m
		frontend web
			bind 127.0.0.1:$port
			http-request return status 200 content-type text/plain string "$(head -c 1000 /dev/zero | tr '\0' x)"
		frontend status
			bind 127.0.0.1:$((port + 1))
			stats enable
			stats uri /
	CONF
	"$binary" -db -f haproxy.conf >server.log 2>&1 &
	server=$!
}
haproxy_served() {
	curl -sf "http://127.0.0.1:$((port + 1))/;csv" |
		awk -F , 'NR == 1 { while ($++i != "req_tot") if (i > NF) exit }
			$1 == "web" && $2 == "FRONTEND" { print $i }'
}
haproxy_ready() { [ -n "$(haproxy_served)" ]; }
haproxy_round() { nginx_round; }
haproxy_some() { nginx_some "$1"; }

# --- redis: the main thread and its helpers --------------------------------------------------------------
redis_file=/usr/bin/redis-server
redis_calls=call
redis_start() {
	"$binary" --bind 127.0.0.1 --port "$port" --save '' --appendonly no --dir "$PWD" >server.log 2>&1 &
	server=$!
}
redis_served() {
	redis-cli -p "$port" info stats | awk -F : '/^total_commands_processed/ { print $2 + 0 }'
}
redis_ready() { [ -n "$(redis_served)" ]; }
redis_round() {
	redis-benchmark -p "$port" -t set,get -n 4000 -c 16 -q >round 2>&1 && ! grep -i error round
}
redis_some() {
	redis-benchmark -p "$port" -n "$1" -c 8 -q set key:__rand_int__ value >some 2>&1 &&
		! grep -i error some
}

# --- memcached: four worker threads; its functions have no names, but each reply is one sendmsg() ----------
memcached_file=/usr/bin/memcached
memcached_calls=sendmsg
memcached_start() {
	"$binary" -u root -l 127.0.0.1 -p "$port" -U 0 -t 4 >server.log 2>&1 &
	server=$!
}
memcached_served() {
	exec 3<>"/dev/tcp/127.0.0.1/$port" || return
	printf 'stats\r\nquit\r\n' >&3
	tr -d '\r' <&3 | awk '$2 == "cmd_get" { n += $3 } $2 == "cmd_set" { n += $3 } END { print n + 0 }'
	exec 3>&-
} 2>/dev/null
memcached_ready() {
	[ -n "$(memcached_served)" ] &&
		./load "$port" 1 1 'set key 0 0 5\r\nvalue\r\n' 'STORED\r\n' >/dev/null
}
memcached_get() { # CONNECTIONS REQUESTS
	./load "$port" "$1" "$2" 'get key\r\n' 'VALUE key 0 5\r\nvalue\r\nEND\r\n'
}
memcached_round() { memcached_get 16 3000 >round; }
memcached_some() { memcached_get 8 "$(($1 / 8))" >some; }

# --- PostgreSQL: a process a connection, which comes and goes; each transaction is counted once ------------
postgres_file=$(echo /usr/lib/postgresql/*/bin/postgres)
postgres_calls=AtEOXact_PgStat_Database
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
postgres_start() {
	local tools version
	tools=$(dirname "$postgres_file")
	version=$(basename "$(dirname "$tools")")
	# It looks for its files where it is itself.
	mkdir -p "root/usr/lib/postgresql/$version/bin" root/usr/share data
	mv "$binary" "root/usr/lib/postgresql/$version/bin/"
	binary=$PWD/root/usr/lib/postgresql/$version/bin/postgres
	ln -s "/usr/share/postgresql" root/usr/share/
	ln -s "/usr/lib/postgresql/$version/lib" "root/usr/lib/postgresql/$version/"
	chmod 711 .. .
	chown postgres data
	(cd data && as_postgres "$tools/initdb" -D . -A trust -U postgres >/dev/null) || return
	cat >>data/postgresql.conf <<-CONF
		listen_addresses = '127.0.0.1'
		port = $port
		unix_socket_directories = ''
		autovacuum = off
		max_logical_replication_workers = 0
		fsync = off
	CONF
	(cd data && exec setpriv --reuid=postgres --regid=postgres --init-groups "$binary" -D .) >server.log 2>&1 &
	server=$!
}
postgres_sql() { psql -h 127.0.0.1 -p "$port" -U postgres -d postgres -qAtc "$1"; }
# A process reports at its end, a moment after its client has left.
postgres_served() {
	sleep 0.5
	postgres_sql 'select sum(xact_commit + xact_rollback) from pg_stat_database' 2>/dev/null
}
postgres_ready() {
	[ -n "$(postgres_served)" ] &&
		pgbench -h 127.0.0.1 -p "$port" -U postgres -i -s 1 -q postgres >ready 2>&1
}
postgres_bench() {
	pgbench -h 127.0.0.1 -p "$port" -U postgres -n -S -c 8 "$@" postgres
}
postgres_round() {
	postgres_bench -T 1 >round 2>&1 && grep -q '^number of failed transactions: 0 ' round
}
postgres_some() {
	postgres_bench -t "$(($1 / 8))" >some 2>&1 &&
		grep -q '^number of failed transactions: 0 ' some
}
