# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# work_input.sh: makes in the current folder what the programs of work.txt work on. To be sourced by
# work.sh. The same each time but for what compilers and keys are made of: one input serves all runs.

# --- text and numbers ----------------------------------------------------------------------------
awk 'BEGIN {
	split("the quick brown fox jumps over lazy dogs while seven wizards hex bold queens and pack my box with five dozen liquor jugs", w, " ")
	for (i = 1; i <= 12000; i++) {
		x = (x * 1103515245 + 12345 + i) % 2147483648
		line = ""
		for (k = 0; k < 4 + x % 9; k++) {
			x = (x * 69069 + 1) % 4294967296
			line = line (k ? " " : "") w[1 + int(x / 65536) % 24]
		}
		print line
	}
}' >text
awk 'BEGIN { for (i = 1; i <= 20000; i++) { x = (x * 69069 + 5) % 4294967296; print x % 1000000 } }' >numbers
awk '{ printf "%06d\t%s\t%d\n", NR * 7 % 5003, $1, length($0) }' text | sort -u -k1,1 >left
awk 'NR % 3 == 0 { printf "%06d\t%s\n", NR * 7 % 5003, $2 }' text | sort -u -k1,1 >right
sed 's/fox/cat/; 100,200d' text >text2
diff -u text text2 >patch.diff
LC_ALL=C awk 'BEGIN { for (i = 0; i < 300000; i++) { x = (x * 69069 + 7) % 4294967296; printf "%c", int(x / 16777216) } }' >data
gzip -nc text >text.gz && bzip2 -c text >text.bz2 && xz -c text >text.xz && zstd -qc text >text.zst
tr ' ' '\n' <text | sort -u >words
awk '{ print $1, $2 }' text | head -n 300 | awk '$1 < $2' >pairs
mkdir -p tree/a/b tree/c && split -l 500 text tree/a/part. && split -l 900 text2 tree/a/b/piece. && cp numbers tree/c/
tar --sort=name --mtime=@1600000000 -cf tree.tar tree
(cd tree && zip -qr -X ../tree.zip .)

# --- structured -----------------------------------------------------------------------------------
awk 'BEGIN { print "[" ; for (i = 0; i < 3000; i++) printf "%s{\"id\":%d,\"name\":\"n%d\",\"tags\":[%d,null,true],\"in\":{\"x\":%.3f}}\n", i ? "," : "", i, i * 7 % 101, i % 5, i / 7; print "]" }' >items.json
awk 'BEGIN { print "<?xml version=\"1.0\"?>\n<list>" ; for (i = 0; i < 3000; i++) printf "<item id=\"i%d\"><name>n%d &amp; more</name><v x=\"%d\"/></item>\n", i, i % 97, i % 7; print "</list>" }' >list.xml
awk 'BEGIN { print "digraph g {"; for (i = 0; i < 150; i++) printf "n%d -> n%d; n%d -> n%d;\n", i, (i * 7 + 3) % 150, i, i + 1; print "}" }' >graph.gv
awk 'BEGIN { print "create table t(id integer primary key, name text, v real); begin;"; for (i = 0; i < 4000; i++) printf "insert into t values(%d, \"n%d\", %.2f);\n", i, i % 211, i / 3; print "commit; create index byname on t(name); select name, count(*), sum(v) from t group by name order by 3 desc limit 20; select count(*) from t a join t b on a.id = b.id + 1 where a.name < b.name; update t set v = v * 2 where id % 3 = 0; delete from t where id % 5 = 1; vacuum; select sum(v), max(id) from t;" }' | sed "s/\"/'/g" >work.sql
cat >messages.po <<'PO'
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
PO
awk 'BEGIN { for (i = 0; i < 800; i++) printf "\n#: source.c:%d\nmsgid \"message %d of many\"\nmsgstr \"Nachricht %d von vielen\"\n", i, i, i }' >>messages.po
awk 'BEGIN { print "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\""; for (i = 0; i < 800; i++) printf "\n#: source.c:%d\nmsgid \"message %d of the many\"\nmsgstr \"\"\n", i, i }' >template.pot
cat >shop.proto <<'PROTO'
syntax = "proto3";
package shop;
message Item { int64 id = 1; string name = 2; repeated double prices = 3; map<string, Item> parts = 4; }
message Order { enum State { OPEN = 0; SENT = 1; } State state = 1; repeated Item items = 2; oneof who { string user = 3; int32 number = 4; } }
service Shop { rpc Buy(Order) returns (Item); }
PROTO
awk 'BEGIN { print "$set 1"; for (i = 1; i < 500; i++) printf "%d message number %d\\n\n", i, i }' >catalog.msg

# --- source -----------------------------------------------------------------------------------------
awk 'BEGIN {
	print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>"
	print "#define MIX(a, b) (((a) * 31 + (b)) ^ ((a) >> 7))"
	print "struct node { struct node *next; long value; char name[16]; };\nstatic struct node *head;"
	for (i = 0; i < 120; i++) {
		printf "/* TRANSLATORS: %d */\nstatic long step%d(long x, const char *s)\n{\n", i, i
		printf "\tstruct node *n = malloc(sizeof(*n));\n\tif (!n)\n\t\texit(1);\n\tn->value = MIX(x, %d);\n\tn->next = head;\n\thead = n;\n", i * 37
		printf "\tsnprintf(n->name, sizeof(n->name), \"%%s%%ld\", s, x %% %d);\n", i + 2
		printf "\tswitch (n->value %% 9) {\n\tcase 0: return x + %d;\n\tcase 1: x ^= 0x%x; break;\n\tcase 3: x = -x;\n\tcase 4: x *= %d; break;\n\tcase 7: return strlen(n->name);\n\tdefault: x++;\n\t}\n", i, i * 4097, i % 11 + 1
		printf "\tfor (int k = 0; k < %d; k++)\n\t\tx = MIX(x, k) + (%s);\n\treturn x;\n}\n", i % 5 + 3, i ? "step" (i - 1) "(k, s) & 3" : "k"
		if (i % 4 != 3) continue
	}
	print "int main(int argc, char **argv)\n{\n\tlong x = argc;\n\tputs(gettext(\"a message\"));"
	for (i = 0; i < 8; i++)
		printf "\tx += step%d(x, argv[0] + strlen(argv[0]));\n", i
	print "\tprintf(\"%ld\\n\", x);\n\treturn 0;\n}"
}' | sed 's/puts(gettext("a message"));/puts("a message");/' >source.c
sed 's/static long step/long step/; s/puts("a message")/puts(gettext("a message"))/' source.c >marked.c
"${CC:-cc}" -O1 -g -E source.c -o source.i && "${CC:-cc}" -O1 -g -S source.c -o source.s
"${CC:-cc}" -O1 -g -c source.c -o source.o && "${CC:-cc}" -O1 -g -static source.c -o program && cp program small
printf 'int twice(int x) { return 2 * x; }\n' >twice.c && "${CC:-cc}" -c twice.c && ar rcD libtwice.a twice.o
cat >shapes.ii <<'CC'
namespace a { template <class T, int N> struct array { T at[N]; T sum() const { T s = T(); for (int i = 0; i < N; i++) s += at[i]; return s; } }; }
struct base { virtual ~base() {} virtual int area() const = 0; };
template <int W> struct box : base { int area() const override { return W * (W > 1 ? box<W - 1>().area() : 1) % 1000; } };
template <> struct box<0> : base { int area() const override { return 0; } };
int work(int n) { try { if (n < 0) throw n; a::array<int, 64> x{}; for (auto &v : x.at) v = n++; return x.sum() + box<60>().area(); } catch (int e) { return -e; } }
CC
cat >waves.f <<'F'
      program waves
      integer i, j
      real a(50, 50), s
      s = 0
      do 20 i = 1, 50
      do 10 j = 1, 50
      a(i, j) = sin(real(i)) * cos(real(j))
      if (a(i, j) .gt. 0.5) s = s + a(i, j)
   10 continue
   20 continue
      print *, s
      end
F
cat >primes.pas <<'PAS'
program primes;
const n = 2000;
var sieve: array[2..n] of boolean; i, k, count: integer;
begin
  for i := 2 to n do sieve[i] := true;
  for i := 2 to n do if sieve[i] then begin k := i + i; while k <= n do begin sieve[k] := false; k := k + i end end;
  count := 0; for i := 2 to n do if sieve[i] then count := count + 1;
  writeln(count)
end.
PAS
cat >stack.ads <<'ADA'
package Stack is
   type Item is range 0 .. 1000;
   procedure Push (X : Item);
   function Pop return Item;
   Empty : exception;
end Stack;
ADA
cat >stack.adb <<'ADA'
package body Stack is
   At_Most : constant := 100;
   Items : array (1 .. At_Most) of Item;
   Top : Natural := 0;
   procedure Push (X : Item) is begin Top := Top + 1; Items (Top) := X; end Push;
   function Pop return Item is begin if Top = 0 then raise Empty; end if; Top := Top - 1; return Items (Top + 1); end Pop;
end Stack;
ADA
cat >go.go <<'GO'
package main

import "fmt"

type   T struct { a,b int ; next *T }
func (t *T) sum() int { s:=0; for ;t!=nil; t=t.next { s+=t.a*t.b }; return s }
func main() { var l *T; for i:=0;i<10;i++ { l=&T{i,i+1,l} } ; fmt.Println(l.sum()) }
GO
cat >Makefile <<'MAKE'
all: $(patsubst %,out/%.sum,$(notdir $(wildcard tree/a/part.*)))
	@cat $^ | sort >all.sums
out/%.sum: tree/a/%
	@mkdir -p out && cksum <$< >$@
MAKE
awk 'BEGIN { print "rule sum\n  command = cksum <$in >$out\n"; for (i = 97; i < 117; i++) printf "build out/%c.sum: sum tree/a/part.a%c\n", i, i }' >build.ninja
cat >script.sh <<'SH'
fib() { if [ "$1" -lt 2 ]; then r=$1; else fib $(($1 - 1)); set -- "$1" "$r"; fib $(($1 - 2)); r=$((r + $2)); fi; }
trap 'echo bye' EXIT
for n in 5 9 12; do fib $n; echo "$n $r"; done
i=0
while read -r a b rest; do i=$((i + ${#a})); case $b in q*) i=$((i + 1)) ;; esac; done <text
echo $i "$(echo sub | (read -r x; echo "$x$x"))"
for f in tree/a/part.a[a-f]; do (wc -l <"$f") & wait; done
(kill -USR1 $$) 2>/dev/null & wait
SH
sed -i '$d' script.sh
cat >script.pl <<'PL'
use strict; use warnings; my %n; open my $f, '<', 'text' or die; while (<$f>) { $n{$_}++ for split; s/(\w+) (\w+)/$2 $1/g; $n{length $_} += () = /o\w/g }
print "$_ $n{$_}\n" for sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
sub fib { my $x = shift; $x < 2 ? $x : fib($x - 1) + fib($x - 2) } print fib(18), "\n";
my $r = eval { die { code => 7 } ; 1 }; print $@->{code}, "\n"; local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; select undef, undef, undef, 3 }; print $@;
pipe my $in, my $out; if (my $pid = fork) { close $out; print <$in>; waitpid $pid, 0; print $? >> 8, "\n" } else { close $in; print $out "child\n"; close $out; exit 5 }
PL
cat >script.py <<'PY'
import collections, json, re, sqlite3, subprocess, sys, threading, zlib
text = open('text').read()
print(collections.Counter(re.findall(r'\w+', text)).most_common(5), zlib.crc32(text.encode()))
items = json.load(open('items.json')); print(sum(i['in']['x'] for i in items), len(json.dumps(items, indent=1)))
def gen(n):
    for i in range(n):
        try:
            if i % 3 == 0: raise ValueError(i)
            yield i
        except ValueError as e: yield -e.args[0]
print(sum(gen(20000)))
out = [None] * 4
def work(k): out[k] = sum(x * x % (k + 7) for x in range(20000))
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]; print(out)
print(subprocess.run(['cksum', 'numbers'], capture_output=True, text=True).stdout)
db = sqlite3.connect(':memory:'); db.execute('create table t(a, b)'); db.executemany('insert into t values(?, ?)', ((i, i % 7) for i in range(3000)))
print(db.execute('select b, sum(a) from t group by b').fetchall())
class A:
    def __init__(self, n): self.n = n
    def __lt__(self, o): return self.n % 97 < o.n % 97
print([a.n for a in sorted(map(A, range(3000)))][:10])
PY
cat >script.lua <<'LUA'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(20))
local n = {} for line in io.lines('text') do for w in line:gmatch('%a+') do n[w] = (n[w] or 0) + 1 end end
local k = {} for w in pairs(n) do k[#k + 1] = w end table.sort(k) for _, w in ipairs(k) do print(w, n[w]) end
local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i * i) end end) local s = 0 for i = 1, 1000 do s = s + co() end print(s)
print(pcall(function() error({1}) end) == false, select('#', string.byte(('x'):rep(100), 1, -1)))
local t = setmetatable({}, {__index = function(_, i) return i * 2 end, __gc = function() end}) s = 0 for i = 1, 5000 do s = s + t[i] end print(s) collectgarbage()
LUA
cat >script.tcl <<'TCL'
proc fib n { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
puts [fib 16]; set f [open text]; array set n {}; while {[gets $f line] >= 0} { foreach w $line { incr n($w) } }
foreach w [lsort [array names n]] { puts "$w $n($w)" }; puts [catch { error bad } e]$e; puts [regsub -all {o(.)} [read [open text2]] {<\1>} x]; puts [string length $x]
TCL
cat >script.js <<'JS'
const fs = require('fs'), n = new Map();
for (const w of fs.readFileSync('text', 'utf8').split(/\s+/)) n.set(w, (n.get(w) || 0) + 1);
console.log([...n].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)));
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); console.log(fib(24));
class A { #x = 1; add(y) { this.#x += y; return this } get x() { return this.#x } } console.log([...Array(1e5).keys()].reduce((a, y) => a.add(y), new A()).x);
(async () => { let s = 0; for (let i = 0; i < 1000; i++) s += await Promise.resolve(i); console.log(s); try { null.x } catch (e) { console.log(e.name) } })();
JS
cat >script.rexx <<'REXX'
say fib(16)
n = 0; do while lines('text') > 0; line = linein('text'); do i = 1 to words(line); n = n + length(word(line, i)); end; if n > 60000 then leave; end
say n reverse('abc') translate('hello', 'abcdef', 'lohexy')
exit 3
fib: procedure; parse arg k; if k < 2 then return k; return fib(k - 1) + fib(k - 2)
REXX
cat >sums.bc <<'BC'
scale = 60
define f(n) { if (n < 2) return n; return f(n - 1) + f(n - 2) }
f(16); 4 * a(1); e(1); s(2) ^ 2; 2 ^ 2000 % 1000007; for (i = 1; i < 400; i++) x += 1 / i; x; sqrt(2)
BC
cat >program.awk <<'AWK'
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
{ for (i = 1; i <= NF; i++) { n[$i]++; t = t substr($i, 1, 1) } gsub(/o[a-z]/, "<&>"); if (/fox.*jugs/) m++; if (length(t) > 500) { u += match(t, /q.*z/) + RLENGTH; t = "" } }
END { print f(17), m, u; for (w in n) print w, n[w] | "sort"; close("sort"); printf "%.10g %s\n", sin(1) * exp(2), toupper(substr("hello", 2)); while (("cksum text" | getline line) > 0) print line; exit 4 }
AWK
cat >report.man <<'MAN'
.TH REPORT 7
.SH Numbers
.PP
Words that are \fBbold\fP and \fIslanted\fP, again and again, so that lines are filled and broken.
.EQ
x = {-b +- sqrt {b sup 2 - 4 a c}} over {2 a}
.EN
.TS
box, center;
c c
n n.
name	value
1	2.5
30	4
.TE
.PS
box "one"; arrow; circle "two"; line -> down from last circle.s; ellipse "three"
.PE
MAN
head -n 2000 text | sed 's/^/.PP\n/' >>report.man
cat >page.1 <<'MDOC'
.Dd January 1, 2020
.Dt PAGE 1
.Os
.Sh NAME
.Nm page
.Nd shows pages
.Sh DESCRIPTION
.Bl -tag -width Ds
MDOC
awk '{ printf ".It Fl %s\n%s\n.Pp\n.Em %s\n", $1, $0, $2 }' text | head -n 6000 >>page.1 && echo .El >>page.1
awk 'BEGIN { print "P6 160 120 255" }' >image.ppm && head -c 57600 data >>image.ppm

# --- repositories, packages, keys --------------------------------------------------------------------
git -c init.defaultBranch=main init -q repo && (
	cd repo && git config user.name nobody && git config user.email nobody@example.org && git config gc.auto 0
	for i in 1 2 3 4 5 6 7 8; do
		head -n $((i * 300)) ../text >file && mkdir -p d && cp ../numbers d/n$i && git add . &&
			GIT_AUTHOR_DATE="160000000$i +0000" GIT_COMMITTER_DATE="160000000$i +0000" git commit -qm "change $i"
	done
)
(cd repo && git fast-export --all) >repo.export
mkdir -p package/DEBIAN package/usr/share/doc && printf 'Package: thing\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: thing\n' >package/DEBIAN/control && cp text package/usr/share/doc/
ssh-keygen -q -t ed25519 -N '' -C nobody -f key || :
mkdir -p nginx/logs && printf 'daemon off; pid logs/pid; error_log stderr; events { }\nhttp { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s; %s }\n' \
	"$(awk 'BEGIN { for (i = 0; i < 200; i++) printf "server { listen 127.0.0.1:1%04d; server_name s%d.example ~^w%d.*$; location ~* /x%d { return 30%d; } }\n", i, i, i, i, i % 3 + 1 }')" >nginx/conf
:
