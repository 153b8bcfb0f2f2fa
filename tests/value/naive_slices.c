// SPDX-License-Identifier: LGPL-2.1-or-later
/* naive_slices.c: slices of a trace of tests/oracle/deptrace.c, found the plain way: a node for
 * each executed instruction with the list of the nodes that made what it reads, byte by byte; a
 * slice is a sweep over all nodes. Shares nothing with Pugmark but the decoder Zydis. Code outside
 * of the program makes things that come from nowhere.
 *
 *   naive_slices TRACE PROGRAM NUMBER ADDRESSES [INSTANCE]
 *
 * ADDRESSES is what tests/value/slices.c says was executed, and must be what the trace has; but
 * where control comes in from outside, the first instructions of a function may be missing there,
 * since a record is made at the first one that a probe can stand on: they are counted, and left out
 * here. Prints how many instructions there were; then NUMBER backward and forward slices of
 * instances chosen by a fixed sequence: instance, size, hash of its members; and the same of the
 * edges between them. With INSTANCE: the members of the backward slice of that one. */
#include "tests/value/naive_insn.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node: what one instruction made. */
static uint32_t *first_dep, *deps, *instance_of;
static size_t n_nodes, room_nodes, n_deps, room_deps;
static uint32_t *main_node; /* of each instance */
static uint8_t *is_moved;   /* of each node: what a stack pointer or a string's pointers became */
static size_t n_instances, room_instances;
static uint64_t *address_of; /* of each instance */

static uint32_t maker[BYTES];
static struct decoded *code;
static uint8_t *image;
static size_t image_len;

static void *grow(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);
	if (!p)
		exit(1);
	return p;
}

/* --- memory: who made each byte ----------------------------------------------------------------
 */

struct page {
	uint64_t number;
	uint32_t maker[4096];
	struct page *next;
};
static struct page *pages[1 << 16];

static uint32_t *byte_maker(uint64_t addr)
{
	struct page **at = &pages[(addr >> 12) % (1 << 16)];
	while (*at && (*at)->number != addr >> 12)
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		(*at)->number = addr >> 12;
	}
	return &(*at)->maker[addr & 4095];
}

/* --- nodes -------------------------------------------------------------------------------------
 */

static uint32_t new_node(void)
{
	if (n_nodes + 2 > room_nodes) {
		room_nodes = 2 * room_nodes + 4096;
		first_dep = grow(first_dep, room_nodes * sizeof(*first_dep));
		instance_of = grow(instance_of, room_nodes * sizeof(*instance_of));
		is_moved = grow(is_moved, room_nodes * sizeof(*is_moved));
	}
	if (!n_nodes)
		first_dep[n_nodes++] = 0; /* nobody */
	first_dep[n_nodes] = n_deps;
	is_moved[n_nodes] = 0;
	instance_of[n_nodes] = n_instances - 1;
	first_dep[n_nodes + 1] = n_deps;
	return n_nodes++;
}

/* Of the newest node. */
static void add_dep(uint32_t on)
{
	if (!on)
		return;
	for (size_t i = first_dep[n_nodes - 1]; i < n_deps; i++)
		if (deps[i] == on)
			return;
	if (n_deps == room_deps) {
		room_deps = 2 * room_deps + 4096;
		deps = grow(deps, room_deps * sizeof(*deps));
	}
	deps[n_deps++] = on;
}

/* --- the trace ---------------------------------------------------------------------------------
 */

struct access {
	uint64_t addr, size;
	bool store;
};

static struct access *accesses;
static size_t n_accesses, room_accesses;

/* Where the last call has put its return address, and the call by which control has left. What code
 * outside of the program leaves below it is dead when it returns: if the program reads it
 * nevertheless, what it wrote there itself is taken to be what it reads, here and by Pugmark, for
 * which code outside is a black box. */
static uint64_t pushed_at, return_at;

static bool is_dead(uint64_t addr)
{
	enum { STACK = 8 << 20 };
	return addr < return_at && return_at - addr < STACK;
}

static FILE *expected; /* addresses */
static size_t left_out, in_a_row;
static bool entered; /* from outside, and nothing was executed since */
static uint64_t wanted;
static bool have_wanted;

/* Whether the other one has executed the instruction at @addr next. */
static bool is_expected(uint64_t addr)
{
	if (!have_wanted && fread(&wanted, sizeof(wanted), 1, expected) != 1)
		wanted = UINT64_MAX;
	have_wanted = wanted != addr;
	return wanted == addr;
}

static void run_one(uint64_t addr)
{
	enum { AT_MOST = 64 };
	if (!is_expected(addr)) {
		left_out++;
		in_a_row++;
		n_accesses = 0;
		if (entered && in_a_row <= AT_MOST)
			return;
		fprintf(stderr, "other instructions were executed: after %zu\n", n_instances);
		exit(1);
	}
	entered = false;
	in_a_row = 0;
	const struct decoded *d = &code[addr];
	uint32_t moved = 0;
	if (n_instances == room_instances) {
		room_instances = 2 * room_instances + 4096;
		main_node = grow(main_node, room_instances * sizeof(*main_node));
		address_of = grow(address_of, room_instances * sizeof(*address_of));
	}
	address_of[n_instances++] = addr;
	if (d->moved.n) {
		moved = new_node();
		is_moved[moved] = 1;
		for (int i = 0; i < d->moves_by.n; i++)
			add_dep(maker[d->moves_by.at[i]]);
	}
	/* A moved string: a node a byte, because each byte has a source of its own. */
	for (size_t i = 0; d->moves_string && i + 1 < n_accesses; i += 2)
		for (uint64_t k = 0; k < accesses[i].size; k++) {
			uint32_t from = *byte_maker(accesses[i].addr + k), node = new_node();
			add_dep(from);
			*byte_maker(accesses[i + 1].addr + k) = node;
		}
	uint32_t node = new_node();
	main_node[n_instances - 1] = node;
	for (int i = 0; i < d->data.n; i++)
		add_dep(maker[d->data.at[i]]);
	for (size_t i = 0; !d->moves_string && i < n_accesses; i++)
		for (uint64_t k = 0; (!accesses[i].store || d->exchanges) && k < accesses[i].size;
		     k++)
			add_dep(*byte_maker(accesses[i].addr + k));
	for (int i = 0; i < d->writes.n; i++)
		maker[d->writes.at[i]] = node;
	for (size_t i = 0; !d->moves_string && i < n_accesses; i++)
		for (uint64_t k = 0; accesses[i].store && k < accesses[i].size; k++)
			*byte_maker(accesses[i].addr + k) = node;
	for (int i = 0; i < d->moved.n; i++)
		maker[d->moved.at[i]] = moved;
	if (d->call && n_accesses && accesses[n_accesses - 1].store)
		pushed_at = accesses[n_accesses - 1].addr;
	n_accesses = 0;
}

/* Calls of the program that are open: where they return to. */
static struct open_call {
	uint64_t ret, at; /* where it returns to, and where that is on the stack */
} * calls;
static size_t n_calls, room_calls;

/* Registers as they were when control left by a call that has callbacks. */
static struct entry {
	size_t depth; /* open calls */
	uint32_t maker[BYTES];
} * entries;
static size_t n_entries;

/* 1 + how many calls were open when control last came back to an address; 0: it never did. */
static uint32_t *depth_at;

/* Control is at @addr after code outside: back behind a call, or in a callback. */
static void come_back(uint64_t addr, const uint32_t *left)
{
	static const uint8_t kept[] = {3, 4, 5, 12, 13, 14, 15};
	size_t i = n_calls;
	memset(maker, 0, sizeof(maker));
	while (i && calls[i - 1].ret != addr)
		i--;
	if (!i && depth_at[addr]) { /* by a longjmp() to where setjmp() has returned before */
		n_calls = depth_at[addr] - 1;
		while (n_entries && entries[n_entries - 1].depth > n_calls)
			n_entries--;
		return;
	}
	if (!i) {
		if (n_entries && entries[n_entries - 1].depth == n_calls)
			return;
		entries = grow(entries, (n_entries + 1) * sizeof(*entries));
		entries[n_entries].depth = n_calls;
		memcpy(entries[n_entries++].maker, left, sizeof(maker));
		return;
	}
	n_calls = i - 1;
	depth_at[addr] = (uint32_t)n_calls + 1;
	while (n_entries && entries[n_entries - 1].depth > n_calls)
		left = entries[--n_entries].maker;
	for (unsigned k = 0; k < sizeof(kept); k++)
		memcpy(maker + 8 * kept[k], left + 8 * kept[k], 8 * sizeof(*maker));
}

static void read_trace(const char *path)
{
	FILE *f = fopen(path, "r");
	uint64_t word, addr, pending = UINT64_MAX;
	uint32_t left[BYTES];
	bool outside = false;
	if (!f)
		exit(1);
	while (fread(&word, 8, 1, f) == 1) {
		switch (word >> 60) {
		case 1:
			addr = word & 0xfffffffffffffff;
			if (!code[addr].done)
				naive_decode(image, image_len, addr, &code[addr]);
			/* Each turn of a rep instruction is told as one of its own. */
			if (!outside && addr == pending && code[addr].string)
				break;
			if (pending != UINT64_MAX)
				run_one(pending);
			if (outside && pending != UINT64_MAX)
				memcpy(left, maker, sizeof(left));
			if (pending != UINT64_MAX && code[pending].call) {
				if (n_calls == room_calls) {
					room_calls = 2 * room_calls + 64;
					calls = grow(calls, room_calls * sizeof(*calls));
				}
				calls[n_calls].at = pushed_at;
				calls[n_calls++].ret = pending + code[pending].len;
			} else if (pending != UINT64_MAX && code[pending].ret && !outside &&
				   n_calls) {
				n_calls--;
			}
			if (outside)
				come_back(addr, left);
			entered |= outside;
			outside = false;
			pending = addr;
			break;
		case 2:
			if (fread(&addr, 8, 1, f) != 1)
				break;
			if (n_accesses == room_accesses) {
				room_accesses = 2 * room_accesses + 64;
				accesses = grow(accesses, room_accesses * sizeof(*accesses));
			}
			accesses[n_accesses++] =
				(struct access){addr, word & 0x7ffffffffffffff, word >> 59 & 1};
			break;
		case 3:
			if (fread(&addr, 8, 1, f) != 1)
				break;
			if (pending != UINT64_MAX) {
				run_one(pending);
				memcpy(left, maker, sizeof(left));
				if (code[pending].call) {
					if (n_calls == room_calls) {
						room_calls = 2 * room_calls + 64;
						calls = grow(calls, room_calls * sizeof(*calls));
					}
					calls[n_calls].at = pushed_at;
					calls[n_calls++].ret = pending + code[pending].len;
				}
				pending = UINT64_MAX;
			}
			return_at = n_calls ? calls[n_calls - 1].at : 0;
			for (uint64_t k = 0; k < (word & 0x7ffffffffffffff) && !is_dead(addr); k++)
				*byte_maker(addr + k) = 0;
			break;
		case 4:
			outside = true;
			break;
		}
	}
	if (pending != UINT64_MAX)
		run_one(pending);
	fclose(f);
}

/* --- slices ------------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* What members read that members made; where a stack pointer came from is an address. */
static void print_edges(size_t instance, const uint8_t *member)
{
	uint64_t *edges = NULL, h = 0;
	size_t n = 0, room = 0, different = 0;
	for (size_t i = 1; i < n_nodes; i++)
		for (size_t k = first_dep[i];
		     !is_moved[i] && member[instance_of[i]] && k < first_dep[i + 1]; k++) {
			uint64_t from = instance_of[deps[k]], to = instance_of[i];
			if (!member[from] || from == to)
				continue;
			if (n == room) {
				room = 2 * room + 4096;
				edges = grow(edges, room * sizeof(*edges));
			}
			edges[n++] = from << 32 | to;
		}
	if (n)
		qsort(edges, n, sizeof(*edges), by_value);
	for (size_t i = 0; i < n; i++)
		if (!i || edges[i] != edges[i - 1]) {
			h = mix(h, edges[i]);
			different++;
		}
	printf("edges %zu %zu %lx\n", instance, different, h);
	free(edges);
}

static void print_slice(const char *name, size_t instance, const uint8_t *in)
{
	uint64_t h = 0;
	size_t n = 0;
	uint8_t *member = calloc(n_instances, 1);
	for (size_t i = 1; i < n_nodes; i++)
		if (in[i])
			member[instance_of[i]] = 1;
	for (size_t i = 0; i < n_instances; i++)
		if (member[i]) {
			h = mix(h, i);
			n++;
		}
	printf("%s %zu %zu %lx\n", name, instance, n, h);
	print_edges(instance, member);
	free(member);
}

static void backward(size_t instance, uint8_t *in)
{
	memset(in, 0, n_nodes);
	in[main_node[instance]] = 1;
	for (size_t i = main_node[instance]; i > 0; i--)
		for (size_t k = first_dep[i]; in[i] && k < first_dep[i + 1]; k++)
			in[deps[k]] = 1;
}

static void forward(size_t instance, uint8_t *in)
{
	memset(in, 0, n_nodes);
	in[main_node[instance]] = 1;
	for (size_t i = main_node[instance] + 1; i < n_nodes; i++)
		for (size_t k = first_dep[i]; !in[i] && k < first_dep[i + 1]; k++)
			in[i] = in[deps[k]];
}

static void load(const char *path)
{
	FILE *f = fopen(path, "r");
	Elf64_Ehdr eh;
	if (!f || fread(&eh, sizeof(eh), 1, f) != 1)
		exit(1);
	for (int i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		if (fseek(f, eh.e_phoff + i * sizeof(ph), SEEK_SET) ||
		    fread(&ph, sizeof(ph), 1, f) != 1)
			exit(1);
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_vaddr + ph.p_filesz > image_len) {
			image = grow(image, ph.p_vaddr + ph.p_filesz);
			memset(image + image_len, 0, ph.p_vaddr + ph.p_filesz - image_len);
			image_len = ph.p_vaddr + ph.p_filesz;
		}
		if (fseek(f, ph.p_offset, SEEK_SET) ||
		    fread(image + ph.p_vaddr, ph.p_filesz, 1, f) != 1)
			exit(1);
	}
	fclose(f);
	code = calloc(image_len, sizeof(*code));
	depth_at = calloc(image_len, sizeof(*depth_at));
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	if (argc < 5 || !(expected = fopen(argv[4], "r")))
		return 2;
	load(argv[2]);
	read_trace(argv[1]);
	fprintf(stderr, "%zu instructions behind entries from outside were not recorded\n",
		left_out);
	if (have_wanted) {
		fprintf(stderr, "fewer instructions were executed: %zu\n", n_instances);
		return 1;
	}
	first_dep[n_nodes] = n_deps;
	uint8_t *in = malloc(n_nodes);
	printf("instances %zu\n", n_instances);
	for (int i = 0; i < atoi(argv[3]); i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t instance = (seed >> 20) % n_instances;
		if (code[address_of[instance]].string)
			continue;
		backward(instance, in);
		print_slice("backward", instance, in);
		forward(instance, in);
		print_slice("forward", instance, in);
	}
	if (argc > 5) {
		backward(strtoull(argv[5], NULL, 10), in);
		for (size_t i = 1; i < n_nodes; i++)
			if (in[i])
				printf("%u %lx\n", instance_of[i], address_of[instance_of[i]]);
	}
	return 0;
}
