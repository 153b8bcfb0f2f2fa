#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# landed.sh: exceptions out of calls of which nothing shows, in random functions that catch some types, clean
# up, or let them pass: where the landing pad tells which call it was, modes best and casper tell what mode full
# does; where several can have led there, they have a gap. What they tell between gaps is what full tells.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 g++
work_in_own_folder
cat >make.py <<'PY'
import random
import sys

chance = random.Random(int(sys.argv[1]))
FUNCTIONS = 10
print('#include <cstdio>\n#include <locale>\n#include <new>\n#include <stdexcept>\n#include <string>\n'
      '#define FN __attribute__((noipa))\n'
      f'static unsigned state = {chance.randrange(1, 1 << 30)};\n'
      'static volatile int sum;\nstatic volatile size_t huge = ~(size_t)0 >> 2;\n'
      'static inline bool odd() { state = state * 1103515245 + 12345; return (state >> 16) % 3 == 0; }\n'
      'FN void leaf() { asm volatile(""); }\n'
      'struct C { FN ~C() { asm volatile(""); sum = sum + 1; } };\n'
      'struct L { std::string t; L() : t("a string that is long enough for the heap") {} };')
for i in range(FUNCTIONS):
    print(f'FN int f{i}(int d);')
THROW = ['{ std::locale l(odd() ? "no such" : "C"); sum = sum + l.name().size(); }',
         '{ alignas(std::locale) static char room[sizeof(std::locale)];'
         ' new (room) std::locale(odd() ? "no such" : "C"); }',
         '{ size_t n = odd() ? (size_t)huge : (size_t)8; operator delete(operator new(n)); }',
         '{ sum = sum + std::stoi(std::string(odd() ? "x" : "7")); }']


def body(depth):
    out = []
    for _ in range(chance.randrange(1, 4)):
        what = chance.randrange(9)
        if what < 3:
            out.append(chance.choice(THROW))
        elif what < 5:
            out.append(f'if (d > 0) sum = sum + f{chance.randrange(FUNCTIONS)}(d - 1);')
        elif what == 5:
            out.append('leaf();')
        elif what == 6 and depth:
            kind = chance.choice(['exception', 'runtime_error', 'bad_alloc'])
            out.append('try { %s } catch (const std::%s &) { %s }' % (
                body(depth - 1), kind, chance.choice(['leaf();', 'sum = sum + 1;', ''])))
        elif what == 7:
            out.append(f'{chance.choice("CL")} v{chance.randrange(1 << 20)};')
        elif depth:
            out.append('if (odd()) { %s } else { %s }' % (body(depth - 1), body(depth - 1)))
    return '\n\t'.join(out)


for i in range(FUNCTIONS):
    print('FN int f%d(int d)\n{\n\t%s\n\tasm volatile("");\n\treturn sum;\n}' % (i, body(3)))
print('int main()\n{\n\tfor (int i = 0; i < 40; i++)\n\t\tfor (int k = 0; k < 3; k++)\n\t\t\t'
      'try { f0(i %% 4); f%d(3); } catch (...) { leaf(); }\n\tprintf("%%d\\n", (int)sum);\n}'
      % chance.randrange(FUNCTIONS))
PY
seeds='3 8'
[ -z "${LONG:-}" ] || seeds=$(seq 1 40)
without_gap=0 all=0
for seed in $seeds; do
	python3 make.py "$seed" >program.cc
	for level in ${LONG:+-O0} -O2; do
		g++ $level -w program.cc -o program || skip 'no compiler'
		record_in_three_modes -- ./program
		claim "$seed $level: recording works" [ $? -eq 0 ]
		for module in 0 1 2; do
			"$PUGMARK" dump --module $module rec 2>err | cut -d' ' -f2- >$module
			all=$((all + 1))
			grep -q '^gap' $module || without_gap=$((without_gap + 1))
		done
		claim "$seed $level: mode full has no gap" is "$(grep -c '^gap' 0)" 0
		for module in 1 2; do
			diff 0 $module | grep '^>' | grep -v '^> gap unwind' >more
			claim "$seed $level: plan $module tells nothing that full does not" is "$(head -n 3 more)" ''
		done
	done
done
claim "most have no gap: $without_gap of $all" [ $((2 * without_gap)) -ge $all ]
conclude
