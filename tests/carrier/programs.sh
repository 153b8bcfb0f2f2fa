#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# programs.sh: what programs print, and how they end, is the same while they are patched.
#
#   programs.sh N SECONDS     N of the system's programs by lot, each with --version and --help, and
#                             programs of ours that use what is delicate; for at most SECONDS
#
# Copies are run, with nothing to read, in a folder of their own. One that does not do the same
# twice by itself is counted as unsteady, one whose recording takes more than a minute as slow.
# Prints a table and who differs; status 1 if one does. SEED says where the lot begins.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" "${CXX:-c++}"
n=${1:-50} seconds=${2:-600} seed=${SEED:-1}
work_in_own_folder
export LC_ALL=C TERM=dumb PAGER=cat
same=0 differ=0 unsteady=0 slow=0 unpatched=0 gaps=0
mkdir copies empty

without_pids() { sed -E 's/==[0-9]+==/==/'; }
plain() { # NAME COMMAND...: its output in NAME.out and NAME.err, with its status
	local name=$1
	shift
	(cd empty && HOME=$PWD timeout 20 "$@" </dev/null >../"$name.out" 2>../"$name.raw")
	echo $? >>"$name.out"
	without_pids <"$name.raw" >"$name.err"
}
under_patch() { # COMMAND...
	(cd empty && HOME=$PWD timeout 60 "$PUGMARK" record -o ../rec --no-times --carrier patch -- "$@" \
		</dev/null >../patch.out 2>../patch.err)
	status=$?
	rm -rf rec.old*
	grep -v '^pugmark: ' patch.err | without_pids >patch.own
	grep -q 'witnesses patched' patch.err || unpatched=$((unpatched + 1))
	[ "$status" != 124 ] || return
	# 3 is that of a trace with gaps.
	if [ "$status" = 3 ]; then
		gaps=$((gaps + 1))
		status=$(tail -n 1 first.out)
	fi
	echo "$status" >>patch.out
}
check() { # COMMAND...
	plain first "$@"
	plain second "$@"
	if ! cmp -s first.out second.out || ! cmp -s first.err second.err; then
		unsteady=$((unsteady + 1))
		return
	fi
	under_patch "$@"
	if [ "$status" = 124 ]; then
		slow=$((slow + 1))
	elif cmp -s first.out patch.out && cmp -s first.err patch.own; then
		same=$((same + 1))
	else
		differ=$((differ + 1))
		echo "differs: $*"
		diff first.out patch.out | head -n 5
		diff first.err patch.own | head -n 5
	fi
}

# Ours: sanitizers, shadow stacks' and branch tracking's code, jumps out of functions, stacks of one's
# own, exceptions, and other languages' runtimes, as far as their compilers are there.
cat >own.c <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>
#define FN __attribute__((noipa))
static jmp_buf back;
static ucontext_t home, other;
static char stack[65536];
static long ticks; /* handlers run on several threads */
FN static long leaf(long x) { return x * 3 + 1; }
FN static long odd(long x) { return x ^ (x >> 3); }
static long (*volatile by[])(long) = {leaf, odd};
FN static long middle(long x)
{
	long r = 0;
	for (int i = 0; i < 3; i++)
		r += by[(x + i) & 1](x + i);
	return x & 1 ? r + leaf(r) : r;
}
FN static void jumps(int n)
{
	if (!n)
		longjmp(back, 7);
	jumps(n - 1);
	leaf(n);
}
FN static void elsewhere(void)
{
	for (long i = 0, r = 0;; i++) {
		r += middle(i);
		if (i % 1000 == 999)
			printf("%ld\n", r);
		if (i % 100 == 99)
			swapcontext(&other, &home);
	}
}
static void on_alarm(int s) { __atomic_fetch_add(&ticks, leaf(s), __ATOMIC_RELAXED); }
static void *thread(void *n)
{
	long r = 0, *heap = malloc(1000 * sizeof(*heap));
	for (long i = 0; i < 1000; i++)
		r += heap[i] = middle(i + (long)n);
	free(heap);
	return (void *)r;
}
int main(void)
{
	struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0}};
	pthread_t threads[8];
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 100; i++) {
		volatile int n = i;
		if (!setjmp(back))
			jumps(n % 9);
	}
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	makecontext(&other, elsewhere, 0);
	for (int i = 0; i < 200; i++)
		swapcontext(&home, &other);
	for (long i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 8; i++) {
		void *r;
		pthread_join(threads[i], &r);
		printf("%ld\n", (long)r);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	return 0;
}
C
cat >own.cc <<'C'
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
static int fails(int n) { if (n % 3 == 0) throw std::runtime_error(std::to_string(n)); return n; }
int main()
{
	std::map<std::string, int> seen;
	for (int i = 0; i < 3000; i++)
		try { seen["none"] += fails(i); } catch (const std::exception &e) { seen[e.what()]++; }
	printf("%zu %d\n", seen.size(), seen["none"]);
}
C
cat >own.go <<'C'
package main
import "fmt"
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func main() { c := make(chan int); for i := 0; i < 8; i++ { go func(k int) { c <- fib(15 + k) }(i) }
	s := 0; for i := 0; i < 8; i++ { s += <-c }; fmt.Println(s) }
C
cat >own.rs <<'C'
fn f(n: u64) -> u64 { if n % 5 == 4 { panic!("five") } n * 2 }
fn main() { std::panic::set_hook(Box::new(|_| {})); let mut s = 0; let mut bad = 0;
	for i in 0..500 { match std::panic::catch_unwind(move || f(i)) { Ok(v) => s += v, Err(_) => bad += 1 } }
	let t: Vec<_> = (0..4).map(|k| std::thread::spawn(move || (0..1000u64).map(|x| x ^ k).sum::<u64>())).collect();
	for h in t { s += h.join().unwrap() } println!("{} {}", s, bad) }
C
cat >own.ml <<'C'
exception E of int
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let () = let s = ref 0 in for i = 1 to 500 do (try if i mod 3 = 0 then raise (E i) else s := !s + i with E n -> s := !s - n) done;
	Printf.printf "%d %d\n" !s (fib 20)
C
built() { # NAME COMPILER...
	local name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: no $1"; return; }
	"$@" >/dev/null 2>build.err || { echo "$name: not built"; return; }
	check "$PWD/$name"
}
built plain "${CC:-cc}" -O2 -pthread -o plain own.c
built unoptimized "${CC:-cc}" -O0 -pthread -o unoptimized own.c
built cet "${CC:-cc}" -O2 -fcf-protection=full -pthread -o cet own.c
built asan "${CC:-cc}" -O1 -fsanitize=address,undefined -pthread -o asan own.c
built tsan "${CC:-cc}" -O1 -fsanitize=thread -pthread -o tsan own.c
built clang clang -O2 -pthread -o clang own.c
built exceptions "${CXX:-c++}" -O2 -o exceptions own.cc
built go go build -o go own.go
built rust rustc -O -o rust own.rs
built ocaml ocamlfind ocamlopt -o ocaml own.ml
ours=$((same + differ + slow))

until=$((SECONDS + seconds)) tried=0
while read -r file; do
	[ $tried -lt "$n" ] && [ $SECONDS -lt $until ] || break
	head -c 4 "$file" | grep -q ELF || continue
	cp "$file" copies/ || continue
	tried=$((tried + 1))
	for option in --version --help; do
		check "$PWD/copies/${file##*/}" $option
	done
	rm -f "copies/${file##*/}"
done < <(find /usr/bin -maxdepth 1 -type f -perm -100 ! -perm /6000 | LC_ALL=C sort |
	shuf --random-source=<(while :; do echo "$seed"; done))
printf '%d programs of the system, %d of ours: %d runs the same, %d differ, %d unsteady by themselves, %d slow; %d not patched, %d with gaps\n' \
	$tried $ours $same $differ $unsteady $slow $unpatched $gaps
claim 'no program does anything else' is $differ 0
claim 'some were patched' [ $((same - unpatched)) -gt 5 ]
conclude
