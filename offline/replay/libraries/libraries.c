// SPDX-License-Identifier: LGPL-2.1-or-later
/* libraries.c: see libraries.h. Dynamic sections are read from the evaluated memory itself,
 * and resolvers are executed in it. */
#include "offline/replay/libraries/libraries.h"

#include "offline/capture/captures.h"
#include "offline/replay/models/models.h"
#include "offline/replay/libraries/stack_use.h"
#include "offline/replay/records/sources.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 48, SYMBOLS_MAX = 1 << 17, PHDRS_MAX = 64 };

/* A loaded ELF file, by what its dynamic section says. */
struct image {
	struct value_memory *memory;
	uint64_t bias, dynamic;
	uint64_t symtab, strtab, n_symbols;
};

static bool get(const struct image *i, uint64_t addr, void *out, size_t len)
{
	return !value_memory_read(i->memory, addr, out, len, NULL);
}

static bool add(struct library_functions *list, uint64_t addr, const char *name)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct library_function *at = realloc(list->at, room * sizeof(*at));
		if (!at)
			return false;
		list->at = at;
		list->room = room;
	}
	list->at[list->n++] = (struct library_function){.addr = addr, .name = name};
	return true;
}

/* Pointers of a dynamic section are relocated where it may be written, but for the kernel's. */
static uint64_t pointer(const struct image *i, uint64_t value)
{
	return value < i->bias ? i->bias + value : value;
}

static void take_dynamic(struct image *i, const Elf64_Dyn *d)
{
	uint64_t hash[2] = {0};
	uint32_t words[2];
	switch (d->d_tag) {
	case DT_SYMTAB:
		i->symtab = pointer(i, d->d_un.d_ptr);
		break;
	case DT_STRTAB:
		i->strtab = pointer(i, d->d_un.d_ptr);
		break;
	case DT_HASH: /* how many buckets, how many symbols */
		hash[0] = pointer(i, d->d_un.d_ptr);
		if (get(i, hash[0], words, sizeof(words)))
			i->n_symbols = words[1];
		break;
	}
}

/* The image whose first page is at @start. */
static bool open_image(struct value_memory *memory, uint64_t start, struct image *out)
{
	struct image i = {.memory = memory};
	Elf64_Ehdr e;
	bool loads = false;
	if (!get(&i, start, &e, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phnum > PHDRS_MAX)
		return false;
	for (unsigned k = 0; k < e.e_phnum; k++) {
		Elf64_Phdr p;
		if (!get(&i, start + e.e_phoff + k * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && !loads) {
			i.bias = start - (p.p_vaddr & ~(uint64_t)(VALUE_PAGE - 1));
			loads = true;
		}
		if (p.p_type == PT_DYNAMIC)
			i.dynamic = p.p_vaddr;
	}
	if (!loads || !i.dynamic)
		return false;
	Elf64_Dyn d;
	for (uint64_t at = i.bias + i.dynamic; get(&i, at, &d, sizeof(d)) && d.d_tag != DT_NULL;
	     at += sizeof(d))
		take_dynamic(&i, &d);
	/* Without a table of hashes that says it: linkers put the names behind the symbols. */
	if (!i.n_symbols && i.strtab > i.symtab)
		i.n_symbols = (i.strtab - i.symtab) / sizeof(Elf64_Sym);
	*out = i;
	return i.symtab && i.strtab && i.n_symbols <= SYMBOLS_MAX;
}

/* The name of symbol @s; longer ones are cut. */
static bool name_of(const struct image *i, const Elf64_Sym *s, char out[NAME_MAX_BYTES])
{
	memset(out, 0, NAME_MAX_BYTES);
	for (unsigned k = 0; k + 1 < NAME_MAX_BYTES; k++)
		if (!get(i, i->strtab + s->st_name + k, &out[k], 1))
			return false;
		else if (!out[k])
			break;
	return true;
}

/* A run of the resolver at @ip, in the state of @m but for memory that the caller gives back. 0: it
 * did not come to its end. */
static uint64_t resolve(struct value_machine *m, uint64_t ip)
{
	enum { RED_ZONE = 128, INSNS = 100000 };
	struct value_state *s = value_machine_state(m), state = *s;
	struct value_known *k = value_machine_known(m), known = *k;
	uint64_t sp = (s->gpr[VALUE_RSP] - RED_ZONE) & ~15ull, end = 0, chosen = 0;
	s->gpr[VALUE_RSP] = sp - 8;
	s->rip = ip;
	if (!value_memory_write(value_machine_memory(m), sp - 8, &end, 8, VALUE_EXACT) &&
	    value_machine_run(m, value_machine_count(m) + INSNS, NULL) == VALUE_STOP_OUTSIDE &&
	    !s->rip && !value_quality(m, 1 << VALUE_RAX))
		chosen = s->gpr[VALUE_RAX];
	*s = state;
	*k = known;
	return chosen;
}

static bool find_symbol(const struct image *i, const char *name, Elf64_Sym *out)
{
	for (uint64_t k = 1; k < i->n_symbols; k++) {
		char other[NAME_MAX_BYTES];
		if (!get(i, i->symtab + k * sizeof(*out), out, sizeof(*out)))
			return false;
		if (out->st_shndx != SHN_UNDEF && name_of(i, out, other) && !strcmp(name, other))
			return true;
	}
	return false;
}

/* Seen with glibc 2.36: 2 where another variant says 1. Those of bytes all say the difference. */
static bool only_compares(const char *name)
{
	static const char *const names[] = {"wcscmp", "wcsncmp", "wmemcmp", "__memcmpeq"};
	for (unsigned n = 0; n < sizeof(names) / sizeof(*names); n++)
		if (!strcmp(name, names[n]))
			return true;
	return false;
}

/* Asks all resolvers of @i what they choose. With @plain their answers are what is executed instead
 * of what they chose before. */
static bool ask_resolvers(const struct image *i, struct value_machine *m, bool plain,
			  struct library_functions *out)
{
	size_t n = 0;
	for (uint64_t k = 1; k < i->n_symbols; k++) {
		Elf64_Sym s;
		char name[NAME_MAX_BYTES];
		if (!get(i, i->symtab + k * sizeof(s), &s, sizeof(s)))
			break;
		if (s.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.st_info) != STT_GNU_IFUNC ||
		    !name_of(i, &s, name))
			continue;
		uint64_t chosen = resolve(m, i->bias + s.st_value);
		if (plain)
			out->at[n++].plain = chosen;
		else if (!add(out, chosen, import_model_by_standard(name)))
			return false;
		else
			out->at[out->n - 1].compares = only_compares(name);
	}
	return true;
}

/* The resolvers of libc, and once more as if the processor had nothing of what they ask for: glibc
 * says that each of its variants does the same. */
static bool find_models(const struct image *libc, const struct image *linker,
			struct value_machine *m, struct library_functions *out)
{
	struct value_memory *mem = libc->memory;
	Elf64_Sym features;
	uint64_t assumed, unknown, count = value_machine_count(m);
	value_machine_inexact(m, &assumed, &unknown);
	struct value_snapshot before = value_memory_snapshot(mem);
	bool fine = ask_resolvers(libc, m, false, out);
	value_memory_restore(mem, &before);
	if (fine && out->n && find_symbol(linker, "_rtld_global_ro", &features) &&
	    features.st_size <= VALUE_PAGE) {
		const uint8_t zeros[VALUE_PAGE] = {0};
		value_memory_write(mem, linker->bias + features.st_value, zeros, features.st_size,
				   VALUE_EXACT);
		ask_resolvers(libc, m, true, out);
	}
	value_memory_restore(mem, &before);
	value_memory_forget(mem, &before);
	value_machine_set_count(m, count);
	value_machine_set_inexact(m, assumed, unknown);
	return fine;
}

/* What is of no use is taken out: what has neither model nor another variant, or is not in libc. */
static void keep_useful(struct library_functions *list, const struct library_range *text)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct library_function *f = &list->at[i];
		if (f->addr < text->start || f->addr >= text->end)
			continue;
		if (f->plain == f->addr || f->plain < text->start || f->plain >= text->end)
			f->plain = 0;
		if (f->name || f->plain)
			list->at[n++] = *f;
	}
	list->n = n;
}

/* The functions of the kernel's own image, under the names that begin with __vdso_. */
static bool find_vdso(const struct image *i, struct library_functions *out)
{
	static const char *const names[] = {"__vdso_clock_gettime", "__vdso_gettimeofday",
					    "__vdso_clock_getres", "__vdso_getcpu", "__vdso_time"};
	for (uint64_t k = 1; k < i->n_symbols; k++) {
		Elf64_Sym s;
		char name[NAME_MAX_BYTES];
		if (!get(i, i->symtab + k * sizeof(s), &s, sizeof(s)) || !name_of(i, &s, name))
			break;
		for (unsigned n = 0; n < sizeof(names) / sizeof(*names); n++)
			if (!strcmp(name, names[n]) && !add(out, i->bias + s.st_value, names[n]))
				return false;
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct library_function *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Several names may lead to the same code, of which only some have a model: rindex, strrchr. */
static void join_names(struct library_functions *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct library_function *f = &list->at[i], *last = n ? &list->at[n - 1] : NULL;
		if (!last || last->addr != f->addr) {
			list->at[n++] = *f;
			continue;
		}
		last->name = last->name ? last->name : f->name;
		last->plain = last->plain ? last->plain : f->plain;
		last->compares |= f->compares;
	}
	list->n = n;
}

static bool is_library(struct value_machine *m, const struct value_region *r)
{
	uint32_t source = r->source & ~SOURCE_START;
	return r->prot & VALUE_EXEC && source >= SOURCE_FILES &&
	       !value_machine_has_code(m, r->start, VALUE_SIDE_TRACED);
}

static uint64_t stamp_of(struct value_machine *m, const struct value_region *list, size_t n)
{
	uint64_t stamp = 1;
	for (size_t i = 0; i < n; i++)
		if (is_library(m, &list[i])) {
			const uint64_t words[] = {list[i].start, list[i].end, list[i].off,
						  list[i].source};
			for (unsigned k = 0; k < sizeof(words) / sizeof(*words); k++)
				stamp = capture_hash_step(stamp, words[k]);
		}
	return stamp;
}

static bool add_range(struct value_libraries *l, struct value_machine *m,
		      const struct value_region *r)
{
	if (l->n_ranges == l->room_ranges) {
		size_t room = l->room_ranges ? 2 * l->room_ranges : 32;
		struct library_range *ranges = realloc(l->ranges, room * sizeof(*ranges));
		if (!ranges)
			return false;
		l->ranges = ranges;
		l->room_ranges = room;
	}
	l->ranges[l->n_ranges++] = (struct library_range){r->start, r->end};
	return !value_machine_library(m, r->start, r->end);
}

/* The images that matter, as far as they were found. */
struct found {
	struct image libc, linker;
	struct library_range text; /* of libc */
};

/* What region @r begins: a file, or the kernel's image. */
static bool take_region(struct value_libraries *l, struct value_machine *m,
			const struct value_region *r, struct found *found)
{
	struct image image;
	Elf64_Sym s;
	bool of_file = (r->source & ~SOURCE_START) >= SOURCE_FILES;
	if (of_file && !r->off && open_image(value_machine_memory(m), r->start, &image)) {
		if (find_symbol(&image, "gnu_get_libc_version", &s))
			found->libc = image;
		else if (find_symbol(&image, "_rtld_global_ro", &s))
			found->linker = image;
	}
	if (!of_file && r->prot & VALUE_EXEC &&
	    open_image(value_machine_memory(m), r->start, &image)) {
		l->vdso_range = (struct library_range){r->start, r->end};
		return find_vdso(&image, &l->vdso);
	}
	return true;
}

/* The functions of libc that have variants. */
static bool take_libc(struct value_libraries *l, struct value_machine *m, struct found *found)
{
	if (!found->libc.bias)
		return true;
	value_machine_side(m, VALUE_SIDE_LIBRARY);
	bool fine = find_models(&found->libc, &found->linker, m, &l->models);
	value_machine_side(m, VALUE_SIDE_TRACED);
	for (size_t i = 0; i < l->n_ranges; i++)
		if (l->ranges[i].start > found->libc.bias &&
		    (!found->text.start || l->ranges[i].start < found->text.start))
			found->text = l->ranges[i];
	keep_useful(&l->models, &found->text);
	if (l->models.n)
		qsort(l->models.at, l->models.n, sizeof(*l->models.at), by_address);
	join_names(&l->models);
	for (size_t i = 0; fine && i < l->models.n; i++)
		fine = !value_machine_place(m, l->models.at[i].addr);
	return fine;
}

/* Memory of the process alone, which it may have written code to: not its stack, as code there (of
 * nested functions) is written again with nearly each call, and not what the kernel maps for time.
 */
static bool may_have_code(const struct value_libraries *l, const struct value_region *r)
{
	return r->prot & VALUE_EXEC && !(r->prot & VALUE_SHARED) && !r->grows_to &&
	       (r->source & ~SOURCE_START) == VALUE_SOURCE_ZEROS &&
	       (r->end <= l->vdso_range.start || r->start >= l->vdso_range.end);
}

static bool put_made(struct value_libraries *l, size_t at, const struct value_region *r)
{
	if (at == l->room_made) {
		size_t room = l->room_made ? 2 * l->room_made : 16;
		struct library_range *made = realloc(l->made, room * sizeof(*made));
		if (!made)
			return false;
		l->made = made;
		l->room_made = room;
	}
	l->made[at] = (struct library_range){r->start, r->end};
	return true;
}

/* Cheap where none is new and none is gone. */
static int sync_made(struct value_libraries *l, struct value_machine *m)
{
	const struct value_region *regions;
	size_t n = value_memory_regions(value_machine_memory(m), &regions), n_made = 0;
	bool same = true;
	for (size_t i = 0; i < n; i++) {
		const struct value_region *r = &regions[i];
		if (!may_have_code(l, r) || value_machine_has_code(m, r->start, VALUE_SIDE_TRACED))
			continue;
		same = same && n_made < l->n_made && l->made[n_made].start == r->start &&
		       l->made[n_made].end == r->end;
		if (!same && !put_made(l, n_made, r))
			return -ENOMEM;
		n_made++;
	}
	if (same && n_made == l->n_made)
		return 0;
	l->n_made = n_made;
	value_machine_no_made(m);
	int err = 0;
	for (size_t i = 0; !err && i < n_made; i++)
		err = value_machine_made(m, l->made[i].start, l->made[i].end);
	return err;
}

int value_libraries_sync(struct value_libraries *l, struct value_machine *m)
{
	const struct value_region *regions;
	size_t n = value_memory_regions(value_machine_memory(m), &regions);
	uint64_t stamp = stamp_of(m, regions, n);
	if (stamp == l->stamp)
		return sync_made(l, m);
	bool fine = true;
	struct found found = {0};
	enum value_side side = value_machine_side_now(m);
	value_machine_no_libraries(m);
	l->n_ranges = l->models.n = l->vdso.n = l->n_made = 0;
	l->vdso_range = (struct library_range){0};
	for (size_t i = 0; fine && i < n; i++) {
		fine = !is_library(m, &regions[i]) || add_range(l, m, &regions[i]);
		fine = fine && take_region(l, m, &regions[i], &found);
	}
	fine = fine && take_libc(l, m, &found);
	value_machine_side(m, side);
	l->stamp = fine ? stamp : 0;
	return fine ? sync_made(l, m) : -ENOMEM;
}

void value_libraries_deinit(struct value_libraries *l)
{
	free(l->ranges);
	free(l->made);
	free(l->models.at);
	free(l->vdso.at);
}

bool value_libraries_has(const struct value_libraries *l, uint64_t addr)
{
	for (size_t i = 0; i < l->n_ranges; i++)
		if (addr >= l->ranges[i].start && addr < l->ranges[i].end)
			return true;
	for (size_t i = 0; i < l->n_made; i++)
		if (addr >= l->made[i].start && addr < l->made[i].end)
			return true;
	return false;
}

const struct library_function *value_libraries_function(const struct value_libraries *l,
							uint64_t addr)
{
	const struct library_function key = {.addr = addr};
	return l->models.n ? bsearch(&key, l->models.at, l->models.n, sizeof(key), by_address)
			   : NULL;
}

bool value_libraries_stack(struct value_libraries *l, struct value_machine *m,
			   const struct library_function *f, bool plain)
{
	struct library_function *own = &l->models.at[f - l->models.at];
	if (own->stack == STACK_NOT_ASKED)
		own->stack = STACK_STAYS + value_may_use_stack(m, f->addr);
	if (plain && own->plain_stack == STACK_NOT_ASKED)
		own->plain_stack = STACK_STAYS + value_may_use_stack(m, f->plain);
	return own->stack == STACK_CHANGES || (plain && own->plain_stack == STACK_CHANGES);
}

bool value_libraries_vdso(const struct value_libraries *l, uint64_t addr, const char **name)
{
	*name = "";
	for (size_t i = 0; i < l->vdso.n; i++)
		if (l->vdso.at[i].addr == addr)
			*name = l->vdso.at[i].name;
	return addr >= l->vdso_range.start && addr < l->vdso_range.end;
}
