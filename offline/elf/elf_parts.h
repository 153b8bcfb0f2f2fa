/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elf_parts.h: what the parts of the ELF reader share; everybody else includes elf_image.h.
 *
 *   elf_file.c     reads a file, checks its header, reads its section headers, keeps the notes
 *   elf_bytes.c    what lies at an address: for all that follow
 *   elf_image.c    segments, code, dynamic section, build-id; opens and frees the whole
 *   elf_unwind.c   .eh_frame: CIEs and FDEs
 *   elf_cfa.c      the CFA programs in them
 *   elf_landings.c     .gcc_except_table: landing pads
 *   elf_personality.c  the routines that the unwinder asks for them
 *   elf_symbols.c  .symtab, .dynsym and those of the separate debug file
 *   elf_debug.c    finds the separate debug file
 *   elf_relocs.c   relocations: GOT slots and data that points into code
 *   elf_plt.c      PLT stubs
 *   elf_golang.c   .gopclntab: functions, frames and names of Go
 *   elf_imports.c  imports: GOT slots and the PLT stubs that jump through them
 *   elf_libc.c     which imports never return, which return twice
 *
 * Memory: the file is read whole; each table is one malloc'd array, freed by elf_image_free(). A
 * table is never more than a small multiple of the file: every loop that makes entries consumes
 * bytes of the file for each, and bytes that could be consumed twice (segments over the same part
 * of the file, LSDAs that overlap) are counted against a budget. */
#ifndef OFFLINE_ELF_PARTS_H
#define OFFLINE_ELF_PARTS_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "offline/base/private_file.h"

#include "offline/elf/elf_image.h"

struct elf_section {
	const char *name;
	uint64_t flags, addr;
	uint64_t off, size; /* in the file, cut to what is there; size 0 for SHT_NOBITS */
	uint64_t mem_size;  /* as stated */
	uint32_t type, link;
};

/* An ELF file in memory whose header is sound. */
struct elf_file {
	char *path;
	struct private_file whole;
	const uint8_t *data; /* its bytes */
	uint64_t size;
	Elf64_Ehdr header;
	struct elf_section *sections; /* those that exist: no SHT_NULL */
	uint32_t n_sections;
	uint32_t *section_by_number; /* header number -> sections[], PUGMARK_NONE where none */
	uint32_t n_numbers;
	char **notes;
	uint32_t n_notes;
};

/* A loaded segment; addresses [addr, end_file) are backed by the file at @off. */
struct elf_segment {
	uint64_t addr, end_file, end_mem, off;
	bool exec;
};

/* From PT_DYNAMIC; 0 where absent. */
struct elf_dynamic {
	uint64_t symtab, strtab, strtab_len, hash, gnu_hash;
	uint64_t rela, rela_len, plt_rela, plt_rela_len, relr, relr_len;
	uint64_t init, fini;
};

/* A symbol table and its strings. */
struct elf_symtab {
	const uint8_t *entries;
	uint64_t n;	  /* entries that the table is known to have */
	uint64_t n_bound; /* entries that fit: what relocations may name */
	const char *strings;
	uint64_t strings_len; /* up to and with the last NUL */
};

struct elf_cie {
	uint64_t off; /* of its length field, in .eh_frame */
	uint64_t code_align;
	int64_t data_align;
	const uint8_t *program, *program_end;
	uint64_t personality; /* its routine, or 0 */
	uint64_t cfa_reg;     /* after its initial instructions */
	int64_t cfa_offset;
	uint8_t fde_encoding, lsda_encoding;
	bool augmented, signal;
	bool valid;
	bool personality_indirect; /* personality is the address of a word that holds it */
};

/* Where the CFA program of an FDE lies. */
struct elf_cfa_program {
	const uint8_t *start, *end;
	uint64_t addr, addr_end; /* of the code it is about */
	uint32_t cie;
};

/* A function of Go; its FDE has the index of its own and n_programs. */
struct elf_go_func {
	uint64_t addr, end;
	const uint8_t *pcsp; /* how high its frame is; ends before go_end */
};

/* A GOT slot that a relocation fills with the address of a function. */
struct elf_got_slot {
	uint64_t addr;
	uint64_t resolver; /* R_X86_64_IRELATIVE: of the IFUNC; else 0 */
	uint64_t stub;	   /* the first PLT stub that jumps through it, or 0 */
	uint32_t symbol;   /* in .dynsym; 0 for R_X86_64_IRELATIVE */
	bool lazy;	   /* R_X86_64_JUMP_SLOT */
};

/* A PLT stub or GOT slot. */
struct elf_import_place {
	uint64_t addr;
	uint64_t slot; /* the address of its GOT slot */
	uint32_t import;
};

struct elf_image {
	struct elf_file file;
	struct elf_file debug; /* the separate debug file; data is NULL where there is none */
	struct elf_segment *segments;
	uint32_t n_segments;
	uint64_t eh_frame_hdr, eh_frame_hdr_len; /* PT_GNU_EH_FRAME */
	uint64_t dynamic_addr, dynamic_len;	 /* PT_DYNAMIC */
	struct elf_dynamic dynamic;
	struct elf_symtab dynsym;
	const uint8_t *build_id;
	uint32_t build_id_len;
	struct elf_code *code;
	uint32_t n_code;
	uint64_t eh_frame, eh_frame_len;
	struct elf_cie *cies; /* by off */
	uint32_t n_cies;
	struct elf_cfa_program *programs;
	struct elf_fde *fdes;
	uint32_t n_fdes, n_programs;
	struct elf_go_func *go_funcs;
	uint32_t n_go_funcs;
	const uint8_t *go_end;
	struct elf_landing *landings;
	uint32_t n_landings;
	struct elf_symbol *symbols;
	uint32_t n_symbols;
	struct elf_got_slot *got; /* by addr */
	uint32_t n_got;
	struct pugmark_import *imports;
	uint64_t *import_local;
	uint32_t n_imports;
	struct elf_import_place *import_places; /* by addr */
	uint32_t n_import_places;
	uint64_t *slot_places, *slot_values;
	uint32_t n_slots;
	uint64_t *code_pointers;
	uint32_t n_code_pointers;
	uint64_t *patched;
	uint32_t n_patched;
};

/* elf_file.c */
int elf_file_open(const char *path, struct elf_file *file, struct pugmark_diag *diag);
void elf_file_close(struct elf_file *file);
/* The first section called @name, or NULL. */
const struct elf_section *elf_file_section(const struct elf_file *file, const char *name);
/* The section with number @number in the header table, or NULL. */
const struct elf_section *elf_file_section_number(const struct elf_file *file, uint32_t number);
/* The build-id of notes [bytes, bytes + len), or NULL. */
const uint8_t *elf_find_build_id(const uint8_t *bytes, uint64_t len, uint32_t *len_bytes);
void elf_note(struct elf_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The parts, in the order in which they are read; 0 or -ENOMEM. */
int elf_read_unwind(struct elf_image *image);
int elf_read_landings(struct elf_image *image);
int elf_find_debug_file(struct elf_image *image);
int elf_read_symbols(struct elf_image *image);
int elf_read_relocs(struct elf_image *image);
int elf_read_golang(struct elf_image *image);
int elf_read_plt(struct elf_image *image);
int elf_read_imports(struct elf_image *image);

const struct elf_segment *elf_segment_at(const struct elf_image *image, uint64_t addr);
/* The index of the code section that holds @addr, or PUGMARK_NONE. */
uint32_t elf_code_at(const struct elf_image *image, uint64_t addr);
/* elf_data.c: whether @section is loaded, and holds data of the program and no table about it. */
bool elf_holds_data(const struct elf_section *section);
/* The GOT slot at @addr, or NULL. */
struct elf_got_slot *elf_got_at(const struct elf_image *image, uint64_t addr);
/* Bytes [addr, addr + len) of the file's loaded part; NULL where not all are there. */
const uint8_t *elf_bytes(const struct elf_image *image, uint64_t addr, uint64_t len);
/* The same, but cuts *len to what is there. */
const uint8_t *elf_bytes_cut(const struct elf_image *image, uint64_t addr, uint64_t *len);

/* The symbol table in @section of @file; false where that is damaged. */
bool elf_symtab_init(struct elf_symtab *table, struct elf_file *file,
		     const struct elf_section *section);
/* Entry @index (below n_bound), and its name ("" where damaged). */
Elf64_Sym elf_symtab_entry(const struct elf_symtab *table, uint64_t index);
const char *elf_symtab_name(const struct elf_symtab *table, const Elf64_Sym *symbol);

/* Sorts the symbols, and leaves one of those that several tables hold. */
void elf_sort_symbols(struct elf_image *image);
void elf_sort_landings(struct elf_image *image);
/* elf_image_cfa_rows() of the function go_funcs[@index]. */
uint32_t elf_go_rows(const struct elf_image *image, uint32_t index, struct elf_cfa_row *rows,
		     uint32_t max);
/* The rule that @cie's initial instructions leave, into @cie. */
void elf_cfa_of_cie(struct elf_cie *cie);
/* Flags (enum pugmark_site_flag) of the imported function @name. */
uint8_t elf_libc_flags(const char *name);

static inline bool elf_range_inside(uint64_t off, uint64_t len, uint64_t size)
{
	return off <= size && len <= size - off;
}

static inline uint64_t elf_u64(const uint8_t *bytes)
{
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Makes room for element @n of *@array (a pointer to a pointer), all of whose room was made here:
 * the capacity follows from @n (powers of two). Returns false when there is no memory. */
static inline bool elf_room(void *array, uint32_t n, size_t elem_size)
{
	if (n && (n < 16 || (n & (n - 1))))
		return true;
	if (n > UINT32_MAX / 4)
		return false;
	void *elems;
	memcpy(&elems, array, sizeof(elems));
	elems = realloc(elems, (n ? (size_t)n * 2 : 16) * elem_size);
	if (elems)
		memcpy(array, &elems, sizeof(elems));
	return elems;
}

#endif
