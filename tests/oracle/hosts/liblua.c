// SPDX-License-Identifier: LGPL-2.1-or-later
/* liblua.c: runs a Lua script in the static library, the same way each time: Lua seeds its hashes
 * with the time and with the addresses of its state, of a variable on the stack and of a function,
 * and sorts around pivots that it takes from the clock. So here the time stands still, memory is an
 * arena at a fixed address, the script runs in a thread whose stack is fixed too, and the program
 * is linked at a fixed address. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ARENA_AT ((void *)0x200000000000)
#define ARENA_BYTES (1ul << 30)
#define STACK_AT ((void *)0x210000000000)
#define STACK_BYTES (8ul << 20)
#define MIN_BYTES 16

/* Blocks of a power of two; what is free is a list for each. */
static struct arena {
	char *next, *end;
	void *free[40];
} arena;

time_t time(time_t *out)
{
	if (out)
		*out = 1000000000;
	return 1000000000;
}

clock_t clock(void)
{
	return 0;
}

static int size_class(size_t bytes)
{
	return bytes <= MIN_BYTES ? 4 : 64 - __builtin_clzl(bytes - 1);
}

static void *reallocate(void *ud, void *old, size_t old_bytes, size_t bytes)
{
	struct arena *a = ud;
	int class = size_class(bytes), from = size_class(old_bytes);
	void *got = NULL;
	if (old && bytes && class == from)
		return old;
	if (bytes && a->free[class]) {
		got = a->free[class];
		memcpy(&a->free[class], got, sizeof(void *));
	} else if (bytes) {
		if ((size_t)(a->end - a->next) < 1ul << class)
			return NULL;
		got = a->next;
		a->next += 1ul << class;
	}
	if (old && got)
		memcpy(got, old, old_bytes < bytes ? old_bytes : bytes);
	if (old) {
		memcpy(old, &a->free[from], sizeof(void *));
		a->free[from] = old;
	}
	return got;
}

static void *run(void *script)
{
	lua_State *L = lua_newstate(reallocate, &arena);
	if (!L)
		return "no state";
	luaL_openlibs(L);
	if (luaL_dofile(L, script)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		return "failed";
	}
	lua_close(L);
	return NULL;
}

static void *fixed(void *at, size_t bytes)
{
	void *got = mmap(at, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (got != at) {
		perror("mmap");
		exit(1);
	}
	return got;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *failed;
	if (argc != 2)
		return 2;
	arena.next = fixed(ARENA_AT, ARENA_BYTES);
	arena.end = arena.next + ARENA_BYTES;
	if (pthread_attr_init(&attr) ||
	    pthread_attr_setstack(&attr, fixed(STACK_AT, STACK_BYTES), STACK_BYTES) ||
	    pthread_create(&thread, &attr, run, argv[1]) || pthread_join(thread, &failed))
		return 1;
	return failed != NULL;
}
