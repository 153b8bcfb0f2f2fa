#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# misfit.sh: what is said of an event that fits nothing: of a program that goes on five bytes behind where
# it returns to, so that its source tells which event came and which was expected, and its symbols where. And
# what is said of gaps of other causes: an exception out of a library, and a recording that begins in the middle.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" jq nm
work_in_own_folder
"${CC:-cc}" -O1 -fno-inline -no-pie -o skips "$tests/programs/skips.c" 2>cc.err ||
	skip "no compiler: $(head -n 1 cc.err)"
gap() { jq -r ".gaps[0]$1" verified; }
address_of() { nm skips | awk -v s="$1" '$3 == s { sub(/^0+/, "", $1); print $1 }'; }

claim 'the program runs' eval '"$PUGMARK" record -q --mode full -o rec -- ./skips >out 2>err'
claim 'and does what it does' is "$(cat out)" 2
"$PUGMARK" verify --format json rec >verified 2>err
claim 'there is one gap' is "$(jq '.gaps | length' verified)" 1
claim 'its cause' is "$(gap .cause)" model
claim 'the event that came' is "$(gap .address)" "$(address_of second_call)"
claim 'in which function' is "$(gap .function)" caller
claim 'where the thread was' is "$(gap .after)" caller
claim 'what was expected' is "$(gap '.expected | map(.address) | join(" ")')" "$(address_of first_call)"
claim 'in which function' is "$(gap '.expected[0].function')" caller
claim 'and nothing else' is "$(gap '| [.expected_more, .expected_any, .expected_entry, .expected_end] | map(tostring) | join(" ")')" \
	'0 false false false'
"$PUGMARK" verify rec >text 2>err
claim 'as text' grep -qF ": $(address_of second_call) in caller, after caller: expected $(address_of first_call) in caller" text

# --- an exception out of a library's function that mostly returns ---------------------------------
cat >no_such.cc <<'C'
#include <cstdio>
#include <locale>
static volatile int n;
extern "C" __attribute__((noinline)) void quiet(void) { n++; }
extern "C" __attribute__((noinline)) void opens(void)
{
	std::locale l("no such");
	quiet();
}
extern "C" __attribute__((noinline)) int catches(void)
{
	try {
		opens();
	} catch (const std::exception &) {
		return 1;
	}
	return 0;
}
int main() { std::printf("%d\n", catches()); }
C
if "${CXX:-c++}" -O1 -o no_such no_such.cc 2>cc.err; then
	"$PUGMARK" record -q --mode casper -o thrown -- ./no_such >out 2>err
	"$PUGMARK" verify --format json thrown >verified 2>err
	claim 'an exception: one gap' is "$(jq '.gaps | length' verified)" 1
	claim 'of that cause' is "$(gap .cause)" unwind
	claim 'it says where the exception landed' is "$(gap .function)" catches
	claim 'at which address' eval '[ -n "$(gap ".address | strings")" ]'
	claim 'where the thread was' is "$(gap .after)" catches
	claim 'and what was expected' is "$(gap '.expected[0].function')" catches
	"$PUGMARK" verify thrown >text 2>err
	claim 'as text' grep -qF ": $(gap .address) in catches, after catches: expected $(gap '.expected[0].address') in catches" text
else
	echo "SKIP: an exception: no C++ compiler"
	skipped=$((skipped + 1))
fi

# --- a process that runs already, in functions without call frame information --------------------
cat >spins.c <<'C'
#include <unistd.h>
static volatile int n;
__attribute__((noinline)) void leaf(void) { n++; usleep(1000); }
__attribute__((noinline)) void middle(int k)
{
	for (int i = 0; i < k; i++)
		leaf();
	n--;
}
int main(void)
{
	for (;;)
		middle(50);
}
C
"${CC:-cc}" -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -o spins spins.c
./spins &
started+=($!)
"$PUGMARK" record -q -o middle --duration 0.5 -p $! >out 2>err
"$PUGMARK" verify --format json middle >verified 2>err
claim 'a recording that begins in the middle has gaps' [ "$(jq '.gaps | length' verified)" -ge 1 ]
claim 'of that cause' is "$(jq -r '[.gaps[].cause] | unique | join(" ")' verified)" attach
claim 'each says at which address it goes on' is "$(jq '[.gaps[] | select(.address == null)] | length' verified)" 0
claim 'and in which function' is \
	"$(jq '[.gaps[] | select(.function | IN("leaf", "middle", "main") | not)] | length' verified)" 0
"$PUGMARK" verify middle >text 2>err
claim 'and that what was before is not known' grep -qE 'in the middle: [0-9a-f]+ in (leaf|middle|main), after what is not known$' text
conclude
