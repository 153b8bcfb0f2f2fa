#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# given_handles.sh: handles that a function gives out through a pointer, as sqlite3_open() does: a line
# `FUNCTION *N` of record --handle and encode --handle. The truth is what the program, or a library that
# stands between it and sqlite3, writes down itself: which function was called on which handle.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq
work_in_own_folder

# Lines `VALUE NAME NAME ...`, one for each handle from where it was given out, in the order of their text.
sequences() { # RECORDING HANDLE [FUNCTION ...]
	local recording=$1 handle=$2
	shift 2
	"$PUGMARK" encode "$recording" --handle "$handle" --format json 2>err | jq -r --arg only "$*" '
		($only | split(" ")) as $only | .sequences[] | select(.object) |
		[.object] + [.items[] | select($only == [] or IN($only[]))] | join(" ")' | sort
}
told() { # LOG of lines `NAME VALUE [begin|end]`: the same of what the program says
	awk '$3 == "begin" { if ($2 in at) print at[$2]; at[$2] = $2 }
		{ if (!($2 in at)) at[$2] = $2
		  at[$2] = at[$2] " " $1 }
		$3 == "end" { print at[$2]; delete at[$2] }
		END { for (h in at) print at[h] }' "$1" | sort
}

cat >give.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static FILE *told;
#define HERE __attribute__((noinline, noclone))
#define SAY(...) fprintf(told, __VA_ARGS__)
struct box { int n; };
HERE int box_open(const char *name, struct box **out) {
	*out = *name ? calloc(1, sizeof(**out)) : NULL;
	return *name ? 0 : -1;
}
HERE int box_use(struct box *b, int n) { return b->n += n; }
/* takes one and gives another; what it does with others inside is no part of what is told */
HERE int box_split(struct box *from, int deep, struct box **out) {
	struct box *inner = NULL;
	if (deep && !box_split(from, deep - 1, &inner))
		box_use(inner, deep);
	*out = calloc(1, sizeof(**out));
	return 0;
}
/* two at once, and the last of six arguments */
HERE void box_pair(struct box **a, int b, int c, int d, int e, struct box **f) {
	*a = calloc(1, b + c + d + e);
	*f = calloc(1, sizeof(**f));
}
HERE void box_same(struct box **b) { if (*b) (*b)->n++; } /* and leaves it there */
HERE void box_close(struct box *b) { b->n = -1; }
HERE static void work(int n) {
	struct box *a, *b, *c, *none;
	box_open("a", &a);
	SAY("box_open %lx begin\n", (long)a);
	box_open("", &none);
	box_use(a, n);
	SAY("box_use %lx\n", (long)a);
	box_split(a, n % 25, &b);
	SAY("box_split %lx\nbox_split %lx begin\n", (long)a, (long)b);
	box_same(&b);
	SAY("box_same %lx\n", (long)b);
	box_pair(&c, 1, 2, 3, 4, &none);
	SAY("box_pair %lx begin\nbox_pair %lx begin\n", (long)c, (long)none);
	box_use(c, n);
	SAY("box_use %lx\n", (long)c);
	box_close(b);
	SAY("box_close %lx end\n", (long)b);
	box_close(a);
	SAY("box_close %lx end\n", (long)a);
}
static void *thread(void *x) { return x; }
int main(int argc, char **argv) {
	told = fopen("told", "w");
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 3); i++)
		work(i);
	struct box *kept;
	box_open("kept", &kept);
	usleep(30000);
	box_close(kept);
	SAY("box_open %lx begin\nbox_close %lx end\n", (long)kept, (long)kept);
	FILE *threads = fopen("told.threads", "w"), *lines = fopen("lines", "r");
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
		fprintf(threads, "pthread_create %lx begin\npthread_join %lx end\n", (long)t, (long)t);
	}
	char *line = NULL;
	size_t room = 0;
	FILE *said = fopen("told.lines", "w");
	while (lines && getline(&line, &room, lines) > 0)
		fprintf(said, "getline %lx\n", (long)line);
	fprintf(said, "getline %lx\n", (long)line);
	free(line);
	fprintf(said, "free %lx end\n", (long)line);
	return 0;
}
C
printf 'one\ntwo\n' >lines
cat >box.handle <<'H'
box_open *2
box_use 1
box_split 1
box_split *3
box_pair *1
box_pair *6
box_same *1
box_close 1 end
H
printf 'getline *1\nfree 1 end\n' >line.handle
for flags in '-O0' '-O2' '-O2 -fno-plt -fcf-protection=none'; do
	# shellcheck disable=SC2086
	"${CC:-cc}" $flags give.c -o give -pthread 2>err || skip "give.c does not compile: $(head -n 1 err)"
	for how in '--mode full' '--mode best' '--level paths' '--carrier patch' '--args 6 --args-of box_*'; do
		# shellcheck disable=SC2086
		run 0 record -q -o rec $how --handle box.handle --handle threads --handle line.handle -- ./give 10
		run 0 verify rec
		claim "$flags $how: complete" grep -q '^complete' out
		claim "$flags $how: each box from where it was given out" same <(told told) <(sequences rec box.handle)
		claim "$flags $how: of the one that was not, it is not guessed" is \
			"$("$PUGMARK" encode rec --handle box.handle --format json | jq -c '[.sequences[] | select(.object | not) | .items[]] | unique')" '["box_open"]'
		claim "$flags $how: pthread_create" same <(told told.threads) <(sequences rec threads)
		claim "$flags $how: what getline leaves as it is goes on" same <(told told.lines) \
			<(sequences rec line.handle | grep getline)
		# When its calls began is what replay says of them, and only what was closed says so.
		"$PUGMARK" encode rec --handle box.handle --format json >handles 2>err
		claim "$flags $how: closed are those that were" is "$(jq '[.sequences[] | select(.closed)] | length' handles)" "$(grep -c ' end$' told)"
		claim "$flags $how: and no others" is \
			"$(jq -c '[.sequences[] | select(.object and (.closed | not)).items[]] | map(select(. == "box_close")) | length' handles)" 0
		claim "$flags $how: each call has its time" is \
			"$(jq -c '[.sequences[] | (.items | length) == (.items_ns | length) and .first_ns == .items_ns[0] and .last_ns == .items_ns[-1]] | unique' handles)" '[true]'
		claim "$flags $how: which is that of replay" same \
			<(jq -c '[.sequences[] | [.items, .items_ns] | transpose[]] | unique[]' handles) \
			<("$PUGMARK" replay rec -F 'box_*' --format json | jq -c '[.threads[].calls[] | select(.depth == 0) | [.function, .start_ns]] | unique[]')
		claim "$flags $how: the last one was kept for 30 ms" is \
			"$(jq '[.sequences[] | select(.closed)] | max_by(.first_ns[0]) | .last_ns[1] - .first_ns[0] >= 30000000' handles)" true
	done
done
"$PUGMARK" encode rec --handle box.handle >out 2>err
claim 'text: for how long it was there' is "$(grep -cE '^box.handle [0-9a-f]+: thread [0-9]+ give, from 0\.[0-9]{6} for [0-9.]+(ns|us|ms|s)(\.\.[0-9.]+(ns|us|ms|s))?, closed$' out)" "$(grep -c ' end$' told)"
claim 'text: what was not closed' is "$(grep -c ', not closed$' out)" "$(jq '[.sequences[] | select(.closed == false)] | length' handles)"
"$PUGMARK" encode rec --handle box.handle --grammar --format xml >out 2>err
claim 'xml: closed, and its times' is "$(grep -cE ' closed="yes" first="[0-9]+ [0-9]+" last="[0-9]+ [0-9]+">' out)" "$(grep -c ' end$' told)"
"$PUGMARK" encode rec --handle box.handle --no-times --format json >out 2>err
claim '--no-times' is "$(grep -c '_ns"' out)" 0
run 0 record -q -o deep --handle box.handle -- ./give 24
claim 'more than 16 calls deep: no handle is wrong' is \
	"$(comm -13 <(awk '{ print $2 }' told | sort -u) <(sequences deep box.handle | awk '{ print $1 }' | sort -u))" ''
"$PUGMARK" dump rec --format ndjson >events
claim 'dump tells the values' [ "$(jq -s '[.[] | select(.of == "out")] | length' events)" -gt 30 ]

printf 'box_open *7\n' >bad.handle
fails 1 'line 1: a function, and' encode --handle bad.handle rec
printf 'box_open *2 end\n' >bad.handle
fails 1 'nothing but `end`' encode --handle bad.handle rec

# --- sqlite3, held against a library between ----------------------------------------------------------
library=$(ldd "$(type -P sqlite3)" 2>/dev/null | sed -n 's/.*libsqlite3[^ ]* => \([^ ]*\).*/\1/p')
[ -n "$library" ] || skip "no sqlite3 with a library of its own"
cp "$(type -P sqlite3)" shell && cp -L "$library" "./$(basename "$library")"
cat >between.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
static int inside; /* what the library calls itself is not the shell's */
static void say(const char *name, const void *h, const char *what) {
	static FILE *f;
	if (!f)
		f = fopen("told.sqlite", "w");
	if (h && !inside)
		fprintf(f, "%s %lx %s\n", name, (long)h, what), fflush(f);
}
#define REAL(ret, name, ...) ret (*real)(__VA_ARGS__) = dlsym(RTLD_NEXT, #name)
#define USES(name, what) int name(void *h) { REAL(int, name, void *); \
	say(#name, h, what); inside++; int got = real(h); inside--; return got; }
USES(sqlite3_step, "")
USES(sqlite3_finalize, "end")
USES(sqlite3_close, "end")
int sqlite3_open_v2(const char *n, void **out, int flags, const char *vfs) {
	REAL(int, sqlite3_open_v2, const char *, void **, int, const char *);
	inside++;
	int got = real(n, out, flags, vfs);
	inside--;
	say("sqlite3_open_v2", *out, "begin");
	return got;
}
int sqlite3_prepare_v2(void *db, const char *sql, int n, void **out, const char **tail) {
	REAL(int, sqlite3_prepare_v2, void *, const char *, int, void **, const char **);
	inside++;
	int got = real(db, sql, n, out, tail);
	inside--;
	say("sqlite3_prepare_v2", db, "");
	say("sqlite3_prepare_v2", *out, "begin");
	return got;
}
C
"${CC:-cc}" -shared -fPIC between.c -o between.so -ldl 2>err || skip "between.c does not compile: $(head -n 1 err)"
cat >in.sql <<'S'
create table t(a);
insert into t values (1), (2);
select * from t;
select no_such_column;
select count(*) from t;
S
functions=(sqlite3_open_v2 sqlite3_prepare_v2 sqlite3_step sqlite3_finalize sqlite3_close)
shapes() { cut -d ' ' -f 2- | sort; }
LD_PRELOAD=$PWD/between.so LD_LIBRARY_PATH=$PWD "$PUGMARK" record -q -o sql --handle sqlite3 -- ./shell :memory: <in.sql >out 2>err
claim 'sqlite3: something was told' [ "$(wc -l <told.sqlite)" -gt 15 ]
claim 'sqlite3: each handle, with its address, and what was done with it' same <(told told.sqlite) <(sequences sql sqlite3 "${functions[@]}")
run 0 report --request 'sqlite3_prepare_v2..sqlite3_finalize,*4:1' --format json sql
claim 'sqlite3: a request from where a statement is given out to where it is finalized' is \
	"$(jq '.fast.requests + .slow.requests + .between' out)" "$(grep -c finalize told.sqlite)"
LD_LIBRARY_PATH=$PWD "$PUGMARK" record -q -o both --handle sqlite3 --module "$PWD/libsqlite3*" -- ./shell :memory: <in.sql >out 2>err
claim 'the library recorded too: the same sequences' same <(told told.sqlite | shapes) <(sequences both sqlite3 "${functions[@]}" | shapes)
conclude
