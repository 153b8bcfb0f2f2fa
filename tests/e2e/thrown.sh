#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# thrown.sh: an exception comes out of a function of another library that mostly returns. Where every
# call and return shows, as in modes full and branch, nothing else can have been running, so the frames
# that it passes are reported as unwound, without a gap.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >program.cc <<'CC'
#include <locale>
#define FN extern "C" __attribute__((noipa))
FN int before(int i) { return i + 1; }
FN int after(int i) { return i + 2; }
FN int asks(const char *name)
{
	int n = before(1);
	std::locale found(name);
	return after(n);
}
FN int tries(const char *name)
{
	try {
		return asks(name);
	} catch (const std::exception &) {
		return before(7);
	}
}
int main() { return tries("C") + tries("no such locale") + tries("C") != 16; }
CC
${CXX:-c++} -O1 program.cc -o program || skip 'no compiler for the program'
expected='asks before before> std::locale asks! before before> tries> '

# What is done from the second call of asks() to the end of what has caught the exception.
second() {
	nm program | sed -n 's/^0*\([0-9a-f]*\) T \(.*\)/\1 \2/p' >symbols
	"$PUGMARK" dump rec | awk '
		FILENAME == "symbols" { name["program:" $1] = $2; next }
		$2 == "call" && name[$5] == "asks" { n++ }
		n != 2 { next }
		$2 == "call" && name[$5] != "" { print name[$5] }
		$2 == "call" && /_ZNSt6localeC1EPKc/ { print "std::locale" }
		$2 == "ret" { print name["program:" $4] ">" }
		$2 == "unwind" { print name["program:" $4] "!" }
		$2 == "gap" { print "gap" }
		$2 == "ret" && name["program:" $4] == "tries" { exit }' symbols - | tr '\n' ' '
}

for mode in full branch; do
	"$PUGMARK" record -q -o rec --mode "$mode" -- ./program
	claim "$mode: the program has done its work" is $? 0
	"$PUGMARK" verify rec >certificate
	claim "$mode: complete" is $? 0
	claim "$mode: what was thrown left its frame" is "$(second)" "$expected"
done
"$PUGMARK" report rec >report 2>err
claim 'an import has the name that people write' grep -q ' std::locale::locale(char const\*) (import)' report
"$PUGMARK" report -F 'std::locale::locale(char const\*)' rec >report 2>err
claim 'and is found by it' grep -q 'std::locale::locale' report
claim 'in the call tree too' eval '"$PUGMARK" replay rec | grep -q "std::locale::locale(char const\*)"'

# The unwinder is part of a static program, and leaves for a landing pad by a jump of its own.
if ${CXX:-c++} -O1 -static program.cc -o program; then
	record_in_three_modes -- ./program
	tell_the_same static
	claim 'static: frames were left' grep -q '^[0-9]* unwind ' 0
else
	skipped=$((skipped + 1))
fi
conclude
