// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_relocs.c: what relocations, and in a file that is not PIE the data itself, say about code:
 * GOT slots of functions, data words that hold addresses in code. A word that .rela.dyn's IRELATIVE
 * fills holds what a resolver returns: the resolver is a code pointer, the word is no pointer slot.
 *
 * The tables are the dynamic section's, and those loaded ones of section headers that it does not
 * name (a static executable's). */
#include "offline/base/search.h"
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <inttypes.h>

#define MAX_TABLES 64
#define TYPE_RELR 19 /* SHT_RELR, not in every elf.h */

struct table {
	uint64_t addr, len;
	bool relr;
};

struct pointer {
	uint64_t place, value;
};

/* What the tables are gathered into. */
struct gather {
	struct elf_image *image;
	struct table tables[MAX_TABLES];
	uint32_t n_tables;
	struct pointer *slots;
	uint32_t n_slots;
	uint64_t *roots; /* code pointers that no pointer slot holds */
	uint32_t n_roots;
	uint64_t *patched; /* places in code */
	uint32_t n_patched;
	bool no_memory;
};

static void add_table(struct gather *g, uint64_t addr, uint64_t len, bool relr)
{
	if (!addr || !len)
		return;
	for (uint32_t i = 0; i < g->n_tables; i++) {
		const struct table *t = &g->tables[i];
		if (addr < t->addr + t->len && t->addr < addr + len)
			return; /* DT_RELASZ may count the PLT's relocations as well; a section
				   names the same ones */
	}
	uint64_t there = len;
	if (!elf_bytes_cut(g->image, addr, &there) || there < len)
		elf_note(&g->image->file,
			 "the relocations at address %#" PRIx64 " are not all in the file", addr);
	if (!there)
		return;
	if (g->n_tables < MAX_TABLES)
		g->tables[g->n_tables++] = (struct table){addr, there, relr};
	else
		elf_note(&g->image->file,
			 "the relocations at address %#" PRIx64 " are not read: %d tables are",
			 addr, MAX_TABLES);
}

static void find_tables(struct gather *g)
{
	const struct elf_dynamic *d = &g->image->dynamic;
	const struct elf_file *file = &g->image->file;
	add_table(g, d->plt_rela, d->plt_rela_len, false);
	uint64_t rela_len = d->rela_len;
	if (d->plt_rela > d->rela && d->plt_rela - d->rela < rela_len)
		rela_len = d->plt_rela - d->rela;
	add_table(g, d->rela, rela_len, false);
	add_table(g, d->relr, d->relr_len, true);
	for (uint32_t i = 0; i < file->n_sections; i++) {
		const struct elf_section *s = &file->sections[i];
		if ((s->flags & SHF_ALLOC) && (s->type == SHT_RELA || s->type == TYPE_RELR))
			add_table(g, s->addr, s->size, s->type == TYPE_RELR);
	}
}

static void add_root(struct gather *g, uint64_t value)
{
	if (elf_code_at(g->image, value) == PUGMARK_NONE)
		return;
	if (elf_room(&g->roots, g->n_roots, sizeof(*g->roots)))
		g->roots[g->n_roots++] = value;
	else
		g->no_memory = true;
}

/* Notes that the word at @place is not what the file has, once the program runs. */
static void add_place(struct gather *g, uint64_t place)
{
	if (elf_code_at(g->image, place) == PUGMARK_NONE)
		return;
	if (elf_room(&g->patched, g->n_patched, sizeof(*g->patched)))
		g->patched[g->n_patched++] = place;
	else
		g->no_memory = true;
}

static void add_slot(struct gather *g, uint64_t place, uint64_t value)
{
	if (elf_code_at(g->image, value) == PUGMARK_NONE)
		return;
	if (elf_room(&g->slots, g->n_slots, sizeof(*g->slots)))
		g->slots[g->n_slots++] = (struct pointer){place, value};
	else
		g->no_memory = true;
}

/* Notes a GOT slot. One inside code is damage: stubs lie there. */
static void add_got(struct gather *g, const struct elf_got_slot *slot)
{
	struct elf_image *image = g->image;
	if (elf_code_at(image, slot->addr) != PUGMARK_NONE)
		return;
	if (elf_room(&image->got, image->n_got, sizeof(*image->got)))
		image->got[image->n_got++] = *slot;
	else
		g->no_memory = true;
}

static void read_rela(struct gather *g, const Elf64_Rela *rela)
{
	const struct elf_symtab *dynsym = &g->image->dynsym;
	uint32_t type = ELF64_R_TYPE(rela->r_info), index = ELF64_R_SYM(rela->r_info);
	Elf64_Sym symbol = {0};
	add_place(g, rela->r_offset);
	if (index && index < dynsym->n_bound)
		symbol = elf_symtab_entry(dynsym, index);
	else if (index)
		return;
	uint64_t value = symbol.st_value + rela->r_addend;
	unsigned kind = ELF64_ST_TYPE(symbol.st_info);
	bool function = kind == STT_FUNC || kind == STT_GNU_IFUNC || kind == STT_NOTYPE;
	/* Who jumps through a JUMP_SLOT takes it for a function's, whatever the symbol says: Go's
	 * linker writes STT_OBJECT for those of the C library. */
	if (index && (type == R_X86_64_JUMP_SLOT || (type == R_X86_64_GLOB_DAT && function)))
		add_got(g, &(struct elf_got_slot){.addr = rela->r_offset,
						  .symbol = index,
						  .lazy = type == R_X86_64_JUMP_SLOT});
	if (type == R_X86_64_IRELATIVE) {
		add_got(g,
			&(struct elf_got_slot){.addr = rela->r_offset, .resolver = rela->r_addend});
		add_root(g, rela->r_addend);
	} else if (type == R_X86_64_RELATIVE) {
		add_slot(g, rela->r_offset, rela->r_addend);
	} else if (type == R_X86_64_64 || type == R_X86_64_GLOB_DAT) {
		if (index && symbol.st_shndx == SHN_UNDEF)
			return;
		if (kind == STT_GNU_IFUNC)
			add_root(g, symbol.st_value);
		else
			add_slot(g, rela->r_offset, type == R_X86_64_64 ? value : symbol.st_value);
	}
}

static void read_relr_place(struct gather *g, uint64_t place)
{
	const uint8_t *word = elf_bytes(g->image, place, 8);
	add_place(g, place);
	if (word)
		add_slot(g, place, elf_u64(word));
}

/* DT_RELR: an even word is a place, an odd one a bitmap of the 63 words that follow. Places go up,
 * as every linker writes them; so no place is made twice, however the table is damaged. */
static void read_relr(struct gather *g, const struct table *table)
{
	const uint8_t *words = elf_bytes(g->image, table->addr, table->len);
	uint64_t next = 0, floor = 0; /* where the next bitmap starts, the lowest place allowed */
	for (uint64_t at = 0; at + 8 <= table->len && !g->no_memory; at += 8) {
		uint64_t word = elf_u64(words + at);
		bool is_place = !(word & 1);
		if (is_place ? word < floor || word > INT64_MAX : next > INT64_MAX) {
			elf_note(&g->image->file,
				 "the relocations (RELR) at address %#" PRIx64 " are damaged",
				 table->addr + at);
			return;
		}
		if (is_place) {
			read_relr_place(g, word);
			next = floor = word + 8;
			continue;
		}
		for (unsigned bit = 1; bit < 64; bit++)
			if (word >> bit & 1) {
				read_relr_place(g, next + (bit - 1) * 8);
				floor = next + bit * 8;
			}
		next += 63 * 8;
	}
}

static void read_tables(struct gather *g)
{
	for (uint32_t i = 0; i < g->n_tables; i++) {
		const struct table *table = &g->tables[i];
		if (table->relr) {
			read_relr(g, table);
			continue;
		}
		const uint8_t *bytes = elf_bytes(g->image, table->addr, table->len);
		for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table->len && !g->no_memory;
		     at += sizeof(Elf64_Rela)) {
			Elf64_Rela rela;
			memcpy(&rela, bytes + at, sizeof(rela));
			read_rela(g, &rela);
		}
	}
}

/* How many of the @n bytes are letters and the like; -1: some are neither that nor what separates
 * strings. */
static int letters(const uint8_t *bytes, uint64_t n)
{
	int found = 0;
	for (uint64_t i = 0; i < n; i++) {
		bool letter = bytes[i] >= ' ' && bytes[i] <= '~';
		if (!letter && bytes[i] && !(bytes[i] >= '\a' && bytes[i] <= '\r'))
			return -1;
		found += letter;
	}
	return found;
}

/* Whether the word at @at is the end of a string, behind others: where text is large, its three
 * last letters read as an address of code, and mostly one in the midst of an instruction. The
 * string begins before the word: in a table of pointers the highest byte of the one before is zero,
 * whatever letters their lower bytes read as. */
static bool ends_string(const uint8_t *bytes, uint64_t at)
{
	enum { BEFORE = 16, ENOUGH = 4, LAST = 3 };
	uint64_t before = at < BEFORE ? at : BEFORE;
	return at && letters(bytes + at - 1, 1) == 1 && letters(bytes + at, 8) == LAST &&
	       letters(bytes + at - before, before) >= ENOUGH;
}

/* Every aligned word of [addr, addr + len) that points into code. */
static void read_words(struct gather *g, uint64_t addr, uint64_t len)
{
	const uint8_t *bytes = elf_bytes_cut(g->image, addr, &len);
	const struct elf_code *code = g->image->code;
	uint64_t low = code[0].addr, span = code[g->image->n_code - 1].end - low;
	for (uint64_t at = -addr & 7; at + 8 <= len && !g->no_memory; at += 8) {
		uint64_t value = elf_u64(bytes + at);
		if (value - low < span && !ends_string(bytes, at))
			add_slot(g, addr + at, value);
	}
}

/* The words of @segment; of an executable one, which may hold data as well, those that no FDE
 * covers. */
static void read_segment_words(struct gather *g, const struct elf_segment *segment)
{
	const struct elf_image *image = g->image;
	uint64_t addr = segment->addr;
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_fdes, i, image->fdes[i].addr < addr);
	for (; low < image->n_fdes && image->fdes[low].end <= segment->end_file; low++) {
		read_words(g, addr, image->fdes[low].addr - addr);
		addr = image->fdes[low].end;
	}
	read_words(g, addr, segment->end_file - addr);
}

/* Where the file has a fixed address, its pointers need no relocations. */
static void read_fixed_data(struct gather *g)
{
	const struct elf_image *image = g->image;
	uint64_t budget = 2 * image->file.size; /* sections may overlap */
	if (elf_image_is_pie(image))
		return;
	for (uint32_t i = 0; i < image->file.n_sections; i++) {
		const struct elf_section *s = &image->file.sections[i];
		if (!elf_holds_data(s) || s->size > budget)
			continue;
		budget -= s->size;
		read_words(g, s->addr, s->size);
	}
	for (uint32_t i = 0; !image->file.n_sections && i < image->n_segments; i++)
		read_segment_words(g, &image->segments[i]);
}

static int by_place(const void *a, const void *b)
{
	const struct pointer *x = a, *y = b;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static int by_got_addr(const void *a, const void *b)
{
	const struct elf_got_slot *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* Hands what was gathered to the image, sorted and each place and pointer once. */
static int finish(struct gather *g)
{
	struct elf_image *image = g->image;
	size_t n = g->n_slots;
	image->slot_places = malloc((n + 1) * sizeof(uint64_t));
	image->slot_values = malloc((n + 1) * sizeof(uint64_t));
	image->code_pointers = malloc((n + g->n_roots + 1) * sizeof(uint64_t));
	if (!image->slot_places || !image->slot_values || !image->code_pointers || g->no_memory)
		return -ENOMEM;
	if (n)
		qsort(g->slots, n, sizeof(*g->slots), by_place);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = image->n_slots;
		if (at && image->slot_places[at - 1] == g->slots[i].place)
			continue;
		image->slot_places[at] = g->slots[i].place;
		image->slot_values[at] = g->slots[i].value;
		image->n_slots++;
	}
	uint64_t *pointers = image->code_pointers;
	memcpy(pointers, image->slot_values, image->n_slots * sizeof(*pointers));
	if (g->n_roots)
		memcpy(pointers + image->n_slots, g->roots, g->n_roots * sizeof(*pointers));
	n = (size_t)image->n_slots + g->n_roots;
	qsort(pointers, n, sizeof(*pointers), by_value);
	for (size_t i = 0; i < n; i++)
		if (!i || pointers[i] != pointers[i - 1])
			pointers[image->n_code_pointers++] = pointers[i];
	if (g->n_patched)
		qsort(g->patched, g->n_patched, sizeof(*g->patched), by_value);
	image->patched = g->patched;
	image->n_patched = g->n_patched;
	g->patched = NULL;
	if (image->n_got)
		qsort(image->got, image->n_got, sizeof(*image->got), by_got_addr);
	n = image->n_got;
	image->n_got = 0;
	for (size_t i = 0; i < n; i++)
		if (!i || image->got[image->n_got - 1].addr != image->got[i].addr)
			image->got[image->n_got++] = image->got[i];
	return 0;
}

int elf_read_relocs(struct elf_image *image)
{
	struct gather g = {.image = image};
	find_tables(&g);
	read_tables(&g);
	read_fixed_data(&g);
	add_root(&g, image->file.header.e_entry);
	add_root(&g, image->dynamic.init);
	add_root(&g, image->dynamic.fini);
	int err = finish(&g);
	free(g.slots);
	free(g.roots);
	free(g.patched);
	return err;
}

struct elf_got_slot *elf_got_at(const struct elf_image *image, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_got, i, image->got[i].addr <= addr);
	return low && image->got[low - 1].addr == addr ? &image->got[low - 1] : NULL;
}
