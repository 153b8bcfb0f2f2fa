#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# interposed.sh: a library calls its own exported functions by way of its PLT and GOT. Where nothing
# comes before it in the search order such a call is direct, and casper and best count on it; where
# something does (LD_PRELOAD, the program itself), the call goes elsewhere, is silent or calls back.
# The library writes down each of its entries and exits; full, casper and best tell just that, in
# both cases. What comes as a surprise, a program that the plan was not made for, has gaps in its
# trace, and they are told.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
work_in_own_folder

cat >lib.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#define FN __attribute__((noipa))
extern char start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
static struct { char what; unsigned at; } said[1 << 16];
static unsigned n_said;
static inline void say(char what, void *f)
{
	if (n_said < sizeof(said) / sizeof(*said))
		said[n_said++] = (typeof(*said)){what, (char *)f - start};
}
__attribute__((destructor)) static void write_log(void)
{
	const char *path = getenv("LOG");
	FILE *f = path ? fopen(path, "w") : NULL;
	for (unsigned i = 0; f && i < n_said; i++)
		fprintf(f, "%c %x\n", said[i].what, said[i].at);
	if (f)
		fclose(f);
}
/* An exported function that says when it begins and ends, by the name that nobody can interpose. */
#define LOGGED(name, value)                                                                        \
	int name(int i);                                                                           \
	extern typeof(name) name##_here __attribute__((alias(#name), visibility("hidden")));       \
	FN int name(int i)                                                                         \
	{                                                                                          \
		say('>', name##_here);                                                             \
		int result = (value);                                                              \
		say('<', name##_here);                                                             \
		return result;                                                                     \
	}
FN static int own(int i) { return i ^ 3; }
int lib_even(int i);
LOGGED(lib_leaf, i * 7 + 1)
LOGGED(lib_helper, i & 1 ? own(i) : lib_leaf(i))
LOGGED(lib_odd, i > 0 ? lib_even(i - 1) + own(i) : 0)
LOGGED(lib_even, i > 0 ? lib_odd(i - 1) : lib_leaf(i))
FN int lib_jumps(int i) { return i & 1 ? lib_helper(i + 1) : lib_leaf(i); }
FN int lib_twice(int (*f)(int), int i) { return f(i) + lib_helper(i); }
LOGGED(lib_unused, lib_leaf(i))
static int go(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (i % 3)
			sum += lib_helper(i);
		else
			sum -= lib_leaf(i);
		if (i % 5 == 2)
			sum += lib_odd(i % 7) + lib_jumps(i);
		if (i % 4 == 1)
			sum += lib_twice(i & 2 ? lib_leaf : own, i);
	}
	return sum;
}
LOGGED(lib_main, go(i))
C
cat >program.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int lib_main(int n), lib_even(int i);
#ifdef INTERPOSES
int lib_leaf(int i) { return i + (i % 9 == 4 ? lib_even(3) : 2); }
#endif
#ifdef ASKS
#include <dlfcn.h>
#endif
int main(int argc, char **argv)
{
	int n = lib_main(60) + lib_even(4);
#ifdef WAITS /* for a line, in a child of its own */
	char line[2];
	while (read(0, line, sizeof(line)) > 0)
		if (!fork())
			_exit(lib_main(7) & lib_even(3) & 1);
		else
			wait(NULL);
#endif
#ifdef ASKS
	n += ((int (*)(int))dlsym(RTLD_DEFAULT, "lib_unused"))(n);
#endif
	if (argc > 1)
		execv(argv[1], argv + 1);
	return n == 12345;
}
C
cat >preload.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
/* Every third is the caller's own; the others go on to the real one. */
int lib_helper(int i)
{
	static int (*real)(int);
	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "lib_helper");
	return i % 3 ? real(i) : i;
}
C
cat >silent.c <<'C'
int lib_leaf(int i) { return i + 1; }
C
cc=("${CC:-cc}" -O2 -g0)
lib() { "${cc[@]}" -fPIC -shared "$@" lib.c -o libit.so; }
"${cc[@]}" -fPIC -shared preload.c -o preload.so && "${cc[@]}" -fPIC -shared silent.c -o silent.so &&
	lib -Wl,-z,now 2>err && for kind in PLAIN INTERPOSES ASKS WAITS; do
		"${cc[@]}" -D$kind -rdynamic program.c -o "$kind" -L. -lit -Wl,-rpath,"$dir" -ldl 2>err ||
			skip "no compiler for the program: $(head -n 1 err)"
	done || skip "no compiler for the library: $(head -n 1 err)"

# What a dump says of the functions that write themselves down, in its own order.
entries() { # DUMP LOG
	awk 'FNR == NR { known[$2] = 1; next }
		function say(what, at) { if (at in known) print what, at }
		$2 == "call" || $2 == "tail" { split($5, t, ":"); if (t[1] == "libit.so") say(">", t[2]) }
		$2 == "enter" && $3 == "libit.so" { say(">", $4) }
		$2 == "ret" && $3 == "libit.so" { say("<", $4) }' "$2" "$1"
}
recorded() { # COMMAND...
	LOG=$dir/log "$PUGMARK" record -q -o rec --no-program --module "$dir/libit.so" --mode full \
		--twin casper --twin best "${options[@]}" -- "$@" >out 2>err
}
check() { # NAME: rec says what log does, in each mode
	local i
	for i in 0 1 2; do
		"$PUGMARK" dump --module $i rec >dump.$i 2>err
		entries dump.$i log >got
		claim "$1, mode $i: every entry and exit, in order" same log got
		claim "$1, mode $i: no gap" is "$(grep -c ' gap ' dump.$i)" 0
	done
	claim "$1: casper tells what full does" same dump.0 dump.1
	claim "$1: best tells what full does" same dump.0 dump.2
}
witnesses() { "$PUGMARK" dump --module "$1" --count rec | awk '{ print $4 }'; }

options=()
builds=('-z now' '-z lazy')
[ -z "${LONG:-}" ] || builds+=('-z now -fno-plt' '-z now -Bsymbolic')
for build in "${builds[@]}"; do
	# shellcheck disable=SC2086
	lib $(sed 's/-z \([a-z]*\)/-Wl,-z,\1/; s/-Bsymbolic/-Wl,-Bsymbolic/' <<<"$build") 2>err ||
		skip "no compiler for the library: $(head -n 1 err)"
	recorded ./PLAIN
	claim "$build: recorded" is $? 0
	check "$build"
	[ "$build" != '-z now' ] || alone=$(witnesses 2)
	recorded ./INTERPOSES
	check "$build, the program interposes"
	export LD_PRELOAD=$dir/preload.so
	recorded ./PLAIN
	check "$build, preloaded"
	unset LD_PRELOAD
done
claim 'there is much to tell' [ "$(wc -l <log)" -gt 300 ]
lib -Wl,-z,now
LD_PRELOAD=$dir/preload.so recorded ./PLAIN
claim 'what nobody interposes is cheaper' [ "$alone" -lt "$(witnesses 2)" ]
recorded ./ASKS
check 'functions that are asked for by name'

# A process that runs already, and what it forks.
mkfifo lines
./WAITS <lines >out &
started+=($!) waits=$!
exec 7>lines
await grep -q libit.so /proc/$waits/maps
rm -rf rec
"$PUGMARK" record -o rec --no-program --module libit.so -p $waits >err 2>&1 7>&- &
recorder=$!
await grep -q ': recording' err
echo 1 >&7
echo 2 >&7
exec 7>&-
wait $recorder
claim 'attached: recorded' is $? 0
claim 'attached: complete' grep -q '^complete' <("$PUGMARK" verify rec)
claim 'attached: what its children do' is \
	"$("$PUGMARK" dump rec | awk -v own=$waits '$1 != own && $2 == "enter"' | wc -l)" 4

# Surprises: the plan was made without knowing.
recorded env LD_PRELOAD="$dir/silent.so" ./PLAIN
claim 'preloaded behind our back: status' is $? 3
claim 'it says why' grep -q 'name it with --plugin' err
claim 'and the trace does not hide it' is "$("$PUGMARK" verify rec >said; echo $?)" 3
options=(--plugin "$dir/silent.so")
recorded env LD_PRELOAD="$dir/silent.so" ./PLAIN
claim 'announced: recorded' is $? 0
check 'announced'
options=()
recorded ./PLAIN ./INTERPOSES
claim 'another program by exec: status' is $? 3
claim 'what came before it is whole' grep -q ' call libit.so ' <("$PUGMARK" dump --module 2 rec)
conclude
