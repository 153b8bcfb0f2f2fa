// SPDX-License-Identifier: LGPL-2.1-or-later
/* gather.c: the shapes of instruction that occur in the code of ELF files, whose names are read
 * from stdin. Prints one a line: an example's bytes in hex, in how many files it occurs. Code is
 * what the executable sections hold, read from one instruction to the next; what lies between them
 * as data gives shapes that do not occur, so that those of only one file are left out.
 *
 *   gather [-j N] [OLD...] <FILES >TABLE    OLD: tables to add to */
#include "offline/code/shape.h"

#include <err.h>
#include <gelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
	uint64_t shape; /* + 1, 0: free */
	uint32_t n_files, last_file;
	uint8_t len, bytes[15];
};

enum { SLOTS = 1 << 20 };

struct table {
	struct entry *at;
	uint32_t n, file;
};

static struct entry *find(struct table *t, uint64_t shape)
{
	uint32_t slot = (uint32_t)(shape * 0x9e3779b97f4a7c15ull >> 44);
	while (t->at[slot].shape && t->at[slot].shape != shape + 1)
		slot = (slot + 1) % SLOTS;
	return &t->at[slot];
}

static void add(struct table *t, const ZydisDecodedInstruction *insn, const uint8_t *bytes,
		uint32_t n_files)
{
	struct entry *e = find(t, shape_of(insn));
	if (!e->shape) {
		if (++t->n > SLOTS / 2)
			errx(1, "too many shapes");
		*e = (struct entry){.shape = shape_of(insn) + 1, .len = insn->length};
		memcpy(e->bytes, bytes, insn->length);
	}
	if (e->last_file != t->file || n_files > 1)
		e->n_files += n_files;
	e->last_file = t->file;
}

static void sweep(struct table *t, const ZydisDecoder *decoder, const uint8_t *code, size_t len)
{
	ZydisDecodedInstruction insn;
	for (size_t at = 0; at < len;) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder, NULL, code + at, len - at,
							      &insn))) {
			at++;
			continue;
		}
		add(t, &insn, code + at, 1);
		at += insn.length;
	}
}

/* Whether it is a file with code of x86-64. */
static int gather_file(struct table *t, const ZydisDecoder *decoder, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), found = 0;
	if (fd < 0)
		return 0;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	GElf_Ehdr eh;
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) &&
	    eh.e_machine == EM_X86_64 && eh.e_ident[EI_CLASS] == ELFCLASS64) {
		t->file++;
		for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
			GElf_Shdr sh;
			Elf_Data *data;
			if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
			    !(sh.sh_flags & SHF_EXECINSTR) || !(data = elf_rawdata(scn, NULL)) ||
			    !data->d_buf)
				continue;
			sweep(t, decoder, data->d_buf, data->d_size);
			found = 1;
		}
	}
	elf_end(elf);
	close(fd);
	return found;
}

static uint32_t read_table(struct table *t, const ZydisDecoder *decoder, const char *path)
{
	char hex[64];
	uint32_t files, total = 0;
	FILE *f = fopen(path, "re");
	if (!f)
		err(1, "%s", path);
	if (fscanf(f, "# %u files%*[^\n]", &total) != 1)
		errx(1, "%s: no table of shapes", path);
	while (fscanf(f, "%30s %u", hex, &files) == 2) {
		uint8_t bytes[15] = {0};
		uint8_t n = 0;
		for (; hex[2 * n] && n < sizeof(bytes); n++)
			if (sscanf(hex + 2 * n, "%2hhx", &bytes[n]) != 1)
				errx(1, "%s: %s is no instruction", path, hex);
		ZydisDecodedInstruction insn;
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, n, &insn)))
			errx(1, "%s: %s is no instruction", path, hex);
		t->file++;
		add(t, &insn, bytes, files);
	}
	fclose(f);
	return total;
}

static int by_bytes(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = memcmp(x->bytes, y->bytes, sizeof(x->bytes));
	return order ? order : x->len - y->len;
}

int main(int argc, char **argv)
{
	struct table t = {.at = calloc(SLOTS, sizeof(struct entry))};
	ZydisDecoder decoder;
	uint32_t n_files = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!t.at || elf_version(EV_CURRENT) == EV_NONE)
		errx(1, "no memory");
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 1; i < argc; i++)
		n_files += read_table(&t, &decoder, argv[i]);
	while ((len = getline(&line, &room, stdin)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = 0;
		n_files += (uint32_t)gather_file(&t, &decoder, line);
	}
	free(line);
	uint32_t n = 0, kept = 0;
	for (uint32_t i = 0; i < SLOTS; i++)
		if (t.at[i].shape)
			t.at[n++] = t.at[i];
	qsort(t.at, n, sizeof(*t.at), by_bytes);
	for (uint32_t i = 0; i < n; i++)
		kept += t.at[i].n_files > 1;
	printf("# %u files: %u shapes in more than one of them\n", n_files, kept);
	for (uint32_t i = 0; i < n; i++) {
		if (t.at[i].n_files < 2)
			continue;
		for (int k = 0; k < t.at[i].len; k++)
			printf("%02x", t.at[i].bytes[k]);
		printf(" %u\n", t.at[i].n_files);
	}
	fprintf(stderr, "%u files, %u shapes, %u of them in more than one\n", n_files, n, kept);
	free(t.at);
	return 0;
}
