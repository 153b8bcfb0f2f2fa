#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# switch.sh: the examples of "Whole Execution Traces and Their Use in Debugging" (Zhang and Gupta),
# Figures 4.6 and 4.8 to 4.12, with the answers that the text gives; and what runs of `switch` and
# `reduce` may not do: leave anything behind, or go on for ever.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

record() { # NAME PROGRAM ARGUMENT...
	"$PUGMARK" record -q --level values -o "$1" -- "${@:2}" >printed 2>err
}
lines() { # of a slice: those of the source
	python3 -c 'import json
print(*sorted({l["line"] for l in json.load(open("out"))["lines"] if (l["file"] or "").endswith(".c")}))'
}
has() { [[ " $(lines) " = *" $1 "* ]] || { echo "$1 is not in $(lines)"; false; }; }
critical() { # "line time of times" that switch has found
	python3 -c 'import json
c = json.load(open("out"))["critical"]
print(c and "%d %d of %d" % (c["line"], c["time"], c["times"]))'
}

# Figure 4.6: an array of a_count entries is filled up to b_count.
cat >heap.c <<'C'
#include <stdlib.h>
int main(int argc, char **argv)
{
	int a_count = atoi(argv[1]);
	int b_count = atoi(argv[2]);
	long **rows = malloc(sizeof(*rows));
	long *dark = malloc(a_count * sizeof(*dark));
	int unrelated = a_count + 7;
	*rows = dark;
	for (int i = 0; i < b_count; i++)
		dark[i] = i;
	return unrelated;
}
C
# The loop of Figures 4.9 to 4.12, which sums up the elements of an array.
loop() { # END CONDITION ELEMENT
	cat <<C
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	long i = 0, *place[8], room[8], start = 0, n = argc - 1, sum = 0;
	for (; i < n; i++) { room[i] = atoi(argv[1 + i]); place[i] = &room[i]; }
	place[n] = 0;
	long end = $1;
	i = start;
	while ($2) {
		sum = sum + *place[$3];
		i = i + 1;
	}
	printf("%ld\n", sum);
	return 0;
}
C
}
loop 'n' 'i < end' 'i' >right.c
loop 'n' 'i < end - 1' 'i' >within.c
loop 'n - 1' 'i < end' 'i' >behind.c
loop 'n' 'i < end' 'i + 1' >ahead.c
for program in heap right within behind ahead; do
	${CC:-cc} -O0 -g -w -o $program $program.c || skip 'no compiler'
done
./right 3 4 5 6 >want

record 46 ./heap 4 100000000
run 3 why 46 --crash --addresses --control --format json # what malloc() and main() read is not known
claim 'Figure 4.6: the slice of the address that failed names the allocation' has 7
claim 'and the loop' has 10
claim 'and its bound' has 5
claim 'and not the unrelated line' is "$(lines | grep -cw 8)" 0

record 410 ./within 3 4 5 6
run 0 switch 410 --until 'stdout = want' --format json -- ./within 3 4 5 6
claim 'Figure 4.10: the critical one is the last execution of the while' is "$(critical)" '10 4 of 4'
record 411 ./behind 3 4 5 6
run 0 switch 411 --until 'stdout = want' --format json -- ./behind 3 4 5 6
claim 'Figure 4.11: likewise' is "$(critical)" '10 4 of 4'
at=$(python3 -c 'import json; print(json.load(open("out"))["critical"]["address"])')
run 3 why 411 "$at" --time 4 --control --format json
claim 'and the faulty initialization is in its backward slice' has 8
record 412 ./ahead 3 4 5 6
run 0 switch 412 --not-crash --format json -- ./ahead 3 4 5 6
claim 'Figure 4.12: the last execution of the while that was true' is "$(critical)" '10 4 of 4'
run 3 why 412 "$(python3 -c 'import json; print(json.load(open("out"))["critical"]["address"])')" \
	--time 4 --both --control --format json
claim 'and the faulty reference is in its forward slice' has 11

# All critical jumps, and what is around them. With two faults' worth of rounds two jumps do it.
cat >either.c <<'C'
#include <stdio.h>
int main(int argc, char **argv)
{
	int sum = 1;
	if (argc > 5)
		sum += 2;
	if (argc > 6)
		sum += 2;
	printf("%d\n", sum);
	return 0;
}
C
${CC:-cc} -O0 -g -w -fno-builtin-printf -o either either.c
record either.rec ./either
echo 3 >three
run 0 switch either.rec --until 'stdout = three' -- ./either
claim 'without --all one jump' is "$(grep -c '^critical jump' out)" 1
run 0 switch either.rec --until 'stdout = three' --all -- ./either
claim 'both jumps are critical' is "$(grep -o 'either.c:[0-9]*' out | sort | tr '\n' ' ')" 'either.c:5 either.c:7 '
next=$(grep -o -e '--critical 0x[0-9a-f]*:1' out | tr '\n' ' ')
run 3 why either.rec --limit 2 $next # what main() got is not known
claim 'both come first in what is around them' is "$(grep -o 'either.c:[0-9]*' out | head -n 2 | sort | tr '\n' ' ')" \
	'either.c:5 either.c:7 '
run 2 why either.rec --critical 0x1000
run 2 why either.rec --critical 0x1000:1 --crash

# Figure 4.8: a buffer that is too short for its input, with a pointer behind it.
cat >over.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static struct { char buffer[64]; char *corrupt; } s;
int main(void)
{
	int c, i = 0;
	s.corrupt = malloc(10);
	while ((c = getchar()) != EOF)
		s.buffer[i++] = c;
	free(s.corrupt);
	return 0;
}
C
${CC:-cc} -O0 -g -w -o over over.c
head -c 200 /dev/zero | tr '\0' a >input
"$PUGMARK" reduce -o least -- ./over <input >out 2>err
claim 'Figure 4.8: one byte more than there is room for is enough' is "$(wc -c <least)" 65
"$PUGMARK" record -q --level values -o 48 -- ./over <least >printed 2>err
run 0 then 48 --input 0:64 --format json
claim 'which goes into the buffer, and from there into free()' is "$(lines)" '8 9 10'

# Pruning: of two outputs the first is right.
cat >two.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int a = atoi(argv[1]);
	int b = a + 1;
	int c = a & 6;
	char first = '0' + b;
	write(1, &first, 1);
	char second = '0' + b + c;
	write(1, &second, 1);
	return 0;
}
C
${CC:-cc} -O0 -g -w -o two two.c
record two.rec ./two 3
run 0 why two.rec --write 1:1 --format json
claim 'the second byte came from both sums' is "$(lines)" '5 6 7 10'
run 0 why two.rec --write 1:1 --ok 1:0 --format json
cp out pruned
claim 'the first was right, so its sum is; what goes through an "and" is not shown to be' is "$(lines)" '5 7 10'
claim 'lines were left out' python3 -c 'import json, sys; sys.exit(json.load(open("pruned"))["pruned"] < 1)'
run 0 why two.rec --write 1:0 --ok 1:0 --format json
claim 'nothing of a right output is in doubt but atoi() itself' is "$(lines)" '5'
cat >parity.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int t[6], i;
	for (i = 0; i < 6; i++)
		t[i] = atoi(argv[i + 1]);
	for (i = 0; i < 6; i++) {
		char c = '0' + (t[i] & 1);
		write(1, &c, 1);
	}
	char c = 'A' + t[2] / 10;
	write(1, &c, 1);
	return 0;
}
C
${CC:-cc} -O0 -g -w -o parity parity.c
record parity.rec ./parity 13 24 35 46 57 68
run 0 why parity.rec --write 1:6 --ok 1:0:6
claim 'with three of the six values that a line had the right outputs were the same: 1 - log 3 / log 6' \
	grep -q 'parity.c:7 .*right: 39 %' out
run 2 why two.rec --write 1:1 --ok nonsense
run 2 why two.rec --write 1:1 --through two.c:5
run 3 why 411 --write 1:0 --control --through "$at:4" --format json
claim 'coarse: in the slice and in that of the critical jump, which comes first' \
	is "$(python3 -c 'import json; print(json.load(open("out"))["lines"][0]["line"])')" 10
claim 'the fault is there' has 8
run 0 why 48 --crash --from 0:64 --format json
claim 'coarse: what follows from the byte that is too much' is "$(lines)" '8 9 10'

# Runs are private.
cat >writes.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char line[64] = "";
	FILE *kept = fopen("kept", "a");
	fputs("written\n", kept);
	fclose(kept);
	unlink("precious");
	struct sockaddr_in to = {AF_INET, htons(9), {inet_addr("192.0.2.1")}};
	if (!connect(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&to, sizeof(to)))
		puts("network");
	if (argc > 1 && !fork())
		for (;;)
			pause();
	fgets(line, sizeof(line), stdin);
	if (strchr(line, 'x'))
		abort();
	if (strchr(line, 'y'))
		for (;;)
			;
	puts("well");
	return 0;
}
C
${CC:-cc} -O1 -g -w -o writes writes.c
echo kept >precious
printf 'an x in it' >input
"$PUGMARK" record -q --level values -o rec -- ./writes <input >printed 2>err
rm -f kept
echo kept >precious
folders() { ls -d /tmp/pugmark-again-* 2>/dev/null; }
folders >before
"$PUGMARK" switch rec --until 'stdout ~ ^well$' --until 'stdout !~ network' -- ./writes lasting <input >out 2>err
claim 'a jump is found' grep -q 'critical jump: writes.c:22' out
claim 'no file was written' test ! -e kept
claim 'none was removed' test -e precious
# Those of others, who run beside, go when they end.
folders | grep -vxF -f before >behind
for _ in $(seq 100); do
	grep -qxF -f behind <(folders) || break
	sleep 0.3
done
claim 'no folder is left' is "$(folders | grep -xF -f behind | wc -l)" 0
claim 'no process is left' is "$(pgrep -fc 'writes lasting')" 0
printf 'a y in it' >input
"$PUGMARK" reduce --seconds 1 --while 'stdout ~ well' -o short -- ./writes <input >out 2>err
claim 'what takes too long is no outcome' grep -q 'does not fail in that way' err
printf 'nothing' >input
run 1 switch rec --until 'exit = 0' -- ./writes <input
"$PUGMARK" switch rec --until 'exit = 0' -- ./writes <input >out 2>err
claim 'what succeeds anyway needs no jump' grep -q 'without any jump turned' err
run 1 switch rec --until 'exit = 77' -- ./within
claim 'another program is refused' grep -q 'not the program that was recorded' err
cat >two.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (!fork())
		return argc > 1;
	wait(NULL);
	return argc < 2;
}
C
${CC:-cc} -O1 -g -o two two.c
run 1 record -q --level values -o two.rec -- ./two
fails 1 'whose last instruction? (--write or --output tell what is wrong' switch two.rec --until 'exit = 0' -- ./two
run 2 switch rec -- ./writes
run 1 switch rec --until 'sideways' -- ./writes
run 2 reduce -- ./writes
conclude
