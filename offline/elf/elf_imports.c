// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_imports.c: makes the imports: one for each dynamic symbol that a GOT slot is filled with, and
 * one for each IFUNC of the module itself that its own code calls through a slot. One import may
 * have several slots and stubs; it shows one of each, and import_at() knows all. */
#include "offline/base/search.h"
#include "offline/elf/elf_parts.h"

#include <errno.h>

struct ranges {
	uint64_t addr[4], len[4];
	uint32_t n;
};

static struct ranges got_sections(const struct elf_image *image)
{
	struct ranges got = {.n = 0};
	for (uint32_t i = 0; i < image->file.n_sections && got.n < 4; i++) {
		const struct elf_section *s = &image->file.sections[i];
		if ((s->flags & SHF_ALLOC) && !strncmp(s->name, ".got", 4)) {
			got.addr[got.n] = s->addr;
			got.len[got.n++] = s->mem_size;
		}
	}
	return got;
}

/* An IRELATIVE word counts as a GOT slot if a stub jumps through it or it lies in a .got section;
 * others are variables, which code may change. */
static bool is_slot(const struct ranges *got, const struct elf_got_slot *slot)
{
	if (!slot->resolver || slot->stub)
		return true;
	for (uint32_t i = 0; i < got->n; i++)
		if (slot->addr - got->addr[i] < got->len[i])
			return true;
	return false;
}

/* Slots of one symbol together, that of its PLT stub first. */
static int by_symbol(const void *a, const void *b)
{
	const struct elf_got_slot *x = *(struct elf_got_slot *const *)a;
	const struct elf_got_slot *y = *(struct elf_got_slot *const *)b;
	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	if (x->resolver != y->resolver)
		return x->resolver < y->resolver ? -1 : 1;
	if (!x->stub != !y->stub)
		return x->stub ? -1 : 1;
	if (x->lazy != y->lazy)
		return x->lazy ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_place_addr(const void *a, const void *b)
{
	const struct elf_import_place *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The name of the IFUNC whose resolver is at @addr, or "". */
static const char *ifunc_name(const struct elf_image *image, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_symbols, i, image->symbols[i].addr < addr);
	for (; low < image->n_symbols && image->symbols[low].addr == addr; low++)
		if (image->symbols[low].ifunc)
			return image->symbols[low].name;
	return "";
}

static void make_import(struct elf_image *image, const struct elf_got_slot *slot)
{
	struct pugmark_import *import = &image->imports[image->n_imports];
	*import = (struct pugmark_import){.name = "",
					  .plt_addr = slot->stub,
					  .got_addr = slot->addr,
					  .local_func = PUGMARK_NONE};
	if (slot->resolver) {
		import->name = ifunc_name(image, slot->resolver);
		import->ifunc = true;
	} else {
		Elf64_Sym symbol = elf_symtab_entry(&image->dynsym, slot->symbol);
		import->name = elf_symtab_name(&image->dynsym, &symbol);
		if (symbol.st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC &&
		    elf_code_at(image, symbol.st_value) != PUGMARK_NONE)
			image->import_local[image->n_imports] = symbol.st_value;
	}
	import->flags = elf_libc_flags(import->name);
	image->n_imports++;
}

/* Makes the imports of @slots (by symbol) and tells each GOT slot's place its import. */
static int make_imports(struct elf_image *image, struct elf_got_slot **slots, uint32_t n)
{
	image->imports = calloc(n + 1, sizeof(*image->imports));
	image->import_local = calloc(n + 1, sizeof(*image->import_local));
	if (!image->imports || !image->import_local)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (!i || slots[i]->symbol != slots[i - 1]->symbol ||
		    slots[i]->resolver != slots[i - 1]->resolver)
			make_import(image, slots[i]);
		if (!elf_room(&image->import_places, image->n_import_places,
			      sizeof(*image->import_places)))
			return -ENOMEM;
		image->import_places[image->n_import_places++] =
			(struct elf_import_place){.addr = slots[i]->addr,
						  .slot = slots[i]->addr,
						  .import = image->n_imports - 1};
	}
	return 0;
}

int elf_read_imports(struct elf_image *image)
{
	uint32_t n_stubs = image->n_import_places, n = 0;
	struct ranges got = got_sections(image);
	struct elf_got_slot **slots = malloc((image->n_got + 1) * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < image->n_got; i++)
		if (is_slot(&got, &image->got[i]))
			slots[n++] = &image->got[i];
	qsort(slots, n, sizeof(*slots), by_symbol);
	int err = make_imports(image, slots, n);
	free(slots);
	if (err)
		return err;
	struct elf_import_place *places = image->import_places;
	uint32_t n_slots = image->n_import_places - n_stubs;
	if (n_slots)
		qsort(places + n_stubs, n_slots, sizeof(*places), by_place_addr);
	for (uint32_t i = 0; i < n_stubs; i++) {
		struct elf_import_place key = {.addr = places[i].slot};
		places[i].import =
			((struct elf_import_place *)bsearch(&key, places + n_stubs, n_slots,
							    sizeof(*places), by_place_addr))
				->import;
	}
	if (image->n_import_places)
		qsort(places, image->n_import_places, sizeof(*places), by_place_addr);
	return 0;
}

uint32_t elf_image_import_at(const struct elf_image *image, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_import_places, i,
					image->import_places[i].addr <= addr);
	return low && image->import_places[low - 1].addr == addr
		       ? image->import_places[low - 1].import
		       : PUGMARK_NONE;
}
