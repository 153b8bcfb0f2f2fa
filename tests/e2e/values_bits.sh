#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_bits.sh: level values of programs whose libraries keep members of one bit in memory that they have
# not cleared, as glibc's regular expressions do: each part of a text that one of them has matched is what
# the program prints, and exact, and of copies of sed, find and expr nearly all is.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" sed find expr
work_in_own_folder

cat >matches.c <<'C'
#include <regex.h>
#include <stdio.h>
__attribute__((noinline)) void found(int line, int from, int to)
{
	printf("found(line=%d, from=%d, to=%d)\n", line, from, to);
}
int main(void)
{
	regex_t word, pair;
	regmatch_t at[3];
	char text[64];
	/* Each of these is bound as it is called first, which leaves registers on the stack. */
	if (regcomp(&word, "^\\(foo\\|b[a-c]r\\)\\{1,2\\}$", 0) ||
	    regcomp(&pair, "([a-z]+) \\1|\\b7$", REG_EXTENDED | REG_ICASE))
		return 1;
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), i % 3 ? "%d foo b%cr b%cr %d" : "foob%cr", i % 3 ? i : 'a' + i % 5,
			 'a' + i % 4, 'a' + i % 7, i % 10);
		if (!regexec(i % 3 ? &pair : &word, text, 3, at, 0))
			found(i, at[0].rm_so, at[0].rm_eo);
	}
	regfree(&word);
	regfree(&pair);
	return 0;
}
C
"${CC:-cc}" -g -O1 -fno-lto -Wl,-z,lazy -o matches matches.c || exit 1
for i in $(seq 300); do echo "$i foo bar alpha-$((i * 7)) Gamma delta"; done >lines
mkdir -p tree/in
touch tree/{f,g}{1..9}.txt tree/in/{f,h}{1..9}.c

# Whether of what verify says of the recording at least 999 of 1,000 instructions are exact.
is_exact() {
	"$PUGMARK" verify rec >verified || return 1
	awk '/^values of task 1:/ { for (i = 2; i <= NF; i++) if ($i == "instructions,") { n = $(i - 1); e = $(i + 1) } }
		END { printf "%d of %d exact\n", e, n; exit !(n > 1000 && e >= n * .999) }' verified
}

recorded() { # COMMAND...
	local status
	rm -rf rec
	"$@" >plain
	status=$?
	timeout 60 "$PUGMARK" record -q --level values -o rec -- "$@" >printed 2>err
	[ $? = $status ] && cmp plain printed
}

matches_are_told() {
	"$PUGMARK" values --limit 1000 rec found | grep -o 'found(.*)' >shown
	grep -c . printed && cmp printed shown
}

claim 'a program that matches texts is recorded' recorded ./matches
claim 'what it has computed is exact' is_exact
claim 'each match is told as it was printed, without a mark' matches_are_told
# A text in a buffer that nobody has set behind it is compared in vectors, up to where it ends.
cat >short.c <<'C'
#include <stdio.h>
#include <strings.h>
#include <unistd.h>
static __attribute__((noinline)) void fill(char *text)
{
	text[read(0, text, 6)] = 0;
}
__attribute__((noinline)) int compared(const char *a, const char *b, int n)
{
	return n ? strncasecmp(a, b, n) : strcasecmp(a, b);
}
int main(void)
{
	char one[600], other[600];
	for (int i = 0; i < 40; i++) {
		fill(one + 11 * i), fill(other + 13 * i);
		printf("%d\n", compared(one + 11 * i, other + 13 * i, i % 3 ? 0 : i));
	}
	return 0;
}
C
"${CC:-cc}" -O1 -fno-builtin -o short short.c || exit 1
for i in $(seq 40); do printf 'Word%02dwoRd%02d' $((i % 7)) $((i % 5)); done >words
rm -rf rec
"$PUGMARK" record -q --level values -o rec -- ./short <words >printed 2>err
claim 'what strcasecmp() has found at the end of a text is exact, and so is what follows' \
	grep -qE '^task 1: ([0-9]+) instructions, \1 wholly exact' <("$PUGMARK" values rec)
cp "$(command -v sed)" "$(command -v find)" "$(command -v expr)" .
claim 'a sed that replaces is recorded' recorded ./sed -e 's/\([a-z]*\) \([A-Z]\)/\2 \1/g;s/[0-9]\+/N/' lines
claim 'what it has computed is exact' is_exact
claim 'a find by a regular expression is recorded' \
	recorded ./find tree -regex '.*/[fg][1-9]*\.\(txt\|c\)' -printf '%p %s\n'
claim 'what it has computed is exact' is_exact
claim 'an expr that matches is recorded' recorded ./expr abcdef : '.*\(c.e\)'
claim 'what it has computed is known up to its end, and nothing assumed' \
	grep -q ' 0 assumed, .*; up to its end' <("$PUGMARK" verify rec)
conclude
