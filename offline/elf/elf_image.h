/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elf_image.h: one x86-64 ELF file, read and checked: its segments and sections, unwind table,
 * symbols, imports and data references. Knows nothing of instructions. All that it hands out is
 * borrowed until elf_image_free(). Every number that the file states is checked against the file's
 * size before use. A damaged part is left out and named in a note; only where no image can be made
 * without it is that an error. */
#ifndef OFFLINE_ELF_IMAGE_H
#define OFFLINE_ELF_IMAGE_H

#include "offline/base/digest.h"

#include <pugmark/model.h>

struct elf_image;

/* A part of the unwind table: one FDE, or what Go's own table says of a function. */
struct elf_fde {
	uint64_t addr, end;
	uint64_t lsda;	/* address of its language-specific data, or 0 */
	uint32_t index; /* for elf_image_cfa_rows */
	bool signal;	/* augmentation 'S': a signal trampoline */
};

/* No frame is as large: what is higher is not known. Sums of a few such heights are numbers still.
 */
enum { ELF_CFA_HIGHEST = 1 << 28 };

/* A run of addresses with one CFA rule. */
struct elf_cfa_row {
	uint64_t addr, end;
	struct pugmark_cfa cfa;
};

struct elf_symbol {
	uint64_t addr, size;
	const char *name;
	bool dynamic; /* from .dynsym and defined: exported */
	bool global;
	bool ifunc;
	bool code; /* STT_FUNC or STT_GNU_IFUNC; others only where they lie in executable code */
};

/* A section that holds machine code (or, without section headers, an executable segment). */
struct elf_code {
	uint64_t addr, end;
	const uint8_t *bytes;
	bool plt; /* .plt, .plt.got, .plt.sec: stubs, not functions */
};

/* A range of data; of a range that is of no use there are 0 bytes. */
struct elf_data {
	uint64_t addr, len;
	const uint8_t *bytes;
};

/* An LSDA call-site record: calls in [addr, end) unwind to pad. */
struct elf_landing {
	uint64_t addr, end, pad;
};

int elf_image_open(const char *path, struct elf_image **out, struct pugmark_diag *diag);
void elf_image_free(struct elf_image *image);

/* Adds all bytes that the image is made of: the file's, and of its separate debug file the symbol
 * tables. */
void elf_image_digest(const struct elf_image *image, struct digest *digest);
const char *elf_image_path(const struct elf_image *image);
/* Descriptor of .note.gnu.build-id; NULL and 0 where there is none. */
const uint8_t *elf_image_build_id(const struct elf_image *image, uint32_t *len_bytes);
bool elf_image_is_pie(const struct elf_image *image);
uint64_t elf_image_entry(const struct elf_image *image);
/* What was damaged and left out, one line each; NULL past the last. */
const char *elf_image_note(const struct elf_image *image, uint32_t index);

/* By address. */
const struct elf_code *elf_image_code(const struct elf_image *image, uint32_t *count);
/* By address, not overlapping (of two that do, the earlier wins and a note says so), all inside
 * executable code. */
const struct elf_fde *elf_image_fdes(const struct elf_image *image, uint32_t *count);
/* The CFA rows of the FDE @index, into @rows (at most @max); returns how many there are. */
uint32_t elf_image_cfa_rows(const struct elf_image *image, uint32_t index, struct elf_cfa_row *rows,
			    uint32_t max);
/* All landing pads of the module, by addr of the covered range. */
const struct elf_landing *elf_image_landings(const struct elf_image *image, uint32_t *count);
/* The address of the personality routine of @fde's function, 0: it has none in this module. */
uint64_t elf_image_personality(const struct elf_image *image, const struct elf_fde *fde);
/* Function symbols of .symtab, .dynsym and, if found by build-id or .gnu_debuglink, the separate
 * debug file, by address, duplicates by address kept (global before local). */
const struct elf_symbol *elf_image_symbols(const struct elf_image *image, uint32_t *count);
/* Imports; local_func is left PUGMARK_NONE, local_addr in the parallel array below. */
const struct pugmark_import *elf_image_imports(const struct elf_image *image, uint32_t *count);
/* For each import the address of this module's own definition, or 0. */
const uint64_t *elf_image_import_local(const struct elf_image *image);
/* The import whose PLT stub is at @addr, or whose GOT slot is at @addr; PUGMARK_NONE otherwise. */
uint32_t elf_image_import_at(const struct elf_image *image, uint64_t addr);
/* Addresses in executable code that data holds, by address, without duplicates: relocations
 * (RELATIVE, 64, GLOB_DAT, IRELATIVE, DT_RELR), init and fini arrays, entry, DT_INIT, DT_FINI and,
 * where not PIE, every aligned 8-byte data word that points into code. */
const uint64_t *elf_image_code_pointers(const struct elf_image *image, uint32_t *count);
/* The loaded data that the file holds and that is nothing but the program's own: no unwind table,
 * no symbols. The range @index, in no order; false past the last. */
bool elf_image_data(const struct elf_image *image, uint32_t index, struct elf_data *out);
/* How many bytes of data are worth reading in all. */
uint64_t elf_image_data_budget(const struct elf_image *image);
/* The address of the file's first byte. */
uint64_t elf_image_base(const struct elf_image *image);
/* Places in executable code that relocations fill when it is loaded (DT_TEXTREL), up to 8 bytes
 * each, in order. */
const uint64_t *elf_image_patched(const struct elf_image *image, uint32_t *count);
/* Data words that relocations fill with addresses in code, by place: a table of a computed goto is
 * made of such. @values is the parallel array of what they point to. */
const uint64_t *elf_image_pointer_slots(const struct elf_image *image, const uint64_t **values,
					uint32_t *count);
/* Bytes at @addr of any loaded segment that the file backs (at most the rest of the segment). */
const uint8_t *elf_image_bytes(const struct elf_image *image, uint64_t addr, size_t *len_bytes);
/* The file offset of @addr, or UINT64_MAX where no loaded segment holds it. */
uint64_t elf_image_file_offset(const struct elf_image *image, uint64_t addr);

#endif
