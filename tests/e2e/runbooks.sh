#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# runbooks.sh: the commands of docs/runbooks, as they stand there, on real servers under load: a redis
# with KEYS among GETs, an nginx with one slow location among fast ones, SQLite with queries that scan.
# The function at fault is named first. RUNBOOK_LOADS: how many random loads of each (1).
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/runbook.sh"
needs_recording
needs python3 redis-server redis-cli redis-benchmark nginx sqlite3
work_in_own_folder
loads=${RUNBOOK_LOADS:-1}
command_is_pugmark
wait_for() { # COMMAND...
	local i
	for ((i = 0; i < 150; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep .1
	done
}
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
stop() { # PID
	kill "$1"
	wait "$1" 2>/dev/null
}

redis() { # SEED
	local port i
	port=$(free_port)
	RANDOM=$1
	cp "$(command -v redis-server)" redis-copy
	./redis-copy --port "$port" --bind 127.0.0.1 --save '' >/dev/null 2>&1 &
	export PID=$!
	started+=($PID)
	wait_for redis-cli -p "$port" ping
	redis-benchmark -p "$port" -t set -r 5000 -n $((8000 + RANDOM % 4000)) -q >/dev/null 2>&1
	(
		wait_for grep -q ': recording' err
		redis-benchmark -p "$port" -t get,incr,lpush -n 700 -c 3 -q >/dev/null 2>&1 &
		for ((i = 0; i < 3 + RANDOM % 5; i++)); do
			redis-cli -p "$port" keys "key:*$((RANDOM % 10))" >/dev/null
			sleep .2
		done
		wait
	) &
	local load=$!
	follow slow-command.md
	wait $load
	stop "$PID"
	claim "redis, load $1: KEYS is named" grep -qx 'slow because of keysCommand' answers
	rm -rf slow-command*
}

nginx_pages() { # SEED
	local port i
	port=$(free_port)
	RANDOM=$1
	mkdir -p www/big
	for ((i = 0; i < 1500; i++)); do : >www/big/file_$((RANDOM))_$i; done
	for i in 1 2 3 4; do echo "page $i" >www/$i.html; done
	cp "$(command -v nginx)" nginx-copy
	cat >nginx.conf <<-C
		worker_processes 1; daemon off; master_process off; pid $dir/nginx.pid; error_log $dir/nginx.err;
		events { worker_connections 64; }
		http { access_log off; client_body_temp_path $dir/t1; proxy_temp_path $dir/t2;
		fastcgi_temp_path $dir/t3; uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
		server { listen 127.0.0.1:$port; root $dir/www; location /big/ { autoindex on; } } }
	C
	./nginx-copy -c "$dir/nginx.conf" -p "$dir" 2>/dev/null &
	export PID=$!
	started+=($PID)
	(
		wait_for grep -q ': recording' err
		python3 - "$port" "$1" <<-'P'
			import random, sys, time, urllib.request
			random.seed(int(sys.argv[2]))
			end = time.time() + 6
			pages = ["big/"] * 4 + [f"{random.randint(1, 4)}.html" for _ in range(196)]
			random.shuffle(pages)
			for page in pages:
			    if time.time() < end:
			        urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/{page}").read()
		P
	) &
	local load=$!
	follow slow-location.md
	wait $load
	stop "$PID"
	# Where the sort takes less than half of it, the handler that lists a folder and sorts it is named.
	local lister
	lister=$("$PUGMARK" report --callers qsort --format text slow-location | grep -o 'sub_[0-9a-f]*' | head -n 1)
	claim "nginx, load $1: the sorted listing is named" \
		grep -Eqx "slow because of (qsort|${lister:-qsort})" answers
	rm -rf slow-location* www
}

sqlite() { # SEED
	RANDOM=$1
	mkdir -p lib
	cp "$(command -v sqlite3)" sqlite3-copy
	cp "$(ldd "$(command -v sqlite3)" | awk '/libsqlite3/ { print $3 }')" lib/
	sqlite3 words.db "create table t(id integer primary key, name text);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
		insert into t select i, 'name' || i from n;"
	local i
	for ((i = 0; i < 150; i++)); do
		if ((i % 30 == 7)); then
			echo "select count(*) from t where name like '%$((RANDOM % 10))9%';"
		else
			echo "select name from t where id = $((RANDOM % 2000 + 1));"
		fi
	done >queries.sql
	export PROGRAM='./sqlite3-copy -batch words.db' LD_LIBRARY_PATH=$dir/lib
	input=queries.sql
	follow slow-query.md
	input=/dev/null
	unset LD_LIBRARY_PATH
	claim "SQLite, load $1: the machine of queries is named" \
		grep -qx 'slow because of sqlite3VdbeExec' answers
	claim "SQLite, load $1: by its loop" grep -q 'its loop goes round more often' answers
	rm -rf slow-query* words.db
}

for ((load = 1; load <= loads; load++)); do
	redis $load
	nginx_pages $load
	sqlite $load
done
conclude
