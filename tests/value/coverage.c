// SPDX-License-Identifier: LGPL-2.1-or-later
/* coverage.c: how many instructions of real programs the evaluator has semantics for: all in the
 * executable segments of ELF files, decoded in a row (a byte that begins no instruction is passed
 * over). Instructions that end an evaluation by design (system calls, traps) and those whose result
 * is captured count as covered.
 *
 *   coverage [-m] FILE...      -m: also the mnemonics that have none, the most frequent first */
#include "offline/eval/machine.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t missing[ZYDIS_MNEMONIC_MAX_VALUE + 1];

struct tally {
	uint64_t insns, computed;
	unsigned files;
};

static void code(struct value_judge *judge, const uint8_t *bytes, size_t len, struct tally *t)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < len;) {
		if (!ZYAN_SUCCESS(
			    ZydisDecoderDecodeFull(&decoder, bytes + at, len - at, &zi, ops))) {
			at++;
			continue;
		}
		bool has = value_judge_insn(judge, &zi, ops, bytes + at);
		t->insns++;
		t->computed += has;
		missing[zi.mnemonic] += !has;
		at += zi.length;
	}
}

static void file(struct value_judge *judge, const char *path, struct tally *t)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 64) {
		if (fd >= 0)
			close(fd);
		return;
	}
	uint8_t *bytes = malloc(st.st_size);
	bool read_all = bytes && read(fd, bytes, st.st_size) == st.st_size;
	close(fd);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)bytes;
	if (read_all && !memcmp(bytes, ELFMAG, SELFMAG) && eh->e_machine == EM_X86_64 &&
	    eh->e_shoff &&
	    eh->e_shoff + (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr) <= (uint64_t)st.st_size) {
		t->files++;
		for (unsigned i = 0; i < eh->e_shnum; i++) {
			Elf64_Shdr sh;
			memcpy(&sh, bytes + eh->e_shoff + i * sizeof(sh), sizeof(sh));
			if (sh.sh_type == SHT_PROGBITS && sh.sh_flags & SHF_EXECINSTR &&
			    sh.sh_offset + sh.sh_size <= (uint64_t)st.st_size)
				code(judge, bytes + sh.sh_offset, sh.sh_size, t);
		}
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "-m");
	struct value_judge *judge = value_judge_new();
	struct tally t = {0};
	if (!judge)
		return 2;
	for (int i = 1 + list; i < argc; i++) {
		file(judge, argv[i], &t);
		if (i % 64 == 0) { /* its stubs are never executed: start again */
			value_judge_free(judge);
			judge = value_judge_new();
			if (!judge)
				return 2;
		}
	}
	printf("%u files, %lu instructions, %lu with semantics: %.4f %%\n", t.files, t.insns,
	       t.computed, t.insns ? 100.0 * t.computed / t.insns : 0);
	for (unsigned shown = 0; list && shown < 40; shown++) {
		unsigned best = 0;
		for (unsigned k = 0; k <= ZYDIS_MNEMONIC_MAX_VALUE; k++)
			best = missing[k] > missing[best] ? k : best;
		if (!missing[best])
			break;
		printf("  %-16s %lu\n", ZydisMnemonicGetString(best), missing[best]);
		missing[best] = 0;
	}
	value_judge_free(judge);
	return t.insns == 0;
}
