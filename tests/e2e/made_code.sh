#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# made_code.sh: code that a program makes at run time calls functions that are traced. Each of these
# calls is one entry, in order and without a gap, and says which piece of code it came from: what the
# program wrote to its perf map, or its jitdump, before it ran it, also where another piece took its place later, and
# where the map is written at the end alone. A map that is no file of its own is not read: a link, a
# FIFO, a folder, another user's, one with a second name; what is no line of a map is passed over, and
# a name is printed as what it is.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs cc awk python3
needs_recording
work_in_own_folder

cat >made.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define FN __attribute__((noipa))
enum { PIECES = 8, ROUNDS = 3, PLACES = 6, ROOM = 64 };
FN int even(int x) { return x + 1; }
FN int odd(int x) { return x ^ 1; }
static unsigned char *area;
static char name[64];
static FILE *map;

/* As of perf's specification: a header, which is mapped executable for whoever looks for it. */
static void begin_dump(void)
{
	unsigned head[10] = {0x4A695444, 1, 40, 62, 0, getpid()};
	snprintf(name, sizeof(name), "jit-%d.dump", getpid());
	map = fopen(name, "w+");
	fwrite(head, sizeof(head), 1, map);
	fflush(map);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(map), 0) == MAP_FAILED)
		exit(2);
}
static void dump_piece(int i, void *piece)
{
	char text[64];
	int len = 1 + snprintf(text, sizeof(text), "piece %d of it", i);
	unsigned head[6] = {0, 56 + len + ROOM, 0, 0, getpid(), getpid()};
	long numbers[4] = {(long)piece, (long)piece, ROOM, i};
	fwrite(head, sizeof(head), 1, map);
	fwrite(numbers, sizeof(numbers), 1, map);
	fwrite(text, len, 1, map);
	fwrite(piece, ROOM, 1, map);
	fflush(map);
}

/* A piece that was said to be elsewhere. */
static void move_piece(int i, void *from, void *to)
{
	unsigned head[6] = {1, 64, 0, 0, getpid(), getpid()};
	long numbers[5] = {(long)from, (long)from, (long)to, ROOM, i};
	fwrite(head, sizeof(head), 1, map);
	fwrite(numbers, sizeof(numbers), 1, map);
	fflush(map);
}

static void begin_map(const char *how)
{
	char other[80];
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	snprintf(other, sizeof(other), "%s.other", name);
	if (!strcmp(how, "fifo"))
		mkfifo(name, 0600);
	if (!strcmp(how, "folder"))
		mkdir(name, 0700);
	if (!strcmp(how, "link") && symlink(other, name))
		exit(2);
	if (!strcmp(how, "none") || !strcmp(how, "fifo") || !strcmp(how, "folder"))
		return;
	map = fopen(!strcmp(how, "link") ? other : name, "w");
	if (!strcmp(how, "stranger") && chown(name, 65534, 65534))
		exit(2);
	if (!strcmp(how, "twice") && link(name, other))
		exit(2);
	if (!strcmp(how, "rubbish")) {
		fputs("\n \nxyz\n10 20\n0 0 nothing\nffffffffffffffff 10 high\n"
		      "10 ffffffffffffffff long\n1 2", map);
		static char line[9000000];
		memset(line, 'a', sizeof(line) - 1);
		line[sizeof(line) - 1] = '\n';
		fwrite(line, sizeof(line), 1, map);
	}
}
static void end_map(void)
{
	char other[80];
	snprintf(other, sizeof(other), "%s.other", name);
	rmdir(name);
	unlink(name);
	unlink(other);
}
/* Calls @f: sub $8,%rsp; mov $f,%rax; call *%rax; add $8,%rsp; ret */
static int (*make(int i, int (*f)(int)))(int)
{
	unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0,
				0,    0,    0,	  0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
	unsigned char *at = area + i % PLACES * ROOM;
	memcpy(code + 6, &f, 8);
	memcpy(at, code, sizeof(code));
	return (int (*)(int))at;
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "map";
	int last = !strcmp(how, "last"), n = 0;
	area = mmap(NULL, 1 << 16, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int moves = !strcmp(how, "moves"), dumps = moves || !strcmp(how, "dump");
	if (dumps)
		begin_dump();
	else if (!last)
		begin_map(how);
	even(0);
	usleep(300000);
	for (int i = 0; i < PIECES; i++) {
		int (*piece)(int) = make(i, i % 2 ? odd : even);
		if (map && dumps) {
			dump_piece(i, moves ? area + 4096 + i * ROOM : (void *)piece);
			if (moves)
				move_piece(i, area + 4096 + i * ROOM, piece);
		} else if (map) {
			fprintf(map, "%lx %x piece %d \033[31m of it\n", (long)piece, ROOM, i);
			fflush(map);
		}
		usleep(150000);
		for (int k = 0; k < ROUNDS; k++)
			n += piece(k);
	}
	if (last) {
		begin_map("map");
		for (int i = PIECES - PLACES; i < PIECES; i++)
			fprintf(map, "%lx %x piece %d \033[31m of it\n",
				(long)(area + i % PLACES * ROOM), ROOM, i);
		fflush(map);
		usleep(150000);
	} else {
		usleep(300000);
	}
	end_map();
	return !n;
}
C
cc -O1 -o made made.c || exit 1

named() { # FILE: which piece each entry is told to come from, as numbers
	sed -n 's/.* callback \[jit\] piece \([0-9]*\) .*/\1/p' "$1" | tr '\n' ' '
}
each='0 0 0 1 1 1 2 2 2 3 3 3 4 4 4 5 5 5 6 6 6 7 7 7 '
entered() { # FILE: the entries from code without a name
	grep -c ' callback \[anonymous code\]$' "$1"
}
record() { # HOW
	rm -rf "$1.rec"
	timeout 60 "$PUGMARK" record -q -o "$1.rec" -- ./made "$1" 2>"$1.err"
	claim "$1: the program ran and ended well" [ $? = 0 ]
	timeout 60 "$PUGMARK" dump "$1.rec" >"$1.dump"
	claim "$1: no gap" [ $? = 0 ]
}

record map
claim 'each entry says which piece it came from' [ "$(named map.dump)" = "$each" ]
claim 'with certainty' eval '! grep -q "of it?" map.dump'
claim 'a name is printed as text' eval '! grep -q $'"'"'\033'"'"' map.dump'
claim 'all of it' grep -q 'piece 3 \\x1b\[31m of it' map.dump
"$PUGMARK" replay map.rec >map.tree
claim 'the tree says it' [ "$(grep -c '<- callback from \[jit\] piece 7 ' map.tree)" -ge 1 ]
"$PUGMARK" report --callers even map.rec >map.report
claim 'a report has each piece as a caller' [ "$(grep -c '^ *3 .* \[jit\] piece [0246] .x1b' map.report)" = 4 ]
claim 'and what it called' [ "$("$PUGMARK" report --format json map.rec | tr '{' '\n' |
	grep -c '"function":"\[jit\] piece [0-7] .*"made_at_run_time":true,"calls":3')" = 8 ]
"$PUGMARK" encode --strings map.rec >map.calls
claim "strings of calls have each piece around what it called" [ "$(grep -o "\[jit\] piece [0-7]" map.calls | wc -l)" = 24 ]
"$PUGMARK" replay --format json map.rec >map.json
claim 'and the tree as JSON' [ "$(grep -c '"from":"piece 5 ' map.json)" = 3 ]
claim 'and events as JSON' [ "$("$PUGMARK" dump --format ndjson map.rec | grep -c '"from":"piece 5 ')" = 3 ]
# Each of the 24 calls is in one of code that was made at run time, in each format.
exported() { # FORMAT
	rm -rf map.export
	"$PUGMARK" export --format "$1" -o map.export "${@:2}" map.rec
}
exported folded --weight calls
claim 'folded: each piece is around what it called' is "$(grep -c ';\[jit\] piece [0-7] .x1b\[31m of it;\(odd\|even\) 3$' map.export)" 8
exported chrome
claim 'chrome: as calls' is "$(grep -c '"ph":"B","name":"\[jit\] piece [0-7] ' map.export)" 24
python3 - map.export >said <<'P'
import json, sys
open_, bad, inside = {}, 0, 0
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    stack = open_.setdefault(e.get("tid"), [])
    if e["ph"] == "B":
        inside += bool(stack and stack[-1].startswith("[jit]") and e["name"] in ("odd", "even"))
        stack.append(e["name"])
    elif e["ph"] == "E":
        bad += not stack
        stack and stack.pop()
print(inside, bad, sum(map(len, open_.values())))
P
claim 'nested as they ran' is "$(cat said)" '24 0 0'
exported sqlite
claim 'sqlite: the piece is the parent of what it called' is "$(python3 -c '
import sqlite3
print(*sqlite3.connect("map.export").execute(
    "SELECT count(*), count(DISTINCT p.id), min(c.level - p.level), max(c.level - p.level) FROM calls c"
    " JOIN calls p ON c.parent = p.id JOIN functions f ON p.function = f.id"
    " WHERE f.name LIKE \"[jit] piece %\"").fetchone())')" '24 24 1 1'
for format in perfetto speedscope pprof callgrind ctf parquet; do
	exported $format
	[ $format = pprof ] && python3 -c 'import gzip, sys; d = open("map.export", "rb").read()
sys.stdout.buffer.write(gzip.decompress(d) if d[:2] == b"\x1f\x8b" else d)' >map.plain && mv map.plain map.export
	claim "$format: all pieces are named" is "$(grep -rhao '\[jit\] piece [0-7]' map.export | sort -u | wc -l)" 8
done
claim 'nothing is left of the map' eval '! ls /tmp/perf-*.map.other 2>/dev/null | grep -q .'

record dump
claim 'a dump that is mapped names each piece as well' [ "$(named dump.dump)" = "$each" ]
record moves
claim 'also where it was moved to' [ "$(named moves.dump)" = "$each" ]

record rubbish
claim 'what is no line is passed over' [ "$(named rubbish.dump)" = "$each" ]
record last
# Of two places a piece was there before those that are told.
claim 'a map written at the end names what ran before' [ "$(named last.dump | wc -w)" = 24 ]
claim 'without certainty' [ "$(grep -c 'of it?$' last.dump)" -ge 18 ]

for how in none link fifo folder stranger twice; do
	record $how
	claim "$how: entries from code without names" [ "$(entered $how.dump)" = 24 ]
	claim "$how: and no name" [ -z "$(named $how.dump)" ]
done
conclude
