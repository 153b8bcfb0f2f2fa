#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# export.sh: what each export format holds, read back by programs that are not ours (protoc,
# babeltrace2, callgrind_annotate, pprof, SQLite) or by the rules of the format, is what `report`
# counts: of a program whose every call is known, of C++ exceptions, coroutines, 64 threads, a
# recording without times and one with gaps. Coroutines, and all formats of what has no times and of the
# threads, with LONG=1 alone.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/viewed.sh"
needs_recording
needs jq python3 protoc babeltrace2 callgrind_annotate sqlite3 c++filt
work_in_own_folder
formats='perfetto chrome speedscope folded callgrind ctf sqlite'
if command -v go >/dev/null; then
	formats+=' pprof'
else
	echo 'skip pprof: no go here'
	skipped=1
fi
export GOCACHE=$dir/go GOFLAGS=-mod=mod HOME=$dir

# `CALLS NAME` of each function that was called, as report counts it, and gaps.
reported() { # RECORDING GAPS?
	"$PUGMARK" report --format json "$1" >report.json 2>err
	jq -r '[.functions[] | select(.calls > 0) | {n: .function, c: .calls}] | group_by(.n)[] |
		"\(map(.c) | add) \(.[0].n)"' report.json | c++filt
	[ "$(jq .gaps report.json)" = 0 ] || [ "$2" = no ] || echo "$(jq .gaps report.json) [gap]"
}
exported() { # FORMAT FILE
	python3 "$tests/support/exported.py" "$1" "$2"
}
all_formats_agree() { # NAME RECORDING STATUS
	local format weight gaps
	for format in $formats; do
		weight= gaps=yes
		case $format in
		folded) weight=calls ;;
		callgrind) ;;
		esac
		rm -rf "of.$format"
		run "$3" export --format "$format" -o "of.$format" ${weight:+--weight $weight} "$2"
		exported "$format" "of.$format" >unsorted 2>err
		claim "$1: $format keeps its own rules" test ! -s err
		# there a stack that is gone on with is opened again
		[ "$1 $format" != 'coroutines speedscope' ] || continue
		LC_ALL=C sort -k2 unsorted >is
		reported "$2" $gaps | LC_ALL=C sort -k2 >should
		claim "$1: $format has the calls that report counts" same should is
	done
}

compile_viewed
compile cases/coroutines.cc coroutines

run 0 record -q -o known -- ./prog
all_formats_agree 'every call known' known 0
run 0 record -q -o still --no-times -- ./prog
[ -z "${LONG:-}" ] || all_formats_agree 'without times' still 0
"$PUGMARK" record -q -o thrown -- ./thrower >out 2>err
all_formats_agree 'exceptions' thrown 0
if [ "${LONG:-}" ]; then
	"$PUGMARK" record -q -o switched -- ./coroutines >out 2>err
	all_formats_agree 'coroutines' switched 0
fi
run 0 record -q -o crowd -- ./threads
every_format=$formats
[ "${LONG:-}" ] || formats='perfetto ctf'
all_formats_agree '64 threads' crowd 0
formats=$every_format
exported perfetto of.perfetto >/dev/null
claim 'a flow leads to each thread that was made' is \
	"$(protoc --proto_path="$tests/support" --decode=Trace "$tests/support/perfetto.proto" \
		<of.perfetto | grep -c terminating_flow_ids)" 64

# A part of the events is cut out of the middle.
cp -r known torn
size=$(stat -c %s torn/events)
dd if=/dev/zero of=torn/events bs=1 seek=$((size / 2)) count=16 conv=notrunc 2>err
"$PUGMARK" verify torn >out 2>err
claim 'the torn recording has gaps' is $? 3
all_formats_agree 'gaps' torn 3

# Bounds are told as bounds.
run 0 export --format sqlite -o bounds.db known
claim 'SQLite: bounds are bounds' is "$(sqlite3 bounds.db 'select count(*) > 0, sum(begin_earliest >
	begin_latest or end_earliest > end_latest or begin_earliest > end_latest) from calls')" '1|0'
claim 'SQLite: views answer' is "$(sqlite3 bounds.db "select calls from by_function where name =
	'leaf'; select count(*) from callers where callee = 'leaf'; select count(*) from slowest")" \
	"$(sqlite3 bounds.db "select count(*) from calls c join functions f on f.id = c.function where
	f.name = 'leaf'; select count(distinct p.function) from calls c join calls p on p.id = c.parent
	join functions f on f.id = c.function where f.name = 'leaf'; select count(*) from calls")"

# What report says of durations is what SQL finds.
run 0 report --format json --slowest 7 known
jq -r '.slowest[] | "\(.function)|\(.took_ns[0])|\(.took_ns[1])"' out >is
sqlite3 bounds.db 'select name, min_ns, max_ns from durations order by min_ns desc, max_ns desc,
	begin_earliest, function limit 7' >should
claim 'report: the slowest calls are those of SQL' is "$(cut -d'|' -f2- is)" "$(cut -d'|' -f2- should)"
jq -r '.functions[] | select(.durations_ns) | "\(.function)|\(.durations_ns.calls)|" +
	"\(.durations_ns.min | join("|"))|\(.durations_ns.max | join("|"))"' out | LC_ALL=C sort >is
sqlite3 bounds.db "select name, count(*), min(min_ns), min(max_ns), max(min_ns), max(max_ns) from
	durations where ended not in ('still open', 'in a gap') group by function" | LC_ALL=C sort >should
claim 'report: shortest and longest are those of SQL' same should is
jq -r '.functions[] | select(.function == "leaf") | .durations_ns.median | .[0], .[1]' out >is
sqlite3 bounds.db "select min_ns from durations where name = 'leaf' order by 1 limit 1 offset
	(select (count(*) + 1) / 2 - 1 from durations where name = 'leaf');
	select max_ns from durations where name = 'leaf' order by 1 limit 1 offset
	(select (count(*) + 1) / 2 - 1 from durations where name = 'leaf')" >should
claim 'report: the median is that of SQL, to a 32nd' test \
	"$(paste is should | awk 'NR == 1 { if ($1 > $2 || $2 - $1 > $2 / 32 + 1) bad = 1 }
		NR == 2 { if ($1 < $2 || $1 - $2 > $2 / 32 + 1) bad = 1 } END { print bad + 0 }')" = 0
run 0 report --distribution known
claim 'report: distributions as text' grep -q 'leaf$' out
run 0 report --distribution --top 1 known
claim 'report: the first of them is one whose calls have ended' is "$(wc -l <out)" 2
end=$(sqlite3 bounds.db 'select max(end_latest) from calls')
half=$(sqlite3 bounds.db 'select begin_latest + 1 from calls order by begin_latest limit 1 offset
	(select count(*) / 2 from calls)')
run 0 report --format json --from "${half}ns" known
claim 'report --from: what began before does not count as called' is "$(jq .calls out)" \
	"$(sqlite3 bounds.db "select count(*) from calls where begin_latest >= $half")"
claim 'report --from: nothing takes longer than what is left' is "$(jq "[.functions[].total_ns[1]] |
	all(. <= $((end - half)) + 1)" out)" true
start=$(sqlite3 bounds.db "select value / 1000000000 from recording where key = 'start_realtime_ns'")
run 0 report --format json --from "$(date -d "@$((start - 60))" +%T)" known
claim 'a minute before the start is all' is "$(jq .calls out)" \
	"$(sqlite3 bounds.db 'select count(*) from calls')"
run 1 report --format json --from "$(date -d "@$((start + 60))" +%FT%T)" known
claim 'a minute after it is nothing' is "$(jq .calls out)" 0
fails 1 'without times' report --slowest 3 still
run 0 replay --longer "${end}ns" known
claim 'replay --longer: nothing lasts from the first to the last' is "$(grep -c leaf out)" 0

# Parts open by themselves, and together they are the whole.
for format in perfetto chrome speedscope; do
	run 0 export --format $format -o part.$format --split 1k known
	claim "$format: there are parts" test -e part.002.$format
	for part in part.0*.$format; do
		exported $format "$part" >of_part 2>err
		claim "$format: $part opens by itself" test ! -s err
	done
done
claim 'parts: what began before is said again' grep -q '"began":"before"' part.002.chrome
claim 'parts: no call is lost or twice' is \
	"$(cat part.0*.chrome | grep -c '"ph":"B"') $(cat part.0*.chrome | grep -c '"began"')" \
	"$(($(run 0 export --format chrome -o whole.json known; grep -c '"ph":"B"' whole.json) + $(cat part.0*.chrome | grep -c '"began"'))) $(cat part.0*.chrome | grep -c '"began"')"

# Parts by time: together they have every call once by when it began, and none that lies elsewhere.
span=$(sqlite3 bounds.db 'select max(end_latest) / 3 + 1 from calls')
run 0 export --format sqlite --split "${span}ns" -o span.db known
claim 'parts by time: as many as the time has' is "$(echo span.*.db)" 'span.001.db span.002.db span.003.db'
for part in span.*.db; do
	sqlite3 "$part" 'select thread, begin_earliest, begin_latest, function, level from calls'
done 2>said | sort -u >spans
claim 'parts by time: every call is there' is \
	"$(wc -l <spans)" "$(sqlite3 bounds.db 'select count(distinct thread || "," || begin_earliest ||
		"," || begin_latest || "," || function || "," || level) from calls')"
claim 'parts by time: none that began later' is "$(sqlite3 span.002.db \
	"select count(*) from calls where begin_earliest > 2 * $span")" 0

# What adds up counts what lies in its part of the time, and no more: parts have the sum of the whole.
sum() { cat "$@" | awk '{ n += $NF } END { printf "%.0f\n", n }'; }
first=$(sqlite3 bounds.db 'select min(begin_earliest) from calls')
step=$((($(sqlite3 bounds.db 'select max(end_latest) from calls') - first) / 4 + 1))
for weight in time calls; do
	run 0 export --format folded --weight $weight -o whole.$weight known
	run 0 export --format folded --weight $weight --from "${first}ns" --split "${step}ns" -o part.$weight known
	claim "parts by time: $weight add up to the whole" is "$(sum part.0*.$weight)" "$(sum whole.$weight)"
done
run 0 export --format folded --range "$((first + step))ns..$((first + 2 * step))ns" -o ranged known
claim 'a range of one thread weighs no more than its time' test "$(sum ranged)" -le $((step + 1))

# Requests: those that were slow, with what they call.
run 0 export --format sqlite --request work -o requests.db known
claim '--request: its calls and nothing around them' is \
	"$(sqlite3 requests.db "select count(*) from calls c join functions f on f.id = c.function where level = 0 and name <> 'work'")" 0
run 0 export --format sqlite --request work --slow --longer 1ns -o slow.db known
run 0 export --format sqlite --request work --slow --longer 1000s -o slowest.db known
claim '--slow: all, or none' is \
	"$(sqlite3 slow.db 'select count(*) > 0 from calls') $(sqlite3 slowest.db 'select count(*) from calls')" '1 0'
run 2 export --format sqlite --slow -o x.db known

# Filters.
run 0 export --format folded --weight calls -o only.folded -F work -N leaf known
claim 'filters hold' is "$(grep -c leaf only.folded) $(grep -vc '^work' only.folded)" '0 0'
run 0 export --format sqlite -o none.db --min-duration 1000s known
claim 'nothing took 1,000 seconds' is "$(sqlite3 none.db 'select count(*) from calls')" 0
half=$(sqlite3 bounds.db 'select max(end_latest - begin_earliest) / 2 from calls')
run 0 export --format sqlite -o long.db --min-duration "${half}ns" known
claim 'what may have lasted so long, and what is around it' is \
	"$(sqlite3 long.db 'select count(*), min(end_latest - begin_earliest) >= '"$half"' from calls')" \
	"$(sqlite3 bounds.db 'select count(*), 1 from calls where end_latest - begin_earliest >= '"$half")"

# What cannot be done is said.
fails 2 '--weight: chrome has no weights' export --format chrome --weight calls -o x known
fails 1 'known: no goroutine has a number in it (it is told' export --format chrome --by goroutine -o x known
if [ -e /dev/full ]; then
	status=0
	"$PUGMARK" export --format chrome -o - known >/dev/full 2>err || status=$?
	claim 'a full disk behind standard output is an error' is $status 1
	claim 'and said once' same <(echo 'pugmark: standard output: cannot write: No space left on device') err
fi
cp -r known cut
truncate -s -100 cut/events
run 3 export --format folded -o - cut
claim 'what is not whole is said to be' grep -q '^pugmark: cut: what is written of it has gaps, or it is not whole' err
fails 1 'is there already' export --format chrome -o whole.json known

# What fails is not there afterwards, and does not stand in the way of the next try.
too_large() { # ARGUMENT...: no file may have more than 1 kB
	(
		trap '' XFSZ
		ulimit -f 1
		exec "$PUGMARK" export "$@" 2>err
	)
}
for format in chrome sqlite ctf parquet; do
	mkdir "failed.$format"
	status=0
	too_large --format "$format" -o "failed.$format/x" known || status=$?
	claim "$format: what cannot be written fails" is $status 1
	claim "$format: nothing is left of it" is "$(ls -A "failed.$format")" ''
	run 0 export --format "$format" -o "failed.$format/x" known
	claim "$format: the next try is all that is there" is "$(ls -A "failed.$format")" x
done
mkdir failed.parts
status=0
: >failed.parts/x.002.json
"$PUGMARK" export --format chrome --split 2k -o failed.parts/x.json known 2>err || status=$?
claim 'parts: one that is there already ends it' is "$status $(grep -c 'x.002.json: is there already' err)" '1 1'
claim 'parts: those before are not left, and that one is' is "$(ls -A failed.parts)" x.002.json
run 2 export --format nonesuch -o x known
claim 'an unknown format is named' grep -q "no format 'nonesuch'" err
run 2 export --format sqlite -o - known
claim 'a database does not go to standard output' grep -q 'cannot go to standard output' err
run 2 export --format folded -o x --split 1k known
claim 'a sum is not split' grep -q 'one sum' err
fails 1 'without times' export --format chrome -o x --min-duration 1ms still
run 0 export --format folded -o - known
claim 'standard output' is "$(wc -l <out)" "$(wc -l <"$(run 0 export --format folded -o same.folded known; echo same.folded)")"
conclude
