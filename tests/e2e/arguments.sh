#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# arguments.sh: record --args-of of a program with debug information prints what functions were called
# with, by their types: at -O0 and -O2, of C and C++, of an import, and of what a clone of a function takes.
# The truth is what the program itself says that it was called with. What cannot be read is `?` or an
# address; without debug information that is said, and registers are shown.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >told.c <<-'C'
	#include <stdarg.h>
	#include <stdbool.h>
	#include <stdint.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <sys/mman.h>
	enum colour { RED, GREEN = 5, BLUE, DARK = -1 };
	enum flags { READ = 1, WRITE = 2, SYNC = 4 };
	struct inner { int a; };
	struct request {
	    int id;
	    unsigned bit : 3;
	    struct inner inner;
	    const char *path;
	    enum colour colour;
	    char name[12];
	    double weight;
	};
	struct large { long a[4]; };
	struct pair { int a, b; };
	#define SAY(...) fprintf(stderr, __VA_ARGS__)
	#define HERE __attribute__((noinline, noclone)) void
	HERE texts(const char *who, char *empty, const char *none) {
	    SAY("texts(who=\"%s\", empty=\"%s\", none=NULL)\n", who, empty);
	}
	HERE numbers(int8_t small, unsigned long big, bool yes, char c, short s, uint16_t u) {
	    SAY("numbers(small=%d, big=%lu, yes=%s, c='%c', s=%d, u=%u)\n", small, big, yes ? "true" : "false", c, s, u);
	}
	HERE names(enum colour colour, enum flags flags, enum colour other, enum colour dark) {
	    SAY("names(colour=GREEN, flags=READ|SYNC, other=77, dark=DARK)\n");
	}
	HERE mixed(double x, struct request *r, float y, int last) {
	    SAY("mixed(x=?, r={id=%d, path=\"%s\", colour=BLUE, name=\"%.12s\", …}, y=?, last=%d)\n", r->id, r->path,
		r->name, last);
	}
	__attribute__((noinline, noclone)) struct large hidden(int n, struct pair *p) {
	    SAY("hidden(n=%d, p={a=%d, b=%d})\n", n, p->a, p->b);
	    return (struct large){{n}};
	}
	HERE by_value(int n, struct pair p, int behind) { SAY("by_value(n=%d, ...)\n", n); }
	HERE long_text(const char *text) { SAY("long_text(text=\"%.31s…\")\n", text); }
	HERE not_there(const char *text, struct pair *p) { SAY("not_there(text=%p, p={a=?, b=?})\n", text, p); }
	HERE rounds(int n) { do SAY("%s", n == 3 ? "rounds(n=3)\n" : ""); while (--n); }
	int main(int argc, char **argv) {
	    struct request r = {.id = -argc, .path = "/tmp/a\"b", .colour = BLUE, .name = "twelve_chars"};
	    char *away = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	    struct pair p = {argc, 2};
	    char empty[] = ""; /* a constant need not be in memory before somebody has read it */
	    texts(argv[0], empty, NULL);
	    numbers(-3, 1ul << 63, argc, 'x', -2, 65535);
	    names(GREEN, READ | SYNC, 77, DARK);
	    r.path = "/index.html";
	    mixed(1.5, &r, 2, 9);
	    hidden(4, &p);
	    by_value(1, p, 3);
	    long_text("0123456789012345678901234567890123456789");
	    not_there(away, (void *)away);
	    rounds(3);
	    return getenv("PUGMARK_NO_SUCH") != NULL;
	}
C
"${CC:-cc}" -g -O0 told.c -o told0 2>err && "${CC:-cc}" -g -O2 told.c -o told2 2>>err || skip 'told.c does not compile'
shown() { # RECORDING: the calls that told.c tells of
	"$PUGMARK" replay "$1" | grep -oE '(texts|numbers|names|mixed|hidden|by_value|long_text|not_there|rounds)\(.*\)' |
		sed -E 's/^(by_value\(n=[0-9]+,).*/\1 ...)/'
}
functions=(texts numbers names mixed hidden by_value long_text not_there rounds getenv)
for level in 0 2; do
	"$PUGMARK" record -q -o rec$level "${functions[@]/#/--args-of=}" -- ./told$level 2>said.$level >out
	claim "-O$level: recorded" is $? 0
	shown rec$level >shown.$level
	claim "-O$level: what it was called with is what it says itself" same said.$level shown.$level
	claim "-O$level: nine calls" is "$(wc -l <shown.$level)" 9
	claim "-O$level: complete" "$PUGMARK" verify rec$level
done
for level in 0 2; do
	claim "-O$level: a structure by value takes the registers of its classes" \
		is "$("$PUGMARK" replay rec$level | grep -c 'by_value(n=1, p=?, behind=3)')" 1
done
claim 'an import, by its declaration' grep -q 'getenv("PUGMARK_NO_SUCH")' <("$PUGMARK" replay rec2)
"$PUGMARK" replay --format json rec2 >json
claim 'JSON is JSON, and has them' python3 -c '
import json
calls = [c for t in json.load(open("json"))["threads"] for c in t["calls"] if "arguments" in c]
by = {c.get("function", c.get("import")): c["arguments"] for c in calls}
assert len(calls) == 10, len(calls)
assert by["names"] == {"colour": "GREEN", "flags": "READ|SYNC", "other": 77, "dark": "DARK"}, by["names"]
assert by["mixed"]["r"] == {"id": -1, "path": "/index.html", "colour": "BLUE", "name": "twelve_chars"}, by["mixed"]
assert by["getenv"] == {"0": "PUGMARK_NO_SUCH"}, by["getenv"]
assert by["mixed"]["x"] is None and by["texts"]["none"] is None
'

if command -v sqlite3 >/dev/null; then
	run 0 export --format sqlite -o of.db rec2
	claim 'SQL over them answers' is "$(sqlite3 of.db "select json_extract(arguments, '\$.r.path'), json_extract(arguments, '\$.last')
		from calls c join functions f on f.id = c.function where f.name = 'mixed'")" '/index.html|9'
	claim 'other calls have none' is "$(sqlite3 of.db 'select count(arguments) from calls')" 10
	duckdb=$tests/../build/node/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so
	if [ -e "$duckdb" ]; then
		run 0 export --format parquet -o of.parquet rec2
		claim 'the same in Parquet' is "$(python3 "$tests/support/duckdb_query.py" "$duckdb" \
			"select arguments from 'of.parquet/calls.parquet' where arguments is not null order by id")" \
			"$(sqlite3 of.db 'select arguments from calls where arguments is not null order by id')"
	fi
fi

cp told2 bare && strip -g bare
"$PUGMARK" record -o bare.rec --args-of numbers -- ./bare 2>err >out
claim 'without debug information: it is said' grep -q 'no debug information says of which types' err
claim 'and registers are shown' grep -qE 'numbers\(0x[0-9a-f]+, 0x8000000000000000, 0x[0-9a-f]+, ' <("$PUGMARK" replay bare.rec)
cp rec2/arguments-0.json kept
for damage in '' '[' '[{"function":1}]' "$(sed 's/"in":[0-9]/"in":77/' kept)" "$(sed 's/"at":[0-9]*/"at":-4/g' kept)"; do
	printf %s "$damage" >rec2/arguments-0.json
	claim "damaged types: registers are shown" grep -qE 'names\(0x5, 0x5, ' <("$PUGMARK" replay rec2)
done

cat >told.cc <<-'C'
	#include <cstdio>
	namespace shop {
	struct Item {
	    int price;
	    const char *name;
	    virtual ~Item() {}
	    __attribute__((noinline)) void sell(int count) { fprintf(stderr, "this={price=%d, name=\"%s\"}, count=%d\n", price, name, count); }
	};
	__attribute__((noinline)) void show(const Item &item, bool *flag) { fprintf(stderr, "item={price=%d, name=\"%s\"}, flag=%p\n", item.price, item.name, (void *)flag); }
	}
	int main(int argc, char **argv) {
	    shop::Item item;
	    item.price = argc;
	    item.name = argv[0];
	    bool flag = argc;
	    item.sell(3);
	    shop::show(item, &flag);
	}
C
if "${CXX:-c++}" -g -O1 told.cc -o told++ 2>err; then
	"$PUGMARK" record -q -o cxx --args-of '*shop*' -- ./told++ 2>said.cxx >out
	claim 'C++: recorded' is $? 0
	claim 'C++: methods and references' same said.cxx <("$PUGMARK" replay cxx | sed -nE 's/.*::(sell|show)\(.*\)  \((.*)\)( \{)?$/\2/p')
fi
conclude
