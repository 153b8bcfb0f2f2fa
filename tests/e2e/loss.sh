#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# loss.sh: what is promised where events are lost: every lost one is counted, every gap has its
# bounds, and what is recovered between gaps is exact; also where the recorder is killed, which must
# leave a recording that reads back, a program that goes on, and no probe behind.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
pieces=$BUILD/tests/pieces
[ -x "$pieces" ] || skip 'tests/pieces is not built'
needs gzip mawk setarch pgrep
recorder= target=
at_end() {
	for pid in $recorder $target; do
		kill -9 "$pid" 2>/dev/null
	done
	[ -z "${KEEP:-}" ] || cp -r "$dir" "$KEEP"
}
work_in_own_folder

# The same addresses each time, so that the same run is the same to the last bit.
record() { setarch -R "$PUGMARK" record -q "$@" 2>err; }
number() { # DIR KEY: of the certificate
	"$PUGMARK" verify --format json "$1" | grep -o "\"$2\":[0-9]*" | tail -n 1 | cut -d : -f 2
}

cp "$(command -v gzip)" "$(command -v mawk)" .
make_text() { # LINES
	awk -v lines="$1" 'BEGIN { x = 1; for (i = 0; i < lines; i++) {
		x = (x * 69069 + 1) % 4294967296
		print x, i, "some words that come again and again", x % 97 } }'
}
make_text 7000 >text
script='{ for (i = 1; i <= NF; i++) n[$i]++; gsub(/[aeiou]+/, "<&>"); s += length($0) }
	function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
	NR == 1000 { print s, f(12); exit }'

# --- a ring that is too small, and a consumer that sleeps ---------------------------------------
check_loss() { # NAME MODE COMMAND...
	local name=$1 mode=$2 lost gaps status
	shift 2
	"$@" >expected
	record -o whole --mode "$mode" -- "$@" >out
	claim "$name $mode: nothing is lost with room enough" [ $? = 0 ]
	PUGMARK_RING_BYTES=65536 PUGMARK_STALL_MS=300 record -o lossy --mode "$mode" -- "$@" >out
	claim "$name $mode: the exit status says so" [ $? = 3 ]
	claim "$name $mode: the program did its work" cmp out expected
	claim "$name $mode: pieces of what happened" "$pieces" whole lossy
	sed "s/^/$name $mode: /" said
	lost=$(sed -nE 's/.* ([0-9]+) of [0-9]+ events lost in .*/\1/p' said)
	gaps=$(sed -nE 's/.* lost in ([0-9]+) gaps.*/\1/p' said)
	claim "$name $mode: something was lost" [ "${lost:-0}" -gt 0 ]
	claim "$name $mode: and something was not" [ "$(number lossy witness_events)" -gt 0 ]
	"$PUGMARK" verify lossy >verified
	claim "$name $mode: verify's exit status" [ $? = 3 ]
	claim "$name $mode: a gap says where the thread was, and where it is behind" \
		grep -qE 'events? (was|were) lost.*: ([0-9a-f]+ in .*, )?after [^ ]' verified # behind the last one is nothing
	claim "$name $mode: the certificate has the lost events" [ "$(number lossy lost)" = "$lost" ]
	"$PUGMARK" dump lossy >dumped
	claim "$name $mode: dump's exit status" [ $? = 3 ]
	claim "$name $mode: dump has the gaps" [ "$(grep -c ' gap ' dumped)" = "${gaps:-x}" ]
	claim "$name $mode: and what was lost in them" \
		[ "$(awk '$2 == "gap" { n += $4 } END { print n }' dumped)" = "$lost" ]
	status=0
	"$pieces" whole whole >/dev/null && "$pieces" lossy lossy >/dev/null || status=$?
	claim "$name $mode: the check itself can fail" [ $status = 1 ]
}
check_loss gzip full ./gzip -c text
check_loss mawk best ./mawk "$script" text
if [ "${LONG:-}" ]; then # the other way round
	check_loss gzip best ./gzip -c text
	check_loss mawk full ./mawk "$script" text
fi

# --- the recorder is killed -----------------------------------------------------------------------
# How many bytes of ./gzip's text in the memory of process $1 are not those of the file.
text_differs() {
	local range off start pages
	read -r range off < <(awk -v file="$dir/gzip" '$2 ~ /x/ && $6 == file { print $1, $3 }' \
		"/proc/$1/maps")
	start=$((16#${range%-*} / 4096)) pages=$((16#${range#*-} / 4096 - start))
	dd if="/proc/$1/mem" bs=4096 skip=$start count=$pages status=none >memory
	dd if=gzip bs=4096 skip=$((16#$off / 4096)) count=$pages status=none >file
	[ -s memory ] && [ -s file ] || { echo unreadable; return; }
	cmp -l -n "$(stat -c %s file)" memory file | wc -l
}
wait_until() { # SECONDS COMMAND...
	for _ in $(seq $(($1 * 20))); do
		! "${@:2}" || return 0
		sleep 0.05
	done
	return 1
}
differs() { test "$(text_differs "$1")" "$2" 0; }
gone() { [ ! -e "/proc/$1" ]; }

begun() {
	target=$(pgrep -P $recorder -x gzip) && grep -q "$dir/gzip" "/proc/$target/maps"
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }

make_text 12000 >text
./gzip -c text >expected
# In the background, as those that are killed: SIGINT is ignored there, and gzip asks.
setarch -R "$PUGMARK" record -q -o whole --mode full -- ./gzip -c text >out 2>err &
recorder=$!
wait_until 20 begun
since=$(now_ms)
wait $recorder
claim 'the whole of the run that is killed' [ $? = 0 ]
took_ms=$(($(now_ms) - since))
stops=0 events=0
for sixth in 0 1 2 3; do # of the run; 0: while it is made ready
	rm -rf killed out
	: >out
	setarch -R "$PUGMARK" record -q -o killed --mode full -- ./gzip -c text >out 2>err &
	recorder=$!
	if [ $sixth = 0 ]; then
		sleep 0.2
	else
		wait_until 20 begun
		sleep "$(printf '%d.%03d' $((took_ms * sixth / 6000)) $((took_ms * sixth / 6 % 1000)))"
	fi
	target=$(pgrep -P $recorder -x gzip)
	if [ -n "$target" ] && kill -STOP "$target" && grep -q "$dir/gzip" "/proc/$target/maps"; then
		stops=$((stops + 1))
		claim "killed at $sixth/6: there are probes to be seen" differs "$target" -gt
	fi
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	recorder=
	if [ -n "$target" ]; then
		! grep -q "$dir/gzip" "/proc/$target/maps" ||
			claim "killed at $sixth/6: no probe is left" wait_until 10 differs "$target" -eq
		kill -CONT "$target"
		claim "killed at $sixth/6: the program ends" wait_until 20 gone "$target"
		[ ! -s out ] || claim "killed at $sixth/6: and has done its work" cmp out expected
		target=
	fi
	[ -e killed/meta.json ] || continue
	"$PUGMARK" verify killed >/dev/null
	claim "killed at $sixth/6: what it left is known not to be whole" [ $? = 3 ]
	claim "killed at $sixth/6: and is the beginning of what happened" "$pieces" --prefix whole killed
	sed "s,^,killed at $sixth/6: ," said
	events=$((events + $(number killed witness_events)))
done
claim 'the recorder was killed while it recorded' [ $stops -ge 2 ]
claim 'what was written by then is read' [ $events -gt 0 ]

# --- threads that hardly do anything: what they did some seconds ago is there --------------------
cat >slow.c <<'C'
#include <pthread.h>
#include <unistd.h>
__attribute__((noipa)) static void leaf(int i) { __asm__ volatile("" ::"r"(i)); }
static void *work(void *arg)
{
	for (int i = 0; i < 100; i++) {
		leaf(i);
		usleep(100000);
	}
	return arg;
}
int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
C
if "${CC:-cc}" -O1 -pthread -o slow slow.c; then
	./slow &
	target=$!
	wait_until 20 [ /proc/$target/exe -ef slow ] # it is the shell at first
	"$PUGMARK" record -q -o slowly --mode full -p $target 2>err &
	recorder=$!
	wait_until 20 [ -e slowly/meta.json ]
	sleep 5
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	recorder=
	kill $target
	wait $target 2>/dev/null
	target=
	calls=$("$PUGMARK" dump -F leaf slowly | grep -c ' call ')
	# Of 150 all but those of the last second and some before the segment was written.
	claim 'threads that hardly do anything: most of it is there' [ "$calls" -ge 75 ]
	echo "killed after 5 s: $calls of about 150 calls of slow threads"
fi

conclude
