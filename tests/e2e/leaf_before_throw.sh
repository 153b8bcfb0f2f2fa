#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# leaf_before_throw.sh: a library calls a function of ours back, whose last call is one of memcmp(), and then
# throws. Nothing shows after that call, but no exception comes out of memcmp(): it came out of the library,
# in modes best and casper too, and they tell what mode full does.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >library.cc <<'CC'
void compare(int (*equal)(const char *, const char *, unsigned long), const char *text)
{
	if (equal(text, "abcdefgh", 8) && text[8])
		throw 7;
}
CC
cat >program.cc <<'CC'
#include <cstring>
#define FN __attribute__((noipa))
void compare(int (*equal)(const char *, const char *, unsigned long), const char *text);
FN int equal(const char *a, const char *b, unsigned long n) { return memcmp(a, b, n) == 0; }
FN int asks(const char *text)
{
	compare(equal, text);
	return 1;
}
FN int tries(const char *text)
{
	try {
		return asks(text);
	} catch (int n) {
		return n;
	}
}
int main()
{
	int sum = 0;
	for (int i = 0; i < 20; i++)
		sum += tries(i % 3 ? "abcdefgh" : "abcdefghi");
	return sum != 13 + 7 * 7;
}
CC
CXX=${CXX:-c++}
"$CXX" -O1 -shared -fPIC library.cc -o libcompare.so && "$CXX" -O1 program.cc -L. -lcompare -Wl,-rpath,"$PWD" -o program ||
	skip 'no compiler for the program'
for mode in full best casper; do
	"$PUGMARK" record -q --mode "$mode" -o "rec.$mode" -- ./program >out 2>err
	claim "$mode: the program is as without a recorder" is $? 0
	claim "$mode: no gap" "$PUGMARK" verify "rec.$mode"
	"$PUGMARK" dump "rec.$mode" | cut -d' ' -f2- >"told.$mode"
done
claim 'an exception passed asks() each time' is "$(grep -c '^unwind' told.full)" 7
for mode in best casper; do
	claim "$mode tells what full does" same told.full "told.$mode"
done
conclude
