// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_damage.c: files that are no ELF, the wrong ELF, cut off or damaged give a one-line error
 * or an image that keeps elf_image.h's promises; never a crash, a hang or memory out of proportion.
 * Run it with SAN=1 as well: there each read past a bound is a failure. */
#include "tests/unit/elf/elf_survive.h"

#include <errno.h>
#include <sys/stat.h>

#include "offline/elf/elf_parts.h"

static void expect_error(const char *path, int want, const char *words)
{
	struct elf_image *image = NULL;
	struct pugmark_diag diag = {0};
	assert_int_equal(elf_image_open(path, &image, &diag), want);
	assert_null(image);
	assert_string_equal(diag.file, path);
	if (!strstr(diag.text, words))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, words);
	assert_int_equal(elf_image_open(path, &image, NULL), want);
}

static void what_is_no_file(void **state)
{
	char path[512];
	const char *dir = *state;
	expect_error(dir, -EISDIR, "not a regular file");
	snprintf(path, sizeof(path), "%s/missing", dir);
	expect_error(path, -ENOENT, "cannot open");
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_error(path, -ENOEXEC, "not a regular file");
	elf_image_free(NULL);
}

static void what_is_no_elf(void **state)
{
	char path[512];
	const char *dir = *state;
	write_source(dir, "text",
		     "#!/bin/sh\nexit 0\n# long enough for an ELF header, and longer\n");
	snprintf(path, sizeof(path), "%s/text", dir);
	expect_error(path, -ENOEXEC, "not an ELF file");
	write_source(dir, "empty", "%s", "");
	snprintf(path, sizeof(path), "%s/empty", dir);
	expect_error(path, -ENOEXEC, "empty");
	write_source(dir, "magic",
		     "\x7f"
		     "ELF");
	snprintf(path, sizeof(path), "%s/magic", dir);
	expect_error(path, -EBADMSG, "cut off");
	write_source(dir, "one.c", "int one(void) { return 1; }\n");
	shell("cd '%s' && cc -g -c one.c && cc -g -shared -o one.so one.o", dir);
	snprintf(path, sizeof(path), "%s/one.o", dir);
	expect_error(path, -ENOEXEC, "neither an executable nor a shared library (ELF type 1)");
	shell("cd '%s' && objcopy --only-keep-debug one.so one.debug", dir);
	snprintf(path, sizeof(path), "%s/one.debug", dir);
	expect_error(path, -EBADMSG, "no executable code");
}

/* A program to damage, and where its parts lie. */
struct victim {
	uint8_t *bytes;
	size_t len;
	Elf64_Ehdr header;
};

static struct victim victim_read(const char *path)
{
	struct victim v;
	v.bytes = read_whole(path, &v.len);
	memcpy(&v.header, v.bytes, sizeof(v.header));
	return v;
}

static Elf64_Shdr *victim_section(const struct victim *v, const char *name)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(v->bytes + v->header.e_shoff);
	const char *names = (const char *)v->bytes + sections[v->header.e_shstrndx].sh_offset;
	for (uint32_t i = 0; i < v->header.e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	fail_msg("no section %s", name);
	return NULL;
}

static Elf64_Phdr *victim_segment(const struct victim *v, uint32_t type)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(v->bytes + v->header.e_phoff);
	for (uint32_t i = 0; i < v->header.e_phnum; i++)
		if (segments[i].p_type == type)
			return &segments[i];
	fail_msg("no segment of type %u", type);
	return NULL;
}

/* DIR/victim, built once: C++ with exceptions, imports, tables, symbols. */
static struct victim build_victim(const char *dir)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/victim", dir);
	if (access(path, R_OK)) {
		write_source(
			dir, "victim.cc",
			"#include <string>\n#include <vector>\n#include <cstdio>\n"
			"struct base { virtual int f(int n) { return n; } virtual ~base() {} };\n"
			"struct next : base { int f(int n) override { return n + 1; } };\n"
			"int work(base *b, int n) {\n"
			"	std::vector<std::string> v;\n"
			"	try { for (int i = 0; i < n; i++) v.push_back(std::string(i, "
			"'x')); }\n"
			"	catch (std::exception &e) { puts(e.what()); throw; }\n"
			"	return b->f(v.size());\n"
			"}\n"
			"int main(int argc, char **) { next n; return work(&n, argc); }\n");
		shell("c++ -O2 -Wl,-z,pack-relative-relocs -Wl,--hash-style=both -o '%s' "
		      "'%s/victim.cc'",
		      path, dir);
	}
	return victim_read(path);
}

static void expect_header_error(struct victim *v, size_t off, uint64_t value, size_t len, int want,
				const char *words, uint64_t want_off)
{
	uint8_t old[8];
	struct elf_image *image = NULL;
	struct pugmark_diag diag = {0};
	memcpy(old, v->bytes + off, len);
	memcpy(v->bytes + off, &value, len);
	assert_int_equal(open_bytes(v->bytes, v->len, &image, &diag), want);
	if (!strstr(diag.text, words))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, words);
	assert_int_equal(diag.offset, want_off);
	memcpy(v->bytes + off, old, len);
}

static void headers_of_other_machines(void **state)
{
	struct victim v = build_victim(*state);
	size_t machine = offsetof(Elf64_Ehdr, e_machine), phoff = offsetof(Elf64_Ehdr, e_phoff);
	size_t phentsize = offsetof(Elf64_Ehdr, e_phentsize);
	expect_header_error(&v, EI_CLASS, ELFCLASS32, 1, -ENOEXEC, "32-bit", EI_CLASS);
	expect_header_error(&v, EI_CLASS, 7, 1, -ENOEXEC, "unknown class", EI_CLASS);
	expect_header_error(&v, EI_DATA, ELFDATA2MSB, 1, -ENOEXEC, "little-endian", EI_DATA);
	expect_header_error(&v, machine, EM_AARCH64, 2, -ENOEXEC, "machine 183", machine);
	expect_header_error(&v, machine, EM_386, 2, -ENOEXEC, "machine 3", machine);
	expect_header_error(&v, offsetof(Elf64_Ehdr, e_type), ET_CORE, 2, -ENOEXEC, "ELF type 4",
			    offsetof(Elf64_Ehdr, e_type));
	expect_header_error(&v, phoff, v.len - 8, 8, -EBADMSG, "outside the file", v.len - 8);
	expect_header_error(&v, phoff, UINT64_MAX - 8, 8, -EBADMSG, "outside the file",
			    UINT64_MAX - 8);
	expect_header_error(&v, phentsize, 32, 2, -EBADMSG, "32 bytes each", phentsize);
	expect_header_error(&v, offsetof(Elf64_Ehdr, e_phnum), 0, 2, -EBADMSG, "no executable code",
			    v.header.e_phoff);
	free(v.bytes);
}

static void cut_off(const char *path)
{
	need_file(path);
	struct victim v = victim_read(path);
	uint32_t n_images = 0, n_errors = 0;
	for (uint32_t percent = 0; percent < 100; percent++) {
		size_t len = v.len * percent / 100;
		if (!len)
			continue; /* an empty file has its own message */
		if (survive(v.bytes, len))
			n_errors++;
		else
			n_images++;
	}
	for (size_t len = 1; len < 4096 && len < v.len; len++)
		survive(v.bytes, len);
	print_message("%s: %u images, %u errors\n", path, n_images, n_errors);
	assert_true(n_images > 20 && n_errors > 0);
	free(v.bytes);
}

static void gzip_cut_off(void **state)
{
	(void)state;
	cut_off("/usr/bin/gzip");
}

static void lua_cut_off(void **state)
{
	(void)state;
	cut_off("/usr/bin/lua5.4");
}

static void victim_cut_off(void **state)
{
	char path[512];
	free(build_victim(*state).bytes);
	snprintf(path, sizeof(path), "%s/victim", (char *)*state);
	cut_off(path);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* A byte of @v to damage: half of them in headers and tables. */
static size_t random_place(const struct victim *v, uint64_t *seed)
{
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(v->bytes + v->header.e_shoff);
	const Elf64_Shdr *s;
	switch (next_random(seed) % 8) {
	case 0:
		return next_random(seed) % sizeof(Elf64_Ehdr);
	case 1:
		return v->header.e_phoff + next_random(seed) % (v->header.e_phnum * 56);
	case 2:
		return v->header.e_shoff + next_random(seed) % (v->header.e_shnum * 64);
	case 3:
	case 4:
	case 5:
		s = &sections[next_random(seed) % v->header.e_shnum];
		if (s->sh_type != SHT_NOBITS && s->sh_size)
			return s->sh_offset + next_random(seed) % s->sh_size;
		return 0;
	default:
		return next_random(seed) % v->len;
	}
}

static void bytes_flipped(struct victim *v, uint32_t rounds)
{
	uint64_t seed = 0x5075676d61726b21;
	uint32_t n_images = 0;
	uint8_t *copy = malloc(v->len);
	assert_non_null(copy);
	for (uint32_t round = 0; round < rounds; round++) {
		memcpy(copy, v->bytes, v->len);
		for (uint32_t n = 1 + next_random(&seed) % 12; n; n--) {
			size_t at = random_place(v, &seed) % v->len;
			static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff};
			uint64_t kind = next_random(&seed);
			copy[at] = kind % 3 ? (uint8_t)(kind >> 8) : edges[kind / 3 % 5];
		}
		n_images += !survive(copy, v->len);
	}
	print_message("%u images of %u damaged files\n", n_images, rounds);
	assert_true(n_images > rounds / 10 && n_images < rounds);
	free(copy);
}

static void bytes_of_victim_flipped(void **state)
{
	struct victim v = build_victim(*state);
	bytes_flipped(&v, 20000);
	free(v.bytes);
}

static void bytes_of_gzip_flipped(void **state)
{
	(void)state;
	need_file("/usr/bin/gzip");
	struct victim v = victim_read("/usr/bin/gzip");
	bytes_flipped(&v, 5000);
	free(v.bytes);
}

static struct elf_image *open_victim(const struct victim *v)
{
	struct elf_image *image = NULL;
	struct pugmark_diag diag;
	if (open_bytes(v->bytes, v->len, &image, &diag))
		fail_msg("%s", diag.text);
	check_image(image);
	return image;
}

static void expect_note(const struct victim *v, const char *words)
{
	struct elf_image *image = open_victim(v);
	if (!find_note(image, words))
		fail_msg("no note says \"%s\"", words);
	elf_image_free(image);
}

static void section_headers_of_any_size(void **state)
{
	struct victim v = build_victim(*state);
	Elf64_Ehdr *header = (Elf64_Ehdr *)v.bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(v.bytes + v.header.e_shoff);
	struct elf_image *sound = open_victim(&v);
	assert_null(elf_image_note(sound, 0));
	elf_image_free(sound);
	header->e_shoff = v.len - 1;
	expect_note(&v, "lie outside the file");
	header->e_shoff = UINT64_MAX;
	expect_note(&v, "lie outside the file");
	header->e_shoff = v.header.e_shoff;
	header->e_shentsize = 8;
	expect_note(&v, "of 8 bytes each");
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = 0; /* then section 0 says how many there are */
	sections[0].sh_size = UINT64_MAX;
	expect_note(&v, "the file ends after");
	sections[0].sh_size = UINT32_MAX;
	expect_note(&v, "the file ends after");
	header->e_shnum = v.header.e_shnum;
	sections[0].sh_size = 0;
	for (uint32_t i = 1; i < v.header.e_shnum; i++) {
		Elf64_Shdr old = sections[i];
		sections[i].sh_size = UINT64_MAX - 7;
		survive(v.bytes, v.len);
		sections[i].sh_offset = UINT64_MAX - 3;
		survive(v.bytes, v.len);
		sections[i] = old;
		sections[i].sh_addr = UINT64_MAX - 3;
		survive(v.bytes, v.len);
		sections[i] = old;
		sections[i].sh_link = i; /* a table that is its own string table */
		survive(v.bytes, v.len);
		sections[i] = old;
	}
	Elf64_Shdr *text = victim_section(&v, ".text");
	text->sh_size = UINT64_MAX / 2;
	expect_note(&v, "cut off");
	free(v.bytes);
}

static void segments_of_any_size(void **state)
{
	struct victim v = build_victim(*state);
	Elf64_Phdr *segments = (Elf64_Phdr *)(v.bytes + v.header.e_phoff);
	for (uint32_t i = 0; i < v.header.e_phnum; i++) {
		Elf64_Phdr old = segments[i];
		segments[i].p_filesz = segments[i].p_memsz = UINT64_MAX;
		survive(v.bytes, v.len);
		segments[i] = old;
		segments[i].p_offset = UINT64_MAX - 1;
		survive(v.bytes, v.len);
		segments[i] = old;
		segments[i].p_vaddr = UINT64_MAX - 1;
		survive(v.bytes, v.len);
		segments[i] = old;
		segments[i].p_memsz = UINT64_MAX - segments[i].p_vaddr;
		survive(v.bytes, v.len);
		segments[i] = old;
	}
	Elf64_Phdr *last = NULL;
	for (uint32_t i = 0; i < v.header.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			last = &segments[i];
	assert_non_null(last);
	last->p_vaddr = victim_segment(&v, PT_LOAD)->p_vaddr;
	expect_note(&v, "overlaps another");
	free(v.bytes);
}

/* Finds the FDEs of @v: offsets in the file of their pc_begin fields. */
static uint32_t find_fdes(const struct victim *v, size_t *places, uint32_t max)
{
	const Elf64_Shdr *section = victim_section(v, ".eh_frame");
	uint32_t n = 0;
	for (size_t at = section->sh_offset; at < section->sh_offset + section->sh_size;) {
		uint32_t length, id;
		memcpy(&length, v->bytes + at, 4);
		memcpy(&id, v->bytes + at + 4, 4);
		if (length && id && n < max)
			places[n++] = at + 8;
		at += 4 + length;
	}
	return n;
}

static void fdes_that_overlap_or_stray(void **state)
{
	struct victim v = build_victim(*state);
	const Elf64_Shdr *section = victim_section(&v, ".eh_frame");
	size_t places[256];
	uint32_t n = find_fdes(&v, places, 256), n_fdes;
	assert_in_range(n, 8, 255);
	struct elf_image *sound = open_victim(&v);
	const struct elf_fde *fdes = elf_image_fdes(sound, &n_fdes);
	assert_int_equal(n, n_fdes);
	uint64_t addr = fdes[n_fdes - 1].addr;
	elf_image_free(sound);
	for (uint32_t i = 0; i < n; i++) {
		int32_t old[2], begin;
		memcpy(old, v.bytes + places[i], 8);
		int64_t place = (int64_t)(section->sh_addr + places[i] - section->sh_offset);
		if (place + old[0] == (int64_t)addr)
			continue;
		begin = (int32_t)((int64_t)addr - place);
		memcpy(v.bytes + places[i], &begin, 4);
		expect_note(&v, "1 FDEs that overlap another");
		begin = -1 - (int32_t)place;
		memcpy(v.bytes + places[i], &begin, 4);
		expect_note(&v, "1 FDEs outside executable code");
		memcpy(v.bytes + places[i], old, 4);
		int32_t range = INT32_MIN;
		memcpy(v.bytes + places[i] + 4, &range, 4);
		expect_note(&v, "1 FDEs outside executable code");
		range = INT32_MAX;
		memcpy(v.bytes + places[i] + 4, &range, 4);
		expect_note(&v, "1 FDEs outside executable code");
		memcpy(v.bytes + places[i] + 4, &old[1], 4);
		uint32_t id = 0, no_cie = 3;
		memcpy(&id, v.bytes + places[i] - 4, 4);
		memcpy(v.bytes + places[i] - 4, &no_cie, 4);
		expect_note(&v, "1 damaged FDEs");
		memcpy(v.bytes + places[i] - 4, &id, 4);
	}
	uint32_t length, huge = 0xfffffff0;
	memcpy(&length, v.bytes + places[3] - 8, 4);
	memcpy(v.bytes + places[3] - 8, &huge, 4);
	expect_note(&v, "the unwind table breaks off");
	struct elf_image *image = open_victim(&v);
	elf_image_fdes(image, &n_fdes);
	assert_int_equal(n_fdes, 3);
	elf_image_free(image);
	free(v.bytes);
}

static void relr_that_goes_back(void **state)
{
	struct victim v = build_victim(*state);
	const Elf64_Shdr *section = victim_section(&v, ".relr.dyn");
	assert_true(section->sh_size >= 16);
	memcpy(v.bytes + section->sh_offset + 8, v.bytes + section->sh_offset, 8);
	expect_note(&v, "(RELR)");
	free(v.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(what_is_no_elf),
		cmocka_unit_test(headers_of_other_machines),
		cmocka_unit_test(gzip_cut_off),
		cmocka_unit_test(lua_cut_off),
		cmocka_unit_test(victim_cut_off),
		cmocka_unit_test(section_headers_of_any_size),
		cmocka_unit_test(segments_of_any_size),
		cmocka_unit_test(fdes_that_overlap_or_stray),
		cmocka_unit_test(relr_that_goes_back),
		cmocka_unit_test(bytes_of_victim_flipped),
		cmocka_unit_test(bytes_of_gzip_flipped),
	};
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
