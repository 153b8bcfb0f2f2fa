#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# misfit.sh: what is said of an event that fits nothing: of a program that goes on five bytes behind where
# it returns to, so that its source tells which event came and which was expected, and its symbols where.
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
conclude
