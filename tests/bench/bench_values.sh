#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_values.sh: what a recording of level values costs the program, and how fast it is executed again.
#
#   bench_values.sh [NAME...]    gzip lua bc sqlite3 redis nginx (sqlite3: the library, and a program that calls it)
#
# Of a program: processor time alone (the median of ROUNDS=3), and what is added by levels calls and
# paths, by probes and by patches, and values (--check-every 64: what values need and no more), once each; captured bytes for 1,000
# instructions; instructions a second executed again (of MILLIONS=100), without a trace and with all dependences; from
# a snapshot to a point 10^8 instructions behind it; a step back, the median and the longest. Of a
# server that serves, attached to: the share of its requests that is left after one such load, the median of
# ROUNDS, of each next to a plain one; APART=1: the server and its load have one processor, and the recorder
# another one, so that what is left is what the server itself pays. Beside that the processor time that the server
# and the recorder take for a request, which other work of the machine changes less. WET=1 has the WET of what
# gzip and lua did as well, of its first WET_MILLIONS=1000. SCALE=1 divides the work.
set -u
cd "$(dirname "$0")/../.." || exit 1
pieces='gzip lua bc sqlite3 redis nginx'
. tests/bench/lib.sh
. tests/bench/servers.sh
needs_recording
rounds=${ROUNDS:-3} scale=${SCALE:-1} wet=${WET:-1} millions=${MILLIONS:-100} wet_millions=${WET_MILLIONS:-1000} failed=0

prepare() { # NAME: sets program and args
	args=() more=()
	case $1 in
	gzip)
		program=$(copy gzip) && head -c $((1500000 / scale)) < <(cat /usr/lib/x86_64-linux-gnu/*.so* 2>/dev/null) \
			>"$tmp/data" && args=(-9c "$tmp/data")
		;;
	lua)
		program=$(copy lua5.4) && cat >"$tmp/work.lua" <<-LUA && args=("$tmp/work.lua")
			local t, k = {}, 0
			local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
			for r = 1, 150 // $scale do
				for i = 1, 2000 do t[i] = (i * 7919 + r) % 10007 end
				table.sort(t)
				local s = {}
				for i = 1, 500 do s[i] = tostring(t[i]) .. 'x' end
				for w in table.concat(s):gmatch('%d+') do k = k + #w end
				k = k + fib(15)
			end
			print(k)
		LUA
		;;
	bc)
		program=$(copy bc) && echo "scale = $((400 / scale)); a(1) * 4; e(1)" >"$tmp/pi.bc" &&
			args=(-lq "$tmp/pi.bc")
		;;
	sqlite3)
		for ((k = 0; k < 20 / scale; k++)); do
			cat tests/bench/loads/work.sql
			echo 'drop table t; drop table u;'
		done >"$tmp/work.sql"
		program=$tmp/sqlite_run args=("$tmp/work.sql") more=(--module "$tmp/libsqlite3.so.0")
		cp -L "$(ldconfig -p | awk '/libsqlite3.so.0 .*x86-64/ { print $NF; exit }')" "$tmp/libsqlite3.so.0" &&
			"${CC:-cc}" -O2 -o "$program" tests/bench/loads/sqlite_run.c "$tmp/libsqlite3.so.0" "-Wl,-rpath,$tmp"
		;;
	*) return 1 ;;
	esac
}
"${CC:-cc}" -O2 -shared -fPIC -o "$tmp/took.so" tests/bench/took.c || exit 1
took() { # COMMAND...: processor seconds of the program that it runs
	rm -f "$tmp/took"
	TOOK=$tmp/took TOOK_OF=$(basename "$program") LD_PRELOAD=$tmp/took.so "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	awk '{ print $1 / 1e3; exit }' "$tmp/took"
}
number() { awk -v n="$1" '$1 == n { print $2 }' "$tmp/speed"; }

bench_program() { # NAME
	local name=$1 plain kind added calls mark count bytes
	rm -rf "$tmp"/rec*
	for ((k = 0; k < rounds; k++)); do took "$program" "${args[@]}"; done >"$tmp/plain"
	plain=$(median "$tmp/plain")
	printf '%s: plain %.3f s' "$name" "$plain"
	for kind in calls paths patched-calls patched-paths values; do
		local level=${kind#patched-} options
		options=(--level "$level" "${more[@]}")
		[ $kind != values ] || options+=(--check-every 64)
		[ $kind = values ] || options+=(--carrier "$([ "$kind" = "$level" ] && echo probe || echo patch)")
		rm -rf "$tmp/rec.$level"
		added=$(took "$PUGMARK" record -q -o "$tmp/rec.$level" "${options[@]}" -- "$program" "${args[@]}") || return
		added=$(calc "$added - $plain")
		printf ', %s +%.3f s' $kind "$added"
		record "values-$name" $kind added_cpu_seconds "$added" s
		[ $kind != calls ] || calls=$added
	done
	echo
	awk -v v="$added" -v c="$calls" 'BEGIN { exit !(v < c) }' && mark=ok || mark=SHORT
	printf '  %-6s %s: values add %.3f s (asked < calls)\n' $mark "$name" "$added"
	"$BUILD/tests/values_speed" "$tmp/rec.values" "$millions" >"$tmp/speed" || return
	count=$(number instructions)
	bytes=$(calc "1000 * $(stat -c %s "$tmp/rec.values/captures") / $count")
	printf '  %s instructions, %s bytes captured for 1,000 (asked 4); beside them %s of libraries\n' \
		"$count" "$bytes" "$(number libraries)"
	record "values-$name" values bytes_per_1000_instructions "$bytes" B
	asked "$name" plain 'M instructions a second' '>=' 150
	asked "$name" dependences 'M instructions a second, all dependences' '>=' 60
	asked "$name" distance 'ms to a point 10^8 behind a snapshot' '<' 1000
	asked "$name" back_median 'ms a step back, median' '<' 50
	asked "$name" back_longest 'ms a step back, longest' '<' 50
	awk -v b="$bytes" 'BEGIN { exit !(b >= 4) }' && echo "  SHORT  $name: bytes captured"
	case $wet.$name in 1.gzip | 1.lua) of_wet "$name" ;; esac
}
asked() { # NAME NUMBER WORDS OPERATOR BOUND
	local v mark=ok
	v=$(number "$2")
	awk -v a="$v" -v b="$5" "BEGIN { exit !(a $4 b) }" || mark=SHORT
	printf '  %-6s %s: %s %s (asked %s %s)\n' $mark "$1" "$v" "$3" "$4" "$5"
	record "values-$1" values "$2" "$v" "${3%% *}"
}
of_wet() { # NAME
	/usr/bin/env time -f '%U %S %M %e' "$PUGMARK" wet --window "0:${wet_millions}000000" -o "$tmp/made.wet" "$tmp/rec.values" >"$tmp/wet" 2>"$tmp/err"
	"$BUILD/tests/wet_speed" "$tmp/made.wet" >"$tmp/walked" || echo "  $1: values are not walked as they should be"
	rm -f "$tmp/made.wet"
	sed -nE '/^(statements|uncompressed \/|bytes for|made in|control flow)/s/^/  wet: /p' "$tmp/wet"
	awk '{ printf "cpu %.1f\nseconds %.1f\nmb %d\n", $1 + $2, $4, $3 / 1000 }' "$tmp/err" >"$tmp/speed"
	awk '/^bytes for/ { print "bytes", $NF }
	     /^control flow/ { print "forward", $(NF - 6); print "backward", $(NF - 4) }' "$tmp/wet" >>"$tmp/speed"
	cat "$tmp/walked" >>"$tmp/speed"
	printf '  wet: %s s of processor\n' "$(number cpu)"
	asked "$1" seconds "s for the WET of $wet_millions M instructions" '<' 60
	asked "$1" mb 'MB at most' '<' 2000
	asked "$1" bytes 'B of streams for 1,000 instructions' '<' 60
	asked "$1" forward 'M blocks a second walked forward' '>=' 100
	asked "$1" backward 'M blocks a second walked backward' '>=' 100
	asked "$1" values_forward 'M values a second walked forward' '>=' 50
	asked "$1" values_backward 'M values a second walked backward' '>=' 50
}

load=() recording=() # what puts them on their processors
[ -z "${APART:-}" ] || load=(taskset -c 0) recording=(taskset -c 1)
rate_redis() {
	"${load[@]}" redis-benchmark -p "$port" -t get -n $((100000 / scale)) -c 16 --csv | awk -F '"' '/GET/ { print $4 }'
}
rate_nginx() { "${load[@]}" wrk -t 1 -c 16 -d 3 "http://127.0.0.1:$port/" | awk '/^Requests.sec/ { print $2 }'; }
served_redis() { echo $((100000 / scale)); }
served_nginx() { calc "3 * $1" 8; }
# The rate; and to us.LEVEL what a request takes of processor time, in us: of the server, and of the recorder
measured_rate() { # NAME LEVEL RECORDER
	local rate server_ticks recorder_ticks
	server_ticks=$(ticks $server) recorder_ticks=$(ticks "$3")
	rate=$("rate_$1")
	server_ticks=$(($(ticks $server) - server_ticks)) recorder_ticks=$(($(ticks "$3") - recorder_ticks))
	echo "$server_ticks $recorder_ticks $("served_$1" "$rate") $(getconf CLK_TCK)" |
		awk '{ print 1e6 / $4 * $1 / $3, 1e6 / $4 * $2 / $3 }' >>"$tmp/us.$2"
	echo "$rate"
}
rate_recorded() { # NAME LEVEL: attached to, once frequent probes of level values were taken away
	local recorder options=(--level "${2/patched/values}")
	[ "$2" = calls ] || options+=(--check-every 64)
	[ "$2" != patched ] || options+=(--carrier patch)
	rm -rf "$tmp/err" "$tmp/rec.$2"
	"${recording[@]}" "$PUGMARK" record -o "$tmp/rec.$2" -p $server "${options[@]}" >"$tmp/out" 2>"$tmp/err" &
	recorder=$!
	for ((i = 0; i < 600; i++)); do grep -qs ': recording' "$tmp/err" && break || sleep 0.1; done
	"rate_$1" >"$tmp/out"
	measured_rate "$1" "$2" $recorder
	kill -INT $recorder
	wait $recorder
	grep -h "seen by the kernel's hooks" "$tmp/err" >"$tmp/hooks.$2"
}
# Other work of the machine changes from one moment to the next: what is left is of the plain rate right before.
bench_server() { # NAME
	local plain left level mark us
	local -A asked=([values]=60 [patched]=90)
	port=$(free_port)
	"serve_$1" || { echo "$1: not installed"; return 0; }
	for ((i = 0; i < 100; i++)); do (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null && break || sleep 0.1; done
	rm -f "$tmp"/left.* "$tmp"/plain.* "$tmp"/us.*
	[ -z "${APART:-}" ] || taskset -acp 0 $server >"$tmp/out"
	"rate_$1" >"$tmp/out"
	for ((k = 0; k < rounds; k++)); do
		for level in calls values patched; do
			[ $level != calls ] || [ $k = 0 ] || continue
			plain=$(measured_rate "$1" plain $$)
			left=$(rate_recorded "$1" $level | tail -n 1)
			echo "$plain" >>"$tmp/plain.rates"
			calc "100 * $left / $plain" >>"$tmp/left.$level"
			echo >>"$tmp/left.$level"
		done
	done
	kill $server
	wait $server 2>/dev/null
	us=$(median "$tmp/us.plain")
	printf '%s: %s requests a second plain, %s us of processor each%s\n' "$1" "$(median "$tmp/plain.rates")" "$us" \
		"${APART:+, the recorder apart}"
	for level in calls values patched; do
		left=$(median "$tmp/left.$level") mark=
		[ -z "${asked[$level]:-}" ] ||
			mark=$(awk -v l="$left" -v a="${asked[$level]}" 'BEGIN { print l < a ? "SHORT" : "ok" }')
		us=$(median "$tmp/us.$level")
		printf '  %-6s %s: %s %% are left at level %s%s (%s), %s us each and %s of the recorder\n' "$mark" "$1" "$left" \
			$level "${mark:+ (asked ${asked[$level]})}" "$(paste -sd ' ' "$tmp/left.$level")" "$us" \
			"$(median "$tmp/us.$level" 2)"
		record "values-$1" $level requests_left "$left" %
		record "values-$1" $level server_cpu_a_request "$us" us
		record "values-$1" $level recorder_cpu_a_request "$(median "$tmp/us.$level" 2)" us
	done
	cat "$tmp/hooks.patched"
	for level in values patched; do
		"$PUGMARK" verify "$tmp/rec.$level" | grep '^values of task' | head -n 6
	done
}

# shellcheck disable=SC2086
for name in ${*:-$pieces}; do
	case $name in
	redis | nginx) bench_server "$name" || failed=1 ;;
	*)
		if prepare "$name"; then
			bench_program "$name" || { echo "$name: FAILED: $(tail -n 1 "$tmp/err")"; failed=1; }
		else
			echo "$name: cannot be set up here"
		fi
		;;
	esac
done
exit $failed
