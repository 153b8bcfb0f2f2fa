// SPDX-License-Identifier: LGPL-2.1-or-later
/* exceptions.cc: exceptions that pass frames of ours, frames with destructors, frames of libraries
 * (qsort, std::call_once) and come to rest in the thrower's caller or far above; rethrown ones, and
 * one thrown while another is being handled. */
#include "case.h"

#include <cstdlib>
#include <mutex>
#include <stdexcept>

struct Guard {
	FN Guard();
	FN ~Guard();
};
Guard::Guard()
{
	KEEP;
}
Guard::~Guard()
{
	KEEP;
}

extern "C" {
FN void leaf(void)
{
	KEEP;
}
FN void thrower(int what)
{
	leaf();
	KEEP;
	if (what == 1)
		throw 1;
	if (what == 2)
		throw std::runtime_error("two");
	leaf();
	KEEP;
}
FN void through(int what)
{
	thrower(what);
	leaf();
	KEEP;
}
FN void guarded(int what)
{
	Guard guard;
	through(what);
	KEEP;
}
FN void deep(int n, int what)
{
	if (n)
		deep(n - 1, what);
	else
		guarded(what);
	KEEP;
}
FN void catches(int what)
{
	try {
		deep(3, what);
	} catch (int) {
		leaf();
	} catch (const std::exception &) {
		leaf();
		leaf();
	}
	KEEP;
}
FN void rethrows(int what)
{
	try {
		thrower(what);
	} catch (...) {
		leaf();
		throw;
	}
	KEEP;
}
FN void catches_again(void)
{
	try {
		rethrows(2);
	} catch (const std::exception &) {
		try {
			thrower(1);
		} catch (int) {
			leaf();
		}
		leaf();
	}
	KEEP;
}
FN int compare(const void *a, const void *b)
{
	if (*(const int *)a == *(const int *)b)
		thrower(1);
	KEEP;
	return *(const int *)a < *(const int *)b ? -1 : 1;
}
FN void sorts(int first)
{
	int numbers[2] = {first, 7};
	try {
		qsort(numbers, 2, sizeof(*numbers), compare);
	} catch (int) {
		leaf();
	}
	KEEP;
}
FN void once(void)
{
	static int calls;
	if (!calls++)
		thrower(1);
	leaf();
	KEEP;
}
FN void calls_once(void)
{
	static std::once_flag flag;
	for (int i = 0; i < 3; i++)
		try {
			std::call_once(flag, once);
		} catch (int) {
			leaf();
		}
	KEEP;
}
FN void many(void)
{
	for (int i = 0; i < 200; i++)
		try {
			thrower(i & 1);
		} catch (int) {
			leaf();
		}
	KEEP;
}
FN void run(void)
{
	catches(0);
	catches(1);
	catches(2);
	catches_again();
	sorts(3);
	sorts(7);
	calls_once();
	many();
	KEEP;
}
}

int main()
{
	run();
	KEEP;
	return 0;
}
