#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_planted.sh: whether `check` finds a planted change: redis-server is built from Debian's source
# twice, the second time with two calls in the path of INCR exchanged. A model of the first is held
# against a second run of it, where nothing may deviate, and against the other build, where all that
# deviates is in incrDecrCommand. Takes some minutes, most of them to compile; a source in
# $REDIS_SOURCE is taken as it is.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
needs_recording
command -v redis-cli >/dev/null || skip 'no redis-cli here'
failed=0

fetch() { # the source's folder
	local uri
	command -v dpkg-source >/dev/null && mkdir -p "$tmp/lists/partial" || return
	# shellcheck source=/dev/null
	. /etc/os-release
	chmod 755 "$tmp"
	uri=$(awk '/^URIs:/ { u = $2 } /^Suites:/ && $2 == s { print u; exit }
		$1 == "deb" { print $2; exit }' s="$VERSION_CODENAME" \
		/etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null)
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $VERSION_CODENAME main" \
		>"$tmp/src.list"
	(
		cd "$tmp" || exit
		o=(-q -o "Dir::Etc::sourcelist=$tmp/src.list" -o Dir::Etc::sourceparts=-
			-o "Dir::State::lists=$tmp/lists")
		apt-get "${o[@]}" update && apt-get "${o[@]}" source redis
	) >"$tmp/fetch.log" 2>&1
	find "$tmp" -maxdepth 1 -type d -name 'redis-*' | head -n 1
}
build() { # OUT
	make -j2 -C "$source/src" MALLOC=libc OPTIMIZATION=-O2 CFLAGS=-fno-lto REDIS_CFLAGS=-fno-lto \
		LDFLAGS=-fno-lto redis-server >"$tmp/build.log" 2>&1 &&
		mkdir -p "$1" && cp "$source/src/redis-server" "$1/redis-server"
}
commands='set k 5;get k;incr k;lpush l 1;rpop l;sadd s 1;hset h f 1;del k;append a x;mset a 1 b 2;get a;incrby n 3;expire n 100;ttl n;lrange l 0 -1'
run() { # BINARY RECORDING
	local recorder command round
	"$PUGMARK" record -q -o "$2" -- "$1" --bind 127.0.0.1 --port "$port" --save '' --dir "$tmp" \
		>"$tmp/server.log" 2>&1 &
	recorder=$!
	for _ in $(seq 100); do
		redis-cli -p "$port" ping >/dev/null 2>&1 && break
		sleep 0.1
	done
	for round in $(seq 10); do
		while read -rd ';' command; do
			# shellcheck disable=SC2086 # the words of a command
			redis-cli -p "$port" ${command/k/k$round} >/dev/null
		done <<<"$commands;"
	done
	redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
	wait "$recorder"
	"$PUGMARK" verify "$2" | tail -n 1
}
claim() { # TEXT COMMAND...
	"${@:2}" && echo "holds: $1" && return
	echo "does not hold: $1"
	failed=1
}

source=${REDIS_SOURCE:-$(fetch)}
[ -d "$source" ] || skip 'no source of redis to be had'
port=$(for p in $(seq $((20000 + $$ % 20000)) 65000); do
	(: </dev/tcp/127.0.0.1/"$p") 2>/dev/null || { echo "$p"; break; }
done)
build "$tmp/first" || skip "redis does not build: $(tail -n 1 "$tmp/build.log")"
cp "$source/src/t_string.c" "$tmp/t_string.c"
awk '/signalModifiedKey\(c,c->db,c->argv\[1\]\);/ { held = $0; next }
	held != "" { if (/"incrby"/) { print; print held } else { print held; print } held = ""; next }
	{ print }' "$tmp/t_string.c" >"$source/src/t_string.c"
cmp -s "$tmp/t_string.c" "$source/src/t_string.c" && skip 'this version of redis has no such calls'
build "$tmp/second"
built=$?
cp "$tmp/t_string.c" "$source/src/t_string.c"
[ $built = 0 ] || skip "the changed redis does not build: $(tail -n 1 "$tmp/build.log")"

run "$tmp/first/redis-server" "$tmp/good"
run "$tmp/first/redis-server" "$tmp/again"
run "$tmp/second/redis-server" "$tmp/changed"
"$PUGMARK" encode --fsa --format json "$tmp/good" >"$tmp/model.json"
"$PUGMARK" check --model "$tmp/model.json" "$tmp/again" >"$tmp/same.txt"
claim 'nothing deviates in another run of the same build' [ $? = 0 ]
cat "$tmp/same.txt"
"$PUGMARK" check --model "$tmp/model.json" "$tmp/changed" --format json >"$tmp/changed.json"
claim 'the changed build deviates' [ $? = 4 ]
claim 'in incrDecrCommand, and nowhere else' \
	[ "$(jq -c '[.deviations[].function] | unique' "$tmp/changed.json")" = '["incrDecrCommand"]' ]
"$PUGMARK" check --model "$tmp/model.json" "$tmp/changed"
record redis check 'deviations of the same build' "$(tail -n 1 "$tmp/same.txt" | sed -nE 's/^([0-9]+) .*/\1/p;s/^as.*/0/p')" count
record redis check 'deviations of the changed build' "$(jq .total "$tmp/changed.json")" count
exit $failed
