#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# caught.sh: what is thrown is caught, while the unwinder is not traced, but the personality routine that
# it asks about each frame is: as in every program of Rust, and in one of C++ that has its library in it.
# Such a throw is a call that may return, so that nothing but the routine's last call says that the landing
# came out of it. Cleanups on the way that catch something themselves, what is thrown again, threads, and
# frames of a library between. Modes casper and best tell what mode full tells, without a gap, and how
# often the program's functions are called is what the program has counted itself.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

# Calls of function NAME, as the plan of mode full tells them.
calls() { # NAME: of the program
	local at
	at=$(nm program | sed -n "s/^0*\([0-9a-f]*\) [Tt] $1\$/\1/p")
	awk -v callee="$at" '($2 == "call" || $2 == "tail") { n += $5 == callee || $5 == "program:" callee }
		$2 == "enter" { n += $4 == callee }
		END { print n + 0 }' 0
}

tells() { # NAME: of what is in ./program, which prints the name of each of its functions and how often it ran
	./program >plain
	claim "$1: the program works" [ -s plain ]
	record_in_three_modes --ring 64 -- ./program
	claim "$1: the program does what it does" same plain out
	tell_the_same "$1"
	claim "$1: frames were left" grep -q '^[0-9]* unwind ' 0
	while read -r name times; do
		claim "$1: calls of $name" is "$(calls "$name")" "$times"
	done <plain
}

cat >program.rs <<'RS'
use std::panic::{catch_unwind, resume_unwind, set_hook};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
static BREAKS: AtomicU32 = AtomicU32::new(0);
static NOTES: AtomicU32 = AtomicU32::new(0);
static COMPARES: AtomicU32 = AtomicU32::new(0);
extern "C-unwind" {
	fn qsort(base: *mut u32, n: usize, size: usize,
		 compare: extern "C-unwind" fn(*const u32, *const u32) -> i32);
}
#[no_mangle]
#[inline(never)]
pub fn breaks(deep: u32) -> u32 {
	BREAKS.fetch_add(1, Relaxed);
	let _told = Told(deep);
	if deep == 0 {
		panic!("asked for");
	}
	breaks(deep - 1) + 1
}
#[no_mangle]
#[inline(never)]
pub fn note(catches: u32) {
	NOTES.fetch_add(1, Relaxed);
	if catches != 0 && catches % 3 == 0 {
		let _ = catch_unwind(|| breaks(0));
	}
}
struct Told(u32);
impl Drop for Told {
	fn drop(&mut self) {
		note(self.0)
	}
}
#[no_mangle]
pub extern "C-unwind" fn compare(a: *const u32, b: *const u32) -> i32 {
	COMPARES.fetch_add(1, Relaxed);
	unsafe {
		if *a + *b == 7 {
			breaks(1);
		}
		*a as i32 - *b as i32
	}
}
fn again(deep: u32) {
	if let Err(e) = catch_unwind(|| breaks(deep)) {
		resume_unwind(e)
	}
}
fn main() {
	set_hook(Box::new(|_| {}));
	for deep in 0..5 {
		assert!(catch_unwind(|| breaks(deep)).is_err());
		assert!(catch_unwind(|| again(deep)).is_err());
		assert!(std::thread::spawn(move || breaks(deep)).join().is_err());
	}
	assert!(catch_unwind(|| {
		let mut numbers = [9, 4, 3, 8, 1];
		unsafe { qsort(numbers.as_mut_ptr(), 5, 4, compare) }
	}).is_err());
	println!("breaks {}", BREAKS.load(Relaxed));
	println!("note {}", NOTES.load(Relaxed));
	println!("compare {}", COMPARES.load(Relaxed));
}
RS
if rustc -O program.rs -o program 2>err; then
	tells rust
else
	echo "skip: no compiler of Rust"
	skipped=$((skipped + 1))
fi

cat >program.cc <<'CC'
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <stdexcept>
#define FN extern "C" __attribute__((noipa))
static std::atomic<int> n_breaks, n_note, n_compare;
FN int breaks(int deep);
FN void note(int catches)
{
	n_note++;
	if (!catches || catches % 3)
		return;
	try {
		breaks(0);
	} catch (const std::exception &) {
	}
}
struct told {
	int deep;
	~told() { note(deep); }
};
FN int breaks(int deep)
{
	n_breaks++;
	told here{deep};
	if (!deep)
		throw std::runtime_error("asked for");
	return breaks(deep - 1) + 1;
}
FN int compare(const void *a, const void *b)
{
	const int *x = (const int *)a, *y = (const int *)b;
	n_compare++;
	return *x + *y == 7 ? breaks(1) : *x - *y;
}
FN int again(int deep)
{
	try {
		return breaks(deep);
	} catch (const std::logic_error &) {
		return 0;
	} catch (...) {
		throw;
	}
}
template <typename f> static void caught(f what)
{
	try {
		what();
	} catch (const std::runtime_error &) {
		return;
	}
	abort();
}
int main()
{
	for (int deep = 0; deep < 5; deep++) {
		caught([&] { breaks(deep); });
		caught([&] { again(deep); });
		caught([&] { std::async(std::launch::async, breaks, deep).get(); });
	}
	caught([] {
		int numbers[] = {9, 4, 3, 8, 1};
		qsort(numbers, 5, sizeof(*numbers), compare);
	});
	printf("breaks %d\nnote %d\ncompare %d\n", +n_breaks, +n_note, +n_compare);
}
CC
links=(-static-libstdc++)
[ -z "${LONG:-}" ] || links+=(-shared-libgcc -static)
for linked in "${links[@]}"; do
	if ${CXX:-c++} -O1 -pthread $linked program.cc -o program 2>err; then
		tells "C++, $linked"
	else
		echo "skip: no compiler of C++, $linked"
		skipped=$((skipped + 1))
	fi
done
conclude
