#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_carrier.sh: what a recording of all calls costs the program by patched instructions and by
# probes, beside the plain run, on the same work.
#
#   bench_carrier.sh [NAME...]    gzip-c gzip-d lua sqlite3 git-log git-stat python redis nginx postgres
#
# Of a program: witness events; processor time of the program alone (the median of ROUNDS=3) plain, and
# by how much it is more patched without times, patched with them (the default), and by probes (once); ns
# that an event adds without times; hits that were left to probes. Of a server at full load, on the same
# two processors as its load and the recorder: requests a second plain, the share of them that is left, and
# the same hits. SCALE=1 divides the work; PROBED=0 leaves the programs'
# runs by probes out, which take long. Copies of Debian's programs are run, never these themselves.
# shellcheck disable=SC2317 # functions that are called by a name in a variable
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
pieces='gzip-c gzip-d lua sqlite3 git-log git-stat python redis nginx postgres'
. tests/bench/lib.sh
. tests/services/servers.sh
. tests/bench/with_pg.sh
needs_recording
rounds=${ROUNDS:-3} scale=${SCALE:-1} probed=${PROBED:-1} failed=0
cd "$tmp" || exit 1
chmod 755 "$tmp"

"${CC:-cc}" -O2 -shared -fPIC -o took.so "$top/tests/bench/took.c" || exit 1

took() { # COMMAND...: ms of the program's processor time
	rm -f took
	TOOK=$tmp/took TOOK_OF=program LD_PRELOAD=$tmp/took.so "$@" >out 2>err </dev/null
	[ -s took ] && head -n 1 took
}
traps() { # what the last recording's err says was left to probes, in percent of all events
	sed -nE 's/.* of them \(([0-9.]+) %\) by probes.*/\1/p' err | tail -n 1
}
why() { sed -nE 's/.*by probes and not by patches: //p' err | tail -n 1; }

# ---- programs: prepare_NAME leaves ./program, and sets work (its arguments) and options ----
prepare_gzip-c() {
	cp /usr/bin/gzip program
	head -c $((12000000 / scale)) < <(cat /usr/lib/x86_64-linux-gnu/*.so* 2>/dev/null) >data
	work=(-c data)
}
prepare_gzip-d() {
	cp /usr/bin/gzip program
	head -c $((60000000 / scale)) < <(cat /usr/lib/x86_64-linux-gnu/*.so* 2>/dev/null) | gzip -1c >data.gz
	work=(-dc data.gz)
}
prepare_lua() {
	cp /usr/bin/lua5.4 program || return
	cat >work.lua <<-LUA
		local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
		for _ = 1, 40 // $scale do fib(25) end
		local t = {}
		for i = 1, 100000 // $scale do t[i] = (i * 7919) % 100003 end
		table.sort(t, function(a, b) return a < b end)
		local s = {}
		for i = 1, 30000 // $scale do s[i] = string.format('%d,%s', i, i) end
		print(#table.concat(s):gsub('1', 'x'))
	LUA
	work=(work.lua)
}
prepare_sqlite3() {
	cp -L /usr/lib/x86_64-linux-gnu/libsqlite3.so.0 libsqlite3.so.0 &&
		"${CC:-cc}" -O2 -o program "$top/tests/bench/loads/sqlite_run.c" libsqlite3.so.0 "-Wl,-rpath,$tmp" || return
	for ((k = 0; k < 200 / scale; k++)); do
		cat "$top/tests/bench/loads/work.sql"
		echo 'drop table t; drop table u;'
	done >work.sql
	work=(work.sql) options=(--no-program --module "$tmp/libsqlite3.so.0")
}
repository() { # commits of one line each, of twenty files
	[ -d repository ] && return
	git init -q --bare repository &&
		awk -v n=$((20000 / scale)) 'BEGIN {
			for (i = 1; i <= n; i++) {
				m = "change " i " of what there is"
				t = "line " i * 7919 % 10007 "\n"
				printf "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata %d\n%s\n",
					1700000000 + 60 * i, length(m), m
				printf "M 644 inline file%d\ndata %d\n%s\n", i % 20, length(t), t
			}
		}' | git -C repository fast-import --quiet && git -C repository symbolic-ref HEAD refs/heads/main
}
prepare_git-log() {
	cp /usr/bin/git program && repository || return
	work=(-C repository log)
}
prepare_git-stat() { # calls that libc's qsort makes back are left to probes
	cp /usr/bin/git program && repository || return
	work=(-C repository log --stat -n $((3000 / scale)))
}
prepare_python() {
	local python
	python=/usr/bin/python3.11
	[ -x "$python" ] || return
	cp "$python" program
	PYTHONHOME=/usr
	export PYTHONHOME
	cat >work.py <<-PY
		def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
		d = {}
		for i in range(60000 // $scale): d[str(i * 7919 % 10007)] = d.get(str(i), 0) + 1
		print(fib(20), len(d), sorted(d)[:2])
	PY
	work=(-S work.py)
}
uftrace_adds() { # NAME: ms beyond the plain run, in a -pg build under uftrace; none: nothing is known
	mkdir -p pg
	case $1 in
	lua) lua_with_pg "$tmp/pg/program" ;;
	sqlite3) sqlite_with_pg "$tmp/pg/program" ;;
	*) false ;;
	esac && command -v uftrace >/dev/null || return
	for ((k = 0; k < rounds; k++)); do
		took uftrace record --force -d uftrace.data ./pg/program "${work[@]}" >>uftrace.times || return
		rm -rf uftrace.data
	done
	calc "$(median uftrace.times) - $(median plain.times)" 6
}
bench_program() { # NAME
	local carrier events trapped reasons line by_uftrace over
	work=() options=()
	rm -f program ./*.times
	"prepare_$1" && [ -x program ] || { echo "$1: not installed"; return 0; }
	for ((k = 0; k < rounds; k++)); do
		took ./program "${work[@]}" >>plain.times || return
		cp out plain.out
		took "$PUGMARK" record -o rec --carrier patch --on-full wait "${options[@]}" -- ./program "${work[@]}" \
			>>timed.times || return
		took "$PUGMARK" record -o rec --no-times --carrier patch --on-full wait "${options[@]}" -- ./program \
			"${work[@]}" >>patch.times || return
		cmp -s out plain.out || { echo "$1: patched it prints something else"; return 1; }
	done
	events=$(sed -nE 's/.*: ([0-9]+) witness events.*/\1/p' err)
	trapped=$(traps) reasons=$(why)
	if [ "$probed" = 1 ]; then
		took "$PUGMARK" record -o rec --no-times "${options[@]}" -- ./program "${work[@]}" >>probe.times || return
	else
		cp plain.times probe.times
	fi
	unset PYTHONHOME
	by_uftrace=$(uftrace_adds "$1" 2>>noise)
	line=$(awk -v n="$1" -v e="$events" -v p="$(median plain.times)" -v q="$(median patch.times)" \
		-v t="$(median timed.times)" -v r="$(median probe.times)" -v l="${trapped:-0}" -v w="$reasons" 'BEGIN {
			printf "%-9s %11d %9.0f %6.2f %6.2f %7.1f %6.2f %8s  %s", n, e, p, q / p, t / p, r / p,
				(q - p) * 1e6 / e, l, w }')
	echo "$line"
	read -r _ _ _ p t r e _ <<<"$line"
	if [ -n "$by_uftrace" ]; then
		over=$(awk -v u="$by_uftrace" -v p="$(median plain.times)" -v q="$(median patch.times)" \
			'BEGIN { a = q - p; if (a < p / 100) a = p / 100; printf "%.1f", u / a }')
		echo "$1: uftrace adds $by_uftrace ms, $over times what patches add (or a hundredth of the run, if that is more)"
		record "$1" uftrace over_patch "$over" times
	fi
	[ "$1" = git-stat ] || echo "$p $t" >>ratios # the geometric mean is of the six that are asked for
	record "$1" patch slowdown "$p" times
	record "$1" patch-timed slowdown "$t" times
	record "$1" probe slowdown "$r" times
	record "$1" patch ns_per_event "$e" ns
	record "$1" patch left_to_probes "${trapped:-0}" %
}

# ---- servers: rate_NAME prints requests a second ----
rate_redis() {
	redis-benchmark -p "$port" -t get -n $((200000 / scale)) -c 16 --csv | awk -F '"' '/GET/ { print $4 }'
}
rate_nginx() { wrk -t 1 -c 16 -d "$seconds" "http://127.0.0.1:$port/" | awk '/^Requests.sec/ { print $2 }'; }
rate_postgres() { postgres_bench -T "$seconds" | awk '/^tps/ { print $3 }'; }
seconds=3
[ "$scale" = 1 ] || seconds=1
rate_under() { # NAME OPTION...: recorded
	local name=$1 recorder options=() pid
	shift
	options=(-p "$server")
	if [ "$name" = nginx ]; then
		options=()
		for pid in $(pgrep -P "$server"); do options+=(-p "$pid"); done
	fi
	: >err
	"$PUGMARK" record -o rec "${options[@]}" "$@" 2>err &
	recorder=$!
	await grep -q ': recording' err || return
	"rate_$name"
	kill -INT $recorder
	wait $recorder
	[ $? != 1 ]
}
await() { # COMMAND...
	local i
	for ((i = 0; i < 600; i++)); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done
	return 1
}
bench_server() { # NAME
	local name=$1 file=$1_file line trapped reasons lost
	[ -x "${!file}" ] || { echo "$name: not installed"; return 0; }
	mkdir -p "$name.d/bin" && cd "$name.d" && cp "${!file}" bin/ || return
	binary=$PWD/bin/$(basename "${!file}")
	port=$(((port + 1) % 20000 + 20000))
	"${name}_start" && await "${name}_ready" || { echo "$name does not come up"; return 1; }
	for ((k = 0; k < rounds; k++)); do
		"rate_$name" >>plain.times || return
		rate_under "$name" --carrier patch >>timed.times || { cat err; return 1; }
		lost=$(sed -nE 's/.*: ([0-9]+) (witness )?events were lost.*/\1/p' err)
		rate_under "$name" --carrier patch --no-times >>patch.times || { cat err; return 1; }
		trapped=$(traps) reasons=$(why)
	done
	rate_under "$name" --no-times >>probe.times || { cat err; return 1; }
	kill "$server"
	wait "$server"
	line=$(awk -v n="$name" -v p="$(median plain.times)" -v q="$(median patch.times)" -v t="$(median timed.times)" \
		-v r="$(median probe.times)" -v l="${trapped:-0}" -v w="$reasons" -v lost="${lost:-0}" 'BEGIN {
			printf "%-9s %9.0f %7.1f %% %6.1f %% %6.1f %% %8s %9s  %s", n, p, 100 * q / p, 100 * t / p, 100 * r / p,
				l, lost, w }')
	echo "$line"
	cd "$tmp" || return
	read -r _ _ p _ t _ r _ <<<"$line"
	record "$name" patch requests_left "$p" %
	record "$name" patch-timed requests_left "$t" %
	record "$name" probe requests_left "$r" %
	record "$name" patch left_to_probes "${trapped:-0}" %
} 2>>"$tmp/noise"

# shellcheck disable=SC2086 # they are words
[ $# -gt 0 ] || set -- $pieces
headed=
for name; do
	case $name in
	redis | nginx | postgres)
		[ "$headed" = servers ] || printf '%-9s %9s %9s %8s %8s %8s %9s  %s\n' server plain/s patch timed probe \
			left_% lost why
		headed=servers
		bench_server "$name"
		;;
	*)
		[ "$headed" = programs ] || printf '%-9s %11s %9s %6s %6s %7s %6s %8s  %s\n' program events plain_ms patch \
			timed probe ns/ev left_% why
		headed=programs
		bench_program "$name"
		;;
	esac || { failed=1; echo "$name: FAILED"; tail -n 5 err noise 2>/dev/null; }
done
[ ! -s ratios ] || awk '{ p += log($1); t += log($2); n++ }
	END { printf "geometric mean of %d programs: %.2f, with times %.2f\n", n, exp(p / n), exp(t / n) }' ratios
exit $failed
