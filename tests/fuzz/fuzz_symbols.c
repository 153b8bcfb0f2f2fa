// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_symbols.c: any bytes as a file that a traced process has mapped: what is asked of it by
 * name, where its code lies, its build-id, the names and numbers in its constant data, its
 * variables. */
#include "tests/fuzz/as_file.h"

#include "offline/capture/data_symbols.h"
#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/private_elf.h"
#include "offline/link/constant_strings.h"
#include "offline/link/named_folders.h"
#include "user/file/build_id.h"
#include "user/file/text_span.h"

#include <fcntl.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t seen;

static bool take_symbol(void *ctx, const char *name, const GElf_Sym *sym)
{
	(void)ctx;
	seen += strlen(name) + (sym->st_shndx == SHN_UNDEF);
	return true;
}

static void take_text(void *ctx, const char *text)
{
	(void)ctx;
	seen += strlen(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = as_file(data, size);
	struct private_elf elf = {.elf = NULL};
	struct pugmark_diag diag = {.text = ""};
	struct data_symbols *variables;
	struct text_span span;
	char folder[] = "/usr/lib", *folders[] = {folder};
	uint8_t named = 0;
	uint64_t addr;
	bool by_slot;

	MUST(build_id_read(path).len <= 20);
	if (text_span_read(path, &span, &diag))
		MUST(*diag.text);
	else
		MUST(span.addr < span.end && span.end - span.addr <= UINT32_MAX);
	if (!data_symbols_open(path, &variables)) {
		data_symbols_find(variables, "stdout", &addr, &by_slot);
		data_symbols_free(variables);
	}
	if (private_elf_open(path, &elf))
		return 0;
	dynamic_symbols_each(elf.elf, take_symbol, NULL);
	for (enum needed_text what = 0; what <= 1; what++)
		constant_strings(&elf, what, take_text, NULL);
	named_folders_mark(&elf, folders, 1, &named);
	MUST(named <= 1);
	private_elf_close(&elf);
	return 0;
}
