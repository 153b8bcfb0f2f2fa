// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_symbols.c: the symbols that lie in executable code, of .symtab and .dynsym and of the
 * separate debug file's .symtab. A symbol that two tables hold is listed once. */
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <inttypes.h>

static bool wanted_type(unsigned type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE ||
	       type == STT_OBJECT;
}

/* Appends the symbols of @table that lie in code; false when there is no memory. */
static bool add_symbols(struct elf_image *image, const struct elf_symtab *table, bool dynamic,
			uint32_t *n_outside)
{
	for (uint64_t i = 0; i < table->n; i++) {
		Elf64_Sym s = elf_symtab_entry(table, i);
		unsigned type = ELF64_ST_TYPE(s.st_info);
		if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || !wanted_type(type))
			continue;
		bool code = type == STT_FUNC || type == STT_GNU_IFUNC;
		if (elf_code_at(image, s.st_value) == PUGMARK_NONE) {
			*n_outside += code && s.st_size;
			continue;
		}
		const char *name = elf_symtab_name(table, &s);
		if (!*name)
			continue;
		if (!elf_room(&image->symbols, image->n_symbols, sizeof(*image->symbols)))
			return false;
		image->symbols[image->n_symbols++] = (struct elf_symbol){
			.addr = s.st_value,
			.size = s.st_size,
			.name = name,
			.dynamic = dynamic,
			.global = ELF64_ST_BIND(s.st_info) != STB_LOCAL,
			.ifunc = type == STT_GNU_IFUNC,
			.code = code,
		};
	}
	return true;
}

/* The first symbol table of @file, which holds at most one, appended. */
static bool add_symtab(struct elf_image *image, struct elf_file *file)
{
	uint32_t n_outside = 0;
	for (uint32_t i = 0; i < file->n_sections; i++) {
		const struct elf_section *section = &file->sections[i];
		struct elf_symtab table;
		if (section->type != SHT_SYMTAB || !section->size)
			continue;
		if (!elf_symtab_init(&table, file, section))
			return true;
		bool ok = add_symbols(image, &table, false, &n_outside);
		if (n_outside)
			elf_note(&image->file,
				 "%u functions of %s's symbol table lie outside executable code",
				 n_outside, file == &image->file ? "the file" : file->path);
		return ok;
	}
	return true;
}

/* How many symbols DT_HASH or DT_GNU_HASH know of; 0 where neither can be read. */
static uint64_t count_by_hash(const struct elf_image *image)
{
	const struct elf_dynamic *d = &image->dynamic;
	const uint8_t *hash = d->hash ? elf_bytes(image, d->hash, 8) : NULL;
	uint32_t words[4];
	if (hash) {
		memcpy(words, hash, 8);
		return words[1];
	}
	uint64_t len = UINT64_MAX;
	hash = d->gnu_hash ? elf_bytes_cut(image, d->gnu_hash, &len) : NULL;
	if (!hash || len < sizeof(words))
		return 0;
	memcpy(words, hash, sizeof(words)); /* buckets, first symbol, filter words, shift */
	uint64_t buckets = sizeof(words) + (uint64_t)words[2] * 8;
	uint64_t chains = buckets + (uint64_t)words[0] * 4;
	if (chains > len)
		return 0;
	uint32_t last = 0;
	for (uint64_t at = buckets; at < chains; at += 4) {
		uint32_t first;
		memcpy(&first, hash + at, 4);
		if (first > last)
			last = first;
	}
	if (last < words[1])
		return words[1];
	for (uint64_t at = chains + (uint64_t)(last - words[1]) * 4; at + 4 <= len; at += 4) {
		uint32_t link;
		memcpy(&link, hash + at, 4);
		last++;
		if (link & 1)
			break;
	}
	return last;
}

/* .dynsym, as the loader finds it, or by its section header where there is no dynamic section. */
static void find_dynsym(struct elf_image *image)
{
	const struct elf_dynamic *d = &image->dynamic;
	const struct elf_section *section = NULL;
	for (uint32_t i = 0; i < image->file.n_sections && !section; i++)
		if (image->file.sections[i].type == SHT_DYNSYM)
			section = &image->file.sections[i];
	uint64_t len = UINT64_MAX, strings_len = d->strtab_len;
	const uint8_t *entries = d->symtab ? elf_bytes_cut(image, d->symtab, &len) : NULL;
	const uint8_t *strings = d->strtab ? elf_bytes_cut(image, d->strtab, &strings_len) : NULL;
	if (!entries || !strings) {
		if (d->symtab)
			elf_note(&image->file,
				 "the dynamic symbol table at address %#" PRIx64 " is damaged",
				 d->symtab);
		if (section)
			elf_symtab_init(&image->dynsym, &image->file, section);
		return;
	}
	const uint8_t *nul = strings_len ? memrchr(strings, 0, strings_len) : NULL;
	uint64_t n = section && section->addr == d->symtab ? section->size / sizeof(Elf64_Sym)
							   : count_by_hash(image);
	image->dynsym = (struct elf_symtab){
		.entries = entries,
		.n_bound = len / sizeof(Elf64_Sym),
		.strings = (const char *)strings,
		.strings_len = nul ? (uint64_t)(nul - strings) + 1 : 0,
	};
	image->dynsym.n = n < image->dynsym.n_bound ? n : image->dynsym.n_bound;
}

/* By address, global before local, functions first, then in the order of the tables. */
static int by_symbol_addr(const void *a, const void *b, void *main_file)
{
	const struct elf_file *file = main_file;
	const struct elf_symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->global != y->global)
		return x->global ? -1 : 1;
	if (x->code != y->code)
		return x->code ? -1 : 1;
	if (x->dynamic != y->dynamic)
		return x->dynamic ? -1 : 1;
	bool x_main = (uintptr_t)x->name - (uintptr_t)file->data < file->size;
	bool y_main = (uintptr_t)y->name - (uintptr_t)file->data < file->size;
	if (x_main != y_main)
		return x_main ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Whether two names are the same up to the version that .symtab may hold; *budget falls by the
 * characters compared, so that long names at one address cannot take quadratic time. */
static bool same_name(const char *a, const char *b, uint64_t *budget)
{
	if (a == b)
		return true;
	for (; *budget; a++, b++, --*budget) {
		bool a_ends = !*a || *a == '@', b_ends = !*b || *b == '@';
		if (a_ends || b_ends)
			return a_ends && b_ends;
		if (*a != *b)
			return false;
	}
	return false;
}

/* Leaves one of those symbols that several tables hold. */
static void merge_symbols(struct elf_image *image)
{
	struct elf_symbol *all = image->symbols;
	uint32_t kept = 0, group = 0;
	uint64_t budget = 8 * (image->file.size + image->debug.size);
	for (uint32_t i = 0; i < image->n_symbols; i++) {
		if (!kept || all[kept - 1].addr != all[i].addr)
			group = kept;
		uint32_t same = group;
		while (same < kept && budget && !same_name(all[same].name, all[i].name, &budget)) {
			same++;
			budget -= budget > 0;
		}
		if (same < kept && budget && all[same].global == all[i].global) {
			all[same].dynamic |= all[i].dynamic;
			all[same].ifunc |= all[i].ifunc;
			all[same].code |= all[i].code;
			if (!all[same].size)
				all[same].size = all[i].size;
			continue;
		}
		all[kept++] = all[i];
	}
	image->n_symbols = kept;
}

void elf_sort_symbols(struct elf_image *image)
{
	if (image->n_symbols)
		qsort_r(image->symbols, image->n_symbols, sizeof(*image->symbols), by_symbol_addr,
			&image->file);
	merge_symbols(image);
}

int elf_read_symbols(struct elf_image *image)
{
	uint32_t n_outside = 0;
	find_dynsym(image);
	if (!add_symtab(image, &image->file) ||
	    (image->debug.data && !add_symtab(image, &image->debug)) ||
	    !add_symbols(image, &image->dynsym, true, &n_outside))
		return -ENOMEM;
	for (uint32_t i = 0; i < image->debug.n_notes; i++)
		elf_note(&image->file, "debug file %s: %s", image->debug.path,
			 image->debug.notes[i]);
	if (n_outside)
		elf_note(&image->file,
			 "%u functions of the dynamic symbol table lie outside executable code",
			 n_outside);
	elf_sort_symbols(image);
	return 0;
}
