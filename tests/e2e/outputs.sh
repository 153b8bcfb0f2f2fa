#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# outputs.sh: where plans and recordings are written: a device node, a pipe and a link stay what they
# are; a cache that cannot be written to costs nothing but time; a plan from the cache says what a new
# one says; what has no effect, or cannot be read, is said. A recording that is moved while it is written
# is written to its end, and nothing is written to one that takes its name.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs jq gcc python3
work_in_own_folder
printf 'int f(int x) { return x + 1; }\nint main(int c, char **v) { (void)v; return f(c) - 2; }\n' >p.c
gcc -O1 -fno-inline p.c -o prog || skip 'no gcc for the target'
program=$PWD/prog

plan() { "$PUGMARK" plan "$@" >out 2>err; }
says() { # STATUS WORDS COMMAND...: it fails with that status, and its last line has the words
	local status=0
	"${@:3}" >out 2>err || status=$?
	[ $status = "$1" ] && tail -n 1 err | grep -qF -- "$2"
}
checks() { "$PUGMARK" plan --check --plan "$1" "$program"; }

# --- what a plan must not replace -------------------------------------------------------------------
claim 'a plan is written' plan -o good.plan "$program"
if mknod node c 1 3 2>err; then
	claim 'a device takes a plan' plan -o node "$program"
	claim 'and is the device that it was' is "$(stat -c '%F %t:%T' node)" 'character special file 1:3'
	rm node
	mknod node c 1 7
	claim 'a device that takes nothing is said' says 1 'No space left' "$PUGMARK" plan -o node "$program"
	claim 'and is the device that it was' is "$(stat -c '%F %t:%T' node)" 'character special file 1:7'
else
	skipped=$((skipped + 1))
fi
mkfifo pipe
cat pipe >from-pipe &
started+=($!)
claim 'a pipe takes a plan' plan -o pipe "$program"
wait $!
claim 'which arrives whole' same good.plan from-pipe
claim 'and is a pipe still' test -p pipe
mkdir there
: >there/real
chmod 600 there/real
ln -s there/real link
ln -s there/new dangling
for link in link dangling; do
	claim "a link takes a plan ($link)" plan -o $link "$program"
	claim "and stays a link ($link)" test -L $link
	claim "to the plan ($link)" same good.plan $link
done
claim 'a file keeps its mode' is "$(stat -c %a there/real)" 600
claim 'nothing else is left there' is "$(echo there/*)" 'there/new there/real'
claim 'a folder takes no plan' says 1 'Is a directory' "$PUGMARK" plan -o there "$program"
claim 'a plan goes to standard output' eval '"$PUGMARK" plan -o - "$program" >stdout.plan'
claim 'alone' same good.plan stdout.plan
claim 'with nothing shown beside it' says 2 'leaves nothing to show' \
	"$PUGMARK" plan -o - --stats "$program"

# --- a cache that is not to be had ------------------------------------------------------------------
: >file
claim 'no cache folder: planned all the same' env XDG_CACHE_HOME="$dir/file/cache" \
	"$PUGMARK" plan --check "$program"
claim 'and said' eval 'XDG_CACHE_HOME=$dir/file/cache "$PUGMARK" plan "$program" | grep -q "not kept: .*Not a directory"'
claim 'in JSON as well' eval 'XDG_CACHE_HOME=$dir/file/cache "$PUGMARK" plan --format json "$program" |
	jq -e ".plan == null and (.not_kept | test(\"Not a directory\"))"'
claim 'no home: planned all the same' env -u XDG_CACHE_HOME -u HOME "$PUGMARK" plan --check "$program"
claim 'and kept in no folder of everybody' eval \
	'env -u XDG_CACHE_HOME -u HOME "$PUGMARK" plan "$program" | grep -q "not kept: no folder"'
mkdir full
if unshare -m mount -t tmpfs -o size=4k none full 2>err; then
	full() { unshare -m sh -c 'mount -t tmpfs -o size=4k none "$0" && head -c 4096 /dev/zero >"$0/filler" && exec "$@"' "$dir/full" "$@"; }
	claim 'a full disk: planned all the same' full env XDG_CACHE_HOME="$dir/full" \
		"$PUGMARK" plan --check "$program"
	claim 'and said' eval 'full env XDG_CACHE_HOME="$dir/full" "$PUGMARK" plan "$program" |
		grep -q "not kept: .*No space left"'
else
	skipped=$((skipped + 1))
fi

# --- a plan from the cache says what a new one says ------------------------------------------------
# A call that cannot be probed (notrack), or not: nothing else tells which.
cat >hidden.s <<'S'
	.globl _start
	.text
	.type _start, @function
_start:	.cfi_startproc
	call maybe
	hlt
	.cfi_endproc
	.size _start, .-_start
	.type maybe, @function
maybe:	.cfi_startproc
	jrcxz 1f
	notrack call *%rax
1:	ret
	.cfi_endproc
	.size maybe, .-maybe
S
gcc -nostdlib -static -o hidden hidden.s 2>err
for binary in "$program" hidden /bin/bash; do
	"$PUGMARK" plan --fresh --format json $binary 2>err | jq -c '[.sites, .unresolved]' >new
	"$PUGMARK" plan --format json $binary 2>err | jq -c 'select(.cached) | [.sites, .unresolved]' >cached
	claim "the numbers from the cache are those of a new plan (${binary##*/})" eval \
		'[ -s new ] && same new cached && ! grep -q null new'
done
python3 - "$("$PUGMARK" plan --format json hidden | jq -r .plan)" <<'PY'
import struct, sys, zlib
plan = bytearray(open(sys.argv[1], 'rb').read())
del plan[len(plan) - 24 * struct.unpack_from('<I', plan, 116)[0]:]
struct.pack_into('<I', plan, 8, 2)
struct.pack_into('<Q', plan, 16, len(plan))
struct.pack_into('<I', plan, 12, zlib.crc32(plan[16:]))
open(sys.argv[1], 'wb').write(plan)
PY
claim 'a cached plan of a format that does not say where is made again' \
	"$PUGMARK" plan --check hidden
claim 'a decision that nothing can tell is said' eval '"$PUGMARK" plan hidden | grep -q "unresolved  *1 "'

# --- what would have no effect ----------------------------------------------------------------------
claim 'a mode of calls at level paths' says 2 '--mode is for level calls' \
	"$PUGMARK" plan --level paths --mode casper "$program"
claim 'a placement at level calls' says 2 'goes with --level paths' \
	"$PUGMARK" plan --placement edges "$program"
claim 'a mode of calls at level paths, recorded' says 2 '--mode is for level calls' \
	"$PUGMARK" record --level paths --mode full -- "$program"
claim 'a placement at level calls, recorded' says 2 'goes with --level paths' \
	"$PUGMARK" record --placement edges -- "$program"

# --- a damaged file ---------------------------------------------------------------------------------
u64() { od -An -tu8 -j "$1" -N8 damaged | tr -d ' '; }
cp "$program" damaged
number=$(readelf -SW damaged | sed -nE 's/^ *\[ *([0-9]+)\] \.dynsym .*/\1/p')
printf '\377\377\377\377\377\0\0\0' |
	dd of=damaged bs=1 seek=$(($(u64 40) + 64 * number + 24)) conv=notrunc status=none
claim 'a damaged file: what of it, and what to do' says 1 'its dynamic sections cannot be read' \
	"$PUGMARK" plan damaged
claim 'which helps' "$PUGMARK" plan --check --exports all damaged

# --- recordings ---------------------------------------------------------------------------------------
if ! (needs_recording) >err; then
	skipped=$((skipped + 1))
	conclude
	exit
fi
if ! "$PUGMARK" record -q -o rec -- "$program" 2>err; then
	skip "recording does not work here: $(head -n 1 err)"
fi
claim 'paths of a recording of calls' says 1 'recorded without blocks' "$PUGMARK" replay --paths rec
claim 'no cache: recorded all the same' eval \
	'env -u HOME XDG_CACHE_HOME= "$PUGMARK" record -o rec2 -- "$program" >out 2>err'
claim 'and said' grep -q 'note: the plan is not kept' err
claim 'complete' "$PUGMARK" verify rec2
claim 'with the plan in it' checks rec2/plan-0.pmp
claim 'quietly' eval 'env -u HOME XDG_CACHE_HOME= "$PUGMARK" record -q -o rec3 -- "$program" 2>err && [ ! -s err ]'
mkdir far
ln -s far/rec here
"$PUGMARK" record -q -o far/rec -- "$program"
claim 'no name is no folder' says 2 'output is empty' "$PUGMARK" record -o '' -- "$program"
claim 'a link to a recording takes one' "$PUGMARK" record -q -o here -- "$program"
claim 'and stays a link' test -L here
claim 'to the new one' "$PUGMARK" verify here
claim 'the old one is beside it' "$PUGMARK" verify far/rec.old

# --- a folder that gets another name while it is recorded -----------------------------------------------
begun() { # OPTION...: a recorder of $program in `recorder`, which has recorded it once
	: >err # of the one before
	"$PUGMARK" record -a "$program" "$@" >out 2>err </dev/null &
	recorder=$!
	started+=($recorder)
	await grep -q '^pugmark: moved: recording' err
	"$program"
}
ended() { # PID: its status in `status`
	status=0
	kill -INT "$1"
	wait "$1" || status=$?
}
begun -o moved
first=$recorder
mv moved aside
begun -o moved
second=$recorder
ended "$first"
claim 'a folder that was moved is recorded to its end' is $status 0
claim 'and complete' "$PUGMARK" verify aside
claim 'the one in its place is nobody elses' eval \
	'[ -e moved/reserve ] && ! grep -q "\"closed\"" moved/meta.json'
ended "$second"
claim 'and complete as well' eval '[ $status = 0 ] && "$PUGMARK" verify moved'
rm -r moved
begun -o moved
rm -r moved
ended "$recorder"
claim 'a folder that was removed is an error' is $status 1
claim 'that names it' grep -qxF 'pugmark: moved: cannot write its meta.json: No such file or directory' err
claim 'and is not made anew' test ! -e moved

# --- standard streams that are closed -----------------------------------------------------------------
"$PUGMARK" record -q -o closed -a "$program" --duration 2 <&- >&- 2>&- &
recorder=$!
started+=($recorder)
await test -e closed/events
claim 'nothing that is written to stands in for a closed stream' is \
	"$(readlink /proc/$recorder/fd/[012] | sort -u)" /dev/null
wait $recorder
cp "$(type -P test)" there/test
claim 'of a recorded program they are closed' \
	eval '"$PUGMARK" record -q -o closed2 -- there/test ! -e /proc/self/fd/1 >&- 2>err'
conclude
