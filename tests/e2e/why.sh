#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# why.sh: slices of programs whose answers can be read from their source: which bytes of input made
# which bytes of output, through the functions of libc; and of gzip and bc, whose outputs are known.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gzip bc python3
work_in_own_folder

cat >target.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int table[16];
__attribute__((noinline)) int weigh(int n, int by)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += table[i] * by; /* </text><script>"TURNED */
	return sum;
}
int main(int argc, char **argv)
{
	char line[64], copy[64];
	int n = 0, by = atoi(argv[1]);
	while (n < 16 && fgets(line, sizeof(line), stdin)) {
		strcpy(copy, line);
		table[n++] = copy[0] - '0';
	}
	int unrelated = by + 3;
	char text[32], *again;
	snprintf(text, sizeof(text), "%d", weigh(n / 2, by));
	fputs(text, stdout);
	printf(" and %d\n", unrelated);
	memmove(copy + 1, copy, 3);
	again = strdup(copy);
	again = realloc(again, 5000);
	strcat(again, text);
	fwrite(again, 1, strlen(again), stdout);
	return 0;
}
C
sed -i "s/TURNED/$(printf '\342\200\256')/" target.c
${CC:-cc} -O1 -g -w -o target target.c || skip 'no compiler'
printf '1\n2\n3\n4\n5\n6\n7\n8\n' >numbers
"$PUGMARK" record -q --level values -o rec -- ./target 7 <numbers >printed 2>err
claim 'the program ran' is "$(head -c 9 printed)" '70 and 10'
bytes() { # the input of a slice, as "from-to ..."
	python3 -c 'import json, sys
print(*("%d:%d-%d" % (b["fd"], b["from"], b["to"]) for b in json.load(open("out"))["bytes"] if not b["output"]))'
}
lines() { # the lines of target.c in a slice
	python3 -c 'import json
print(*sorted({l["line"] for l in json.load(open("out"))["lines"] if (l["file"] or "").endswith("target.c")}))'
}
run 0 why rec --write 1:0 --format json
claim 'the sum came from the first four digits' is "$(bytes)" '0:0-0 0:2-2 0:4-4 0:6-6'
claim 'by these lines' is "$(lines)" '7 9 11 16 17 18 22'
run 0 why rec --write 1:7 --format json
claim 'another number came from no input' is "$(bytes)" ''
claim 'by these lines' is "$(lines)" '20 24'
run 0 why rec --write 1:10 --format json
claim 'a byte that was copied three times came from one' is "$(bytes)" '0:14-14'
run 0 why rec --write 1:11 --format json
claim 'so did its neighbour, by memmove()' is "$(bytes)" '0:14-14'
run 0 why rec --write 1:13 --format json
claim 'what strcat() appended is the sum' is "$(bytes)" '0:0-0 0:2-2 0:4-4 0:6-6'
run 0 then rec --input 0:2 --format json
claim 'the second digit goes into the sum' is "$(lines)" '9 11 16 17 18 22 23 28 29'
run 0 then rec --input 0:0 --format json
claim 'the first as well, which the first fgets() itself reads' is "$(lines)" '9 11 16 17 18 22 23 28 29'
run 0 then rec --input 0:12 --format json
claim 'the seventh goes nowhere' is "$(lines)" '16 17 18'
run 0 why rec weigh by --time 1 --format json
claim 'an argument came from its caller' is "$(lines)" 22
# How they hang together: who read what who made. The hostile comment of line 9 stays text.
run 0 why rec --write 1:0 --format json
edges() { # "FROM>TO×TIMES" between lines of target.c
	python3 -c 'import json
slice = json.load(open("out"))
line = [l["line"] if (l["file"] or "").endswith("target.c") else 0 for l in slice["lines"]]
print(*sorted({"%d>%d×%d" % (line[e["from"]], line[e["to"]], e["times"]) for e in slice["edges"]
	if line[e["from"]] and line[e["to"]] and e["from"] != e["to"] and e["kind"] == "data"}))'
}
claim 'each line reads what the lines before it made' is "$(edges)" \
	'11>22×1 16>17×1 16>17×3 17>18×1 17>18×3 18>9×4 22>22×1 22>9×4 7>9×1 9>11×1'
n_edges=$(python3 -c 'import json; print(len(json.load(open("out"))["edges"]))')
run 0 why rec --write 1:0 --format svg
claim 'a picture has an arc an edge, and names are text' is "$(python3 -c 'import xml.dom.minidom
svg = xml.dom.minidom.parse("out")
arcs = [p for p in svg.getElementsByTagName("path") if p.getAttribute("class") == "data"]
text = "".join(n.data for t in svg.getElementsByTagName("text") for n in t.childNodes)
print(len(arcs), len(svg.getElementsByTagName("script")), "<script>" in text, "\u202e" in text)')" "$n_edges 0 True False"
run 0 why rec --write 1:0 --format html
claim 'so has a page, without a script' is "$(grep -c '<path class="data"' out) $(grep -c '<script' out)" "$n_edges 0"
run 0 why rec --write 1:0 --format dot
if command -v dot >/dev/null; then
	claim 'and a graph, which Graphviz draws' is "$(dot -Tplain out | grep -c '^edge')" "$n_edges"
fi
run 0 why rec --write 1:0 --limit 3 --format dot
claim 'which has the lines that are shown' is "$(grep -c '\[label="' out) $(grep -c ' lines more' out)" '3 1'
run 2 why rec --write 1:0 --format png
run 1 why rec weigh by --time 2
claim 'a time that never came is named' grep -q 'reached 1 times' err
run 1 why rec --write 1:100000
run 1 why rec nowhere
run 2 why rec
run 2 why rec weigh --write 1:0
for bytes in 1:0:-1 1:-1 -1:0 1:0:0 1:18446744073709551615:2 1:0:18446744073709551615 1:1x 4294967297:0; do
	fails 2 "'$bytes' is no FD:OFFSET[:LENGTH]" why rec --write "$bytes"
done
fails 2 "'1:0:-1' is no FD:OFFSET[:LENGTH]" why rec --write 1:0 --ok 1:0:-1
run 2 why rec --input 0:0

# Control: what decided that something was executed, and nothing that did not.
cat >decide.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int sign(int x)
{
	if (x > 0)
		return 1;
	return 0;
}
int unused;
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	int *a = calloc(10, sizeof(int));
	int sum = 0, other = 0;
	int flag = n > 3;
	for (int i = 0; i < n; i++) {
		other += i;
		if (a[i] == 0)
			sum = sum + 2;
	}
	if (flag)
		unused = 4;
	int r = sign(sum);
	char c = '0' + r;
	if (other > 1000)
		c = 'x';
	write(1, &c, 1);
	if (n == 7)
		abort();
	if (n == 5)
		*(int *)(long)sum = 1;
	return 0;
}
C
${CC:-cc} -O0 -g -w -o decide decide.c
for n in 4 5 7; do
	"$PUGMARK" record -q --level values -o "decide$n" -- ./decide "$n" >printed 2>err
done
decided() { # the lines of decide.c in a slice
	python3 -c 'import json
print(*sorted({l["line"] for l in json.load(open("out"))["lines"] if (l["file"] or "").endswith("decide.c")}))'
}
run 0 why decide4 --write 1:0 --format json
claim 'by data it came from a constant' is "$(decided)" '6 23 24'
run 0 why decide4 --write 1:0 --control --format json
claim 'by control from the sum and the loop as well, not from the jump that was not taken' \
	is "$(decided)" '4 5 6 12 13 14 16 18 19 23 24 27'
run 0 why decide5 --crash --format json
claim 'the address that failed' is "$(decided)" '14 19 31'
run 0 why decide5 --crash --control --format json
claim 'and what led there' is "$(decided)" '12 13 14 16 18 19 28 30 31'
run 0 why decide7 --crash --format json
claim 'what led to abort()' is "$(decided)" '12 28 29'
run 0 then decide4 decide.c:15 --control --format json
claim 'forward: what a flag decided' is "$(decided)" '15 21 22'
run 0 why decide4 decide.c:27 other --format json
claim 'a variable in a frame with a frame pointer' is "$(decided)" '14 16 17'
mv decide gone
run 1 why decide4 --write 1:0 --control
claim 'without the file no control' grep -q 'control needs the files' err

cp "$(command -v gzip)" packer
for i in $(seq 3000); do echo "line $i of what is packed $((i * i % 977))"; done >input
"$PUGMARK" record -q --level values -o packed -- ./packer -c input >out.gz 2>err
size=$(wc -c <out.gz)
run 0 why packed --write "1:$((size - 8)):4" --format json
claim 'no byte of the input is data of the checksum: each chose a word of a table' is "$(bytes)" ''
# Functions whose inputs are not known are among what chose the addresses: the slice says so.
run 3 why packed --write "1:$((size - 8)):4" --addresses --format json
claim 'with addresses it came from all of them' is "$(bytes | cut -d: -f2)" "0-$(($(wc -c <input) - 1))"
run 0 why packed --write "1:$((size - 4)):4" --format json
claim 'their number from none of them' is "$(bytes)" ''

cp "$(command -v bc)" calc
echo 'scale=40; a(1)*4' >pi.bc
"$PUGMARK" record -q --level values -o pi -- ./calc -l pi.bc </dev/null >pi.txt 2>err
run 0 why pi --output 3.14159 --format json
claim 'of the digits of pi the factor is data' is "$(bytes | cut -d: -f2)" 15-15
claim 'the factor is what the script has there' is "$(tail -c +16 pi.bc | head -c 1)" 4
# --- what scanf() finds in a string -------------------------------------------------------------------
cat >scans.c <<'C'
#include <stdio.h>
int main(void)
{
	char line[80], word[16];
	int first = 0, second = 0;
	unsigned short third = 0;
	fgets(line, sizeof(line), stdin);
	if (sscanf(line, "%d %*d %15s %hx", &first, word, &third) != 3)
		return 1;
	fgets(line, sizeof(line), stdin);
	sscanf(line, "%d", &second);
	putchar('a' + first);
	putchar(word[1]);
	putchar('a' + third);
	putchar('a' + second);
	return 0;
}
C
${CC:-cc} -O1 -w -o scans scans.c || skip 'no compiler'
printf '3 99 xyz 5\n7\n' | "$PUGMARK" record -q --level values -o scanned -- ./scans >printed 2>err
claim 'scanf(): the program ran' is "$(cat printed)" dyfh
for at in 0 1 2; do
	"$PUGMARK" why scanned --write 1:$at --format json >out 2>err
	claim "scanf(): byte $at came from the first line" eval '[[ $(bytes) = 0:0-* && $(bytes) != *-1[12] ]]'
done
"$PUGMARK" why scanned --write 1:3 --format json >out 2>err
claim 'scanf(): the last byte came from the second line' is "$(bytes)" '0:11-12'

# What printf() makes is found by what it says: each line of the program's own output.
cat >prints.c <<'C'
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	double x = atof(argv[2]);
	printf("whole %d|%5d|%-7d|%+d|%05d|%.4d|%x|%#o|%X\n", n, n, n, n, n, n, n, n, n);
	printf("narrow %hhd %hd %hhu %hu %ld %lld %zu %jd\n", n, n, n, n, n * 100000000000L, -9999999999LL * n,
	       (size_t)n, (long)-n);
	printf("real %f %e %g %G %.3f %10.2f %-12.5e| %a %Lf %.0f\n", x, x, x, x / 1e30, x, x, x, x, (long double)x / 3, x);
	printf("text %s|%10s|%-10s|%.3s|%c%c|%%\n", argv[0] + strlen(argv[0]) - 3, "right", "left", "cut off", 'a' + n % 26, '?');
	printf("many %d %d %d %d %d %d %d %d %d\n", n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8);
	printf("reals %g %g %g %g %g %g %g %g %g %g\n", x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8, x + 9);
	printf("given %*d|%-*d|%.*f|%*.*s|\n", 8, n, 8, n, 2, x, 6, 2, "stars");
	say("listed %d %s %g %d %d %d %d %g %d\n", n, "word", x, n, n, n, n, x / 7, n);
	fprintf(stdout, "none\n");
	return 0;
}
C
${CC:-cc} -O2 -w -fno-builtin-printf -o prints prints.c || skip 'no compiler'
"$PUGMARK" record -q --level values -o printed.rec -- ./prints 1234 -271.828 >printed 2>err
at=0
while IFS= read -r line; do
	"$PUGMARK" why printed.rec --output "$line" >out 2>err
	claim "printf(): found by '$line'" grep -q "bytes $at to $((at + ${#line} - 1)) written to 1:" out
	at=$((at + ${#line} + 1))
done <printed
claim 'printf(): all lines were asked for' is "$at" "$(wc -c <printed)"
"$PUGMARK" why printed.rec --output 'whole 1235' >out 2>err
claim 'printf(): what it did not say is not found' is $? 1

# Pieces that one call writes: each byte comes from its own.
cat >pieces.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static char first[8], second[16];
int main(int argc, char **argv)
{
	char line[64] = {0}, got[64];
	int ends[2];
	if (read(0, line, sizeof(line) - 1) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || dup2(ends[0], 9) < 0)
		return 1;
	for (int i = 0; i < 3; i++)
		first[i] = line[i] + 1;
	snprintf(second, sizeof(second), "%d\n", 2 * atoi(line + 4));
	struct iovec parts[2] = {{first, 3}, {second, strlen(second)}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	return writev(1, parts, 2) < 0 || sendmsg(9, &message, 0) < 0 || read(ends[1], got, sizeof(got)) < 0;
}
C
${CC:-cc} -g -O1 -o pieces pieces.c || skip 'no compiler'
echo 'abc 21' | "$PUGMARK" record -q --level values -o pieces.rec -- ./pieces >printed 2>err
claim 'writev(): it wrote' is "$(cat printed)" bcd42
for fd in 1 9; do
	"$PUGMARK" why pieces.rec --write $fd:2 >out 2>err
	claim "descriptor $fd: a byte of the first piece" grep -q '^input: bytes 2 to 2 of descriptor 0' out
	claim "descriptor $fd: comes from its line" grep -q 'first\[i\] = line\[i\] + 1' out
	claim "descriptor $fd: and from no other" is "$(grep -c snprintf out)" 0
	"$PUGMARK" why pieces.rec --write $fd:3:2 >out 2>err
	claim "descriptor $fd: the second piece comes from snprintf()" grep -q 'snprintf(second' out
done

# A library of which nothing is known writes over what the program has written.
cat >filler.c <<'C'
#include <string.h>
#include <unistd.h>
char kept[8];
void keep(const char *from) { memcpy(kept, from, 8); }
void fill(char *to, const char *from)
{
	for (int i = 0; i < 8; i++)
		to[i] = from[i] + 1;
}
void copy(char *to) { memcpy(to, kept, 8); }
void fetch(char *to)
{
	for (int i = 0; i < 4; i++)
		to[i] = '-';
	if (read(0, to + 1, 2) < 0)
		to[0] = '?';
}
void call_back(char *to, void (*fn)(char *to))
{
	for (int i = 0; i < 4; i++)
		to[i] = '+';
	fn(to);
	to[2] = '*';
}
C
cat >filled.c <<'C'
#include <unistd.h>
void keep(const char *), fill(char *, const char *), copy(char *), fetch(char *), call_back(char *, void (*)(char *));
char in[8], out[32];
static void back(char *to)
{
	to[1] = in[1]; /* called back */
	to[2] = in[2];
}
int main(void)
{
	if (read(0, in, 8) < 0)
		return 1;
	for (int i = 0; i < 32; i++)
		out[i] = 'z' - i; /* stale */
	keep(in);
	fill(out, in);
	copy(out + 8);
	fetch(out + 16);
	call_back(out + 20, back);
	out[24] = out[0] ^ 3; /* further */
	return write(1, out, 32) != 32;
}
C
for bind in now lazy; do
	rm -rf filled.rec
	${CC:-cc} -g -O1 -shared -fPIC -o libfiller.so filler.c && ${CC:-cc} -g -O1 -Wl,-z,$bind -o filled filled.c \
		-L. -lfiller -Wl,-rpath,"$PWD" || skip 'no compiler'
	printf 'abcdefghXY' | "$PUGMARK" record -q --level values -o filled.rec -- ./filled >printed 2>err
	claim "a library fills ($bind)" is "$(head -c 24 printed)" 'bcdefghiabcdefgh-XY-+b*+'
	for at in 2:fill 10:copy 16:fetch 19:fetch 20:call_back 22:call_back; do
		"$PUGMARK" why filled.rec --write 1:"${at%:*}":1 >out 2>err
		claim "byte ${at%:*}: nobody knows what the library made it of ($bind)" is $? 3
		claim "byte ${at%:*}: the function is named ($bind)" \
			grep -q "| ${at#*:}(): what it depends on is not known" out
		claim "byte ${at%:*}: it is not what the program wrote before ($bind)" is "$(grep -c 'stale\|called back' out)" 0
	done
	"$PUGMARK" why filled.rec --write 1:17:2 >out 2>err
	claim "what the kernel has written behind that is input ($bind)" is "$?$(grep -c 'fetch()' out)" 00
	claim "at its place ($bind)" grep -q '^input: bytes 8 to 9 of descriptor 0' out
	"$PUGMARK" why filled.rec --write 1:21:1 >out 2>err
	claim "what a callback has written is its own ($bind)" is "$?$(grep -c 'call_back()' out)" 00
	claim "and comes from its input ($bind)" grep -q '^input: bytes 1 to 1 of descriptor 0' out
	"$PUGMARK" why filled.rec --write 1:25:1 >out 2>err
	claim "what no library wrote is the program's ($bind)" is "$?$(grep -c stale out)" 01
	"$PUGMARK" why filled.rec --write 1:24:1 --limit 1 >out 2>err
	claim "a line is shown, and ($bind)" grep -q further out
	claim "where a slice ends is told though --limit leaves it out ($bind)" is \
		"$(grep -c '^the slice ends at . of them:$' out)$(grep -c 'is not known' out)" 11
	"$PUGMARK" why filled.rec --write 1:25:1 --control --limit 1000 >out 2>err
	claim "the linker's work is nothing that a function has written ($bind)" is \
		"$(grep -c 'keep().*not known\|fill().*not known' out)" 0
	printf 'abcdefghXY' | "$PUGMARK" record -q --level values --module libfiller.so -o both.rec -- ./filled >printed 2>err
	"$PUGMARK" why both.rec --write 1:2:1 --addresses >out 2>err
	claim "recorded as well, the library's slice goes on in the call of it ($bind)" \
		is "$?$(grep -c 'main *fill(out, in)' out)" 01
	rm -r both.rec
done

# A stream of C++, whose library writes.
cat >stream.cc <<'C'
#include <cstdlib>
#include <iostream>
int main(int, char **argv)
{
	double part = std::atoi(argv[1]) / 4.0;
	std::cout << "part " << part << std::endl;
}
C
if ! ${CXX:-c++} -g -O1 -o stream stream.cc 2>err; then
	echo 'skip streams of C++: no compiler for it'
	skipped=$((skipped + 1))
	conclude
fi
"$PUGMARK" record -q --level values -o alone.rec -- ./stream 7 >printed 2>err
claim 'the stream wrote' grep -q '^part 1.75$' printed
fails 1 'where record --module names that' why alone.rec --output 1.75
fails 1 'where record --module names that' why alone.rec --write 1:5:4
"$PUGMARK" record -q --level values --module 'libstdc++*' -o stream.rec -- ./stream 7 >printed 2>err
"$PUGMARK" why stream.rec --output 1.75 --limit 1000 >out 2>err
claim 'recorded with the library it leads to what the number was made of' \
	eval 'grep -q "stream.cc:5 main" out && grep -q "strtol()\|atoi()" out'
claim 'and nowhere to an entry from outside' is "$(grep -c 'entered from outside' out)" 0
conclude
