#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_planted.sh: whether `check` finds a planted change: redis-server is built from Debian's source
# twice, the second time with two calls in the path of INCR exchanged. The model is of the first. Held
# against it are other runs of the same build, where nothing may deviate, and one of the other build,
# where each INCR and INCRBY deviates, and nothing else. A source in $REDIS_SOURCE is taken as it is.
#
# What serverCron does is left out: ten times a second, and so at another place of each session, it
# shrinks buffers and tables. It also moves on what commands do (an entry of a table that grows is
# moved by it or by the next command), which is why the model is learnt from $LEARNT=10 sessions.
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
sessions() { # TIMES BINARY RECORDING
	local status
	"$PUGMARK" record -q -o "$3" --binary "$2" -- \
		tests/bench/loads/redis_sessions.sh "$1" "$2" "$port" "$tmp" &
	wait $!
	status=$?
	printf '%s: %s\n' "$(basename "$3")" "$("$PUGMARK" verify "$3" | tail -n 1)"
	[ "$status" = 0 ] && grep -q '"complete": *true' <("$PUGMARK" verify --format json "$3")
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

learnt=${LEARNT:-10} others=3
by_command=(-N serverCron)
sessions "$learnt" "$tmp/first/redis-server" "$tmp/good" || { echo 'FAILED: no whole recording'; exit 1; }
"$PUGMARK" encode --fsa "${by_command[@]}" --format json "$tmp/good" >"$tmp/model.json" || exit 1
same=0
for i in $(seq $others); do
	sessions 1 "$tmp/first/redis-server" "$tmp/other$i" || { echo 'FAILED: no whole recording'; exit 1; }
	"$PUGMARK" check "${by_command[@]}" --model "$tmp/model.json" "$tmp/other$i" --format json >"$tmp/other.json"
	claim "nothing deviates in another run of the same build, $i of $others" [ $? = 0 ]
	jq -r '.deviations[] | "  " + .function' "$tmp/other.json"
	same=$((same + $(jq .total "$tmp/other.json")))
done
sessions 1 "$tmp/second/redis-server" "$tmp/changed" || { echo 'FAILED: no whole recording'; exit 1; }
"$PUGMARK" check "${by_command[@]}" --model "$tmp/model.json" "$tmp/changed" --format json >"$tmp/changed.json"
claim 'the changed build deviates' [ $? = 4 ]
claim 'in incrDecrCommand, and nowhere else' \
	[ "$(jq -c '[.deviations[].function] | unique' "$tmp/changed.json")" = '["incrDecrCommand"]' ]
claim 'once for each of the 20 INCR and INCRBY' [ "$(jq .total "$tmp/changed.json")" = 20 ]
"$PUGMARK" check "${by_command[@]}" --model "$tmp/model.json" "$tmp/changed"
record redis check "deviations of $others runs of the same build" "$same" count
record redis check 'deviations of the changed build' "$(jq .total "$tmp/changed.json")" count
exit $failed
