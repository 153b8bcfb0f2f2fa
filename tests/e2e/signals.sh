#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# signals.sh: signals that come at any instruction, by a timer and behind each single one, on the stack
# that they find and on one of their own: what is recovered of one run by the plans of modes full,
# casper and best is the same, event by event, and so are the places of the handlers. Each signal that
# came is there, and so is each of several that are delivered at once, which interrupt the handlers of one
# another before their first instruction. In a static program handlers return to a function of the
# program itself. KEEP=DIR keeps the recording that something did not hold of.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
at_end() { [ -z "${KEEP:-}" ] || [ $failed = 0 ] || cp -r "$dir" "$KEEP"; }
work_in_own_folder

of() { "$PUGMARK" dump --module "$1" rec; }
signals_in() { # PROGRAM same|own ARGUMENT...
	local what="$1, $2 stack" module entry
	[ "$2" = same ] || set -- "$@" own
	"$PUGMARK" record -q --ring 256 -o rec --mode full --twin casper --twin best -- \
		"./$1" "${@:3}" >came 2>err
	claim "$what: recording works" is $? 0
	of 0 >full 2>err
	for module in 1 2; do
		of $module >other 2>err
		claim "$what: plan $module tells what mode full tells" same full other
		claim "$what: plan $module has no gap" is "$(grep -c ' gap ' other)" 0
		entry=$(awk '$2 == "enter" && $5 == "signal" { print $4 }' other | sort | uniq -c |
			sort -rn | awk 'NR == 1 { print $1 }')
		claim "$what: plan $module has every signal" is "$entry" "$(cat came)"
	done
	claim "$what: signals came by the thousand" [ "$(cat came)" -gt 1000 ]
	echo "$what: $(cat came) signals, $(wc -l <full) events, the same by three plans"
	[ $failed = 0 ] || conclude || exit 1
}
turn=0 left_out=(same own)
for name in timer stepped together; do
	arguments=()
	[ $name = stepped ] || arguments=(1100) # signals
	for linking in '' -static; do
		program=$name$linking
		# shellcheck disable=SC2086
		"${CC:-cc}" -O2 -g0 $linking "$tests/exact/$name.c" -o "$program" 2>err || {
			[ -n "$linking" ] || skip "no compiler for the program: $(head -n 1 err)"
			echo "skip: a static program: $(head -n 1 err)"
			skipped=$((skipped + 1))
			continue
		}
		# Each program in both links and on both stacks, and with LONG=1 each link on each stack.
		turn=$((turn + 1))
		for stack in same own; do
			[ -z "${LONG:-}" ] && [ $stack = "${left_out[turn % 2]}" ] && continue
			signals_in "$program" $stack "${arguments[@]}"
		done
	done
	turn=$((turn + 1))
done
conclude
