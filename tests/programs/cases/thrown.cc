// SPDX-License-Identifier: LGPL-2.1-or-later
/* thrown.cc: exceptions out of functions of the C++ library that mostly return, among calls of
 * others of which nothing shows: which of them it was is told by where the exception lands. In try
 * blocks one after another, in a loop, through frames that have no landing pad, and through ones
 * that clean up. */
#include "case.h"

#include <ios>
#include <locale>
#include <new>
#include <string>

namespace
{
volatile size_t huge = ~(size_t)0 >> 2;
volatile int sum;
} // namespace

FN void leaf()
{
	KEEP;
}
struct cleans {
	FN ~cleans()
	{
		sum = sum + 1;
		KEEP;
	}
};

/* What is called behind the one that throws, and before it, shows nothing. */
FN bool no_locale(const char *name)
{
	try {
		std::locale l(name);
		sum = sum + l.name().size();
		return true;
	} catch (const std::exception &) {
		return false;
	}
}
FN int one_after_another()
{
	int n = 0;
	try {
		std::locale l("C");
		n += l.name() == "C";
	} catch (const std::exception &) {
		n += 10;
	}
	try {
		std::locale l(std::locale(), "no such", std::locale::all);
		n += l.name().size();
	} catch (const std::exception &) {
		n += 100;
	}
	try {
		operator delete(operator new(huge));
	} catch (const std::exception &) {
		n += 1000;
	}
	KEEP;
	return n;
}
FN int in_a_loop()
{
	int n = 0;
	for (int i = 0; i < 5; i++) {
		try {
			std::locale l(i % 2 ? "C" : "no such");
			n += l.name().size();
		} catch (const std::exception &) {
			n += 10;
			leaf();
		}
	}
	return n;
}
FN void passes(const char *name)
{
	alignas(std::locale) static char room[sizeof(std::locale)];
	new (room) std::locale(name);
	sum = sum + 1;
	KEEP;
}
FN void cleans_up(const char *name)
{
	cleans c;
	passes(name);
	KEEP;
}
FN int through()
{
	int n = 0;
	for (const char *name : {"C", "no such", "C"}) {
		try {
			cleans_up(name);
			n++;
		} catch (const std::exception &) {
			n += 10;
			leaf();
		}
		KEEP;
	}
	return n;
}
int main()
{
	for (int i = 0; i < 3; i++)
		no_locale(i == 1 ? "C" : "no such");
	leaf();
	LET("one", one_after_another());
	LET("loop", in_a_loop());
	LET("through", through());
	return 0;
}
