// SPDX-License-Identifier: LGPL-2.1-or-later
/* relative_vtables.cc: virtual calls through tables of 32-bit offsets (clang's
 * -fexperimental-relative-c++-abi-vtables); one of the functions is called directly as well. */
#include <cstdio>

struct base {
	virtual int f(int x);
	virtual int g(int x);
	virtual ~base();
};
int base::f(int x)
{
	return x + 1;
}
int base::g(int x)
{
	return x + 2;
}
base::~base()
{
}

struct derived : base {
	int f(int x) override;
};
int derived::f(int x)
{
	int s = 0;
	for (int i = 0; i < x; i++)
		if ((s += i) % 5 == 2)
			s++;
	return s;
}

__attribute__((noinline)) int call(base *b, int i)
{
	asm volatile("");
	return i % 3 ? b->f(i) : b->g(i);
}

int main()
{
	base b;
	derived d;
	int s = b.base::g(1);
	for (int i = 0; i < 300; i++)
		s += call(i % 2 ? &b : &d, i % 20);
	std::printf("%d\n", s);
}
