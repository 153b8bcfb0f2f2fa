// SPDX-License-Identifier: LGPL-2.1-or-later
/* throws.cc: exceptions thrown, caught, passed on, and destructors on the way. */
#include <cstdio>
#include <cstdlib>

struct guard {
	int n;
	guard(int n) : n(n)
	{
	}
	~guard()
	{
		std::printf("guard %d\n", n);
	}
};

__attribute__((noinline)) int thrower(int x)
{
	guard g(x);
	if (x > 2)
		throw x;
	return x + 1;
}

__attribute__((noinline)) int passes_on(int x)
{
	guard g(x * 10);
	int y = thrower(x);
	return y + thrower(x + 1);
}

__attribute__((noinline)) int catcher(int x)
{
	try {
		return passes_on(x);
	} catch (int e) {
		std::printf("caught %d\n", e);
		return -e;
	} catch (...) {
		return 0;
	}
}

__attribute__((noinline)) int rethrower(int x)
{
	try {
		return thrower(x);
	} catch (int) {
		guard g(99);
		if (x == 5)
			throw;
		return 1;
	}
}

int main()
{
	int sum = 0;
	for (int i = 0; i < 6; i++) {
		sum += catcher(i);
		try {
			sum += rethrower(i);
		} catch (int e) {
			sum += e;
		}
	}
	std::printf("%d\n", sum);
	return 0;
}
