// SPDX-License-Identifier: LGPL-2.1-or-later
/* objects.cc: objects and files whose use is known: two stacks at the same address one after the
 * other, one on the heap, one that three threads use; two files that are open at once, and one that
 * is not there. With -DOTHER one stack is used in another way. */
#include <cstdio>
#include <pthread.h>

#define NOINLINE __attribute__((noinline))

namespace box
{
template <class T> struct Stack {
	T at[16];
	int n;
	NOINLINE Stack() : n(0)
	{
		asm volatile("" ::: "memory");
	}
	NOINLINE ~Stack()
	{
		asm volatile("" ::: "memory");
	}
	NOINLINE void push(T value)
	{
		at[n++] = value;
		check();
	}
	NOINLINE T pop()
	{
		check();
		return at[--n];
	}
	NOINLINE void check()
	{
		asm volatile("" ::: "memory");
	}
};
} // namespace box
template struct box::Stack<int>;

static box::Stack<int> *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		shared->push(i);
		pthread_mutex_unlock(&lock);
	}
	return nullptr;
}

NOINLINE static void use(int n)
{
	box::Stack<int> stack;
	for (int i = 0; i < n; i++)
		stack.push(i);
	while (n--)
		stack.pop();
}

NOINLINE static void use_files(const char *one, const char *two)
{
	FILE *f = fopen(one, "w"), *g = fopen(two, "w");
	fwrite("abc", 1, 3, f);
	fseek(g, 0, SEEK_SET);
	fwrite("d", 1, 1, f);
	fclose(f);
	fclose(g);
	fopen("/nowhere/at/all", "r");
}

int main(int argc, char **argv)
{
	box::Stack<int> first;
	first.push(1);
	use(2);
	use(3);
	box::Stack<int> *heap = new box::Stack<int>;
	heap->push(7);
	first.push(2);
#ifdef OTHER
	heap->check();
#endif
	heap->pop();
	first.pop();
	delete heap;
	shared = &first;
	pthread_t threads[2];
	for (pthread_t &t : threads)
		pthread_create(&t, nullptr, worker, nullptr);
	for (pthread_t &t : threads)
		pthread_join(t, nullptr);
	if (argc > 2)
		use_files(argv[1], argv[2]);
}
