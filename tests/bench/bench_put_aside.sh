#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_put_aside.sh: how long `verify` takes where a library that is not traced leaves frames for good
# again and again (offline/recover/explain/put_aside.c), all of them different: with four times as many,
# ten times as long at most. Each of them looked at in turn took fifteen times as long.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
needs_recording
command -v "${CC:-cc}" >/dev/null || skip 'no compiler'

cat >"$tmp/loop.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
int protect(int (*f)(int), int (*after)(int), int i);
int run(int (*f)(int), int i);
void raise_it(void);
#define FN __attribute__((noinline)) static
static char room[1 << 20];
FN int leaf(int i) { return i ^ 5; }
FN int g(int i) { if (i % 2) raise_it(); return leaf(i) + 1; }
FN int f(int i)
{
	char *volatile own[] = {room + i, room + i + 1, room + i + 2}; /* each line's own */
	int n = run(g, i);
	n += leaf(n);
	raise_it();
	return n + leaf(n) + (own[0] > own[1]);
}
FN int h(int i) { return run(g, i & ~1) + run(leaf, i); }
int main(int argc, char **argv)
{
	unsigned n = 0;
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
		n += protect(f, h, i);
	printf("%u\n", n);
	return 0;
}
C
"${CC:-cc}" -O1 -shared -fPIC -o "$tmp/libraises.so" tests/bench/loads/protects.c &&
	"${CC:-cc}" -O1 -o "$tmp/loop" "$tmp/loop.c" -L"$tmp" -lraises || skip 'it does not compile'
for lines in 2500 10000; do
	LD_LIBRARY_PATH=$tmp "$PUGMARK" record -q --mode full -o "$tmp/$lines" -- "$tmp/loop" $lines >/dev/null || exit 1
	"$PUGMARK" verify "$tmp/$lines" >"$tmp/verified" || { tail -n 3 "$tmp/verified"; exit 1; }
done
"$measure" "$rounds" "$PUGMARK" verify "$tmp/2500" --- "$PUGMARK" verify "$tmp/10000" 2>/dev/null |
	awk '{ print $2 }' >"$tmp/seconds"
mapfile -t took <"$tmp/seconds"
[ ${#took[@]} = 2 ] || exit 1
record put_aside full verify_10000_lines "${took[1]}" s
ratio=$(calc "${took[1]} / ${took[0]}" 3)
printf '2,500 lines left for good: %s s; 10,000: %s s, %s times as long' "${took[@]}" "$ratio"
awk "BEGIN { exit !($ratio > 10) }" && { echo '  SHORT of 10'; exit 1; }
echo
