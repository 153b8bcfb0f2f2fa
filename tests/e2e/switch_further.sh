#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# switch_further.sh: `switch` turns jumps of libraries that are traced, in runs and in the replay; and
# with outputs that were right it tries first the jumps that these do not show to be right.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

cat >lib.c <<'C'
int lib_sum(const int *t, int n)
{
	int s = 0;
	for (int i = 0; i < n - 1; i++) /* should be n */
		s += t[i];
	return s;
}
int before = 0;
__attribute__((constructor)) static void begin(void)
{
	static const int t[] = {1, 2, 3};
	before = lib_sum(t, 3); /* before the program: in no recording */
}
C
cat >uses.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int lib_sum(const int *t, int n);
int main(int argc, char **argv)
{
	int t[16], n = argc - 1;
	for (int i = 0; i < n; i++)
		t[i] = atoi(argv[i + 1]);
	printf("%d\n", lib_sum(t, n));
	return 0;
}
C
cc=${CC:-cc}
"$cc" -O0 -g -shared -fPIC -o libwrong.so lib.c || skip 'no compiler'
# shellcheck disable=SC2016 # the linker's $ORIGIN
"$cc" -O0 -g -o uses uses.c -L. -lwrong -Wl,-rpath,'$ORIGIN'
"$PUGMARK" record -q --level values --module 'libwrong*' -o lib.rec -- ./uses 3 4 5 6 >printed 2>err
claim 'it prints a wrong sum' is "$(cat printed)" 12
echo 18 >want
run 0 switch lib.rec --until 'stdout = want' -- ./uses 3 4 5 6
claim 'a jump of the library is critical' \
	grep -q '^critical jump: lib.c:4 lib_sum of libwrong.so, .* time 4 of 4: it was not taken' out
claim 'which no question to why can name' eval '! grep -q "^next" out'
run 0 switch lib.rec --until 'stdout = want' --replay
claim 'in the replay as well' \
	grep -q '^critical jump: lib.c:4 lib_sum of libwrong.so, .* time 4 of 4: it was not taken' out

cat >sure.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), w = 0, sum = 0;
	if (n > 2) /* should be 3 */
		w = 2;
	for (int i = 2; i < 6; i++) {
		int m = atoi(argv[i]), r;
		if (m > 1)
			r = 3;
		else
			r = 1;
		char digit = '0' + r;
		write(1, &digit, 1);
		sum += r;
	}
	char last = '0' + sum - w;
	write(1, &last, 1);
	return 0;
}
C
"$cc" -O0 -g -w -o sure sure.c
"$PUGMARK" record -q --level values -o sure.rec -- ./sure 3 4 0 1 5 >printed 2>err
printf 31138 >want
number() { python3 -c 'import json
c = json.load(open("out"))["critical"]
print(c["line"], c["number"])'; }
run 0 switch sure.rec --until 'stdout = want' --format json -- ./sure 3 4 0 1 5
claim 'the last executed first: the wrong one is behind all others' is "$(number)" '6 10'
run 0 switch sure.rec --until 'stdout = want' --ok 1:0:4 --format json -- ./sure 3 4 0 1 5
claim 'with four digits that were right it is before the jump that decided them' is "$(number)" '6 6'
run 2 switch sure.rec --until 'stdout = want' --ok nonsense -- ./sure 3 4 0 1 5
conclude
