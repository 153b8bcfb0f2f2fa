#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# wet.sh: the whole execution trace of gzip and bc has every instruction that was executed, once; its
# control flow, walked over compressed timestamps alone, is the one that was taken, both ways; each
# tier takes less than the one before; and in a file it is the same.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gzip bc python3 objdump
work_in_own_folder
cp "$(command -v gzip)" packer
cp "$(command -v bc)" calc
for i in $(seq 400); do echo "line $i of what is packed $((i * i % 977))"; done >input
echo 'scale=40; a(1)*4' >pi.bc
"$PUGMARK" record -q --level values -o packed -- ./packer -cn <input >out.gz 2>err
"$PUGMARK" record -q --level values -o pi -- ./calc -l pi.bc </dev/null >pi.txt 2>err
for rec in packed pi; do
	run 0 wet --streams stored "$rec" --format json
	"$PUGMARK" values "$rec" --format json >whole
	claim "$rec: every instruction, and less in each tier" python3 -c 'import json
w, v = json.load(open("out")), json.load(open("whole"))["tasks"][0]
assert w["statements"] == v["instructions"], (w, v)
assert w["walk"] and not w["gap"], w
assert w["executions"] < w["blocks"] < w["statements"], w
for of in "timestamps", "value_labels", "edge_labels":
    s = w[of]
    assert 0 < s["tier2"] < s["tier1"] < s["original"], (of, s)
assert w["statements"] < w["dependences"] < 4 * w["statements"], w'
done
for rec in packed pi; do
	run 0 wet "$rec" --format json
	claim "$rec: executed again it takes a tenth in values and dependences" python3 -c 'import json
w = json.load(open("out"))
assert w["executed_again"] and w["walk"], w
for of in "value_labels", "edge_labels":
    assert 0 < 10 * w[of]["tier2"] < w[of]["original"], (of, w)
assert 1000 * sum(w[k]["tier2"] for k in ("value_labels", "edge_labels")) < 400 * w["statements"], w'
done
run 0 wet packed --window 100000:150000 --format json
claim 'a window has what is in it' python3 -c 'import json
w = json.load(open("out"))
assert abs(w["statements"] - 50000) < 64 and w["walk"], w'
run 0 wet packed
claim 'as tables' is "$(grep -c '^Table' out)" 3

# In a file, which is read back: the same tables, and what the program has printed.
cat >steps.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static unsigned table[300];
__attribute__((noinline)) static unsigned step(unsigned x)
{
	unsigned y;
	__asm__ volatile(".globl multiply\nmultiply: imul $1103515245, %1, %0" : "=r"(y) : "r"(x));
	return y;
}
int main(int argc, char **argv)
{
	unsigned x = atoi(argv[1]), all = 0;
	for (int i = 0; i < 300; i++) {
		x = step(x) + 12345;
		__asm__ volatile(".globl put\nput: mov %1, %0" : "=m"(table[i]) : "r"(x));
	}
	for (int i = 299; i >= 0; i--)
		__asm__ volatile(".globl gather\ngather: add %1, %0" : "+r"(all) : "m"(table[i]));
	for (int i = 0; i < 300; i++)
		printf("0x%x\n", table[i] - 12345);
	return all == 0;
}
C
${CC:-cc} -O1 -o steps steps.c || skip 'no compiler'
address() { nm "${2:-steps}" | awk -v n="$1" '$3 == n { print "0x" $1 }'; }
run 0 record -q --level values -o steps.rec -- ./steps 5
mv out printed
run 0 wet -o steps.wet steps.rec --format json
mv out made
run 0 wet steps.wet --format json
claim 'the file has the same sizes' python3 -c 'import json
a, b = json.load(open("made")), json.load(open("out"))
assert all(a[k] == b[k] for k in a if not k.endswith("_s") and k not in ("walk", "task")), (a, b)'
claim 'it is for its owner alone' is "$(stat -c %a steps.wet)" 600
run 0 wet steps.wet --values "$(address multiply)" --limit 1000
awk '{ print $2 }' out >values
claim 'each value that an instruction has computed' same printed values
run 0 wet steps.wet --values "$(address multiply)" --limit 1000 --backward
claim 'and backward' same <(tac printed) <(awk '{ print $2 }' out)
run 0 wet steps.wet --values "$(address multiply)" --limit 2 --backward
claim 'of which the last come first' same <(tail -n 2 printed | tac) <(awk '!/more/ { print $2 }' out)
claim 'nothing else is said of it' is "$(grep -c 'stores, compares' out)" 0
run 0 wet steps.wet --values "$(address put)" --limit 1
claim 'a store computes nothing, which is said' is "$(head -n 1 out | wc -w) $(grep -c '^it stores, compares, jumps' out)" '1 1'
run 0 wet steps.wet --blocks --limit 100000
mv out forward
claim 'the nodes, from 1 on' is "$(awk '{ print $1 }' forward | sort -n | uniq | wc -l)" "$(wc -l <forward)"
run 0 wet steps.wet --blocks --backward --limit 100000
claim 'backward is forward' same forward <(tac out)
run 0 wet steps.wet --blocks --times 40:60
claim 'in the middle' same <(sed -n '40,60p' forward) out
run 0 wet steps.wet --blocks --times 40:60 --backward
claim 'in the middle, backward' same <(sed -n '40,60p' forward) <(tac out)
run 0 wet steps.wet --depends "$(address gather)" --limit 1000 --format json
claim 'the last that was stored is the first that is read' python3 -c 'import json, sys
edges = [e for e in json.load(open("out"))["edges"] if int(e["address"], 16) == int(sys.argv[1], 16)]
pairs = sorted((p[0], -p[1]) for e in edges for p in e["times"]) # two may be of one node
assert len(pairs) == 300, len(pairs)
made = [-p[1] for p in pairs]
assert made == sorted(made, reverse=True) and len(set(made)) == 300, made' "$(address put)"
# Values that are executed again are those that are stored; of all instructions, and of some that nobody computes.
cat >chance.c <<'C'
#include <stdio.h>
#include <string.h>
#include <x86intrin.h>
static char bytes[4096];
int main(void)
{
	unsigned long all = 0;
	for (int i = 0; i < 50; i++)
		all = all * 31 + __rdtsc();
	for (int i = 0; i < 3000; i++)
		bytes[i] = (char)(i * 7 + all);
	char *to = bytes + 4000, *from = bytes + 2000;
	unsigned long count = 1000;
	__asm__ volatile("std\n\trep movsb\n\tcld" /* backward */
			 : "+D"(to), "+S"(from), "+c"(count) : : "memory", "cc");
	memmove(bytes + 1, bytes, 3000);
	double half = 0;
	for (int i = 0; i < 4096; i++)
		half += bytes[i] * 0.5;
	printf("%lu %f\n", all, half);
	return 0;
}
C
${CC:-cc} -O1 -o chance chance.c || skip 'no compiler'
run 0 record -q --level values -o chance.rec -- ./chance
# Registers of AVX-512 that are set long before they are read; with no such processor, a program without them.
cat >wide.c <<'C'
#include <stdio.h>
#ifdef __AVX512F__
#define WIDE(insn) __asm__ volatile(insn ::: "xmm0", "xmm16", "memory")
#else
#define WIDE(insn)
#endif
static unsigned long out[8];
int main(int argc, char **argv)
{
	WIDE("vpternlogd $0xff, %%zmm16, %%zmm16, %%zmm16\n\tkxnorw %%k1, %%k1, %%k1\n\t"
	     "vpsrlq $3, %%zmm16, %%zmm0");
	unsigned long all = argc;
	for (int i = 0; i < 3000; i++)
		all = all * 31 + (unsigned long)argv[0][i % 3];
	for (int i = 0; i < 20; i++) {
		WIDE("vpaddq %%zmm16, %%zmm0, %%zmm0\n\tvpaddq %%zmm0, %%zmm16, %%zmm16%{%%k1%}");
#ifdef __AVX512F__
		__asm__ volatile("vmovdqu64 %%zmm16, %0" : "=m"(out));
#endif
		all += out[i % 8];
	}
	printf("%lx\n", all);
	return 0;
}
C
grep -q -w avx512f /proc/cpuinfo && wide=-mavx512f
${CC:-cc} -O1 ${wide:-} -mno-vzeroupper -o wide wide.c || skip 'no compiler'
run 0 record -q --level values -o wide.rec -- ./wide
for name in steps chance wide; do
	for how in stored executed; do
		run 0 wet --streams $how -o $name.$how $name.rec
		mv out $how.made
	done
	claim "$name: values are executed again" grep -q 'executed again [1-9]' executed.made
	claim "$name: or stored" grep -q 'executed again 0 ' stored.made
	run 0 wet $name.executed --blocks --limit 100000 --format json
	python3 -c 'import json
print("\n".join(sorted({n["address"] for n in json.load(open("out"))["nodes"]})))' >places
	while read -r place; do
		for what in values depends; do
			for of in stored executed; do
				run 0 wet $name.$of --$what "0x$place" --limit 100000
				mv out $of.$what
			done
			cmp -s stored.$what executed.$what || echo "$place"
			grep ' <- ' executed.$what >&2
		done 2>>pairs
	done <places >others
	claim "$name: dependences were compared" [ "$(wc -l <pairs)" -gt 100 ]
	claim "$name: the same values and dependences at $(wc -l <places) places" is "$(wc -l <others) $([ "$(wc -l <places)" -gt 5 ] && echo many)" '0 many'
done
# Of what the kernel and functions outside write, the same bytes among them, nobody of the window is the writer.
cat >outer.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static unsigned char bytes[256];
static unsigned long words[32];
__attribute__((noinline)) static unsigned long sum(void)
{
	unsigned long all = 0;
	for (int i = 0; i < 256; i++)
		all = all * 3 + bytes[i];
	for (int i = 0; i < 31; i++)
		all += *(unsigned long *)((char *)words + 8 * i + 3);
	return all;
}
int main(void)
{
	unsigned long all = 0;
	int fd = open("/dev/zero", O_RDONLY);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 256; i++)
			bytes[i] = round & 1 ? i : 0;
		for (int i = 0; i < 32; i++)
			words[i] = i * round;
		if (round % 5 == 1 && read(fd, bytes + 10, 100) != 100) /* what was there is zeros, or not */
			return 1;
		if (round % 5 == 2)
			memcpy(bytes + 1, bytes, 200);
		if (round % 5 == 3)
			snprintf((char *)words + 5, 40, "%d of many rounds", round);
		all += sum();
	}
	printf("%lx\n", all);
	return 0;
}
C
${CC:-cc} -O1 -o outer outer.c || skip 'no compiler'
run 0 record -q --level values -o outer.rec -- ./outer
for how in stored executed; do run 0 wet --streams $how -o outer.$how outer.rec; done
run 0 wet outer.executed --blocks --limit 100000 --format json
python3 -c 'import json
print("\n".join(sorted({n["address"] for n in json.load(open("out"))["nodes"]})))' >places
objdump -d outer --disassemble=sum | awk -F: '/^ / && !/lea/ { gsub(" ", "", $1); print $1 }' >>places
while read -r place; do
	for how in stored executed; do
		"$PUGMARK" wet outer.$how --depends "0x$place" --limit 100000 >$how.depends 2>&1
	done
	cmp -s stored.depends executed.depends || echo "$place"
	grep ' <- ' executed.depends >>outer.pairs
done <places >others
claim "what comes from outside: the same dependences at $(wc -l <places) places" is "$(wc -l <others) $([ "$(wc -l <outer.pairs)" -gt 10000 ] && echo many)" '0 many'
# Each task has its own.
cat >two.c <<'C'
#include <pthread.h>
#include <stdio.h>
static unsigned long sums[2];
static void *add(void *of)
{
	for (unsigned long i = 0; i < 5000; i++)
		*(volatile unsigned long *)of += i * i;
	return NULL;
}
int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, add, &sums[1]))
		return 1;
	pthread_join(thread, NULL);
	add(&sums[0]);
	printf("%lu\n", sums[0] + sums[1]);
	return 0;
}
C
${CC:-cc} -O1 -pthread -o two two.c || skip 'no compiler'
run 0 record -q --level values -o two.rec -- ./two
run 0 wet -o two.wet two.rec --format json
mv out two.json
claim 'both tasks, an object each' python3 -c 'import json
tasks = [json.loads(line) for line in open("two.json")]
assert len({t["task"] for t in tasks}) == len(tasks) == 2, tasks
assert all(t["statements"] > 5000 for t in tasks), tasks
print("\n".join(str(t["task"]) for t in tasks))'
python3 -c 'import json
for line in open("two.json"): print(json.loads(line)["task"])' >tasks
while read -r task; do
	claim "task $task: in a file of its own" [ -s "two.wet.$task" ]
	run 0 wet --task "$task" --streams stored -o one.$task.wet two.rec --format json
	claim "task $task: alone it is the same" python3 -c 'import json, sys
one, = [json.loads(line) for line in open("out")]
same = [t for t in map(json.loads, open("two.json")) if t["task"] == one["task"]]
assert [t["statements"] for t in same] == [one["statements"]], (one, same)'
	run 0 wet "two.wet.$task" --blocks --limit 100000
	mv out blocks
	run 0 wet one.$task.wet --blocks --limit 100000
	claim "task $task: the same nodes" same blocks out
	run 0 wet "two.wet.$task" --depends "$(address add two)" --limit 100000
	mv out depends
	run 0 wet one.$task.wet --depends "$(address add two)" --limit 100000
	claim "task $task: the same dependences" same depends out
done <tasks
# A child of what is not known up to the fork has no trace; the others have theirs.
cat >family.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int status = 0;
	if (fork() == 0)
		return getppid() == 0;
	return wait(&status) < 0 || status;
}
C
${CC:-cc} -O1 -o family family.c || skip 'no compiler'
run 0 record -q --level values -o family.rec -- ./family
size=$(stat -c %s family.rec/captures)
for back in $(seq 2500 250 20000); do
	rm -rf part.rec part.wet*
	cp -r family.rec part.rec
	printf '\377\377\377\377' | dd of=part.rec/captures bs=1 seek=$((size - back)) conv=notrunc 2>/dev/null
	"$PUGMARK" wet -o part.wet part.rec >out 2>err
	status=$?
	! grep -q 'task 2 is left out' err || break
done
claim 'a child whose parent is not known up to the fork is left out, its parent is not' \
	is "$status $(grep -c 'task 2 is left out: ' err) $(echo part.wet.*)" '3 1 part.wet.1'
touch "again.wet.$(tail -n 1 tasks)"
run 1 wet -o again.wet two.rec
claim 'of a run whose second file is there already the first is not left' is "$(echo again.wet.*)" "again.wet.$(tail -n 1 tasks)"
run 1 wet -o "$(printf './%.0s' $(seq 2045))long" two.rec
claim 'a name that has no room for the number of a task is refused' is "$(grep -c 'File name too long' err) $(ls long* 2>/dev/null)" '1 '
# Of what is not exact it is said how much there is, in the tables and with each answer.
cat >unset.c <<'C'
#include <stdio.h>
volatile int got;
__attribute__((noinline)) void look(int *p)
{
	__asm__ volatile(".globl unset_read\nunset_read: movl (%0), %%eax\nmovl %%eax, %1" : : "r"(p), "m"(got) : "eax");
}
int main(void)
{
	int never[64];
	printf("%d\n", 1);
	for (int i = 0; i < 64; i++)
		look(never + i);
	return 0;
}
C
${CC:-cc} -O1 -w -o unset unset.c
"$PUGMARK" record -q --level values -o unset.rec -- ./unset >printed 2>err
"$PUGMARK" values unset.rec --format json >whole
for how in stored executed; do
	run 0 wet --streams $how -o unset.$how unset.rec --format json
	claim "as many are not exact as the replay says ($how)" python3 -c 'import json
w, v = json.load(open("out")), json.load(open("whole"))["tasks"][0]
assert w["inexact"] == v["instructions"] - v["exact"] > 0, (w, v)'
	run 0 wet unset.$how --format json
	claim "the file says so ($how)" python3 -c 'import json
w, v = json.load(open("out")), json.load(open("whole"))["tasks"][0]
assert w["inexact"] == v["instructions"] - v["exact"], (w, v)'
	run 0 wet unset.$how --values "0x$(nm unset | awk '$3 == "unset_read" { print $1 }')"
	claim "so does an answer ($how)" grep -q 'statements are not wholly exact' err
	run 0 wet unset.$how --blocks --times 99999999:100000000
	claim "times that there are not are said to be none ($how)" grep -q 'its timestamps are 1 to [0-9]*$' err
done
run 0 wet unset.rec --window 99999999:100000000
claim 'a window in which nothing was executed is said to be one' \
	is "$(grep -c 'nothing was executed in that window' err) $(grep -c wrongly out)" '1 0'
run 2 wet unset.stored --blocks --values 0x1
run 1 wet --task 99 two.rec
claim 'a task that is not there is said' grep -q 'no task 99 has values' err
run 2 wet --task x two.rec
run 2 wet steps.wet --task 5
run 2 wet --streams both steps.rec
run 2 wet steps.wet --streams stored
run 0 wet --control -o decided.wet steps.rec
objdump -d steps | awk '/>:$/ { inside = /<(main|put|gather)>:/ }
	inside && $0 ~ /\tj[a-z]+ / && $0 !~ /\tjmp/ { sub(":", "", $1); print $1, $(NF - 1) }' >jumps
while read -r jump target; do
	[ $((16#$target)) -lt $((16#$jump)) ] || continue # back to a loop's first instruction
	run 0 wet decided.wet --depends "0x$target" --limit 1000 --format json
	claim "the loop at $target: a round is decided by the jump of the one before" python3 -c 'import json, sys
edges = [e for e in json.load(open("out"))["edges"] if e["decided"] and e["address"] == sys.argv[1]]
assert sum(e["instances"] for e in edges) == 299, edges
pairs = [p for e in edges for p in e["times"]]
assert all(0 <= a - b <= 3 for a, b in pairs), pairs' "$jump"
done <jumps
claim 'loops were looked at' [ "$(wc -l <jumps)" -gt 1 ]
cat >lines.c <<'C'
#include <stdio.h>
static volatile char few[256 * 64], many[16384 * 64];
int main(void)
{
	int all = 0;
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < 256; i++)
			all += few[i * 64]; /* 256 lines: they stay */
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 16384; i++)
			all += many[i * 64]; /* 16,384 do not */
	printf("%d\n", all);
	return 0;
}
C
${CC:-cc} -O1 -o lines lines.c || skip 'no compiler'
run 0 record -q --level values -o lines.rec -- ./lines
run 0 wet --machine lines.rec --format json
claim 'a cache of 512 lines keeps 256 and not 16,384; a loop is predicted' python3 -c 'import json
w = json.load(open("out"))
assert w["loads"]["executions"] >= 2560 + 32768, w
assert 256 + 32768 <= w["loads"]["misses"] <= 256 + 32768 + 64, w
assert w["branches"]["misses"] < 0.02 * w["branches"]["executions"], w'
run 0 wet --machine lines.rec
claim 'as a table' grep -q '^Table 4' out
cat >wide.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static unsigned long to;
__attribute__((noinline)) static void keep(unsigned long x) /* one block, which reads three registers of its caller */
{
	__asm__ volatile(".rept 3000\nmov %0, (%1,%2,4)\n.endr\n.globl kept\nkept: mov %0, (%1,%2,4)"
			 : : "D"(x), "S"(&to), "d"(0ul) : "memory");
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		keep(atoi(argv[1]) * 7ul + i);
	printf("%lu\n", to);
	return 0;
}
C
${CC:-cc} -O1 -o wide wide.c || skip 'no compiler'
run 0 record -q --level values -o wide.rec -- ./wide 5
run 0 wet -o wide.wet wide.rec
run 0 wet wide.wet --depends "0x$(nm wide | awk '$3 == "kept" { print $1 }')" --format json
claim 'what a long block reads is told to its end' python3 -c 'import json
edges = json.load(open("out"))["edges"]
assert any(e["function"] == "main" and e["instances"] == 3 for e in edges), edges'
# Of results an instruction may have any number: a gather of AVX-512 twelve, of which four are its mask.
if grep -qw avx512f /proc/cpuinfo; then
	cat >gather.c <<'C'
int from[16], to[16];
int main(void)
{
	int at[16];
	for (int i = 0; i < 16; i++)
		at[i] = 15 - i, from[i] = 3 * i + 1;
	__asm__ volatile("vmovdqu32 (%0), %%zmm1\n\tkxnorw %%k0, %%k0, %%k1\n"
			 ".globl gathers\ngathers: vpgatherdd (%1,%%zmm1,4), %%zmm0%{%%k1%}\n\t"
			 "vmovdqu32 %%zmm0, (%2)"
			 : : "r"(at), "r"(from), "r"(to) : "memory", "xmm0", "xmm1");
	return to[0] != 46;
}
C
	${CC:-cc} -O1 -o gather gather.c || skip 'no compiler'
	run 0 record -q --level values -o gather.rec -- ./gather
	run 0 wet -o gather.wet gather.rec
	run 0 wet gather.wet --values "0x$(nm gather | awk '$3 == "gathers" { print $1 }')"
	claim 'all that a wide instruction has computed is shown' is "$(grep -o ' 0x' out | wc -l)" 12
fi
cp -r steps.rec cut.rec && head -c 100 steps.rec/captures >cut.rec/captures
cp steps.wet kept.wet
run 1 wet -o kept.wet steps.rec
cmp -s steps.wet kept.wet && same_bytes=yes
claim 'what is there already is not written over' is "$(grep -c 'cannot write: it is there already' err) ${same_bytes:-no}" '1 yes'
ln -s "$PWD/nobody" laid && chown -h 65534:65534 laid
run 1 wet -o laid steps.rec
claim 'nor is the link of another user followed' is "$(grep -c 'a link on the way belongs to another user' err) $(ls nobody 2>&1 | grep -c 'No such')" '1 1'
run 1 wet -o half.wet cut.rec
claim 'what fails leaves no file' test ! -e half.wet
run 1 wet steps.wet --values 0x3
claim 'an address that is not there is said' grep -q 'no instruction at 0x3 was executed' err
run 0 wet steps.wet --depends "$(address gather)" --limit 7
claim 'of dependences so many lines' is "$(grep -c ' <- ' out) $(tail -n 1 out)" '7 and more (--limit)'
run 0 wet steps.wet --depends "$(address gather)" --limit 1000
claim 'or all' is "$(grep -c 'and more' out)" 0
cat >changed.py <<'PYTHON'
# One bit of the file is another one: of streams and of the index, at places that are all over it.
import subprocess, sys
whole = open("steps.wet", "rb").read()
told = 0
for k in range(60):
    at = 32 + k * (len(whole) - 33) // 59
    open("changed.wet", "wb").write(whole[:at] + bytes([whole[at] ^ 1 << k % 8]) + whole[at + 1:])
    got = subprocess.run([sys.argv[1], "wet", "changed.wet", "--values", sys.argv[2]], capture_output=True)
    told += got.returncode == 1 and b"is no WET, or damaged" in got.stderr and not got.stdout
print(told)
PYTHON
claim 'a file in which one bit is another one is refused' is \
	"$(python3 changed.py "$PUGMARK" "$(address multiply)")" 60
head -c $(($(stat -c %s steps.wet) / 2)) steps.wet >cut.wet
run 1 wet cut.wet
claim 'half a file is refused' grep -q 'is no WET, or damaged' err
# Captures that are cut: the table of places may be, or what was captured.
cp -r steps.rec cut.rec
truncate -s -5 cut.rec/captures
claim 'captures that are cut are told' grep -qE '(is|are) damaged' <("$PUGMARK" wet cut.rec 2>&1 || true)
"$PUGMARK" wet cut.rec >out 2>err
claim 'and there is no success' test $? != 0
run 2 wet steps.rec --blocks
run 2 wet steps.wet --window 1:2
run 2 wet steps.wet --machine
run 2 wet steps.wet --control
run 2 wet steps.rec --limit 5
run 2 wet steps.wet --limit 5
run 2 wet steps.wet --times 1:5
run 2 wet steps.wet --backward
run 2 wet packed --window 5
run 2 wet
run 1 wet nowhere
conclude
