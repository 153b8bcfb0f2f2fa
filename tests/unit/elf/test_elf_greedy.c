// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_greedy.c: small files that ask for much: tables over the same bytes thousands of times,
 * of which each would be read again. They are read in time and memory in proportion to the file. */
#include "tests/unit/elf/elf_survive.h"

/* Appends to a file of which all is one executable segment at address 0. */
struct maker {
	uint8_t bytes[1 << 20];
	size_t len;
};

static void put(struct maker *m, const void *bytes, size_t len)
{
	assert_true(m->len + len <= sizeof(m->bytes));
	memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

/* A header with @n_segments program headers to follow at once. */
static struct maker *maker_start(uint32_t n_segments)
{
	struct maker *m = calloc(1, sizeof(*m));
	assert_non_null(m);
	put(m,
	    &(Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = n_segments,
			  .e_shentsize = sizeof(Elf64_Shdr)},
	    sizeof(Elf64_Ehdr));
	return m;
}

/* A segment that is the whole file. */
static void put_load(struct maker *m, uint64_t addr)
{
	put(m,
	    &(Elf64_Phdr){.p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = addr,
			  .p_filesz = sizeof(m->bytes),
			  .p_memsz = sizeof(m->bytes)},
	    sizeof(Elf64_Phdr));
}

/* The file, filled up, is an image; where @words is not NULL, one with a note that says that. The
 * image has *@n of what @count counts. Frees @m. */
typedef const void *count_fn(const struct elf_image *image, uint32_t *n);
static void finish(struct maker *m, const char *words, uint32_t n, count_fn *count)
{
	struct elf_image *image;
	struct pugmark_diag diag;
	uint32_t got;
	m->len = sizeof(m->bytes);
	assert_int_equal(survive(m->bytes, m->len), 0);
	assert_int_equal(open_bytes(m->bytes, m->len, &image, &diag), 0);
	assert_true(!words || find_note(image, words));
	if (count) {
		count(image, &got);
		assert_int_equal(got, n);
	}
	elf_image_free(image);
	free(m);
}

static const void *count_code(const struct elf_image *image, uint32_t *n)
{
	return elf_image_code(image, n);
}

static const void *count_fdes(const struct elf_image *image, uint32_t *n)
{
	return elf_image_fdes(image, n);
}

static void many_segments_over_one_file(void **state)
{
	(void)state;
	struct maker *m = maker_start(18000);
	for (uint64_t i = 0; i < 18000; i++)
		put_load(m, i << 32);
	finish(m, "repeats parts of the file", 2, count_code);
}

static void many_notes_over_one_file(void **state)
{
	(void)state;
	struct maker *m = maker_start(9000);
	put_load(m, 0);
	for (uint64_t i = 1; i < 9000; i++)
		put(m,
		    &(Elf64_Phdr){.p_type = PT_NOTE,
				  .p_offset = 9001 * 56,
				  .p_filesz = sizeof(m->bytes) - 9001 * 56},
		    sizeof(Elf64_Phdr));
	finish(m, NULL, 0, NULL);
}

/* One LSDA of half a megabyte that 9,000 FDEs share: read once, not 9,000 times. */
static void many_fdes_of_one_lsda(void **state)
{
	(void)state;
	struct maker *m = maker_start(2);
	const uint64_t table = 600000, hdr = 0x1000, frame = 0x1010;
	put_load(m, 0);
	put(m, &(Elf64_Phdr){.p_type = PT_GNU_EH_FRAME, .p_vaddr = hdr, .p_filesz = 12},
	    sizeof(Elf64_Phdr));
	m->len = hdr;
	put(m, (uint8_t[]){1, 0x03, 0xff, 0xff}, 4); /* eh_frame_ptr: udata4 */
	put(m, &(uint32_t){frame}, 4);
	m->len = frame;
	/* CIE: "zRL", both pointers absolute udata4 */
	put(m, (uint8_t[]){16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 'L', 0, 1, 0x78, 16, 2, 3, 3, 0},
	    20);
	for (uint32_t i = 0; i < 9000; i++) {
		uint32_t fde[] = {20, m->len + 4 - frame, 700000 + i * 8, 8};
		put(m, fde, sizeof(fde));
		put(m, (uint8_t[]){4, table & 255, table >> 8 & 255, table >> 16, 0, 0, 0, 0}, 8);
	}
	put(m, (uint32_t[]){0}, 4);
	assert_true(m->len < table);
	m->len = table;
	/* no LPStart, no types, ULEB128 call sites, 400,000 bytes of records of length 0 */
	put(m, (uint8_t[]){0xff, 0xff, 0x01, 0x80, 0xb5, 0x18}, 6);
	finish(m, "exception tables overlap", 9000, count_fdes);
}

/* Symbols of one address whose names are each other's tails: comparing them all would take hours.
 */
static void many_symbols_of_one_name(void **state)
{
	(void)state;
	struct maker *m = maker_start(1);
	const uint64_t n_symbols = 20000, strings = 0x80000;
	put_load(m, 0);
	Elf64_Ehdr *header = (Elf64_Ehdr *)m->bytes;
	header->e_shoff = m->len;
	header->e_shnum = 3;
	uint64_t symbols = m->len + 3 * sizeof(Elf64_Shdr);
	put(m,
	    (Elf64_Shdr[]){{0},
			   {.sh_type = SHT_SYMTAB,
			    .sh_offset = symbols,
			    .sh_size = n_symbols * sizeof(Elf64_Sym),
			    .sh_link = 2},
			   {.sh_type = SHT_STRTAB,
			    .sh_offset = strings,
			    .sh_size = sizeof(m->bytes) - strings}},
	    3 * sizeof(Elf64_Shdr));
	for (uint32_t i = 0; i < n_symbols; i++)
		put(m,
		    &(Elf64_Sym){.st_name = i,
				 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				 .st_shndx = 1,
				 .st_value = 64},
		    sizeof(Elf64_Sym));
	assert_true(m->len < strings);
	memset(m->bytes + strings, 'a', sizeof(m->bytes) - strings - 1);
	finish(m, NULL, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_segments_over_one_file),
		cmocka_unit_test(many_notes_over_one_file),
		cmocka_unit_test(many_fdes_of_one_lsda),
		cmocka_unit_test(many_symbols_of_one_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
