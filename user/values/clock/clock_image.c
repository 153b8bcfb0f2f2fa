// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_image.c: see clock_image.h. */
#include "user/values/clock/clock_image.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

static const char *const names[CLOCK_FUNCTIONS] = {
	[CLOCK_GETTIME] = "__vdso_clock_gettime",
	[CLOCK_GETTIMEOFDAY] = "__vdso_gettimeofday",
	[CLOCK_TIME] = "__vdso_time",
	[CLOCK_GETCPU] = "__vdso_getcpu",
	[CLOCK_GETRES] = "__vdso_clock_getres",
};

static void find_functions(struct clock_image *image, const Elf64_Shdr *symbols,
			   const char *strings)
{
	const Elf64_Sym *s = (const Elf64_Sym *)(image->bytes + symbols->sh_offset);

	for (uint64_t i = 0; i < symbols->sh_size / sizeof(*s); i++)
		for (int f = 0; f < CLOCK_FUNCTIONS; f++)
			if (!strcmp(strings + s[i].st_name, names[f]) &&
			    s[i].st_value >= image->text && s[i].st_value < image->text_end)
				image->functions[f] = s[i].st_value;
}

/* The kernel has made it, and it lies in memory as in the file. */
bool clock_image_own(struct clock_image *out)
{
	const uint8_t *bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct clock_image image = {.bytes = bytes};

	if (!bytes || memcmp(bytes, ELFMAG, SELFMAG))
		return false;
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + h->e_shoff);
	const char *section_names = (const char *)bytes + sections[h->e_shstrndx].sh_offset;

	image.len = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	if (!h->e_shnum || image.len > CLOCK_CODE)
		return false;
	for (unsigned i = 0; i < h->e_shnum; i++)
		if (!strcmp(section_names + sections[i].sh_name, ".text")) {
			image.text = sections[i].sh_offset;
			image.text_end = image.text + sections[i].sh_size;
		}
	for (unsigned i = 0; i < h->e_shnum; i++)
		if (sections[i].sh_type == SHT_DYNSYM)
			find_functions(&image, &sections[i],
				       (const char *)bytes +
					       sections[sections[i].sh_link].sh_offset);
	*out = image;
	return image.functions[CLOCK_GETTIME] != 0;
}

/* The operand that is relative to the instruction and leads out of the image; 0: none; -1: a branch
 * does. */
static int leads_out(const struct clock_image *image, uint32_t off,
		     const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op)
{
	int64_t next = off + insn->length;

	for (int i = 0; i < insn->operand_count_visible; i++) {
		bool branch = op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[i].imm.is_relative;
		bool data = op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    op[i].mem.base == ZYDIS_REGISTER_RIP;
		int64_t to = next + (branch ? op[i].imm.value.s : op[i].mem.disp.value);

		if ((branch || data) && (to < 0 || to >= (int64_t)image->len))
			return branch ? -1 : 1;
	}
	return 0;
}

bool clock_image_move(const struct clock_image *image, uint64_t base, uint64_t at, uint8_t *out)
{
	int64_t back = (int64_t)(base - at);
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	memcpy(out, image->bytes, image->len);
	for (uint32_t off = image->text; off < image->text_end; off += insn.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, image->bytes + off,
						       image->text_end - off, &insn, op)))
			return false;
		int out_of_it = leads_out(image, off, &insn, op);
		if (!out_of_it)
			continue;
		int64_t disp = insn.raw.disp.value + back;
		int32_t stored = (int32_t)disp;
		if (out_of_it < 0 || insn.raw.disp.size != 32 || stored != disp)
			return false;
		memcpy(out + off + insn.raw.disp.offset, &stored, sizeof(stored));
	}
	return true;
}
