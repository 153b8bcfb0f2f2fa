#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# hints.sh: of a function without a name `report` says which named function is close, which imports
# it calls, and which strings it loads; the name itself stays the address, for people and for programs.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq strip nm
work_in_own_folder
cat >prog.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static volatile int sink;
__attribute__((noipa)) void exported_one(void) { sink++; }
__attribute__((noipa)) static void hidden(void) { free(malloc(3)); free(malloc(4)); puts("x"); abs(sink); exported_one(); }
int main(void) { hidden(); return 0; }
C
${CC:-cc} -O1 -fno-builtin -rdynamic prog.c -o prog 2>err || skip "does not compile: $(head -n 1 err)"
own=sub_$(nm prog | awk '$3 == "hidden" { sub(/^0*/, "", $1); print $1 }')
run 0 record -q -o named -- ./prog
run 0 report named
claim 'a function with a name has no hint' is "$(grep -c 'hidden$' out) $(grep -c 'near' out)" '1 0'
strip prog
run 0 record -q -o rec -- ./prog
run 0 report rec
claim 'text: a neighbour, and imports once each' grep -q "  $own (near \(exported_one\|main\); calls malloc, free, puts)\$" out
run 0 report --format json rec
claim 'JSON: the name is the address' is "$(jq -r ".functions[] | select(.function == \"$own\") | .calls" out)" 1
claim 'JSON: a field of its own' is "$(jq -r ".functions[] | select(.function == \"$own\") | .hint" out |
	sed 's/near [a-z_]*//')" '; calls malloc, free, puts'
claim 'JSON: none for what has a name' is "$(jq '[.functions[] | select(.function == "main") | has("hint")]' -c out)" '[false]'
run 0 report -F "$own" rec
claim 'it is found by its name' grep -q "$own" out

# Strings that it loads: read in the file, as long as that is the one that was recorded.
cat >says.c <<'C'
#include <stdio.h>
static volatile int sink;
__attribute__((noipa)) static void asks(int n) { sink += n ? printf("cannot open %s", "a file") : puts("no \"quotes\""); }
int main(void) { asks(0); return 0; }
C
for how in '-fPIE -pie' '-fno-pie -no-pie'; do
	# shellcheck disable=SC2086 # several words
	${CC:-cc} -O1 -fno-builtin $how says.c -o says && own=sub_$(nm says | awk '$3 == "asks" { sub(/^0*/, "", $1); print $1 }')
	strip says
	rm -rf rec
	run 0 record -q -o rec -- ./says
	run 0 report --format json -F "$own" rec
	jq -r '.functions[0].hint' out >is
	claim "$how: a string that it loads" grep -qE 'strings (.*, )?"(no "quotes"|cannot open %s|a file)"' is
	claim "$how: two of the three" is "$(grep -o 'strings.*' is | grep -oE 'no "quotes"|cannot open %s|a file' | wc -l)" 2
done
printf x >>says
run 0 report -F "$own" rec
claim 'a file with something behind it is the same one' grep -q 'strings' out
cp prog says
run 0 report -F "$own" rec
claim 'another file in its place is not asked' is "$(grep -c 'strings' out)" 0
rm says
run 0 report -F "$own" rec
claim 'nor one that is not there' is "$(grep -c 'strings' out)" 0
conclude
