// SPDX-License-Identifier: LGPL-2.1-or-later
/* Throws: through frames with destructors, through qsort(), again from a handler, of several types.
 */
#include "note.h"
#include <cstdlib>
#include <stdexcept>
#include <string>
static long destroyed, calls;
struct counted {
	long n;
	explicit counted(long n) : n(n)
	{
	}
	~counted()
	{
		destroyed = destroyed * 31 + n;
	}
};
__attribute__((noinline)) static long deep(int n, long v)
{
	counted c(v + n);
	if (n)
		return deep(n - 1, v) + 1;
	if (v % 3 == 0)
		throw v;
	if (v % 3 == 1)
		throw std::runtime_error(std::to_string(v));
	throw std::string("text") + std::to_string(v * 7);
}
static int compare(const void *a, const void *b)
{
	if (++calls % 89 == 0)
		throw calls;
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static long again(long v)
{
	try {
		return deep(5, v);
	} catch (const std::string &s) {
		throw std::out_of_range(s + "!");
	}
}
int main()
{
	static int numbers[60];
	long s = 0, turn = 0;
	do {
		try {
			again(turn);
		} catch (long v) {
			s = s * 3 + v;
		} catch (const std::logic_error &e) {
			s = s * 5 + (long)std::string(e.what()).size() + e.what()[4];
		} catch (const std::exception &e) {
			s = s * 7 + std::atol(e.what());
		}
		try {
			for (int i = 0; i < 60; i++)
				numbers[i] = (i * 7919 + (int)turn) % 101;
			qsort(numbers, 60, sizeof(int), compare);
		} catch (long v) {
			s += v;
		}
		s = s * 3 + numbers[3];
	} while (++turn < 30 || goes_on());
	note(1, s);
	note(2, destroyed);
	note(3, calls);
	return 0;
}
