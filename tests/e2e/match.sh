#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# match.sh: builds of one program at two optimisation levels are matched, by DWARF's lines rightly, and
# without a rise; of instructions that are changed in the binary most are among the first that are listed.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 objdump readelf
tests=$(cd "$(dirname "$0")/.." && pwd)
work_in_own_folder

cat >words.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* words and how often, a hash table, sorted; and a checksum of the text */
struct word { char *text; int times; struct word *next; };
enum { BUCKETS = 64 };
static struct word *table[BUCKETS];
static int words;
static unsigned hash(const char *s)
{
	unsigned h = 5381;
	while (*s)
		h = h * 33 ^ (unsigned char)*s++;
	return h;
}
static struct word *look(const char *text)
{
	unsigned at = hash(text) % BUCKETS;
	struct word *w;
	for (w = table[at]; w; w = w->next)
		if (!strcmp(w->text, text))
			return w;
	w = malloc(sizeof(*w));
	w->text = strdup(text);
	w->times = 0;
	w->next = table[at];
	table[at] = w;
	words++;
	return w;
}
static int compare(const void *a, const void *b)
{
	const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
	if (x->times != y->times)
		return y->times - x->times;
	return strcmp(x->text, y->text);
}
static unsigned checksum(const char *s, size_t n, unsigned sum)
{
	unsigned a = sum & 0xffff, b = sum >> 16;
	for (size_t i = 0; i < n; i++) {
		a = (a + (unsigned char)s[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}
static double mean_length(struct word **all, int n)
{
	double sum = 0;
	long total = 0;
	for (int i = 0; i < n; i++) {
		sum += (double)strlen(all[i]->text) * all[i]->times;
		total += all[i]->times;
	}
	return total ? sum / total : 0;
}
int main(void)
{
	char line[512];
	unsigned sum = 1;
	while (fgets(line, sizeof(line), stdin)) {
		sum = checksum(line, strlen(line), sum);
		for (char *w = strtok(line, " \n"); w; w = strtok(NULL, " \n"))
			look(w)->times++;
	}
	struct word **all = malloc(words * sizeof(*all));
	int n = 0;
	for (int i = 0; i < BUCKETS; i++)
		for (struct word *w = table[i]; w; w = w->next)
			all[n++] = w;
	qsort(all, n, sizeof(*all), compare);
	for (int i = 0; i < n && i < 10; i++)
		printf("%d %s\n", all[i]->times, all[i]->text);
	printf("%d words, %08x, %.3f\n", n, sum, mean_length(all, n));
	return 0;
}
C
"${CC:-cc}" -O0 -g -w -o plain words.c && "${CC:-cc}" -O2 -g -w -o fast words.c || skip 'no compiler'
cp words.c input
record() { # PROGRAM
	"$PUGMARK" record -q --level values -o "$1.rec" -- "./$1" <input >"$1.out" 2>"$1.err"
}
record plain
record fast
claim 'both print the same' cmp plain.out fast.out
run 0 match plain.rec fast.rec --all --format json
claim 'most executions are matched, on the same lines' python3 -c 'import json
j = json.load(open("out"))
assert j["rise"] is None and not j["gap"], j["rise"]
assert j["executions_matched"] > .5 * j["executions"], (j["executions_matched"], j["executions"])
pairs = [(m["first"]["line"], m["second"]["line"]) for m in j["matches"]]
pairs = [p for p in pairs if p[0] and p[1]]
right = sum(a == b for a, b in pairs)
assert len(pairs) >= 20 and right >= .95 * len(pairs), (right, len(pairs))'
run 0 match plain.rec plain.rec
claim 'a recording matches itself' grep -q '^no rise' out

# Instructions that are changed so that the program still ends, with other output: three of them.
planted=0 found=0
for i in $(seq 1 4 200); do
	[ $planted -lt 3 ] || break
	at=$("$tests/support/plant.py" fast bad "$i") || break
	chmod +x bad
	(ulimit -c 0; timeout 2 ./bad) <input >bad.out 2>bad.err
	[ $? -lt 124 ] && ! cmp -s bad.out plain.out || continue
	rm -rf bad.rec
	record bad
	"$PUGMARK" match plain.rec bad.rec --limit 15 --format json >matched
	planted=$((planted + 1))
	grep -q "\"second\":{\"address\":\"$at\"" matched && found=$((found + 1))
	echo "planted at $at: $found of $planted so far"
done
claim "errors that were planted are among the first 15 ($found of $planted)" \
	test "$planted" -eq 3 -a "$found" -ge 2
# With what matches on another input; here the build before the error was planted, on the same one.
run 0 match plain.rec fast.rec plain.rec fast.rec --limit 1000 --format json
claim 'what is unmatched on the other input, too, is told' python3 -c 'import json
told = [u["matched_on_others"] for u in json.load(open("out"))["unmatched"]]
assert told and not any(t or t is None for t in told), told'
"$PUGMARK" match plain.rec bad.rec plain.rec fast.rec --limit 1000 --format json >out
claim 'what matched before comes first, what never did last' python3 -c 'import json
order = {True: 0, None: 1, False: 2}
told = [order[u["matched_on_others"]] for u in json.load(open("out"))["unmatched"]]
assert told == sorted(told) and told[0] == 0, told'
run 2 match plain.rec bad.rec plain.rec
run 2 match plain.rec
fails 1 'nowhere: no such recording' match plain.rec nowhere
conclude
