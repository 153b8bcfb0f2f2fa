// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_image.c: opens and frees an image; reads what of it is loaded: segments, code sections, the
 * dynamic section, the build-id. The tables are read by the files that elf_parts.h names. */
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <inttypes.h>

/* The part of @header's segment that the file backs, cut to what is there. */
static bool read_segment(struct elf_image *image, const Elf64_Phdr *header, uint32_t number,
			 struct elf_segment *segment)
{
	uint64_t size = image->file.size;
	uint64_t in_file = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;
	if (header->p_memsz > UINT64_MAX - header->p_vaddr) {
		elf_note(&image->file, "segment %u wraps around the address space: left out",
			 number);
		return false;
	}
	if (!elf_range_inside(header->p_offset, in_file, size)) {
		elf_note(&image->file,
			 "segment %u at offset %#" PRIx64 " reaches past the end of the file",
			 number, header->p_offset);
		in_file = header->p_offset < size ? size - header->p_offset : 0;
	}
	*segment = (struct elf_segment){.addr = header->p_vaddr,
					.end_file = header->p_vaddr + in_file,
					.end_mem = header->p_vaddr + header->p_memsz,
					.off = header->p_offset,
					.exec = header->p_flags & PF_X};
	return header->p_memsz;
}

static int by_segment_addr(const void *a, const void *b)
{
	const struct elf_segment *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Sorts the segments, and leaves out those that overlap another one or that together show more
 * than twice the file: no linker makes them, and all that is read through them stays in proportion
 * to the file. */
static void check_segments(struct elf_image *image)
{
	uint32_t kept = 0;
	uint64_t shown = 0;
	if (image->n_segments)
		qsort(image->segments, image->n_segments, sizeof(*image->segments),
		      by_segment_addr);
	for (uint32_t i = 0; i < image->n_segments; i++) {
		struct elf_segment *s = &image->segments[i];
		uint64_t len = s->end_file - s->addr;
		bool overlaps = kept && image->segments[kept - 1].end_mem > s->addr;
		if (overlaps || len > 2 * image->file.size - shown) {
			elf_note(&image->file, "the segment at address %#" PRIx64 " %s: left out",
				 s->addr,
				 overlaps ? "overlaps another" : "repeats parts of the file");
			continue;
		}
		shown += len;
		image->segments[kept++] = *s;
	}
	image->n_segments = kept;
}

static int read_segments(struct elf_image *image, struct pugmark_diag *diag)
{
	const Elf64_Ehdr *h = &image->file.header;
	uint64_t count = h->e_phnum;
	if (count == PN_XNUM &&
	    elf_range_inside(h->e_shoff, sizeof(Elf64_Shdr), image->file.size)) {
		Elf64_Shdr zero;
		memcpy(&zero, image->file.data + h->e_shoff, sizeof(zero));
		count = zero.sh_info;
	}
	if (count && h->e_phentsize != sizeof(Elf64_Phdr))
		return pugmark_diag_set(diag, -EBADMSG, image->file.path,
					offsetof(Elf64_Ehdr, e_phentsize),
					"program headers of %u bytes each, not %zu", h->e_phentsize,
					sizeof(Elf64_Phdr));
	if (!elf_range_inside(h->e_phoff, count * sizeof(Elf64_Phdr), image->file.size))
		return pugmark_diag_set(diag, -EBADMSG, image->file.path, h->e_phoff,
					"program headers outside the file (is it cut off?)");
	for (uint32_t i = 0; i < count; i++) {
		Elf64_Phdr header;
		memcpy(&header, image->file.data + h->e_phoff + i * sizeof(header), sizeof(header));
		if (header.p_type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr = header.p_vaddr;
			image->eh_frame_hdr_len = header.p_filesz;
		} else if (header.p_type == PT_DYNAMIC) {
			image->dynamic_addr = header.p_vaddr;
			image->dynamic_len = header.p_filesz;
		}
		if (header.p_type != PT_LOAD)
			continue;
		if (!elf_room(&image->segments, image->n_segments, sizeof(*image->segments)))
			return pugmark_diag_set(diag, -ENOMEM, image->file.path, PUGMARK_NO_OFFSET,
						"out of memory");
		if (read_segment(image, &header, i, &image->segments[image->n_segments]))
			image->n_segments++;
	}
	check_segments(image);
	return 0;
}

uint64_t elf_image_file_offset(const struct elf_image *image, uint64_t addr)
{
	const struct elf_segment *s = elf_segment_at(image, addr);
	return s && addr < s->end_file ? s->off + (addr - s->addr) : UINT64_MAX;
}

static int by_code_addr(const void *a, const void *b)
{
	const struct elf_code *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool add_code(struct elf_image *image, uint64_t addr, uint64_t end, bool plt)
{
	if (!elf_room(&image->code, image->n_code, sizeof(*image->code)))
		return false;
	image->code[image->n_code++] = (struct elf_code){
		.addr = addr, .end = end, .bytes = elf_bytes(image, addr, end - addr), .plt = plt};
	return true;
}

static bool is_plt_name(const char *name)
{
	return !strcmp(name, ".iplt") ||
	       (!strncmp(name, ".plt", 4) && (!name[4] || name[4] == '.'));
}

/* The executable sections, as far as the file backs them. */
static bool read_code_sections(struct elf_image *image)
{
	for (uint32_t i = 0; i < image->file.n_sections; i++) {
		const struct elf_section *s = &image->file.sections[i];
		uint64_t len = s->mem_size;
		if ((s->flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR) ||
		    s->type == SHT_NOBITS || !len)
			continue;
		const struct elf_segment *segment = elf_segment_at(image, s->addr);
		bool there = segment && segment->exec && elf_bytes_cut(image, s->addr, &len);
		if (!there || len < s->mem_size)
			elf_note(&image->file, "code section %s at address %#" PRIx64 " is %s",
				 s->name, s->addr,
				 there ? "cut off" : "in no executable segment: left out");
		if (there && !add_code(image, s->addr, s->addr + len, is_plt_name(s->name)))
			return false;
	}
	return true;
}

static int read_code(struct elf_image *image, struct pugmark_diag *diag)
{
	bool ok = read_code_sections(image);
	bool from_segments = !image->n_code;
	for (uint32_t i = 0; ok && from_segments && i < image->n_segments; i++) {
		const struct elf_segment *s = &image->segments[i];
		if (s->exec && s->end_file > s->addr)
			ok = add_code(image, s->addr, s->end_file, false);
	}
	if (!ok)
		return pugmark_diag_set(diag, -ENOMEM, image->file.path, PUGMARK_NO_OFFSET,
					"out of memory");
	if (!image->n_code)
		return pugmark_diag_set(diag, -EBADMSG, image->file.path,
					image->file.header.e_phoff,
					"no executable code (is it a debug file, or cut off?)");
	qsort(image->code, image->n_code, sizeof(*image->code), by_code_addr);
	uint32_t kept = 1;
	for (uint32_t i = 1; i < image->n_code; i++) {
		if (image->code[i].addr < image->code[kept - 1].end)
			elf_note(&image->file,
				 "the code section at address %#" PRIx64
				 " overlaps another: left out",
				 image->code[i].addr);
		else
			image->code[kept++] = image->code[i];
	}
	image->n_code = kept;
	return 0;
}

static void read_dynamic_entry(struct elf_dynamic *dynamic, const Elf64_Dyn *entry)
{
	const struct {
		int64_t tag;
		uint64_t *value;
	} fields[] = {
		{DT_SYMTAB, &dynamic->symtab},
		{DT_STRTAB, &dynamic->strtab},
		{DT_STRSZ, &dynamic->strtab_len},
		{DT_HASH, &dynamic->hash},
		{DT_GNU_HASH, &dynamic->gnu_hash},
		{DT_RELA, &dynamic->rela},
		{DT_RELASZ, &dynamic->rela_len},
		{DT_JMPREL, &dynamic->plt_rela},
		{DT_PLTRELSZ, &dynamic->plt_rela_len},
		{36 /* DT_RELR */, &dynamic->relr},
		{35 /* DT_RELRSZ */, &dynamic->relr_len},
		{DT_INIT, &dynamic->init},
		{DT_FINI, &dynamic->fini},
	};
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (fields[i].tag == entry->d_tag)
			*fields[i].value = entry->d_un.d_val;
}

static void read_dynamic(struct elf_image *image)
{
	uint64_t stated = image->dynamic_len, len = stated;
	const uint8_t *bytes = elf_bytes_cut(image, image->dynamic_addr, &len);
	if (stated && len < stated)
		elf_note(&image->file,
			 "the dynamic section at address %#" PRIx64 " is not all in the file",
			 image->dynamic_addr);
	for (; len >= sizeof(Elf64_Dyn); len -= sizeof(Elf64_Dyn), bytes += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;
		memcpy(&entry, bytes, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		read_dynamic_entry(&image->dynamic, &entry);
	}
}

/* From PT_NOTE; the notes are read in the file, since some (of debug files) are not loaded. */
static void read_build_id(struct elf_image *image)
{
	const struct elf_file *file = &image->file;
	uint64_t budget = file->size; /* for all notes: they do not overlap */
	for (uint32_t i = 0; i < file->header.e_phnum && !image->build_id; i++) {
		Elf64_Phdr header;
		uint64_t off = file->header.e_phoff + i * sizeof(header);
		if (!elf_range_inside(off, sizeof(header), file->size))
			return;
		memcpy(&header, file->data + off, sizeof(header));
		if (header.p_type != PT_NOTE || header.p_filesz > budget ||
		    !elf_range_inside(header.p_offset, header.p_filesz, file->size))
			continue;
		budget -= header.p_filesz;
		image->build_id = elf_find_build_id(file->data + header.p_offset, header.p_filesz,
						    &image->build_id_len);
	}
}

static int read_parts(struct elf_image *image, struct pugmark_diag *diag)
{
	int err = read_segments(image, diag);
	if (!err)
		err = read_code(image, diag);
	if (err)
		return err;
	read_dynamic(image);
	read_build_id(image);
	int (*const parts[])(struct elf_image *) = {
		elf_read_unwind, elf_read_landings, elf_find_debug_file, elf_read_symbols,
		elf_read_relocs, elf_read_golang,   elf_read_plt,	 elf_read_imports,
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !err; i++)
		err = parts[i](image);
	if (err)
		pugmark_diag_set(diag, err, image->file.path, PUGMARK_NO_OFFSET, "out of memory");
	return err;
}

int elf_image_open(const char *path, struct elf_image **out, struct pugmark_diag *diag)
{
	struct elf_image *image = calloc(1, sizeof(*image));
	if (!image)
		return pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "out of memory");
	int err = elf_file_open(path, &image->file, diag);
	if (!err)
		err = read_parts(image, diag);
	if (err) {
		elf_image_free(image);
		return err;
	}
	*out = image;
	return 0;
}

void elf_image_digest(const struct elf_image *image, struct digest *digest)
{
	const struct elf_file *debug = &image->debug;
	digest_add(digest, image->file.data, image->file.size);
	for (uint32_t i = 0; i < debug->n_sections; i++) {
		const struct elf_section *s = &debug->sections[i];
		if (s->type == SHT_SYMTAB || s->type == SHT_STRTAB)
			digest_add(digest, debug->data + s->off, s->size);
	}
}

void elf_image_free(struct elf_image *image)
{
	if (!image)
		return;
	void *const tables[] = {
		image->segments, image->code,	      image->cies,	    image->programs,
		image->fdes,	 image->landings,     image->symbols,	    image->got,
		image->imports,	 image->import_local, image->import_places, image->slot_places,
		image->go_funcs, image->slot_values,  image->code_pointers, image->patched,
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		free(tables[i]);
	elf_file_close(&image->debug);
	elf_file_close(&image->file);
	free(image);
}

const char *elf_image_path(const struct elf_image *image)
{
	return image->file.path;
}

const uint8_t *elf_image_build_id(const struct elf_image *image, uint32_t *len_bytes)
{
	*len_bytes = image->build_id_len;
	return image->build_id;
}

uint64_t elf_image_entry(const struct elf_image *image)
{
	return image->file.header.e_entry;
}

const char *elf_image_note(const struct elf_image *image, uint32_t index)
{
	return index < image->file.n_notes ? image->file.notes[index] : NULL;
}

const struct elf_code *elf_image_code(const struct elf_image *image, uint32_t *count)
{
	*count = image->n_code;
	return image->code;
}

const struct elf_fde *elf_image_fdes(const struct elf_image *image, uint32_t *count)
{
	*count = image->n_fdes;
	return image->fdes;
}

const struct elf_landing *elf_image_landings(const struct elf_image *image, uint32_t *count)
{
	*count = image->n_landings;
	return image->landings;
}

const struct elf_symbol *elf_image_symbols(const struct elf_image *image, uint32_t *count)
{
	*count = image->n_symbols;
	return image->symbols;
}

const struct pugmark_import *elf_image_imports(const struct elf_image *image, uint32_t *count)
{
	*count = image->n_imports;
	return image->imports;
}

const uint64_t *elf_image_import_local(const struct elf_image *image)
{
	return image->import_local;
}

const uint64_t *elf_image_patched(const struct elf_image *image, uint32_t *count)
{
	*count = image->n_patched;
	return image->patched;
}

const uint64_t *elf_image_code_pointers(const struct elf_image *image, uint32_t *count)
{
	*count = image->n_code_pointers;
	return image->code_pointers;
}

const uint64_t *elf_image_pointer_slots(const struct elf_image *image, const uint64_t **values,
					uint32_t *count)
{
	*values = image->slot_values;
	*count = image->n_slots;
	return image->slot_places;
}
