#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# redis_sessions.sh: a redis-server that is started, given the same commands and shut down, so often
# one after another.
#
#   redis_sessions.sh TIMES BINARY PORT DIR
set -u
times=$1 binary=$2 port=$3 dir=$4
server=
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null' EXIT
trap 'exit 143' INT TERM

cli() { redis-cli -h 127.0.0.1 -p "$port" "$@" >/dev/null 2>&1; }

for _ in $(seq "$times"); do
	"$binary" --bind 127.0.0.1 --port "$port" --save '' --dir "$dir" >"$dir/server.log" 2>&1 &
	server=$!
	for _ in $(seq 100); do
		cli ping && break
		sleep 0.1
	done
	for round in $(seq 10); do
		cli set k"$round" 5
		cli get k"$round"
		cli incr k"$round"
		cli lpush l 1
		cli rpop l
		cli sadd s 1
		cli hset h f 1
		cli del k"$round"
		cli append a x
		cli mset a 1 b 2
		cli get a
		cli incrby n 3
		cli expire n 100
		cli ttl n
		cli lrange l 0 -1
	done
	cli shutdown nosave
	wait "$server" || exit 1
	server=
done
