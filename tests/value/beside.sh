#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# beside.sh: servers that are attached to and stepped by ptrace while they are recorded (beside.c): all
# registers before each instruction that the first thread executes, and what that loads, against the replay.
#
#   beside.sh [--quick | NAME...]     N: instructions of each; TIME: seconds of stepping; KEEP: folder, kept
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/nginx.sh"
needs_recording
needs python3
TOOLS=${TOOLS:?the built tests/value tools}
n=${N:-1000000} seconds=${TIME:-200} chosen=
case ${1:-} in
--quick) n=20000 seconds=20 ;;
?*) chosen=$* ;;
esac
if [ -n "${KEEP:-}" ]; then
	dir=$KEEP
	mkdir -p "$dir"
	trap '{ kill -9 "${started[@]}"; wait; } 2>/dev/null' EXIT
	cd "$dir" || exit 1
else
	work_in_own_folder
fi
chmod 755 "$dir"

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
answers() { (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
wanted() { # NAME PROGRAM
	[ -z "$chosen" ] || [[ " $chosen " == *" $1 "* ]] || return
	PATH=$PATH:/usr/sbin command -v "$2" >/dev/null && return
	echo "skip $1: no $2 here"
	skipped=$((skipped + 1))
	return 1
}

# The server $server on $port, which is a copy of ./PROGRAM, asked by `ask`.
compare() { # NAME ASKED PROGRAM OPTION...
	local name=$1 asked=$2 recorder asker
	started+=("$server")
	await answers
	: >err
	rm -rf "rec.$name"
	"$PUGMARK" record -o "rec.$name" -p "$server" --level values "${@:4}" 2>err >out &
	recorder=$!
	started+=("$recorder")
	await grep -q ': recording' err
	ask >/dev/null 2>&1 &
	asker=$!
	started+=("$asker")
	claim "$name: it is stepped" timeout $((seconds + 60)) "$TOOLS/beside" step "$server" "$PWD/$3" "$n" \
		"$seconds" "log.$name"
	kill $asker
	kill -INT $recorder
	wait $asker $recorder 2>/dev/null
	kill -9 "$server"
	claim "$name: nothing is wrong" "$TOOLS/beside" compare "rec.$name" "log.$name"
	sed "\$s/^/$name: /" said
	claim "$name: $asked % exact" awk -v asked="$asked" \
		'{ sub(/.*wrong, /, ""); exit !($1 >= asked) }' <(tail -n 1 said)
	"$PUGMARK" verify "rec.$name" | grep '^values of task' | grep -v ': 0 instructions'
	[ -n "${KEEP:-}" ] || rm -rf "log.$name" "rec.$name"
}

redis() { # OPTION...
	cp "$(command -v redis-server)" .
	port=$(free_port)
	./redis-server --bind 127.0.0.1 --port "$port" --save '' --dir "$dir" --jemalloc-bg-thread no \
		"$@" >server.log 2>&1 &
	server=$!
}
# A load that is over before the server is asked to end leaves that waiting in epoll_wait().
ask() {
	trap 'kill $!; exit' TERM
	while redis-benchmark -p "$port" -c 8 -n 200 -r 100 -q -t set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset & wait $!; do :; done
}
if wanted redis redis-server; then
	redis
	compare redis 99.9 redis-server
fi
if wanted redis_threads redis-server; then
	redis --io-threads 4 --io-threads-do-reads yes
	compare redis_threads 99 redis-server --one-processor
fi
if wanted nginx nginx; then
	cp "$(PATH=$PATH:/usr/sbin command -v nginx)" .
	port=$(free_port)
	make_nginx_site "$port" 'gzip on; gzip_types text/html; gzip_http_version 1.0;'
	./nginx -c "$dir/nginx.conf" >server.log 2>&1 &
	server=$!
	ask() {
		trap exit TERM
		while :; do python3 -c '
import http.client, sys
for i in range(20):
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
    for what in ("/", "/nowhere", "/index.html?a=%20b"):
        c.request("GET", what, headers={"Accept-Encoding": "gzip" if i % 2 else "identity"})
        c.getresponse().read()
' "$port"; done
	}
	compare nginx 99.9 nginx
fi
conclude
