#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# scoped.sh: of a program some of whose functions are traced, the calls of these are all there, without
# a gap: as many as the program makes, and in the order that a recording of everything says.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/scoped.c
work_in_own_folder

# The calls of traced functions in a dump, whoever made them: the name of each in turn.
traced='early|outer|inner|deep|deeper'
calls() {
	"$PUGMARK" dump "$1" | awk -v known="$(nm program | awk "/ ($traced)\$/"' {
			sub(/^0+/, "", $1); print $1 "=" $3 }' | tr '\n' ' ')" '
		BEGIN { n = split(known, k); for (i = 1; i <= n; i++) { split(k[i], f, "="); name[f[1]] = f[2] } }
		$2 == "gap" { print "gap", $3 }
		$2 == "enter" && $4 in name { print name[$4] }
		$2 == "call" || $2 == "tail" { sub(/.*:/, "", $5); if ($5 in name) print name[$5] }'
}

for options in '-O1' '-O2 -fno-optimize-sibling-calls' '-O2 -fomit-frame-pointer -fno-pie -no-pie'; do
	# shellcheck disable=SC2086
	${CC:-cc} $options -fno-stack-protector "$source" -o program || skip 'no compiler for the program'
	"$PUGMARK" record -q -o whole -- ./program 20 >out 2>err
	calls whole >expected
	"$PUGMARK" record -q -o rec -F early -F outer -F inner -F 'deep*' -- ./program 20 >out 2>err
	claim "$options: recorded" is $? 0
	calls rec >got
	claim "$options: without a gap" grep -q '^complete' <("$PUGMARK" verify rec)
	claim "$options: the calls of everything's recording" same expected got
	claim "$options: there are as many as the program makes" is "$(grep -c inner got)" 421
	"$PUGMARK" record -q -o rec -N main -N middle -- ./program 20 >out 2>err
	calls rec >got
	claim "$options, left out: the same" same expected got
done

# The first page above the stack pointer ends within a few words, and the next was never touched.
at() { # what main's frame ends at in a page, where the environment is $1 characters longer
	env -i PAD="$(printf "%0$1d" 1)" PATH="$PATH" HOME="$PWD" setarch -R "${@:2}"
}
for below in 16 48; do
	end=$(at 4096 ./program 20 | cut -d' ' -f2)
	pad=$((4096 + (end + below) % 4096))
	claim "$below bytes below a page's end" is "$(at $pad ./program 20 | cut -d' ' -f2)" $((4096 - below))
	at $pad "$PUGMARK" record -q -o rec -- ./program 20 >out 2>err
	claim "$below bytes below a page's end: recorded there" is "$(cut -d' ' -f2 out)" $((4096 - below))
	calls rec >got
	claim "$below bytes below a page's end: every call" same expected got
done

# A handler of an event jumps to one that is not traced, which is called in its place from then on.
${CC:-cc} -O2 "$tests/programs/handlers.c" -o program || skip 'no compiler for the program'
traced='begins|step|again'
"$PUGMARK" record -q -o whole -- ./program >out 2>err
calls whole >expected
"$PUGMARK" record -q -o rec -N runs -N reads -- ./program >out 2>err
calls rec >got
claim 'called back out of one handler or another: without a gap' \
	grep -q '^complete' <("$PUGMARK" verify rec)
claim 'called back out of one handler or another: every call' same expected got
claim 'called back out of one handler or another: there are calls' is "$(grep -c begins got)" 10
conclude
