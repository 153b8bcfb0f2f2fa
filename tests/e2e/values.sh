#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values.sh: what `pugmark values` says of a program's calls, variables and memory is what the program
# itself has printed of them; real programs are executed again up to their end.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gzip
work_in_own_folder

cat >target.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct point { int x, y; const char *name; };
int counter;
__attribute__((noinline)) long weigh(int n, const char *what, struct point *p, double d)
{
	long sum = n;
	for (int i = 0; i < n; i++) {
		counter += i;
		sum += p->x * i + (long)strlen(what);
	}
	p->y += n;
	return sum + (long)d;
}
volatile int seen;
static inline __attribute__((always_inline)) void note(int weight)
{
	seen = weight;
	seen += 2 * weight;
}
int main(int argc, char **argv)
{
	struct point p = {atoi(argv[1]), 4, "here"};
	for (int i = 0; i < 20; i++) {
		const char *what = i % 3 ? "odd" : "even";
		char *copy = strdup(what);
		long got = weigh(i, copy, &p, i / 2.0);
		printf("weigh(n=%d, what=0x%lx \"%s\", p=0x%lx, d=%.17g) = %ld\n", i, (long)copy, copy,
		       (long)&p, i / 2.0, got);
		free(copy);
		note(i + 100);
	}
	fprintf(stderr, "%d\n", counter);
	return 0;
}
C
${CC:-cc} -O1 -g -w -o target target.c || skip 'no compiler'
for more in '' '--check-every 4'; do
	rm -rf rec
	# shellcheck disable=SC2086
	"$PUGMARK" record -q --level values $more -o rec -- ./target 7 >printed 2>counted
	claim "the program runs $more" is $? 0
	"$PUGMARK" values rec weigh >got 2>err
	claim "the whole is known $more" is $? 0
	sed 's/^1 [0-9]* //' got >calls
	claim "arguments and results are as printed $more" same printed calls
done
"$PUGMARK" values rec >said1
claim 'every instruction is known up to the end' grep -qE ' [01] with something assumed, 0 unknown; up to its end' said1
"$PUGMARK" verify rec >certificate
claim 'without witnesses verify does not say that calls are complete' \
	is "$(grep -c '^complete' certificate)$(grep -c '^calls were not witnessed' certificate)" 01
# A process that does nothing meanwhile has no calls, which is not the same as that nobody looked.
cp "$(command -v sleep)" idle
./idle 300 &
idle=$!
started+=("$idle")
"$PUGMARK" record -q --level values -o idle.rec --duration 1 -p "$idle" 2>err
"$PUGMARK" verify idle.rec >certificate
claim 'calls that were witnessed are complete, though there were none' grep -q '^complete: 0 events' certificate
# The tree of all calls has the same ones, and they lie in main.
run 0 replay --values rec
sed -nE 's/^1 [0-9]+ +(weigh.*)/\1/p' out >calls
claim 'replay --values has each call with its arguments and its result' same printed calls
claim 'and they are inside of main' is "$(grep -cE '^1 [0-9]+ +main\(argc=2, argv=0x[0-9a-f]+\)' out)" 1
claim 'deeper than it' test "$(grep -E ' main\(' out | sed -E 's/^1 [0-9]+ ( *).*/\1/' | wc -c)" -lt \
	"$(grep -m1 -E ' weigh\(' out | sed -E 's/^1 [0-9]+ ( *).*/\1/' | wc -c)"
run 0 replay --values --format json rec
claim 'as JSON too' python3 -c 'import json
calls = [c for c in json.load(open("out")) if c["function"] == "weigh"]
assert len(calls) == 20 and all(c["result"] and c["depth"] > 0 for c in calls), calls
for c, text in zip(calls, open("printed")):
    got = {v["name"]: v for v in c["variables"]}
    assert [v["type"] for v in c["variables"]] == ["int", "const char *", "struct point *", "double"], c
    assert all(v["exactness"] == "exact" for v in c["variables"] + [c["returned"]]), c
    assert "n=%s," % got["n"]["value"] in text and "what=%s," % got["what"]["value"] in text, c
    assert c["returned"]["type"] in ("long", "long int") and text.endswith("= %s\n" % c["returned"]["value"]), c'
run 2 replay --values --depth 3 rec
"$PUGMARK" values rec weigh --where 'n > 16' >got
claim 'where chooses' is "$(wc -l <got)" 3
run 3 values rec weigh --where 'n > 16 && zzz > 2'
claim 'of some nobody knows whether it holds' is "$(cat out)" \
	'task 1: 3 more of which nobody knows whether it holds (--where)'
run 3 values rec weigh --where 'n > 16 && zzz > 2' --format json
claim 'nor in JSON' python3 -c 'import json
assert json.load(open("out")) == [{"task": 1, "where_unknown": 3}]'
# What was inlined has no call: where its code is, its variables are, with the function around it.
"$PUGMARK" values rec note >got
claim 'an inlined function is found, and its arguments' is \
	"$(sed -nE 's/^1 [0-9]+ main 0x[0-9a-f]+ \(.*weight=([0-9]+).*/\1/p' got | tr '\n' ' ')" "$(seq -s ' ' 100 119) "
"$PUGMARK" values rec weigh --limit 5 >got
claim 'limit limits, and says so' is "$(tail -n 1 got)" 'task 1: 15 more (--limit)'
"$PUGMARK" values rec target.c:10 --where 'i == 5' >got
claim 'a line is reached as often as it must be' is "$(wc -l <got)" 14
claim 'with its variables' is "$(grep -cE '\(i=5, .*n=[0-9]+' got)" 14

# What takes a call's place by a jump has its result; what code outside has called has none that is seen,
# and takes none from the call that is around it.
cat >around.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
volatile int seen;
__attribute__((noinline)) int last(int x) { seen += x; return x * 3; }
__attribute__((noinline)) int first(int x) { seen++; return last(x + 1); }
__attribute__((noinline)) int order(const void *a, const void *b) { last(1); return *(int *)a - *(int *)b; }
__attribute__((noinline)) int handle(int s) { seen = last(s); return 77; }
__attribute__((noinline)) int send(int s) { raise(s); return s + 1; }
asm(".type bare, @function\nbare:\n\tlea 1(%rdi), %eax\n\tret\n\t.size bare, . - bare");
int bare(int x);
int main(void)
{
	int v[2] = {5, 3};
	signal(SIGUSR1, (void (*)(int))handle);
	qsort(v, 2, sizeof(*v), order);
	return first(4) + send(SIGUSR1) + bare(7) != 34;
}
C
${CC:-cc} -O2 -g -w -o around around.c
rm -rf around.rec
"$PUGMARK" record -q --level values -o around.rec -- ./around 2>err
claim 'the program around a tail call, a callback and a handler runs' is $? 0
printf '%s\n' 'order' 'last(x=1) = 3' 'first(x=4) = 15' 'last(x=5) = 15' 'send(s=10) = 11' 'handle(s=10)' 'last(x=10) = 30' >want
"$PUGMARK" replay --values around.rec | sed -E 's/^1 [0-9]+ +//' | grep -E '^(order|last|first|send|handle)\(' |
	sed -E 's/^order\(a=0x[0-9a-f]+, b=0x[0-9a-f]+\)/order/' >got
claim 'results of tail calls are shown, none of what outside has called' same want got
# What longjmp() has left has no result, and takes none from those that go on.
cat >left.c <<'C'
#include <setjmp.h>
jmp_buf out;
volatile int seen;
__attribute__((noipa)) int leaves(int x) { seen += x; longjmp(out, x); }
__attribute__((noipa)) int tries(int x)
{
	for (volatile int i = 0; i < 3; i++)
		if (!setjmp(out))
			leaves(i + 1);
	return x + 7;
}
__attribute__((noipa)) int falls(int n)
{
	if (n == 2 && setjmp(out))
		return 100;
	if (!n)
		leaves(9);
	return falls(n - 1) + 1;
}
int main(void) { return tries(1) + tries(2) + falls(4) != 119; }
C
${CC:-cc} -O1 -g -w -o left left.c
"$PUGMARK" record -q --level values -o left.rec -- ./left 2>err
claim 'the program that is left by longjmp() runs' is $? 0
"$PUGMARK" replay --values left.rec | sed -nE 's/^1 [0-9]+ ( *)((tries|leaves|falls)\(.*)/\1\2/p' >got
printf '%s\n' 'tries(x=1) = 8' 'leaves(x=1)' 'leaves(x=2)' 'leaves(x=3)' 'tries(x=2) = 9' 'leaves(x=1)' 'leaves(x=2)' 'leaves(x=3)' \
	'falls(n=4) = 102' 'falls(n=3) = 101' 'falls(n=2) = 100' 'falls(n=1)' 'falls(n=0)' 'leaves(x=9)' >want.left
claim 'what goes on behind longjmp() has its own result' same want.left <(sed 's/^ *//' got)
claim 'and is no deeper than before' is "$(sed -nE 's/^( *)(tries|falls\(n=4).*/\1/p' got | sort -u | wc -l) $(
	sed -nE 's/^( *)leaves\(x=[1-3].*/\1/p' got | sort -u | wc -l)" '1 1'
"$PUGMARK" values around.rec bare >got
claim 'a function without DWARF of its own has the registers of arguments, and its result' \
	grep -qE '^1 [0-9]+ bare\(rdi=0x7, rsi=0x[0-9a-f]+~?, rdx=[^,]+\) = 0x8$' got
for function in order last handle; do
	"$PUGMARK" values around.rec "$function" | sed -E 's/^1 [0-9]+ //; s/^order\(a=0x[0-9a-f]+, b=0x[0-9a-f]+\)/order/' >got
	claim "the same of $function alone" same <(grep -E "^$function\b" want) got
done

# Without optimisation arguments are on the stack, but not yet where a function begins.
cat >stored.c <<'C'
#include <stdio.h>
struct large { long of[5]; };
struct small { int x, y; };
static struct large many(char a, unsigned short b, float c, long d, struct large e, const char *f, double g, int h, int i)
{
	struct large r = {{a + b + d + e.of[2] + h + i, (long)(c + g), *f}};
	return r;
}
static int few(struct small s, int n)
{
	static int calls;
	int local = s.x + n + calls++;
	return local + s.y;
}
int main(void)
{
	const char *text = "text";
	struct large e = {{1, 2, 3}};
	struct small s = {40, 2};
	for (int k = 0; k < 3; k++) {
		struct large r = many('a' + k, 7 + k, 1.5f + k, -9 - k, e, text, 2.25 * k, 100 + k, -7);
		fprintf(stderr, "a=%d b=%d c=%g d=%ld f=0x%lx g=%g h=%d\n", 'a' + k, 7 + k, 1.5 + k, -9L - k, (long)text,
			2.25 * k, 100 + k);
		printf("few(s={x = 40, y = 2}, n=%d)\n", (int)r.of[0]);
		few(s, (int)r.of[0]);
	}
	return 0;
}
C
for compiler in "${CC:-cc}" clang; do
	command -v "$compiler" >tool || continue
	for option in -O0 '-O0 -fcf-protection'; do
		rm -rf plain kept
		# shellcheck disable=SC2086
		"$compiler" $option -g -w -o target-stored target.c && "$compiler" $option -g -w -o stored stored.c ||
			continue
		"$PUGMARK" record -q --level values -o plain -- ./target-stored 7 >printed 2>err
		"$PUGMARK" values plain weigh | sed 's/^1 [0-9]* //' >calls
		claim "arguments are as printed where they are stored later ($compiler $option)" same printed calls
		"$PUGMARK" values plain weigh --where 'n > 16' >got
		claim "where chooses by them ($compiler $option)" is "$(wc -l <got)" 3
		"$PUGMARK" record -q --level values -o kept -- ./stored 2>told >small
		"$PUGMARK" values kept many >got
		sed -nE "s/.*\(a=(-?[0-9]+)[^,]*, b=([0-9]+), c=([^,]+), d=(-?[0-9]+), .*f=(0x[0-9a-f]+) [^,]*, g=([^,]+), h=([0-9]+),.*/a=\1 b=\2 c=\3 d=\4 f=\5 g=\6 h=\7/p" got >calls
		claim "each by the register that is its turn ($compiler $option)" same told calls
		"$PUGMARK" values kept few | sed 's/^1 [0-9]* //; s/ = -\{0,1\}[0-9]*$//' >got
		claim "a struct in a register too, and what is behind it ($compiler $option)" same small got
		"$PUGMARK" values kept few --where 'local > 0' >got 2>err
		claim "nor is a variable that has no value yet ($compiler $option)" same /dev/null got
		"$PUGMARK" values kept stored.c:13 >got
		claim "a variable that is static is found ($compiler $option)" \
			is "$(grep -o 'calls=[0-9]*' got | tr '\n' ' ')" 'calls=1 calls=2 calls=3 '
	done
done

# The last that is written to the counter is what the program has printed of it.
"$PUGMARK" values rec --watch counter --limit 100000 >got
bytes=$(grep -w write got | tail -n 1 | awk '{ print $6 }')
claim 'watch ends with what was printed' is \
	$((16#${bytes:6:2}${bytes:4:2}${bytes:2:2}${bytes:0:2})) "$(tail -n 1 counted)"
claim 'it has every write of the loop' is "$(grep -wc 'write weigh' got)" 190
claim 'JSON is JSON' python3 -c 'import json,subprocess,sys
for a in [["rec"], ["rec", "weigh"], ["rec", "--watch", "counter"]]:
    json.loads(subprocess.run([sys.argv[1], "values", *a, "--format", "json"],
        capture_output=True, check=True).stdout)' "$PUGMARK"

# An address where nothing was is no variable that nobody touched.
run 0 values rec --watch 0x999999999
claim 'that nothing was mapped there is said' grep -q '^pugmark: task 1: 0x999999999: nothing was mapped there' err
run 0 values rec --watch counter
claim 'and only there' same /dev/null err

# What --limit has cut is said in JSON as well.
claim 'JSON says how many more there are' python3 -c 'import json,subprocess,sys
def of(*args):
    return json.loads(subprocess.run([sys.argv[1], "values", "rec", *args, "--format", "json"],
        capture_output=True, check=True).stdout)
cut, whole = of("weigh", "--limit", "5"), of("weigh", "--limit", "20")
assert cut == whole[:5] + [{"task": 1, "more": 15}] and len(whole) == 20, cut
cut, whole = of("--watch", "counter", "--limit", "7"), of("--watch", "counter", "--limit", "100000")
assert cut == whole[:7] + [{"task": 1, "more": len(whole) - 7}], cut
cut, whole = of("--misses", "--limit", "1"), of("--misses", "--limit", "100000")
for kind in "accesses", "jumps":
    assert cut[0][kind + "_more"] == len(whole[0][kind]) - 1 > 0 == whole[0][kind + "_more"], cut' "$PUGMARK"

# So are captures that are damaged: what is left is no whole list. The last segment is that is not the table of
# places, without which nothing can be read.
cat >hurt.py <<'PY'
import os, shutil, subprocess, sys
pugmark, rec, hurt = sys.argv[1:]
whole = open(f"{rec}/captures", "rb").read()
ends, at = [len(whole)], whole.rfind(b"\x8fPMSEG\r\n")
while at > 0:
    ends.append(at)
    at = whole.rfind(b"\x8fPMSEG\r\n", 0, at)
for end in ends:
    shutil.rmtree(hurt, ignore_errors=True)
    shutil.copytree(rec, hurt)
    open(f"{hurt}/captures", "wb").write(whole[:end - 1] + bytes([whole[end - 1] ^ 1]) + whole[end:])
    if subprocess.run([pugmark, "values", hurt], capture_output=True).returncode != 1:
        break
PY
python3 hurt.py "$PUGMARK" rec cut
for what in 'replay --values cut' 'values cut weigh' 'values cut --watch counter' 'values cut --misses'; do
	# shellcheck disable=SC2086
	run 3 $what
	claim "$what: captures are damaged" grep -qE '^[1-9][0-9]* bytes of what was captured are damaged or cut' out
	# shellcheck disable=SC2086
	run 3 $what --format json
	claim "$what: JSON says it" python3 -c 'import json
assert json.load(open("out"))[-1]["damaged_bytes"] > 0'
done
# Names are of meta.json, processes of events.
for file in meta.json events; do
	rm -rf cut && cp -r rec cut
	truncate -s $(($(stat -c %s rec/$file) / 2)) cut/$file
	for what in 'replay --values cut' 'values cut' 'values cut main' 'wet cut' 'verify cut'; do
		# shellcheck disable=SC2086
		run 3 $what --format json
		[ "$what" = 'verify cut' ] || claim "$what: $file is cut" grep -q "^pugmark: $file is damaged or cut" err
		claim "$what: no message without a name" is "$(grep -c ': :' err)" 0
	done
done
# Captures that end at a segment are damaged nowhere: the recorder was killed, or the disk was full.
rm -rf cut && cp -r rec cut
truncate -s "$(python3 -c 'print(open("rec/captures", "rb").read().rfind(b"\x8fPMSEG\r\n"))')" cut/captures
for what in 'replay --values cut' 'values cut' 'values cut main' 'wet cut' 'verify cut'; do
	# shellcheck disable=SC2086
	run 3 $what
	claim "$what: captures have no end" grep -qE '^pugmark: captures has no end|what was captured ends there' err out
	claim "$what: and nothing goes up to it" is "$(grep -c 'up to its end' out)" 0
done
# One that is missing in the midst, or has a damaged header, is missed by its number; a table that is damaged is
# no reason to believe the one before it. What is exact all the same is what it is in the whole.
cat >missing.py <<'PY'
import os, re, shutil, subprocess, sys, zlib
pugmark, rec = sys.argv[1:]
data = open(f"{rec}/captures", "rb").read()
at = [m.start() for m in re.finditer(b"\x8fPMSEG\r\n", data)] + [len(data)]
parts = [data[a:b] for a, b in zip(at, at[1:])]
PAGES, TABLE = 4, 5
def look(captures):
    shutil.rmtree("cut", ignore_errors=True)
    shutil.copytree(rec, "cut")
    open("cut/captures", "wb").write(captures)
    all_ = []
    for what in [], ["weigh"], ["--watch", "counter"]:
        p = subprocess.run([pugmark, "values", "cut", *what], capture_output=True, text=True)
        assert p.returncode in (0, 1, 3), p
        all_.append((p.returncode, p.stdout, p.stderr))
    return all_
def sure(text):
    return {line.split(" ", 2)[2] for line in text.splitlines() if re.match(r"\d+ \d+ ", line) and not re.search("[~?]", line)}
whole = look(data)
assert whole[0][0] == 0 and sure(whole[1][1]), whole
def check(captures, what):
    now = look(captures)
    for (status, out, err), (_, was, _) in zip(now, whole):
        assert status == 1 or "captures has no end" in err or "has no end" in out or "is missing" in out + err, (what, out, err)
        assert status in (1, 3) and "up to its end" not in out, (what, status, out)
        assert sure(out) <= sure(was), (what, sure(out) - sure(was))
    return now
tables = [i for i, p in enumerate(parts) if p[10] == TABLE]
for i, p in enumerate(parts):
    check(data[:at[i]] + data[at[i + 1]:], f"segment {i} of kind {p[10]} is not there")
    if p[10] in (TABLE, PAGES):
        check(data[:at[i] + 20] + bytes([data[at[i] + 20] ^ 4]) + data[at[i] + 21:], f"header {i} of kind {p[10]}")
def numbered(part, number):
    head = part[:56] + number.to_bytes(4, "little")
    return head + zlib.crc32(head).to_bytes(4, "little") + part[64:]
n = len(parts)
again = numbered(parts[tables[-2]], n - 1)
end = numbered(parts[-1], n)
assert look(b"".join(parts[:-1]) + again + end)[0][0] == 0
check(b"".join(parts[:-1]) + again[:-1] + bytes([again[-1] ^ 1]) + end, "the last table but one")
PY
claim 'a segment of captures that is missing is missed' python3 missing.py "$PUGMARK" rec

# Where a task ends in a gap, lists of its calls say so at their end.
cat >unknown.c <<'C'
volatile int x;
__attribute__((noinline)) int f(int n) { return x += n; }
int main(void)
{
	long limit = 0;
	f(1);
	__asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(0x33L)); /* without semantics: not known */
	return f(limit & 4 ? 5 : 6) + (limit & 4 ? f(7) : 0);
}
C
"${CC:-cc}" -O1 -g -o unknown unknown.c
"$PUGMARK" record -q --level values -o gap -- ./unknown
for what in 'replay --values gap' 'values gap f'; do
	# shellcheck disable=SC2086
	run 3 $what
	# shellcheck disable=SC2086
	run 3 $what --format json
	claim "$what: JSON has the gap" python3 -c 'import json
last = json.load(open("out"))[-1]
assert last["task"] == 1 and last["at"] > 0 and "not known" in last["gap"], last'
done

# A task that cannot be executed again is said to be left out: nothing is concluded of it.
cat >forks.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
volatile int x;
__attribute__((noinline)) void f(int n) { x += n; }
int main(void)
{
	f(1);
	if (!fork()) {
		f(2);
		_exit(0);
	}
	wait(0);
	return 0;
}
C
"${CC:-cc}" -O1 -g -o forks forks.c
"$PUGMARK" record -q --level values -o lost -- ./forks 2>err
: >lost/events # which tasks are of one process is no longer told
for what in f '--watch x' --misses; do
	# shellcheck disable=SC2086
	run 3 values lost $what
	claim "$what: it is said" is "$(grep -c 'task [12] is left out: the process of task' err) $(grep -c executed out)" '2 0'
done
run 3 replay --values lost
claim 'so it is of the tree of calls' grep -q 'task 1 is left out' err
run 1 gdb lost
claim 'gdb is not started on it' grep -q 'the process of task 1 is not told' err

# A child is executed from where its parent was, and that from where its own was: up to so many of them.
cat >chain.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noipa)) void f(int n) { __asm__ volatile("" : : "r"(n)); }
int main(void)
{
	for (int i = 1; i < 70; i++) {
		if (fork()) {
			wait(0);
			return 0;
		}
		f(i);
	}
	return 0;
}
C
"${CC:-cc}" -O1 -g -o chain chain.c
"$PUGMARK" record -q --level values -o chained -- ./chain 2>err
run 0 values chained --task 20 f
claim 'what a child of many generations does is known' grep -q '^20 [0-9]* f(n=19)$' out
run 3 values chained --task 70 f
claim 'that of too many is left out' grep -q 'task 70 is left out: more than 64 processes' err

# An array is as long as DWARF says, whatever there is of it.
if command -v "${CXX:-g++}" >tool; then
	cat >huge.cc <<'C'
int real[100] = {1, 2, 3};
__attribute__((noinline)) int huge(int (&a)[1ul << 38]) { return a[3]; }
int main() { return huge(reinterpret_cast<int (&)[1ul << 38]>(real)); }
C
	"${CXX:-g++}" -O1 -g -w -o huge huge.cc
	"$PUGMARK" record -q --level values -o huge.rec -- ./huge 2>err
	timeout 120 "$PUGMARK" values huge.rec huge >got 2>err
	claim 'of an array without an end what is the same is counted so far' \
		grep -qE 'huge\(a=@0x[0-9a-f]+: \{1, 2, 3, 0 <repeats .* <repeats at least 65536 times>, \.\.\.\}\)' got
	timeout 120 "$PUGMARK" values huge.rec huge --format json >got 2>err
	claim 'in JSON too' python3 -c 'import json
a = json.load(open("got"))[0]["variables"][0]["value"]
print(a)
assert a[-1] == "..." and a[-2]["at_least"] and a[-2]["repeats"] == 65536, a'
fi

# A library that asks for the time on its own account, inside of a call: for a name by chance.
cat >chance.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char name[] = "chance-XXXXXX";
	unsigned sum = 0;
	int fd = mkstemp(name);
	for (int i = 0; i < 10000; i++)
		sum = sum * 31 + name[i % 13];
	close(fd);
	unlink(name);
	printf("%u\n", sum);
	return 0;
}
C
${CC:-cc} -O1 -w -o chance chance.c
"$PUGMARK" record -q --level values -o dated -- ./chance >printed 2>err
claim 'what a library has made of the time is known' \
	grep -qE ', 0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values dated)

# A system call that no table tells of may have written anything.
cat >untold.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/socket.h>
__attribute__((noinline)) int show(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(void)
{
	int fds[2], got = 0, sent = 42;
	struct iovec at = {&got, sizeof(got)};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &at, .msg_iovlen = 1}};
	socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
	send(fds[0], &sent, sizeof(sent), 0);
	recvmmsg(fds[1], &m, 1, 0, NULL);
	return show(got) != 43;
}
C
${CC:-cc} -O1 -g -w -o untold untold.c
"$PUGMARK" record -q --level values -o asked -- ./untold 2>err
"$PUGMARK" values asked show >got
claim 'what such a call has written is not called exact' grep -qE 'show\(n=[0-9]+~\)' got
"$PUGMARK" replay --values --format json asked >got
claim 'and marked in JSON' python3 -c 'import json
c = [c for c in json.load(open("got")) if c["function"] == "show"][0]
assert c["variables"][0]["exactness"] == c["returned"]["exactness"] == "assumed", c'

# As many buffers as readv() takes.
cat >buffers.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
static char bytes[1024][3];
__attribute__((noinline)) int show(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(int argc, char **argv)
{
	struct iovec at[1024];
	int sum = 0;
	for (int i = 0; i < 1024; i++)
		at[i] = (struct iovec){bytes[i], 3};
	readv(open(argv[0], O_RDONLY), at, 1024);
	for (int i = 0; i < 1024; i++)
		sum = sum * 31 + bytes[i][0] + 7 * bytes[i][2];
	printf("%d\n", sum);
	return !show(sum);
}
C
${CC:-cc} -O1 -g -w -o buffers buffers.c
"$PUGMARK" record -q --level values -o readv -- ./buffers >printed 2>err
"$PUGMARK" values readv show >got
claim 'what went into the last of a thousand buffers is known' grep -qF "show(n=$(cat printed))" got

cp "$(command -v gzip)" packer
for i in $(seq 3000); do echo "line $i of what is packed $((i * i % 977))"; done >input
"$PUGMARK" record -q --level values -o packed -- ./packer -c input >out.gz 2>err
"$PUGMARK" values packed --format json >whole
claim 'gzip is known up to its end' is $? 0
claim 'of a million and more instructions at least 99.9 % are exact' python3 -c 'import json
t = json.load(open("whole"))["tasks"][0]
assert t["instructions"] > 1e6 and t["exact"] >= .999 * t["instructions"], t'
"$PUGMARK" verify packed >certificate
claim 'verify says so' grep -qE 'values.*wholly exact' certificate

# What was redacted is not known: 70 bytes are moved one by one.
cat >left.c <<'C'
#include <unistd.h>
char from[70], to[70];
__attribute__((noinline)) void move(int i) { to[i] = from[i]; }
int main(void)
{
	read(0, from, 70);
	for (int i = 0; i < 70; i++)
		move(i);
	return 0;
}
C
cc -O1 -g -o left left.c
"$PUGMARK" record -q --level values --redact 0 -o left.rec -- ./left <input 2>err
"$PUGMARK" verify left.rec >certificate
claim 'verify says what most often made something unknown' \
	grep -qE '^  70 unknown at move 0x[0-9a-f]+: what it reads in memory' certificate
claim 'and values, in JSON' python3 -c 'import json,subprocess,sys
t = json.loads(subprocess.run([sys.argv[1], "values", "left.rec", "--format", "json"], stdout=subprocess.PIPE).stdout)["tasks"][0]
w = t["most"][0]
assert w["quality"] == "unknown" and w["instructions"] == 70 and "memory" in w["why"], t' "$PUGMARK"

# A captured bit that is another one does not stay unseen: the segment is missing, and that is a gap.
cp -r packed hurt
python3 - <<'PY'
f = open('hurt/captures', 'r+b')
data = bytearray(f.read())
heads = [i for i in range(len(data) - 11) if data[i:i + 8] == b'\x8fPMSEG\r\n' and data[i + 10] == 3]
data[heads[0] + 64 + 30] ^= 1
f.seek(0)
f.write(data)
PY
"$PUGMARK" values hurt >got 2>err
claim 'damage is no silence' test $? -ne 0
run 1 values rec nowhere
claim 'a place that is not there is named' grep -q 'nowhere: no such function' err
run 1 values rec weigh --where 'zzz > 2'
claim 'a variable that is not there is named' grep -q 'zzz > 2: there is no variable of that name at weigh' err
run 1 values rec weigh --task 9999
claim 'a task that is not there is named' grep -q 'no values of a task 9999' err
fails 1 'it has no values of a task 9999' values rec --task 9999
fails 1 'nowhere: no such recording' values nowhere
mkdir -p empty
fails 1 'empty: not a recording' values empty
fails 1 'nowhere: no such recording' why nowhere --crash
fails 1 'it has no values of task 9999' gdb --serve --task 9999 rec
for task in 0 -1 4294967297; do
	run 2 values rec --task $task
	run 2 gdb --serve --task $task rec
done
run 0 values rec --task 1
claim 'of one task alone' is "$(grep -c '^task 1:' out)$(wc -l <out)" 11
run 1 values rec 0xdead000
claim 'an address that is not there is named' grep -q '0xdead000: no such function, line or address' err
run 2 values rec weigh --where
run 2 values rec --limit 5
run 2 values rec --task 0
run 1 values rec weigh --where 'n is 3'
# What is watched has each value that the program has said it stores, at -O0 in memory, else in registers.
cat >watched.c <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#define SET(what, name, value) (what = (value), fprintf(stderr, name " %d\n", (int)what))
struct point { int x, y; unsigned low : 3, high : 5; };
struct point points[3] = {{1, 2}, {3, 4}, {5, 6}};
struct point *volatile current;
struct holder { struct point *of; } holder, *outer = &holder;
__thread int mine = 7;
static jmp_buf back;
__attribute__((noinline)) void put(int *to, int value) { *to = value; }
__attribute__((noinline)) int depth(int n)
{
	int local;
	put(&local, 10 * n);
	fprintf(stderr, "depth:local %d\n", local);
	if (n > 0)
		n += depth(n - 1);
	put(&local, local + n);
	fprintf(stderr, "depth:local %d\n", local);
	return local;
}
__attribute__((noinline)) void leave(int n)
{
	int lost;
	put(&lost, n + 1);
	fprintf(stderr, "leave:lost %d\n", lost);
	if (lost > 2)
		longjmp(back, 1);
	leave(lost);
	put(&lost, 99);
}
__attribute__((noinline)) int sum(const int *of, int n)
{
	static int calls;
	int total = 0;
	SET(calls, "sum:calls", calls + 1);
	for (int i = 0; i < n; i++)
		total += of[i];
	return total;
}
static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}
static void *run(void *arg)
{
	for (int i = 0; i < 3; i++)
		SET(mine, "mine", mine + (int)(long)arg);
	return NULL;
}
int main(int argc, char **argv)
{
	int four[4] = {4, 2, 9, 1};
	pthread_t t;
	SET(points[1].y, "points[1].y", 40);
	current = points;
	SET(current->x, "current->x", 10 * argc);
	current++;
	SET(current->x, "current->x", 30);
	SET(points[2].high, "points[2].high", 9);
	outer->of = points;
	SET(outer->of->y, "outer->of->y", 20);
	holder.of = ++current;
	SET(outer->of->y, "outer->of->y", 60);
	depth(3);
	if (!setjmp(back))
		leave(0);
	depth(1);
	sum(four, 4);
	sum(four, 2);
	qsort(four, 4, sizeof(*four), compare);
	pthread_create(&t, NULL, run, (void *)100);
	pthread_join(t, NULL);
	run((void *)1);
	return four[0];
}
C
watch() { # WHAT: the values that were written, one a line; a move to another place writes the same again
	"$PUGMARK" values seen --watch "$1" --limit 100000 --format json >got 2>err
	python3 -c 'import json
for a in json.load(open("got")):
    if a["kind"] == "write": print(a["value"].rstrip("~"))' | uniq
}
for compiler in "${CC:-cc}" clang; do
	command -v "$compiler" >tool || continue
	for option in -O0 -O2; do
		rm -rf seen
		"$compiler" $option -g -w -pthread -o watched watched.c || continue
		"$PUGMARK" record -q --level values -o seen -- ./watched 2>told
		for what in 'points[1].y' 'current->x' 'points[2].high' 'outer->of->y' depth:local leave:lost sum:calls; do
			claim "$what has each value that was stored ($compiler $option)" \
				is "$(watch "$what" | tr '\n' ' ')" "$(sed -n "s/^${what//[/\\[} //p" told | uniq | tr '\n' ' ')"
		done
		# The task of the thread comes second.
		claim "a thread has its own ($compiler $option)" is "$(watch mine | sort -n | tr '\n' ' ')" \
			"$(sed -n 's/^mine //p' told | sort -n | tr '\n' ' ')"
		"$PUGMARK" values seen --watch leave:lost >got 2>err
		# Optimised it may be a loop.
		[ $option = -O2 ] || claim "and each call ($compiler $option)" \
			is "$(sed -nE 's/.* write .*, (call [0-9]+)$/\1/p' got | uniq | tr '\n' ' ')" 'call 1 call 2 call 3 '
		# qsort() changes what it was given; the last of it is sorted.
		claim "what a library writes there is seen ($compiler $option)" \
			is "$("$PUGMARK" values seen --watch main:four 2>err | grep -E 'write (outside|qsort)' | tail -n 1 |
				sed -E 's/.* = (\{.*\}) in .*/\1/')" '{1, 2, 4, 9}'
		# A register that holds it.
		"$PUGMARK" values seen --watch sum:total >got 2>err
		if [ $option = -O2 ] && [ "$compiler" != clang ]; then
			claim 'a register has the sum' is \
				"$(sed -nE 's/.* write sum .* = ([0-9]+) in r[a-z0-9]+, call ([0-9])$/\2 \1/p' got |
					sort -k1,1n -s | awk '{ last[$1] = $2 } END { print last[1], last[2] }')" '16 6'
		fi
	done
done
# A pointer that is written more often than is followed: what is seen up to there is true, and the rest is said.
cat >often.c <<'C'
int of[2], *to = of;
int main(void)
{
	for (int i = 0; i < 1200000; i++)
		__atomic_store_n(&to, of + (i / 600000), __ATOMIC_RELAXED);
	*to = 5;
	to = of;
	*to = 7;
	return 0;
}
C
"${CC:-cc}" -O1 -g -w -o often often.c && "$PUGMARK" record -q --level values -o times -- ./often
run 3 values times --watch '*to'
claim 'what is seen no more is said' grep -qE 'written more than 1048576 times: nothing is seen from instruction [0-9]+ on' err
claim 'and nothing is seen there' is "$(wc -l <out)" 0
sed -i 's/1200000/1000000/' often.c
rm -rf times
"${CC:-cc}" -O1 -g -w -o often often.c && "$PUGMARK" record -q --level values -o times -- ./often
run 0 values times --watch '*to'
claim 'a pointer that is written a million times is followed' is "$(sed -nE 's/.* write .* = ([0-9]+) in .*/\1/p' out | tr '\n' ' ')" '5 7 '
# What outside has written is there before the instruction that is executed next reads it.
cat >order.c <<'C'
#include <pthread.h>
#include <string.h>
volatile int place, shared;
static void *run(void *unused)
{
	shared = 5;
	return NULL;
}
int main(void)
{
	pthread_t t;
	memset((void *)&place, 7, sizeof(place));
	if (place != 0x07070707)
		return 1;
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	return shared != 5;
}
C
"${CC:-cc}" -O1 -fno-builtin -g -w -pthread -o order order.c && "$PUGMARK" record -q --level values -o ordered -- ./order 2>err
claim 'a write from outside comes before the read behind it' is \
	"$("$PUGMARK" values ordered --watch place 2>err | cut -d' ' -f2-4 | sed 's/^[0-9]*/N/' | xargs)" 'N write memset N read main'
# So is a library that asks the kernel for something behind it, and nobody takes a thread for the kernel.
claim 'what pthread_create() has stored is its own' \
	is "$("$PUGMARK" values ordered --watch main:t 2>err | cut -d' ' -f3-4 | xargs)" 'write pthread_create read main'
"$PUGMARK" values ordered --watch shared >got 2>err
claim 'what a thread has stored is its own' is "$(grep -c 'write run' got) $(grep -c 'the kernel' got)" '1 0'
# A thread that events tell nothing of may have written whatever another one reads.
cp -r ordered unnamed
python3 - <<'PY'
import ctypes, json, struct, zlib
def unpacked(codec, body, length):
    if codec < 2:
        return zlib.decompress(body) if codec else body
    out = ctypes.create_string_buffer(length)
    decompress = ctypes.CDLL("libzstd.so.1").ZSTD_decompress
    decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    decompress(out, length, body, len(body))
    return out.raw
old, new, at = open("unnamed/events", "rb").read(), b"", 0
while at < len(old):
    head = bytearray(old[at:at + 64])
    whole, length = struct.unpack_from("<II", head, 28)
    body = old[at + 64:at + 64 + length]
    at += 64 + length
    if head[10] == 2: # process records
        lines = unpacked(head[11], body, whole).splitlines(True)
        lines = [l for l in lines if l.strip() and json.loads(l).get("task") != 2]
        body = b"".join(lines)
        head[11] = 0
        struct.pack_into("<I", head, 24, len(lines))
        struct.pack_into("<III", head, 28, len(body), len(body), zlib.crc32(body))
        struct.pack_into("<I", head, 60, zlib.crc32(bytes(head[:60])))
    new += bytes(head) + body
open("unnamed/events", "wb").write(new)
PY
run 3 values unnamed
claim 'where a thread is told of nowhere, it is said' grep -q 'the process of task 2 is not told' out
claim 'and what it may have written is not exact' grep -qE '^task 1: .* [1-9][0-9]* with something assumed' out
# What outside has written several times in one call is told as it was each time.
cat >twice.c <<'C'
#include <unistd.h>
void twice(char *to)
{
	read(0, to, 4);
	read(0, to, 4);
	for (int i = 0; i < 4; i++)
		to[i] ^= 0x20;
}
C
cat >within.c <<'C'
void twice(char *to);
char place[4];
int main(void)
{
	twice(place);
	return place[0] != 'b';
}
C
"${CC:-cc}" -O1 -shared -fPIC -o libtwice.so twice.c &&
	"${CC:-cc}" -O1 -g -w -o within within.c -L. -ltwice -Wl,-rpath,"$PWD" &&
	printf AAAABBBB | "$PUGMARK" record -q --level values -o inner -- ./within 2>err
"$PUGMARK" values inner --watch place >got 2>err
claim 'what outside has written is told as it was each time' is "$(sed -nE 's/.* write (.*) 0x[0-9a-f]+ ([0-9a-f]{8}) .*/\1 \2/p' got | xargs)" \
	'the kernel 41414141 the kernel 42424242 twice 62626262'
# A function in two parts, hot and cold, begins with the hot one.
cat >parts.c <<'C'
__attribute__((cold, noinline)) void fail(int n) { __asm__ volatile("" : : "r"(n)); }
__attribute__((noinline)) int take(int *p) { return *p += 3; }
__attribute__((noinline)) int parts(int n)
{
	int local = n * 2;
	if (n > 100) {
		fail(local);
		fail(n);
	}
	return take(&local);
}
int main(void) { return parts(1) + parts(2) + parts(101) != 5 + 7 + 205; }
C
"${CC:-cc}" -O2 -g -w -o parts parts.c && "$PUGMARK" record -q --level values -o seen_parts -- ./parts 2>err
claim 'a variable of a function in two parts has each value' \
	is "$("$PUGMARK" values seen_parts --watch parts:local 2>err | sed -nE 's/.* write .* = ([0-9]+) in .*, call ([0-9])$/\2:\1/p' | xargs)" \
	'1:2 1:5 2:4 2:7 3:202 3:205'
for what in 'local:there is depth.local' 'depth:locale:depth\(\) has no such variable; it has .*local' \
	'points[3].x:the array has 3 elements' 'points[1].z:point has no member z; it has x, y, low, high' \
	'current->x.y:int has no members' 'nobody:n:no function .nobody. with variables' \
	'points[1:an index is a number and a \]'; do
	run 1 values seen --watch "${what%:*}"
	claim "${what%:*} is told with what there is" grep -qE "${what##*:}" err
done
# The calls of main() and of what it has called before are open when it is attached to.
cat >open.c <<'C'
#include <unistd.h>
volatile int seen;
__attribute__((noinline)) int step(int by) { int local = seen + by; return seen = local; }
int main(void)
{
	volatile int own = 0;
	for (;;) {
		own += step(3) & 1;
		usleep(1000);
	}
}
C
"${CC:-cc}" -O0 -g -o open open.c
./open &
opened=$!
"$PUGMARK" record -q --level values --duration 0.5 -o attached -p $opened 2>err
kill $opened
"$PUGMARK" values attached --watch main:own >got 2>err
claim 'of a call that was open when it was attached to nothing is seen' same /dev/null got
claim 'which is said' grep -qE '^pugmark: task 1: main:own: [1-9][0-9]* instructions of its function are not looked at' err
"$PUGMARK" values attached --watch step:local >got 2>err
claim 'calls that begin later are seen' grep -q ' write step ' got
claim 'and nothing is said of them' is "$(grep -c 'not looked at' err)" 0
conclude
