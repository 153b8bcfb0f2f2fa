#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_types.sh: arguments and results of all classes of the calling convention are what the program
# itself prints, at its functions' entries and behind their calls, however it was compiled; values of
# all kinds of types are printed as gdb prints them at the same place; what is computed from something
# assumed is not called exact; functions of C++ and Rust are found by the names that people write.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

# --- by the calling convention -------------------------------------------------------------------
cat >classes.c <<'C'
#include <stdio.h>
#define NI __attribute__((noinline, noclone))
struct dd { double a, b; };
struct d1 { double a; };
struct ff { float a, b; };
struct ll { long a, b; };
struct mix { long a; double b; };
struct xim { double a; int b; };
struct odd { char a[3]; short b; int c; };
struct big { long a[3]; };
struct __attribute__((packed)) pk { char c; int i; };
union un { int i; float f; };
enum number { SMALL = 1, X = 200, HI = 0x80000001u };
NI struct dd f_dd(struct dd p) { struct dd r = {p.b, p.a + 1}; return r; }
NI struct d1 f_d1(struct d1 p) { struct d1 r = {p.a / 2}; return r; }
NI struct ff f_ff(struct ff p) { struct ff r = {p.b, p.a + 1}; return r; }
NI struct ll f_ll(struct ll p, int n) { struct ll r = {p.b, p.a + n}; return r; }
NI struct mix f_mix(struct mix p, int n) { struct mix r = {p.a * n, p.b + 1}; return r; }
NI struct xim f_xim(struct xim p, double d) { struct xim r = {p.a * d, p.b + 1}; return r; }
NI struct odd f_odd(struct odd p) { p.c++; return p; }
NI struct big f_big(int n, struct big p, int m) { p.a[1] += n + m; return p; }
NI struct pk f_pk(struct pk p, int n) { p.i += n; return p; }
NI union un f_un(union un p) { p.i++; return p; }
NI enum number f_number(int i) { return i == 0 ? X : i == 1 ? HI : SMALL; }
NI __int128 f_wide(__int128 p, int n) { return p * n; }
NI long double f_long(long double p, int n) { return p * n; }
NI _Complex double f_complex(_Complex double p) { return p * 2; }
NI _Complex float f_complexf(_Complex float p) { return p + 1; }
NI long f_many(int a, int b, int c, int d, int e, struct ll f, int g, char h, struct ll i) { return a + b + c + d + e + f.b + g + h + i.a; }
volatile unsigned got;
int main(void)
{
	for (int i = 0; i < 3; i++) {
		struct dd dd = {i, i + .5}, rdd = f_dd(dd);
		printf("f_dd(p={a = %.17g, b = %.17g}) = {a = %.17g, b = %.17g}\n", dd.a, dd.b, rdd.a, rdd.b);
		struct d1 d1 = {i + .25}, rd1 = f_d1(d1);
		printf("f_d1(p={a = %.17g}) = {a = %.17g}\n", d1.a, rd1.a);
		struct ff ff = {i, i + .5f}, rff = f_ff(ff);
		printf("f_ff(p={a = %.9g, b = %.9g}) = {a = %.9g, b = %.9g}\n", ff.a, ff.b, rff.a, rff.b);
		struct ll ll = {i - 1, i + 7}, rll = f_ll(ll, i);
		printf("f_ll(p={a = %ld, b = %ld}, n=%d) = {a = %ld, b = %ld}\n", ll.a, ll.b, i, rll.a, rll.b);
		struct mix mix = {i, i / 3.}, rmix = f_mix(mix, i);
		printf("f_mix(p={a = %ld, b = %.17g}, n=%d) = {a = %ld, b = %.17g}\n", mix.a, mix.b, i, rmix.a, rmix.b);
		struct xim xim = {i / 3., -i}, rxim = f_xim(xim, i + .5);
		printf("f_xim(p={a = %.17g, b = %d}, d=%.17g) = {a = %.17g, b = %d}\n", xim.a, xim.b, i + .5, rxim.a, rxim.b);
		struct odd odd = {{'a', 'b', 'c'}, -i, i}, rodd = f_odd(odd);
		printf("f_odd(p={a = \"abc\", b = %d, c = %d}) = {a = \"abc\", b = %d, c = %d}\n", odd.b, odd.c, rodd.b, rodd.c);
		struct big big = {{i, 10, 20}}, rbig = f_big(i, big, 3);
		printf("f_big(n=%d, p={a = {%ld, %ld, %ld}}, m=3) = {a = {%ld, %ld, %ld}}\n", i, big.a[0], big.a[1], big.a[2],
		       rbig.a[0], rbig.a[1], rbig.a[2]);
		struct pk pk = {'z', -9 * i}, rpk = f_pk(pk, i);
		printf("f_pk(p={c = 122 'z', i = %d}, n=%d) = {c = 122 'z', i = %d}\n", pk.i, i, rpk.i);
		union un un = {0x3f800000 + i}, run = f_un(un);
		printf("f_un(p={i = %d, f = %.9g}) = {i = %d, f = %.9g}\n", un.i, un.f, run.i, run.f);
		static const char *const names[] = {"X", "HI", "SMALL"};
		got += f_number(i);
		printf("f_number(i=%d) = %s\n", i, names[i]);
		__int128 wide = (__int128)(i + 1) << 66, rwide = f_wide(wide, -2);
		long high = (long)(rwide / 10000000000), low = (long)-(rwide % 10000000000);
		long high0 = (long)(wide / 10000000000), low0 = (long)(wide % 10000000000);
		printf("f_wide(p=%ld%010ld, n=-2) = %ld%010ld\n", high0, low0, high, low);
		long double rlong = f_long(i / 9.0L, i);
		printf("f_long(p=%.21Lg, n=%d) = %.21Lg\n", i / 9.0L, i, rlong);
		_Complex double rc = f_complex(i + .5 + 2.0i);
		printf("f_complex(p=%.17g + 2i) = %.17g + %.17gi\n", i + .5, __real__ rc, __imag__ rc);
		_Complex float rf = f_complexf(i + 2.0fi);
		printf("f_complexf(p=%d + 2i) = %.9g + %.9gi\n", i, __real__ rf, __imag__ rf);
		struct ll f = {5, 6 + i};
		long rm = f_many(i, 2, 3, 4, 5, f, 7, 'h', ll);
		printf("f_many(a=%d, b=2, c=3, d=4, e=5, f={a = 5, b = %ld}, g=7, h=104 'h', i={a = %ld, b = %ld}) = %ld\n", i,
		       f.b, ll.a, ll.b, rm);
	}
	return 0;
}
C
functions=$(grep -oE '^NI .*\) \{' classes.c | grep -oE 'f_[a-z0-9]+' | sort -u)
for compiler in "${CC:-cc}" clang; do
	command -v "$compiler" >tool || continue
	for option in -O0 '-O0 -fomit-frame-pointer' -O2; do
		rm -rf rec
		# shellcheck disable=SC2086
		"$compiler" $option -g -w -o classes classes.c || continue
		"$PUGMARK" record -q --level values -o rec -- ./classes >printed 2>err
		for function in $functions; do
			"$PUGMARK" values rec "$function" | sed 's/^1 [0-9]* //' >got
			grep "^$function(" printed >want
			if [ "$option" = -O2 ]; then # what a compiler no longer has may be missing, but not wrong
				python3 - got want >wrong <<'PY'
import re, sys
a, b = ([re.split(r'\) = ', l.rstrip('\n'), maxsplit=1) for l in open(f)] for f in sys.argv[1:])
if len(a) != len(b):
    print('calls', len(a), len(b))
unknown = re.compile(r'\\\?|<optimized\\ out>')
for x, y in zip(a, b):
    pattern = re.escape(x[0]).replace(r'<optimized\ out>', '.*').replace(r'\?', '.*')
    if not re.fullmatch(pattern, y[0]) or x[1] != y[1]:
        print(x, y)
PY
				claim "$function: nothing is wrong, and results are there ($compiler $option)" same /dev/null wrong
			else
				claim "$function: as printed ($compiler $option)" same want got
			fi
		done
	done
done

# --- as gdb prints types --------------------------------------------------------------------------
cat >kinds.c <<'C'
#include <complex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uchar.h>
#include <wchar.h>
enum color { RED, GREEN = 5, BLUE };
enum flags { FA = 1, FB = 2, FC = 4 };
enum level { LOW = -3, HIGH = 2 };
struct levels { enum level l : 4, m : 4; };
struct bits { unsigned a : 3; int b : 5; unsigned long c : 40; bool d : 1; };
struct pair { int x, y; };
int unseen = 77;
static int inc(int x) { return x + 1; }
struct calls { int (*first)(int); int (*second)(int); };
__attribute__((noinline)) int stop(void *p) { return p != 0; }
int main(void)
{
	struct pair pairs[2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
	struct bits bits;
	struct { struct { int anon; }; union { int i; float f; }; char t[4]; int after; } nameless = {{44}, {1065353216}, "abcd", 0x41424344};
	int many[40] = {1, 2, 3};
	int nested[2][3] = {{1, 2, 3}, {0, 0, 9}};
	enum color color = BLUE, none = 3;
	enum flags flags = FA | FC, more = 8 | FB, no = 0;
	long double ld = 1.25L, seventh = 1 / 7.L, huge = 1e4000L, none80 = -__builtin_nanl("");
	struct levels levels = {LOW, HIGH};
	struct calls calls = {inc, 0};
	int (*call)(int) = inc, (*calls2[2])(int) = {0, inc};
	double nan64 = -__builtin_nan("0x123");
	float nan32 = __builtin_nanf("");
	double complex z = 1 + 2 * I;
	__int128 wide = -(((__int128)1 << 100) + 5);
	char text[16] = "hello", c = 'x', nul = 0, high = -3;
	char odd[12] = "t\tn\n\"\\\033\a\v", bytes[8] = "\377\3019\001\0021\177", turned[8] = "q\b\r\f\342\200\256";
	wchar_t wides[4] = L"\001\xfff0" L"2";
	char16_t halves[4] = u"\xd800z\x7f";
	char esc = 27, apo = '\'', quo = '"';
	unsigned char uc = 'A';
	bool yes = true;
	float f = 3.14f;
	double d = 1. / 3;
	short sh = -7;
	unsigned long ul = 1UL << 63;
	memset(&bits, 0, sizeof(bits));
	bits.a = 5, bits.b = -3, bits.c = 0x123456789aUL, bits.d = 1;
	stop(&pairs); /* HERE */
	stop(bits.a ? &nameless : 0);
	return printf("%d\n", many[3] + nested[1][2] + color + flags + (int)ld + (int)wide + text[0] + c + uc + yes + sh + high + nul + no + none + more + (int)(f + d + creal(z) + seventh + huge + none80 + nan64 + nan32) + levels.l + calls.first(call(calls2[1](1))) + (int)ul + odd[0] + bytes[0] + turned[0] + wides[0] + halves[0] + esc + apo + quo) < 0;
}
C
here=$(grep -n HERE kinds.c | cut -d: -f1)
if command -v gdb >tool; then
	for compiler in "${CC:-cc}" clang; do
		command -v "$compiler" >tool || continue
		rm -rf kinds.rec
		"$compiler" -O0 -g -w -o kinds kinds.c
		"$PUGMARK" record -q --level values -o kinds.rec -- ./kinds >out 2>err
		"$PUGMARK" values kinds.rec "kinds.c:$here" --format json >got
		LC_ALL=C gdb -nx -batch -ex 'set print null-stop on' -ex "break kinds.c:$here" -ex run -ex 'info locals' ./kinds 2>&1 |
			grep -E '^[a-z0-9]+ = ' >told
		claim "gdb has told of all variables ($compiler)" test "$(wc -l <told)" -ge 20
		claim "all of them are printed as gdb does ($compiler)" python3 - <<'PY'
import json
import re
def anywhere(text): return re.sub(r'0x[0-9a-f]{6,}', '0x...', text)
got = anywhere(json.load(open('got'))[0]['values'] + ', ')
for line in open('told'):
    name, value = anywhere(line.rstrip('\n')).split(' = ', 1)
    assert f'{name}={value}, ' in got, (name, value, got)
assert 'unseen' not in got
v = {x['name']: x['value'] for x in json.load(open('got'))[0]['variables']}
assert v['bits']['c'] == '78187493530' and v['pairs'][1][0] == {'x': '5', 'y': '6'}, v
assert list(v['nameless']) == ['anon', 'i', 'f', 't', 'after'], v
assert v['many'][3] == {'repeats': 37, 'value': '0'} and v['text'] == '"hello"', v
PY
	done
fi

# --- marks ----------------------------------------------------------------------------------------
cat >marks.c <<'C'
#define _GNU_SOURCE
#include <sys/socket.h>
volatile int seen;
__attribute__((noinline)) void show(int *p)
{
	int x = *p;
	int y = x + 1;
	int z = (y << 3) ^ 5;
	seen = x; /* HERE */
}
int main(void)
{
	int fds[2], got = 0, sent = 42;
	struct iovec at = {&got, sizeof(got)};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &at, .msg_iovlen = 1}};
	socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
	send(fds[0], &sent, sizeof(sent), 0);
	recvmmsg(fds[1], &m, 1, 0, 0);
	for (int i = 0; i < TIMES; i++)
		show(&got);
	return 0;
}
C
${CC:-cc} -O2 -g -w -DTIMES=1 -o marks marks.c
"$PUGMARK" record -q --level values -o marks.rec -- ./marks 2>err
"$PUGMARK" values marks.rec "marks.c:$(grep -n HERE marks.c | cut -d: -f1)" >got
claim 'what is computed from something assumed is assumed' \
	is "$(grep -oE '\b[xyz]=[^,)]*' got | sort -u | sed -E 's/=-?[0-9]+~$/=~/' | tr '\n' ' ')" 'x=~ y=~ z=~ '
run 0 values marks.rec show --where '*p == 123456'
claim 'what an assumed value says to be no match is told' \
	is "$(cat out)" 'task 1: 1 more where it does not hold by assumed values (--where)'
run 0 values marks.rec show --where '*p != 123456'
claim 'as is a match' is "$(sed -E 's/^1 .* show\(.*/show/' out | tr '\n' ' ')" \
	'show task 1: 1 of these by assumed values (--where) '
run 0 values marks.rec show --where '*p == 123456' --format json
claim 'in JSON too' python3 -c 'import json
assert json.load(open("out")) == [{"task": 1, "where_assumed": 0, "where_not_assumed": 1}]'
${CC:-cc} -O2 -g -w -DTIMES=3 -o thrice marks.c
"$PUGMARK" record -q --level values -o thrice.rec -- ./thrice 2>err
run 0 values thrice.rec show --where '*p != 123456' --limit 1
claim 'of matches that are not shown it is not said that they are these' \
	is "$(sed -E 's/^1 .* show\(.*/show/' out | tr '\n' ' ')" \
	'show task 1: 1 of these by assumed values (--where) task 1: 2 more (--limit) '

# --- conditions -----------------------------------------------------------------------------------
cat >chosen.c <<'C'
#include <string.h>
struct in { double d; unsigned bits : 3; char tag[4]; };
enum shade { LIGHT = -1, DARK = 3 };
struct out { int n; const char *name; struct in in; int list[3]; enum shade shade; double tenth; float third; long double fifth; _Bool odd; char letter; int grid[2][3]; };
int untouched[4];
__attribute__((noinline)) int take(struct out *p, float f, unsigned long u) { return p->n + (int)f + (int)u; }
int main(void)
{
	for (int i = 0; i < 20; i++) {
		static struct out o;
		o.n = o.list[0] = i, o.list[1] = -i;
		o.name = i % 2 ? "odd" : "even";
		o.in.d = i / 4.;
		o.in.bits = i % 8;
		o.shade = i % 5 ? DARK : LIGHT;
		o.odd = i % 2, o.letter = i == 7 ? '\n' : 'a' + i, o.grid[1][2] = i;
		o.tenth = i / 10., o.third = i / 3.f, o.fifth = i / 5.L;
		memcpy(o.in.tag, i % 3 == 1 ? "bbc" : "abc", 4);
		take(&o, i / 2.f, ~0ul - i);
	}
	return 0;
}
C
${CC:-cc} -O0 -g -w -o chosen chosen.c
"$PUGMARK" record -q --level values -o chosen.rec -- ./chosen 2>err
while IFS='|' read -r condition want; do
	"$PUGMARK" values chosen.rec take --where "$condition" >got 2>err
	claim "--where '$condition'" is "$(wc -l <got)" "$want"
done <<'L'
p->n > 15|4
p->n == 4 && p->name == "even"|1
p->name == "odd"|10
p->name != "odd" && p->n < 6|3
f == 2.5|1
f >= 8|4
p->in.d < 1.5e0|6
p->in.bits == 7|2
p->in.tag == "bbc"|7
p->list[1] <= -18|2
u > 18446744073709551613|2
p->shade == LIGHT|4
p->shade == shade::DARK && p->n < 10|8
p->shade < DARK|4
p->tenth == 0.1|1
p->tenth != 0.7|19
p->tenth <= 0.3|4
p->tenth < 1.1|11
p->third == 0.33333334326744080|1
p->third == 0.33333333333333331|0
p->fifth == 0.2|1
p->odd == true|10
p->odd != false && p->n < 4|2
p->letter == 'c'|1
p->letter == '\n'|1
p->letter < 'c'|3
p->grid[1][2] >= 15|5
p->grid[0][2] == 0|20
L
run 0 values chosen.rec take --where 'p->n > 99'
claim 'that a condition holds nowhere is said' \
	is "$(cat out err)" 'pugmark: p->n > 99: it does not hold at any of the 20 times that take was reached'
run 0 values chosen.rec --watch untouched
claim 'so it is where nobody has read or written a variable' grep -q '^pugmark: untouched: no instruction' err
run 1 values chosen.rec --watch 'take:p.grid[1]'
run 1 values chosen.rec take --where 'p->grid[1] == 2'
run 1 values chosen.rec take --where 'p->grid[2][0] == 2'
"$PUGMARK" values chosen.rec take --where 'p->n > 3' --limit 5 >got
claim 'of those that are chosen as many are shown as is asked for' is "$(wc -l <got) $(tail -n 1 got)" '6 task 1: 11 more (--limit)'
run 1 values chosen.rec take --where 'p->zzz == 3'
claim 'a member that is not there is named' grep -q 'there is no variable of that name' err
run 1 values chosen.rec take --where 'p->shade == DUSK'
claim 'so is an enumerator' grep -q 'no such enumerator' err
run 1 values chosen.rec take --where 'p->n == DARK'
run 1 values chosen.rec take --where 'p->n == 3 and'
claim 'what is no condition is said to be none' grep -q 'where wants NAME' err

# --- lines ---------------------------------------------------------------------------------------
# Line 5 begins once, behind a piece of it that has been moved before line 4; line 7 begins at an
# instruction of line 8, and goes on behind it; of line 9 there is a piece that begins nothing.
cat >lines.s <<'S'
	.globl main
	.type main, @function
main:
	.file 1 "lines.c"
	.loc 1 3 0
	xor %eax, %eax
	.loc 1 5 0 is_stmt 0
	nop
	.loc 1 4 0 is_stmt 1
	nop
	.loc 1 5 0
	nop
	.loc 1 6 0
	nop
	.loc 1 7 0
	.loc 1 8 0
	nop
	.loc 1 7 0 is_stmt 0
	nop
	.loc 1 9 0 is_stmt 0
	nop
	.loc 1 10 0 is_stmt 1
	ret
	.size main, .-main
	.section .note.GNU-stack, "", @progbits
S
${CC:-cc} -g -o lines lines.s
"$PUGMARK" record -q --level values -o lines.rec -- ./lines 2>err
main=$((16#$(nm lines | awk '$3 == "main" { print $1 }')))
while read -r line at; do
	claim "line $line is come to where its statement begins" is \
		"$("$PUGMARK" values lines.rec "lines.c:$line" --format json | grep -oE '"address":"[0-9a-f]+"' | tr '\n' ' ')" \
		"\"address\":\"$(printf %x $((main + at)))\" "
done <<'L'
4 3
5 4
7 7
8 6
9 8
L

# --- names ----------------------------------------------------------------------------------------
if command -v g++ >tool; then
	cat >names.cc <<'C'
#include <cstdio>
#define NI __attribute__((noinline))
namespace a { namespace b {
struct Base { int base = 3; };
struct S : Base { int v; NI int method(int q) { v += q; return v; } };
struct Own { int v; Own(int n) : v(n) {} Own(const Own &o) : v(o.v) {} ~Own() {} };
struct View { int at; long n; View(int a, long b) : at(a), n(b) {} View(const View &) = default; View &operator=(const View &) = default; };
struct Holder { View v; Holder(View o) : v(o) {} Holder(const Holder &) = default; };
struct Owns { Own o[1]; Owns(int n) : o{Own(n)} {} Owns(const Owns &) = default; };
NI long defaulted(View v, int k, Holder h, Owns o, int last) { return v.n + k + h.v.n + o.o[0].v + last; }
NI int f(int x, S &s) { return x + s.v; }
NI int by_value(Own o, int n) { return o.v + n; }
NI Own make(int n) { return Own(n); }
template <typename T> struct Box { T v; NI T get(T add) const { return v + add; } };
} }
namespace { NI int hidden(int x) { return x * 2; } }
NI int f(int x) { return x + 1; }
namespace a { static int shared; namespace b { static int shared; } }
NI void store(int n) { a::shared += n; a::b::shared -= n; }
int main()
{
	a::b::S s;
	s.v = 5;
	a::b::Box<long> box{4};
	for (int i = 0; i < 2; i++) {
		store(i + 3);
		int r = a::b::f(i, s);
		printf("a::b::f(x=%d, s={<Base> = {base = 3}, v = %d}) = %d\n", i, s.v, r);
		printf("f(x=%d) = %d\n", i, f(i));
		printf("a::b::S::method(q=%d) = %d\n", i, s.method(i));
		printf("a::b::Box<long>::get(add=%d) = %ld\n", i, box.get(i));
		printf("(anonymous namespace)::hidden(x=%d) = %d\n", i, hidden(i));
		printf("a::b::by_value(o={v = %d}, n=%d) = %d\n", 7 + i, i, a::b::by_value(a::b::Own(7 + i), i));
		printf("a::b::defaulted(v={at = %d, n = 5}, k=7, h={v = {at = 1, n = %d}}, o={o = {{v = %d}}}, last=9) = %ld\n", i, i, 3 + i,
		       a::b::defaulted(a::b::View(i, 5), 7, a::b::Holder(a::b::View(1, i)), a::b::Owns(3 + i), 9));
		printf("a::b::make(n=%d) = {v = %d}\n", i, a::b::make(i).v);
	}
	return a::shared != 7 || a::b::shared != -7;
}
C
	for compiler in g++ clang++; do
		command -v "$compiler" >tool || continue
		rm -rf names.rec
		"$compiler" -O0 -g -w -o names names.cc
		"$PUGMARK" record -q --level values -o names.rec -- ./names >printed 2>err
		while IFS='|' read -r place want; do
			"$PUGMARK" values names.rec "$place" | sed -E 's/^1 [0-9]* //; s/this=0x[0-9a-f]+, //; s/@0x[0-9a-f]+: //' >got
			grep -F "$want(" printed | grep -vE '[a-z]::f\(' >told
			[ "$want" != a::b::f ] || grep -F 'a::b::f(' printed >told
			claim "$place is found, its values are as printed ($compiler)" same told got
		done <<'L'
a::b::f|a::b::f
b::f|a::b::f
a::b::f(int, a::b::S&)|a::b::f
_ZN1a1b1fEiRNS0_1SE|a::b::f
S::method|a::b::S::method
a::b::S::method|a::b::S::method
Box::get|a::b::Box<long>::get
Box<long>::get|a::b::Box<long>::get
hidden|(anonymous namespace)::hidden
by_value|a::b::by_value
defaulted|a::b::defaulted
make|a::b::make
L
		"$PUGMARK" values names.rec f | sed -E 's/^1 [0-9]* //; s/@0x[0-9a-f]+: //' >got
		claim "of several that are called so all are there ($compiler)" same <(grep -E '^(a::b::)?f\(' printed | sort) <(sort got)
		for what in 'a::shared 3 7' 'a::b::shared -3 -7' 'b::shared -3 -7'; do
			claim "--watch ${what%% *} is that namespace's own, by its type ($compiler)" is "$(
				"$PUGMARK" values names.rec --watch "${what%% *}" | sed -nE 's/.* write store .* = //p' | tr '\n' ' ')" "${what#* } "
		done
		run 1 values names.rec --watch c::shared
	done
fi
if command -v g++ >tool && command -v gdb >tool; then
	cat >letters.cc <<'C'
#include <cstdio>
int main()
{
	wchar_t w = L'\u00df', apo = L'\'', quo = L'"', nul = 0, tab = L'\t', none = 0x123456;
	char16_t h = u'\u00e9', half = 0xd800;
	char32_t u = U'\U0001f600', x = U'x';
	return printf("%d\n", (int)w + apo + quo + nul + tab + none + h + half + (int)u + (int)x) < 0; // HERE
}
C
	g++ -O0 -g -o letters letters.cc
	"$PUGMARK" record -q --level values -o letters.rec -- ./letters >out 2>err
	LC_ALL=C.UTF-8 gdb -nx -batch -ex 'set charset UTF-8' -ex "break letters.cc:$(grep -n HERE letters.cc | cut -d: -f1)" \
		-ex run -ex 'info locals' ./letters 2>&1 | sed -nE 's/^([a-z]+) = (.*)$/\1=\2/p' >told
	"$PUGMARK" values letters.rec "letters.cc:$(grep -n HERE letters.cc | cut -d: -f1)" | head -1 |
		sed -E 's/^[^(]*\((.*)\)$/\1/; s/, /\n/g' >got
	claim 'wide characters of C++ are printed as gdb does' same told got
fi
if command -v rustc >tool; then
	cat >rust.rs <<'R'
#[inline(never)]
pub fn plus(a: i32, b: &str, c: (u8, f64)) -> i32 { a + b.len() as i32 + c.0 as i32 + c.1 as i32 }
mod inner { pub struct Q { pub v: u64 } impl Q { #[inline(never)] pub fn times(&self, k: u64) -> u64 { self.v * k } } }
#[inline(never)]
fn pair(n: u64) -> (u64, u32) { (n * 3, 7) }
fn main() {
    for i in 0..3 {
        println!("rust::plus(a={}, b=\"ab\", c={{__0 = {} '\\00{}', __1 = {}.5}}) = {}", i, i, i, i, plus(i, "ab", (i as u8, i as f64 + 0.5)));
        println!("rust::inner::Q::times(k=3) = {}", inner::Q { v: i as u64 }.times(3));
        let p = pair(i as u64);
        println!("rust::pair(n={}) = {{__0 = {}, __1 = {}}}", i, p.0, p.1);
    }
}
R
	if rustc -g -o rust rust.rs 2>err; then
		"$PUGMARK" record -q --level values -o rust.rec -- ./rust >printed 2>err
		for place in rust::plus plus Q::times pair; do
			"$PUGMARK" values rust.rec "$place" | sed -E 's/^1 [0-9]* //; s/self=0x[0-9a-f]+, //' >got
			name=${place##*::}
			grep -F ":$name(" printed | sed -E "s/ '.00[0-9]'//" >told
			sed -i -E "s/ '.00[0-9]'//" got
			claim "$place of Rust is found, its values are as printed" same told got
		done
	fi
	cat >variants.rs <<'R'
#[derive(Clone, Copy)] pub enum Shape { Unit, Circle(f64), Rect { w: u32, h: u32 } }
#[repr(u8)] #[derive(Clone, Copy)] pub enum Small { A(u16) = 3, B(u8, u8) = 9 }
#[inline(never)]
fn see(n: u32, o: Option<u32>, b: Option<bool>, s: Option<&str>, sh: Shape, r: Result<i64, u8>, sm: Small, nest: Option<Option<u8>>) {
    std::hint::black_box((&n, &o, &b, &s, &sh, &r, &sm, &nest)); // HERE
}
fn main() {
    see(0, Some(5), None, Some("x"), Shape::Circle(1.5), Ok(-3), Small::A(7), Some(Some(3)));
    see(1, None, Some(true), None, Shape::Rect { w: 2, h: 3 }, Err(4), Small::B(1, 2), Some(None));
    see(2, None, None, None, Shape::Unit, Ok(1), Small::A(1), None);
}
R
	if rustc -g -o variants variants.rs 2>err; then
		"$PUGMARK" record -q --level values -o variants.rec -- ./variants >printed 2>err
		"$PUGMARK" values variants.rec "variants.rs:$(grep -n HERE variants.rs | cut -d: -f1)" --format json >got
		claim 'of an enum of Rust the variant is shown that is there, by discriminants of all sizes' \
			python3 - <<'PY'
import json
def some(x): return {'Some': {'__0': x}}
none = {'None': {}}
want = [
    [some('5'), none, some('"x"'), {'Circle': {'__0': '1.5'}}, {'Ok': {'__0': '-3'}}, {'A': {'__0': '7'}}, some(some('3'))],
    [none, some('true'), none, {'Rect': {'w': '2', 'h': '3'}}, {'Err': {'__0': '4'}}, {'B': {'__0': '1', '__1': '2'}}, some(none)],
    [none, none, none, {'Unit': {}}, {'Ok': {'__0': '1'}}, {'A': {'__0': '1'}}, none],
]
seen = {}
for line in json.load(open('got')):
    v = {x['name']: x['value'] for x in line['variables']}
    seen[int(v['n'])] = [v[k] for k in ('o', 'b', 's', 'sh', 'r', 'sm', 'nest')]
assert seen == dict(enumerate(want)), seen
PY
	fi
fi
# --- Fortran --------------------------------------------------------------------------------------
if command -v gfortran >tool; then
	cat >heat.f90 <<'F'
program heat
  implicit none
  real(8) :: u(4)
  integer :: low(-1:1), grid(2,3)
  character(len=8) :: name
  u = (/ 1d0, 2d0, 3d0, 4d0 /)
  low = (/ 7, 8, 9 /)
  grid = 5
  name = 'warm'
  print *, name, sum(u), sum(low), sum(grid) ! HERE
end program
F
	gfortran -O0 -g -o heat heat.f90
	rm -rf heat.rec
	"$PUGMARK" record -q --level values -o heat.rec -- ./heat >out 2>err
	"$PUGMARK" values heat.rec "heat.f90:$(grep -n HERE heat.f90 | cut -d: -f1)" --format json >got
	claim 'arrays of Fortran have as many elements as they are declared with, and texts their characters' python3 - <<'PY'
import json
v = {x['name']: x for x in json.load(open('got'))[0]['variables']}
assert v['u']['value'] == ['1', '2', '3', '4'] and v['u']['type'] == 'real(kind=8) [4]', v['u']
assert v['low']['value'] == ['7', '8', '9'], v['low']
assert v['grid']['type'] == 'integer(kind=4) [3][2]' or v['grid']['type'] == 'integer(kind=4) [2][3]', v['grid']
assert v['name']['value'] == '"warm    "' and v['name']['type'] == 'character*8', v['name']
assert all(x['exactness'] == 'exact' for x in v.values()), v
PY
fi

conclude
