// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_golang.c: reads the table that the Go linker puts into every program (.gopclntab, which stays
 * when a program is stripped), for Go's own code is in no .eh_frame. It says where each function
 * is, its name, how high its frame is at each instruction (pcsp), and where a panic that was
 * recovered goes on in it. Functions become FDEs, so that the rest of the model needs to know
 * nothing of Go. Layouts: go/src/debug/gosym/pclntab.go and runtime/symtab.go; those of 1.16, 1.18
 * and 1.20 differ in their magic number and in the fields marked.
 *
 *   header   magic u32, 0 u16, quantum u8, pointer size u8, then words: functions, files,
 *            (from 1.18: text), names, units, files, pc tables, functions: offsets in the table
 *   functab  for each function its entry and the offset of its record, u32 each, entries from text
 *            on (before 1.18: words, and addresses); then the end of the last
 *   record   entry (as above), u32: name, arguments, deferreturn, pcsp, pcfile, pcln, npcdata,
 *            unit, (from 1.20: line); then u8: id, flags (from 1.17)
 *   1.2      has no more of a header than the count; offsets are from the table's beginning
 *
 * A table of pcsp is a list of varints: by how much the value changes (zigzag), and for how many
 * bytes it holds. It starts at -1 and ends with a change of 0. Offset 0 stands for no table: so it
 * is of functions in C that Go's own linker has linked in. */
#include "offline/base/search.h"
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "offline/elf/elf_cursor.h"

enum {
	FLAG_SPWRITE = 2 /* sets the stack pointer */,
	HEADER_BYTES = 8,
	HEADER_WORDS = 8,
	TABLE_ALIGN = 8
};
enum { MAX_FUNCTIONS = 1 << 24 };

static const struct layout {
	uint32_t magic;
	uint8_t n_words;	       /* of the header */
	uint8_t entry_bytes;	       /* in functab and records */
	uint8_t names, pcs, functions; /* which words of the header these are */
	uint8_t flags;		       /* where in a record; 0: nowhere */
} layouts[] = {
	{0xfffffff1, 8, 4, 3, 6, 7, 41}, /* 1.20 */
	{0xfffffff0, 8, 4, 3, 6, 7, 37}, /* 1.18 */
	{0xfffffffa, 7, 8, 2, 5, 6, 41}, /* 1.16 */
	{0xfffffffb, 1, 8, 0, 0, 0, 0},	 /* 1.2 */
};

/* One table, as far as the file has it. */
struct table {
	const struct layout *layout;
	const uint8_t *bytes;
	uint64_t len, addr;
	uint64_t text; /* what entries count from; 0 where they are addresses */
	uint64_t n, names, pcs, functions, records;
};

static struct elf_cursor cursor_at(const struct table *t, uint64_t off)
{
	uint64_t from = off < t->len ? off : t->len;
	return elf_cursor_new(t->bytes + from, t->len - from, t->addr + from);
}

static uint64_t word_at(const struct table *t, uint64_t off, unsigned len_bytes)
{
	struct elf_cursor c = cursor_at(t, off);
	return elf_read_fixed(&c, len_bytes);
}

/* The word of the header at @addr, as it is once the loader has relocated it. */
static uint64_t relocated(const struct elf_image *image, uint64_t addr, uint64_t word)
{
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_slots, i, image->slot_places[i] <= addr);
	return low && image->slot_places[low - 1] == addr ? image->slot_values[low - 1] : word;
}

static uint64_t entry_of(const struct table *t, uint64_t i)
{
	uint64_t bytes = t->layout->entry_bytes;
	return t->text + word_at(t, t->functions + 2 * i * bytes, bytes);
}

/* Whether the table's functions are in ascending order and lie in code; *@budget falls by the
 * number looked at. A table whose addresses the loader has yet to fill in (before 1.18, in a PIE)
 * is not in order. */
static bool is_sound(const struct elf_image *image, const struct table *t, uint64_t *budget)
{
	uint64_t pair = 2 * t->layout->entry_bytes, last = 0;
	if (!t->n || t->n > MAX_FUNCTIONS || t->functions > t->len || t->pcs > t->len ||
	    t->names > t->len || t->len - t->functions < (t->n + 1) * pair)
		return false;
	for (uint64_t i = 0; i <= t->n; i++, --*budget) {
		uint64_t addr = entry_of(t, i);
		bool in_code = i == t->n || elf_code_at(image, addr) != PUGMARK_NONE;
		if (addr <= last || !in_code || !*budget)
			return false;
		last = addr;
	}
	return true;
}

static bool read_table(const struct elf_image *image, uint64_t addr, const uint8_t *bytes,
		       uint64_t len, struct table *t)
{
	uint32_t magic;
	uint64_t words[HEADER_WORDS] = {0};
	memcpy(&magic, bytes, sizeof(magic));
	if (memcmp(bytes + 4, "\0\0\1\x08", 4))
		return false;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		const struct layout *l = &layouts[i];
		if (l->magic != magic)
			continue;
		*t = (struct table){.layout = l, .bytes = bytes, .len = len, .addr = addr};
		for (uint8_t k = 0; k < l->n_words; k++)
			words[k] = word_at(t, HEADER_BYTES + k * 8, 8);
		t->n = words[0];
		t->functions = HEADER_BYTES + 8;
		if (l->n_words > 1) {
			t->names = words[l->names];
			t->pcs = words[l->pcs];
			t->records = t->functions = words[l->functions];
		}
		if (l->entry_bytes == 4)
			t->text = relocated(image, addr + HEADER_BYTES + 16, words[2]);
		return true;
	}
	return false;
}

/* The first table in what is loaded. A linker may have put it into any section. */
static bool find_table(const struct elf_image *image, struct table *t)
{
	uint64_t budget = image->file.size;
	for (uint32_t i = 0; i < image->n_segments; i++) {
		const struct elf_segment *s = &image->segments[i];
		uint64_t len = s->end_file - s->addr;
		const uint8_t *bytes = elf_bytes(image, s->addr, len);
		for (uint64_t at = -s->addr % TABLE_ALIGN;
		     bytes && at + HEADER_BYTES + 8 * HEADER_WORDS <= len; at += TABLE_ALIGN)
			if (bytes[at + 7] == 8 &&
			    read_table(image, s->addr + at, bytes + at, len - at, t) &&
			    is_sound(image, t, &budget))
				return true;
	}
	return false;
}

/* ---- frames ---- */

/* Rows that are made; those past @max are only counted. */
struct rows {
	struct elf_cfa_row *at;
	uint32_t n, max;
	struct pugmark_cfa last;
};

static void add_row(struct rows *r, uint64_t addr, uint64_t end, struct pugmark_cfa cfa)
{
	bool same = r->n && r->last.reg == cfa.reg && r->last.offset == cfa.offset;
	if (same && r->n <= r->max)
		r->at[r->n - 1].end = end;
	if (!same && r->n < r->max)
		r->at[r->n] = (struct elf_cfa_row){addr, end, cfa};
	r->n += !same;
	r->last = cfa;
}

static struct pugmark_cfa rule_of(uint64_t height)
{
	if (height > ELF_CFA_HIGHEST - 8)
		return (struct pugmark_cfa){.reg = PUGMARK_CFA_UNKNOWN, .bp = PUGMARK_BP_UNKNOWN};
	return (struct pugmark_cfa){PUGMARK_CFA_SP, PUGMARK_BP_UNKNOWN, (int32_t)height + 8};
}

/* Where the code that the table of pcsp tells of ends, at most at @end. */
static uint64_t code_end(struct elf_cursor c, uint64_t addr, uint64_t end)
{
	uint64_t at = addr;
	while (at < end) {
		uint64_t change = elf_read_uleb(&c);
		uint64_t bytes = c.bad || (!change && at != addr) ? 0 : elf_read_uleb(&c);
		if (!bytes || c.bad)
			break;
		at = bytes < end - at ? at + bytes : end;
	}
	return at > addr ? at : end;
}

/* Where the code of a function without a table of pcsp ends, at most at @end: Go's linker fills up
 * with int3. */
static uint64_t unpadded_end(const struct elf_code *code, uint64_t addr, uint64_t end)
{
	uint64_t last = end;
	while (last > addr && code->bytes[last - 1 - code->addr] == 0xcc)
		last--;
	return last > addr ? last : end;
}

uint32_t elf_go_rows(const struct elf_image *image, uint32_t index, struct elf_cfa_row *rows,
		     uint32_t max)
{
	const struct elf_go_func *f = &image->go_funcs[index];
	struct elf_cursor c = elf_cursor_new(f->pcsp, image->go_end - f->pcsp, 0);
	struct rows made = {.at = rows, .max = max};
	uint64_t addr = f->addr, height = UINT64_MAX;
	while (addr < f->end) {
		uint64_t change = elf_read_uleb(&c);
		uint64_t bytes = c.bad || (!change && addr != f->addr) ? 0 : elf_read_uleb(&c);
		if (!bytes || c.bad)
			break;
		height += (change >> 1) ^ -(change & 1);
		uint64_t end = bytes < f->end - addr ? addr + bytes : f->end;
		add_row(&made, addr, end, rule_of(height));
		addr = end;
	}
	if (addr < f->end)
		add_row(&made, addr, f->end, rule_of(UINT64_MAX));
	return made.n;
}

/* ---- functions ---- */

static int by_fde_addr(const void *a, const void *b)
{
	const struct elf_fde *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Whether one of the first @n FDEs has a byte of [addr, end). */
static bool is_covered(const struct elf_image *image, uint32_t n, uint64_t addr, uint64_t end)
{
	uint32_t low = SEARCH_FIRST_NOT(0, n, i, image->fdes[i].end <= addr);
	return low < n && image->fdes[low].addr < end;
}

static bool add_symbol(struct elf_image *image, const struct table *t, uint64_t name, uint64_t addr,
		       uint64_t end)
{
	struct elf_cursor c = cursor_at(t, t->names + name);
	uint64_t left = elf_cursor_left(&c);
	if (name > t->len || !left || !*c.at || !memchr(c.at, 0, left))
		return true;
	if (!elf_room(&image->symbols, image->n_symbols, sizeof(*image->symbols)))
		return false;
	image->symbols[image->n_symbols++] = (struct elf_symbol){
		.addr = addr,
		.size = end - addr,
		.name = (const char *)c.at,
		.code = true,
	};
	return true;
}

/* Adds the function that the record at @off describes, whose code is [addr, end). The first @n FDEs
 * are those that were there before Go's. */
static bool add_function(struct elf_image *image, const struct table *t, uint64_t off,
			 uint64_t addr, uint64_t end, uint32_t n)
{
	uint64_t fields = t->records + off + t->layout->entry_bytes;
	if (off > t->len || fields > t->len)
		return true;
	uint64_t name = word_at(t, fields, 4), pad = word_at(t, fields + 8, 4);
	uint64_t heights = word_at(t, fields + 12, 4);
	struct elf_cursor pcsp = cursor_at(t, t->pcs + heights);
	uint32_t code = elf_code_at(image, addr);
	if (end > image->code[code].end)
		end = image->code[code].end;
	end = heights ? code_end(pcsp, addr, end) : unpadded_end(&image->code[code], addr, end);
	if (is_covered(image, n, addr, end))
		return true;
	uint64_t flags = t->layout->flags ? word_at(t, t->records + off + t->layout->flags, 1) : 0;
	if (!add_symbol(image, t, name, addr, end))
		return false;
	/* One that is set moves the stack pointer in ways that the table does not have. */
	if (flags & FLAG_SPWRITE || !heights)
		return true;
	if (!elf_room(&image->go_funcs, image->n_go_funcs, sizeof(*image->go_funcs)) ||
	    !elf_room(&image->fdes, image->n_fdes, sizeof(*image->fdes)) ||
	    !elf_room(&image->landings, image->n_landings, sizeof(*image->landings)))
		return false;
	uint32_t index = image->n_programs + image->n_go_funcs;
	image->go_funcs[image->n_go_funcs++] = (struct elf_go_func){addr, end, pcsp.at};
	image->fdes[image->n_fdes++] = (struct elf_fde){.addr = addr, .end = end, .index = index};
	if (pad && pad < end - addr)
		image->landings[image->n_landings++] = (struct elf_landing){addr, end, addr + pad};
	return true;
}

/* ---- methods ---- */

static bool is_entry(const struct table *t, uint64_t addr)
{
	uint64_t low = SEARCH_FIRST_NOT(0, t->n, i, entry_of(t, i) <= addr);
	return low && entry_of(t, low - 1) == addr;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* A method that is called through an interface or by reflection may be named only by the
 * description of its type: there it stands twice (for receivers that are pointers, and that are
 * not), as a distance from the beginning of the text. */
static int add_methods(struct elf_image *image, const struct table *t)
{
	uint32_t n = image->n_code_pointers, cap = n, kept = 0;
	uint64_t text = entry_of(t, 0);
	for (uint32_t i = 0; i < image->n_segments; i++) {
		const struct elf_segment *s = &image->segments[i];
		uint64_t len = s->end_file - s->addr;
		const uint8_t *bytes = s->exec ? NULL : elf_bytes(image, s->addr, len);
		for (uint64_t at = -s->addr % 4; bytes && at + 8 <= len; at += 4) {
			uint32_t off[2];
			memcpy(off, bytes + at, sizeof(off));
			if (!off[0] || !off[1] || !is_entry(t, text + off[0]) ||
			    !is_entry(t, text + off[1]))
				continue;
			if (n + 2 > cap) {
				cap = 2 * cap + 2;
				uint64_t *more = realloc(image->code_pointers, cap * sizeof(*more));
				if (!more)
					return -ENOMEM;
				image->code_pointers = more;
			}
			image->code_pointers[n++] = text + off[0];
			image->code_pointers[n++] = text + off[1];
		}
	}
	qsort(image->code_pointers, n, sizeof(uint64_t), by_value);
	for (uint32_t i = 0; i < n; i++)
		if (!i || image->code_pointers[i] != image->code_pointers[i - 1])
			image->code_pointers[kept++] = image->code_pointers[i];
	image->n_code_pointers = kept;
	return 0;
}

int elf_read_golang(struct elf_image *image)
{
	struct table t;
	uint32_t n = image->n_fdes;
	if (!find_table(image, &t))
		return 0;
	image->go_end = t.bytes + t.len;
	for (uint64_t i = 0; i < t.n; i++) {
		uint64_t bytes = t.layout->entry_bytes;
		uint64_t off = word_at(&t, t.functions + (2 * i + 1) * bytes, bytes);
		if (!add_function(image, &t, off, entry_of(&t, i), entry_of(&t, i + 1), n))
			return -ENOMEM;
	}
	if (image->n_fdes)
		qsort(image->fdes, image->n_fdes, sizeof(*image->fdes), by_fde_addr);
	elf_sort_symbols(image);
	elf_sort_landings(image);
	return add_methods(image, &t);
}
