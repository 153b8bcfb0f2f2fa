#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_encode.sh: how fast the encoders are, how much memory they take, and how small the results
# are beside general compressors, on recordings of more than ten million calls.
#
#   bench_encode.sh [NAME...]    lua sqlite3 redis git; without one: all
#
# SCALE=1 multiplies the work of each; the number of calls is printed. The bounds are those of one
# core on a trace in memory: DAG over 20 M calls/s, run lengths over 50, Sequitur over 3 and automata
# over 5 M symbols/s; and DAG with a grammar under a tenth of what zstd -19 makes of the raw trace. A
# bound that is missed is printed as SHORT and fails the run.
#
# The raw trace is counted as Reiss and Renieris do, but without what a recording does not have, the
# first argument and the value returned: 17 bytes a call, 9 bytes a return. As in their paper the
# models are XML, which is text; they have no times then. The graph is also packed into a binary file:
# what its lists repeat is coded there by guessing, in place of a grammar's rules.
# shellcheck disable=SC2317 # functions that are called by a name in a variable
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='lua sqlite3 redis git'
. tests/bench/lib.sh
. tests/bench/servers.sh
needs_recording
scale=${SCALE:-1}
failed=0

make_work() { # lua5.4 and sqlite3: bounded work of several kinds
	cat >"$tmp/work.lua" <<-'LUA'
		local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
		for round = 1, tonumber(arg[1]) do
		  local t, count = {}, {}
		  for i = 1, 2000 do t[i] = ("w%d"):format((i * 7919 + round) % 1009) end
		  table.sort(t)
		  for _, w in ipairs(t) do count[w] = (count[w] or 0) + 1 end
		  local s, n = table.concat(t, " "), 0
		  for w in s:gmatch("%a+%d+") do n = n + #w:upper():gsub("W", "v") end
		  local f = {}
		  for i = 1, 100 do f[i] = function(x) return x + i end end
		  for i = 1, 100 do n = f[i](n) end
		  n = n + fib(15) + select("#", string.byte(s, 1, 100))
		  for i = 1, 50 do pcall(error, "e" .. i) end
		end
	LUA
	cat >"$tmp/work.sql" <<-SQL
		create table t(a integer primary key, b text, c real);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < $((48000 * scale)))
		insert into t select i, printf('%05x-%s', (i * 7919) % 65536, hex(i)), i / 3.0 from n;
		create index tb on t(b);
		create table u as select a % 17 as k, sum(c) as s, count(b) as g from t group by k;
		select 'top', b, c from t order by c desc limit 5;
		select count(*) from t join u on u.k = t.a % 17 where t.b like '00%';
		update t set c = c * 2 where a % 3 = 0;
		delete from t where a % 7 = 3;
		select count(*) from (select distinct substr(b, 1, 3) from t);
	SQL
}
make_repository() { # DIR: files that change in every commit
	git init -q -b main "$1"
	for i in $(seq $((640 * scale))); do
		printf 'commit refs/heads/main\ncommitter a <a@example.org> %d +0000\ndata 9\ncommit%03d\n' \
			$((1577836800 + i * 60)) "$i"
		for f in 1 2 3; do
			printf 'M 644 inline file%d\ndata <<END_OF_FILE\n' $((i * f % 12))
			awk -v i="$i" -v f="$f" 'BEGIN { for (k = 0; k < 60 + i % 40; k++)
				print "line", k, (k * f) % 7 == i % 7 ? "changed " i : "same" }'
			printf 'END_OF_FILE\n'
		done
		printf '\n'
	done | git -C "$1" fast-import --quiet
}

record_lua() {
	"$PUGMARK" record -q -o "$1" -- "$(copy lua5.4)" "$tmp/work.lua" $((16 * scale))
}
record_sqlite3() { # the shell, and the library in which the work is done
	local lib
	lib=$(ldconfig -p | awk '/libsqlite3.so.0 .*x86-64/ { print $NF; exit }')
	cp -L "$lib" "$tmp/libsqlite3.so.0" &&
		LD_LIBRARY_PATH=$tmp "$PUGMARK" record -q -o "$1" --module "$tmp/libsqlite3.so.0" -- \
			"$(copy sqlite3)" -init "$tmp/work.sql" "$tmp/work.db" .quit >/dev/null
}
record_redis() {
	local port recorder status=0
	port=$(free_port)
	"$PUGMARK" record -q -o "$1" -- "$(copy redis-server)" --bind 127.0.0.1 --port "$port" \
		--save '' --dir "$tmp" >"$tmp/server.log" 2>&1 &
	recorder=$!
	for _ in $(seq 100); do
		redis-cli -h 127.0.0.1 -p "$port" ping >/dev/null 2>&1 && break
		sleep 0.1
	done
	redis-benchmark -h 127.0.0.1 -p "$port" -q -c 8 -n $((9000 * scale)) \
		-t set,get,incr,lpush,rpop,sadd,hset,mset >/dev/null 2>&1 || status=1
	redis-cli -h 127.0.0.1 -p "$port" shutdown nosave >/dev/null 2>&1
	wait "$recorder"
	return "$status"
}
record_git() {
	make_repository "$tmp/repository" &&
		GIT_PAGER=cat HOME=$tmp "$PUGMARK" record -q -o "$1" -- "$(copy git)" \
			-C "$tmp/repository" log -p --stat >/dev/null
}

bound() { # TEXT VALUE over|under LIMIT
	awk -v v="$2" -v l="$4" -v how="$3" 'BEGIN { exit !(how == "over" ? v > l : v < l) }' && return
	echo "SHORT: $1 is $2, should be $3 $4"
	failed=1
}
speed() { # NAME: of each encoder, from encode_cost's lines
	local name n seconds bytes rate limit
	while read -r name n seconds bytes; do
		rate=$(calc "$n / $seconds / 1e6")
		printf '  %-13s %8s M/s  %12d bytes\n' "$name" "$rate" "$bytes"
		record "$1" "$name" 'speed' "$rate" 'M/s'
		record "$1" "$name" 'memory' "$bytes" 'bytes'
		case $name in
		dag) limit=20 ;;
		sequitur) limit=3 ;;
		fsa) limit=5 ;;
		*) limit=50 ;;
		esac
		bound "$1: speed of $name" "$rate" over "$limit"
	done
}
size() { # NAME ENCODING OPTION...: the size of the model, into $bytes
	local start=$SECONDS
	bytes=$("$PUGMARK" encode "$tmp/rec" "${@:3}" --format xml --no-times | wc -c) || bytes=0
	printf '  %-16s %12d bytes  %3d s\n' "$2" "$bytes" $((SECONDS - start))
	record "$1" "$2" 'size' "$bytes" 'bytes'
}
packed() { # NAME ENCODING OPTION...: a model is text: what is left of it under zstd -19
	local bytes
	bytes=$("$PUGMARK" encode "$tmp/rec" "${@:3}" --format xml --no-times | zstd -19 -q -c | wc -c)
	printf '  %-16s %12d bytes\n' "$2" "$bytes"
	record "$1" "$2" 'size' "$bytes" 'bytes'
}
compress() { # NAME COMMAND...: of the raw trace, into $bytes
	local start=$SECONDS
	bytes=$("${@:2}" -c "$tmp/raw" | wc -c)
	printf '  %-16s %12d bytes  %3d s\n' "${*:2}" "$bytes" $((SECONDS - start))
	record "$1" "${*:2}" 'size' "$bytes" 'bytes'
}

workload() { # NAME
	local bytes zstd graph packed_graph calls
	rm -rf "$tmp/rec" "$tmp/raw"
	"record_$1" "$tmp/rec" >"$tmp/log" 2>&1
	[ -e "$tmp/rec/meta.json" ] || { echo "$1: no recording: $(head -n 1 "$tmp/log")"; failed=1; return; }
	calls=$("$PUGMARK" encode "$tmp/rec" --n-level 1 --no-times --format json | jq '[.chains[].calls] | add')
	printf '%s: %d calls; %s\n' "$1" "$calls" "$("$PUGMARK" verify "$tmp/rec" 2>&1 | tail -n 1)"
	record "$1" recording calls "$calls" calls
	bound "$1: calls" "$calls" over 10000000
	"$BUILD/tests/encode_cost" "$tmp/rec" "$tmp/raw" >"$tmp/costs" || { failed=1; return; }
	speed "$1" <"$tmp/costs"
	bytes=$(stat -c %s "$tmp/raw")
	printf '  %-16s %12d bytes\n' 'raw trace' "$bytes"
	record "$1" 'raw' 'size' "$bytes" 'bytes'
	size "$1" dag+grammar --dag --grammar-rle
	graph=$bytes
	packed "$1" '   under zstd' --dag --grammar-rle
	bytes=$("$PUGMARK" encode "$tmp/rec" --dag --format packed | wc -c)
	packed_graph=$bytes
	printf '  %-16s %12d bytes\n' 'dag packed' "$bytes"
	record "$1" 'dag packed' 'size' "$bytes" 'bytes'
	size "$1" dag+fsa --dag --fsa
	size "$1" string+grammar --strings --grammar
	size "$1" string+fsa --strings --fsa
	compress "$1" zstd -19 -q -T1
	zstd=$bytes
	[ "${XZ:-1}" = 0 ] || compress "$1" xz -9
	bound "$1: dag+grammar, as text, of zstd's size" "$(calc "$graph / $zstd")" under 0.1
	bound "$1: the graph packed of zstd's size" "$(calc "$packed_graph / $zstd")" under 0.1
}

make_work
# shellcheck disable=SC2086 # they are words
[ $# -gt 0 ] || set -- $pieces
for name in "$@"; do
	workload "$name"
done
exit $failed
