#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_exports.sh: how fast each export writes and how much memory it takes, and how soon the page
# opens and zooms in Chromium: as one file, and through serve.
#
#   bench_exports.sh [NAME...]    formats page serve; without one: all
#
# The recording is of lua5.4. EVENTS=100000000 asks for so many begins and ends of calls (of formats, and
# of serve), to which its loop is scaled; without it they are three million. Bounds: 5 M events a second of
# processor time (formats that are text 2 M), 200 MB; a page of a million events opens in
# 2 s and has 20 MB; served it opens in 3 s, and a step of zoom takes 100 ms. A bound that is missed is
# printed as SHORT and fails the run.
# shellcheck disable=SC2317 # functions that are called by a name in a variable
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='formats page serve'
. tests/bench/lib.sh
needs_recording
events=${EVENTS:-3000000}
failed=0

lua=$(copy lua5.4) || skip 'no lua5.4 here'
cat >"$tmp/work.lua" <<-'LUA'
	local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
	for round = 1, tonumber(arg[1]) do
	  local t, n = {}, fib(12)
	  for i = 1, 300 do t[i] = ("w%d"):format((i * 7919 + round) % 1009) end
	  table.sort(t)
	  for w in table.concat(t, " "):gmatch("%a+%d+") do n = n + #w:upper() end
	end
LUA
record_events() { # NAME EVENTS: $tmp/NAME, of about so many; in $n how many there are
	local a b
	[ -d "$tmp/$1" ] && n=$(cat "$tmp/$1.n") && return
	"$PUGMARK" record -q -o "$tmp/a" -- "$lua" "$tmp/work.lua" 10 >/dev/null && a=$(events_of "$tmp/a") &&
		"$PUGMARK" record -q -o "$tmp/b" -- "$lua" "$tmp/work.lua" 30 >/dev/null && b=$(events_of "$tmp/b") &&
		rm -r "$tmp/a" "$tmp/b" &&
		"$PUGMARK" record -q -o "$tmp/$1" -- "$lua" "$tmp/work.lua" $(((($2 - a) * 20) / (b - a) + 10)) >/dev/null &&
		n=$(events_of "$tmp/$1") && echo "$n" >"$tmp/$1.n"
}
events_of() { # begins and ends of calls
	"$PUGMARK" report --format json "$1" | jq '2 * .calls'
}
bound() { # METRIC VALUE UNIT RELATION LIMIT
	local word=
	awk "BEGIN { exit !($2 $4 $5) }" || { word="  SHORT of $5" failed=1; }
	tell "$1" "$2" "$3$word"
	record exports lua "$1" "$2" "$3"
}
tell() { # METRIC VALUE UNIT
	printf '%-28s %10s %s\n' "$@"
}

formats() {
	local format line seconds kb want
	record_events whole "$events" || { echo 'no recording'; failed=1; return; }
	echo "$n begins and ends of calls"
	for format in perfetto chrome speedscope folded pprof callgrind ctf sqlite parquet; do
		rm -rf "$tmp/out"
		line=$("$measure" 1 "$PUGMARK" export --format $format -o "$tmp/out" "$tmp/whole" | tail -n 1) ||
			{ echo "$format: failed"; failed=1; continue; }
		seconds=$(awk '{ print $2 }' <<<"$line") kb=$(awk '{ print $3 }' <<<"$line")
		case $format in chrome | speedscope | folded | callgrind) want=2 ;; *) want=5 ;; esac
		bound "$format speed" "$(calc "$n / $seconds / 1e6" 3)" 'M events/s' '>=' $want
		bound "$format memory" "$(calc "$kb / 1e3" 4)" MB '<' 200
		[ $format != sqlite ] || sqlite_alone
		tell "$format size" "$(calc "$(du -sb "$tmp/out" | cut -f 1) / $n" 3)" bytes/event
	done
	rm -rf "$tmp/out"
}

# What SQLite itself takes for these rows, when nothing but it is at work: they are read and written again.
sqlite_alone() {
	local columns
	command -v sqlite3 >/dev/null || return
	columns=$(sqlite3 "$tmp/out" "select group_concat(name) from pragma_table_info('calls') where name <> 'id'")
	{
		echo 'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;'
		echo "PRAGMA page_size = 16384; PRAGMA cache_size = -65536; ATTACH '$tmp/out' AS whole;"
		sqlite3 "$tmp/out" "select sql || ';' from sqlite_schema where name = 'calls'"
		echo "INSERT INTO calls SELECT id + 0, $columns FROM whole.calls;" # no copy of pages: id is computed
	} >"$tmp/copy.sql"
	line=$("$measure" 1 sqlite3 "$tmp/copy" ".read $tmp/copy.sql" | tail -n 1)
	tell 'sqlite alone' "$(calc "$n / $(awk '{ print $2 }' <<<"$line") / 1e6" 3)" 'M events/s, a copy of its calls'
	rm -f "$tmp/copy"
}

find_browser() {
	for browser in chromium chromium-browser google-chrome; do
		command -v $browser >/dev/null && return
	done
	echo 'SKIP: no chromium here'
	return 1
}
# Opens the timeline, and zooms in by the key until a call is as wide as all; how long each took, in ms.
steps='const c = document.getElementById("timeline-canvas"), took = [];
	const step = async (act) => { const n = +(document.body.dataset.drawn || 0), from = performance.now(); act(); while (+(document.body.dataset.drawn || 0) === n && performance.now() - from < 20000) await new Promise((done) => setTimeout(done, 1)); return performance.now() - from; };
	const opened = await step(() => document.getElementById("tab-timeline").click());
	for (let i = 0; i < 24; i++) took.push(await step(() => c.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }))));
	return [readyMs, Math.round(opened), Math.round(Math.max(...took)), Math.round(took.sort((a, b) => a - b)[12])];'
look() { # NAME URL OPEN_LIMIT: in seconds
	local out ready opened slowest middle
	out=$(timeout 300 python3 tests/support/browser.py "$browser" "$tmp/profile" 1280 "$2" "$steps") ||
		{ echo "$1: the browser failed: $out"; failed=1; return; }
	IFS=', []' read -r _ ready opened slowest middle _ <<<"$out"
	bound "$1 opens" "$(calc "$ready / 1e3" 3)" s '<' "$3"
	bound "$1 timeline opens" "$(calc "$opened / 1e3" 3)" s '<' "$3"
	bound "$1 zoom, longest step" "$slowest" ms '<' 100
	bound "$1 zoom, median step" "$middle" ms '<' 100
}
page() {
	find_browser || return
	record_events million 1000000 || { echo 'no recording'; failed=1; return; }
	"$PUGMARK" report --html -o "$tmp/page.html" "$tmp/million" || { failed=1; return; }
	echo "$n begins and ends of calls, as one file"
	bound 'page size' "$(calc "$(stat -c %s "$tmp/page.html") / 1e6" 3)" MB '<' 20
	look page "file://$tmp/page.html" 2
}
serve() {
	local server i
	find_browser || return
	record_events whole "$events" || { echo 'no recording'; failed=1; return; }
	"$PUGMARK" serve "$tmp/whole" >"$tmp/address" &
	server=$!
	for ((i = 0; i < 6000; i++)); do
		[ -s "$tmp/address" ] && break
		sleep 0.1
	done
	echo "$n begins and ends of calls, through serve"
	tell 'serve ready after' "$(awk '{ print ($14 + $15) / 100 }' /proc/$server/stat)" 's of a processor'
	tell 'serve memory' "$(awk '/^RssAnon/ { print $2 / 1e3 }' /proc/$server/status)" 'MB anonymous'
	look serve "$(cat "$tmp/address")" 3
	kill $server
	wait $server
}

for name in ${*:-$pieces}; do
	$name
done
exit $failed
