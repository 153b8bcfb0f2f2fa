// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_unwind.c: reads .eh_frame into FDEs: one walk for the CIEs, one for the FDEs. What the CFA
 * programs in them say is elf_cfa.c's.
 *
 * An entry is: length (4 bytes, or 0xffffffff and 8), id (0 for a CIE; in an FDE, the distance back
 * to its CIE), then fields as the CIE's augmentation says (LSB 5.0, Core, 10.6). */
#include "offline/base/search.h"
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "offline/elf/elf_cursor.h"

struct entry {
	uint64_t off; /* of its length field, from the start of .eh_frame */
	uint64_t cie; /* off of its CIE; its own off if it is one */
	struct elf_cursor body;
};

/* FDEs left out, with the first one's place. */
struct damage {
	uint32_t bad, outside, overlapping;
	uint64_t first_bad, first_outside, first_overlapping;
};

/* Where .eh_frame lies, by its section header or, without one, by PT_GNU_EH_FRAME, which does not
 * say where it ends: then the walk stops at its terminator. */
static bool find_eh_frame(struct elf_image *image)
{
	const struct elf_section *section = elf_file_section(&image->file, ".eh_frame");
	if (section && (section->flags & SHF_ALLOC)) {
		image->eh_frame = section->addr;
		image->eh_frame_len = section->mem_size;
		if (elf_bytes_cut(image, section->addr, &image->eh_frame_len))
			return true;
	}
	uint64_t len = image->eh_frame_hdr_len;
	const uint8_t *header = elf_bytes_cut(image, image->eh_frame_hdr, &len);
	if (!header || len < 4)
		return false;
	struct elf_cursor c = elf_cursor_new(header, len, image->eh_frame_hdr);
	uint8_t version = elf_read_u8(&c), encoding = elf_read_u8(&c);
	elf_skip(&c, 2); /* encodings of the search table, which is not used */
	image->eh_frame = elf_read_pointer(&c, encoding, image->eh_frame_hdr, 0);
	image->eh_frame_len = UINT64_MAX;
	if (version == 1 && !c.bad && elf_bytes_cut(image, image->eh_frame, &image->eh_frame_len))
		return true;
	elf_note(&image->file, "the unwind table's header at address %#" PRIx64 " is damaged",
		 image->eh_frame_hdr);
	return false;
}

/* The entry at @walk, which moves past it. False at the end, with @walk bad if it is no end. */
static bool next_entry(struct elf_cursor *walk, bool bounded, struct entry *entry)
{
	uint64_t length = 0;
	while (elf_cursor_left(walk)) {
		entry->off = walk->at - walk->start;
		length = elf_read_fixed(walk, 4);
		if (length || !bounded)
			break;
		/* A terminator inside the section, as between two linked crtend.o. */
	}
	if (!length)
		return false;
	unsigned id_len = 4;
	if (length == UINT32_MAX) {
		length = elf_read_fixed(walk, 8);
		id_len = 8;
	}
	if (walk->bad || length < id_len || length > elf_cursor_left(walk)) {
		walk->bad = true;
		return false;
	}
	const uint8_t *body = walk->at;
	uint64_t body_off = body - walk->start;
	elf_skip(walk, length);
	entry->body = elf_cursor_new(body, length, walk->addr + body_off);
	uint64_t id = elf_read_fixed(&entry->body, id_len);
	entry->cie = id ? body_off - id : entry->off;
	return true;
}

static void read_personality(struct elf_cursor *c, const struct elf_image *image,
			     struct elf_cie *cie)
{
	uint8_t encoding = elf_read_u8(c);
	cie->personality = elf_read_pointer(c, encoding, image->eh_frame_hdr, 0);
	cie->personality_indirect = encoding & PE_INDIRECT;
}

/* The augmentation data that string @letters announces. */
static void read_augmentation(struct elf_cursor *c, const char *letters,
			      const struct elf_image *image, struct elf_cie *cie)
{
	uint64_t len = elf_read_uleb(c);
	if (len > elf_cursor_left(c)) {
		c->bad = true;
		return;
	}
	const uint8_t *after = c->at + len;
	for (; *letters && !c->bad; letters++) {
		switch (*letters) {
		case 'R':
			cie->fde_encoding = elf_read_u8(c);
			break;
		case 'L':
			cie->lsda_encoding = elf_read_u8(c);
			break;
		case 'P':
			read_personality(c, image, cie);
			break;
		case 'S':
			cie->signal = true;
			break;
		default: /* unknown ones may be followed by data: nothing after it can be read */
			letters += strlen(letters) - 1;
		}
	}
	if (c->at > after)
		c->bad = true;
	c->at = after;
}

static void read_cie(const struct elf_image *image, struct entry *entry, struct elf_cie *cie)
{
	struct elf_cursor *c = &entry->body;
	*cie = (struct elf_cie){
		.off = entry->off, .fde_encoding = PE_ABS, .lsda_encoding = PE_OMIT};
	uint8_t version = elf_read_u8(c);
	const uint8_t *nul = memchr(c->at, 0, elf_cursor_left(c));
	if (!nul || (version != 1 && version != 3 && version != 4))
		return;
	const char *letters = (const char *)c->at;
	c->at = nul + 1;
	if (version == 4)
		elf_skip(c, 2); /* address and segment selector sizes */
	cie->code_align = elf_read_uleb(c);
	cie->data_align = elf_read_sleb(c);
	if (version == 1)
		elf_read_u8(c);
	else
		elf_read_uleb(c);
	cie->augmented = letters[0] == 'z';
	if (cie->augmented)
		read_augmentation(c, letters + 1, image, cie);
	if (c->bad || (letters[0] && !cie->augmented))
		return;
	cie->program = c->at;
	cie->program_end = c->end;
	cie->valid = true;
	elf_cfa_of_cie(cie);
}

static uint32_t find_cie(const struct elf_image *image, uint64_t off)
{
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_cies, i, image->cies[i].off <= off);
	return low && image->cies[low - 1].off == off && image->cies[low - 1].valid ? low - 1
										    : PUGMARK_NONE;
}

/* Whether [addr, end) lies in executable code; sections that touch count as one. */
static bool inside_code(const struct elf_image *image, uint64_t addr, uint64_t end)
{
	uint32_t i = elf_code_at(image, addr);
	if (i == PUGMARK_NONE)
		return false;
	while (image->code[i].end < end)
		if (++i == image->n_code || image->code[i].addr != image->code[i - 1].end)
			return false;
	return true;
}

/* Appends the FDE @entry; returns false when there is no memory. */
static bool read_fde(struct elf_image *image, struct entry *entry, struct damage *damage)
{
	struct elf_cursor *c = &entry->body;
	uint32_t number = find_cie(image, entry->cie);
	const struct elf_cie *cie = number == PUGMARK_NONE ? NULL : &image->cies[number];
	struct elf_fde fde = {.index = image->n_programs};
	if (cie && cie->fde_encoding != PE_OMIT && !(cie->fde_encoding & PE_INDIRECT)) {
		fde.addr = elf_read_pointer(c, cie->fde_encoding, image->eh_frame_hdr, 0);
		fde.end = fde.addr + elf_read_format(c, cie->fde_encoding);
		fde.signal = cie->signal;
	} else {
		c->bad = true;
	}
	if (cie && cie->augmented) {
		uint64_t len = elf_read_uleb(c);
		const uint8_t *after =
			c->at + (len < elf_cursor_left(c) ? len : elf_cursor_left(c));
		if (len > elf_cursor_left(c))
			c->bad = true;
		if (len && cie->lsda_encoding != PE_OMIT && !(cie->lsda_encoding & PE_INDIRECT))
			fde.lsda = elf_read_pointer(c, cie->lsda_encoding, image->eh_frame_hdr,
						    fde.addr);
		c->at = after;
	}
	if (c->bad) {
		if (!damage->bad++)
			damage->first_bad = entry->off;
		return true;
	}
	if (fde.addr == fde.end) /* covers nothing: what is left of a discarded function */
		return true;
	if (fde.end < fde.addr || !inside_code(image, fde.addr, fde.end)) {
		if (!damage->outside++)
			damage->first_outside = fde.addr;
		return true;
	}
	if (!elf_room(&image->fdes, image->n_fdes, sizeof(*image->fdes)) ||
	    !elf_room(&image->programs, image->n_programs, sizeof(*image->programs)))
		return false;
	image->programs[image->n_programs++] = (struct elf_cfa_program){.start = c->at,
									.end = c->end,
									.addr = fde.addr,
									.addr_end = fde.end,
									.cie = number};
	image->fdes[image->n_fdes++] = fde;
	return true;
}

static int by_fde_addr(const void *a, const void *b)
{
	const struct elf_fde *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void sort_fdes(struct elf_image *image, struct damage *damage)
{
	uint32_t kept = 0;
	if (image->n_fdes)
		qsort(image->fdes, image->n_fdes, sizeof(*image->fdes), by_fde_addr);
	for (uint32_t i = 0; i < image->n_fdes; i++) {
		if (kept && image->fdes[i].addr < image->fdes[kept - 1].end) {
			if (!damage->overlapping++)
				damage->first_overlapping = image->fdes[i].addr;
			continue;
		}
		image->fdes[kept++] = image->fdes[i];
	}
	image->n_fdes = kept;
}

static void note_damage(struct elf_image *image, const struct damage *damage)
{
	if (damage->bad)
		elf_note(&image->file,
			 "%u damaged FDEs left out, the first at %#" PRIx64 " in .eh_frame",
			 damage->bad, damage->first_bad);
	if (damage->outside)
		elf_note(
			&image->file,
			"%u FDEs outside executable code left out, the first for address %#" PRIx64,
			damage->outside, damage->first_outside);
	if (damage->overlapping)
		elf_note(&image->file,
			 "%u FDEs that overlap another left out, the first for address %#" PRIx64,
			 damage->overlapping, damage->first_overlapping);
}

int elf_read_unwind(struct elf_image *image)
{
	if (!find_eh_frame(image))
		return 0;
	const uint8_t *bytes = elf_bytes(image, image->eh_frame, image->eh_frame_len);
	const struct elf_section *section = elf_file_section(&image->file, ".eh_frame");
	bool bounded = section && section->addr == image->eh_frame;
	struct elf_cursor walk = elf_cursor_new(bytes, image->eh_frame_len, image->eh_frame);
	struct entry entry;
	while (next_entry(&walk, bounded, &entry)) {
		if (entry.cie != entry.off)
			continue;
		if (!elf_room(&image->cies, image->n_cies, sizeof(*image->cies)))
			return -ENOMEM;
		read_cie(image, &entry, &image->cies[image->n_cies++]);
	}
	if (walk.bad)
		elf_note(&image->file, "the unwind table breaks off at address %#" PRIx64,
			 image->eh_frame + entry.off);
	struct damage damage = {0};
	walk = elf_cursor_new(bytes, image->eh_frame_len, image->eh_frame);
	while (next_entry(&walk, bounded, &entry))
		if (entry.cie != entry.off && !read_fde(image, &entry, &damage))
			return -ENOMEM;
	sort_fdes(image, &damage);
	note_damage(image, &damage);
	return 0;
}
