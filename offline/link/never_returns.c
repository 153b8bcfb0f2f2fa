// SPDX-License-Identifier: LGPL-2.1-or-later
/* never_returns.c: follows a library's function from its entry, through jumps, behind calls that
 * may return, and to the landing pads of its calls. It returns if that leads to a return, to a jump
 * out of what is known, or to anything that does not decode; it does not where each way ends in a
 * call that never returns: of an import that is known by its name, or of a function of the library
 * of which the same is found. In doubt a function returns. But functions that end in calls of each
 * other, as where raising an exception may raise one, do not return for that: one that is being
 * looked at is taken not to return, and where it does after all, what was found by that is looked
 * at again. */
#include "offline/link/never_returns.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "offline/code/decode.h"
#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/elf_image.h"
#include "offline/elf/private_elf.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 12, MAX_WAYS = 512, MAX_INSNS = 1 << 22 /* of a library */ };

enum verdict { NOT_ASKED, BEING_ASKED, RETURNS, NEVER };

struct asked {
	uint64_t addr;
	enum verdict verdict;
	bool assumed; /* BEING_ASKED: taken not to return by another */
};

struct library {
	struct elf_image *image;
	struct decoder decoder;
	const struct elf_code *codes;
	uint32_t n_codes;
	const struct elf_landing *landings;
	uint32_t n_landings;
	VEC(struct asked) asked; /* by addr */
	uint32_t insns_left;
	bool refuted; /* one does return that was taken not to */
	bool no_memory;
};

/* The ways through one function that are left to follow, those that were followed first. */
struct ways {
	uint64_t at[MAX_WAYS];
	uint32_t n, next;
};

static void add_way(struct ways *w, uint64_t addr)
{
	for (uint32_t i = 0; i < w->n && i < MAX_WAYS; i++)
		if (w->at[i] == addr)
			return;
	if (w->n < MAX_WAYS)
		w->at[w->n] = addr;
	w->n++; /* too many: told by the number */
}

/* @ctx becomes true at an import that raises. */
static bool take_raiser(void *ctx, const char *name, const GElf_Sym *sym)
{
	static const char *const raisers[] = {"_Unwind_RaiseException", "_Unwind_Resume_or_Rethrow",
					      "_Unwind_ForcedUnwind"};
	bool *does = ctx;
	for (size_t k = 0; k < sizeof(raisers) / sizeof(*raisers); k++)
		*does |= sym->st_shndx == SHN_UNDEF && !strcmp(name, raisers[k]);
	return !*does;
}

/* Whether the file at @path calls what raises. The whole of it is read only if it does. */
static bool raises(const char *path)
{
	private_elf_guard struct private_elf file = {.elf = NULL};
	bool does = false;
	return !private_elf_open(path, &file) &&
	       !dynamic_symbols_each(file.elf, take_raiser, &does) && does;
}

static const struct elf_code *code_at(const struct library *lib, uint64_t addr)
{
	for (uint32_t i = 0; i < lib->n_codes; i++)
		if (addr >= lib->codes[i].addr && addr < lib->codes[i].end)
			return &lib->codes[i];
	return NULL;
}

static struct asked *asked_at(struct library *lib, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, lib->asked.n, i, lib->asked.at[i].addr < addr);
	if (low < lib->asked.n && lib->asked.at[low].addr == addr)
		return &lib->asked.at[low];
	if (!VEC_PUSH(&lib->asked, (struct asked){0})) {
		lib->no_memory = true;
		return NULL;
	}
	memmove(&lib->asked.at[low + 1], &lib->asked.at[low],
		(lib->asked.n - 1 - low) * sizeof(struct asked));
	lib->asked.at[low] = (struct asked){.addr = addr};
	return &lib->asked.at[low];
}

static bool never(struct library *lib, uint64_t addr, int depth);

/* Whether what is called by @addr, a function, a PLT stub or a GOT slot, never returns. */
static bool callee_never(struct library *lib, uint64_t addr, int depth)
{
	uint32_t n, import = elf_image_import_at(lib->image, addr);
	const struct pugmark_import *imports = elf_image_imports(lib->image, &n);
	const struct elf_code *code = code_at(lib, addr);
	if (import == PUGMARK_NONE)
		return code && !code->plt && never(lib, addr, depth);
	if (imports[import].flags & PUGMARK_SITE_NORETURN)
		return true;
	uint64_t own = elf_image_import_local(lib->image)[import];
	return own && never(lib, own, depth);
}

/* Where an exception out of the call at @addr lands in the function. */
static void add_landing(const struct library *lib, struct ways *w, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, lib->n_landings, i, lib->landings[i].addr <= addr);
	if (low && addr < lib->landings[low - 1].end)
		add_way(w, lib->landings[low - 1].pad);
}

/* Follows one way up to where it ends or parts. Returns whether it leads to a return. */
static bool run_returns(struct library *lib, struct ways *w, uint64_t addr, int depth)
{
	const struct elf_code *code = code_at(lib, addr);
	while (lib->insns_left && lib->insns_left--) {
		struct pugmark_insn insn = {0};
		struct decoded_refs refs;
		if (!code || addr >= code->end)
			return true;
		const uint8_t *bytes = code->bytes + (addr - code->addr);
		if (!decode_insn(&lib->decoder, bytes, code->end - addr, addr, &insn, &refs))
			return true;
		uint64_t to =
			insn.kind == PUGMARK_INSN_CALL || insn_is_direct_jump(&insn)
				? decode_target(&insn, bytes, addr)
			: insn.kind == PUGMARK_INSN_CALL_IND || insn.kind == PUGMARK_INSN_JMP_IND
				? decode_slot(&insn, bytes, addr)
				: 0;
		switch (insn.kind) {
		case PUGMARK_INSN_CALL:
		case PUGMARK_INSN_CALL_IND:
			add_landing(lib, w, addr);
			if (to && callee_never(lib, to, depth))
				return false;
			break;
		case PUGMARK_INSN_JMP_IND:
			return !to || elf_image_import_at(lib->image, to) == PUGMARK_NONE ||
			       !callee_never(lib, to, depth);
		case PUGMARK_INSN_JMP:
			if (elf_image_import_at(lib->image, to) != PUGMARK_NONE)
				return !callee_never(lib, to, depth);
			add_way(w, to);
			return false;
		case PUGMARK_INSN_TRAP:
			return false;
		case PUGMARK_INSN_OTHER:
			break;
		default:
			if (!insn_is_direct_jump(&insn))
				return true; /* a return, or what is not followed */
			add_way(w, to);
			add_way(w, addr + insn.len);
			return false;
		}
		addr += insn.len;
	}
	return true;
}

/* Whether the function at @addr never returns. */
static bool never(struct library *lib, uint64_t addr, int depth)
{
	struct asked *a = asked_at(lib, addr);
	if (a && a->verdict == BEING_ASKED)
		return a->assumed = true;
	if (!a || a->verdict != NOT_ASKED || depth == MAX_DEPTH)
		return a && a->verdict == NEVER;
	*a = (struct asked){.addr = addr, .verdict = BEING_ASKED};
	struct ways *w = calloc(1, sizeof(*w));
	lib->no_memory |= !w;
	bool returns = !w;
	if (w)
		add_way(w, addr);
	while (!returns && w->next < w->n)
		returns = w->n > MAX_WAYS || run_returns(lib, w, w->at[w->next++], depth + 1);
	free(w);
	a = asked_at(lib, addr);
	if (!a)
		return false;
	a->verdict = returns ? RETURNS : NEVER;
	lib->refuted |= returns && a->assumed;
	return !returns;
}

/* The same, by nothing that was only assumed. That one returns is found by what does, so it stays
 * found: each turn finds one more. */
static bool surely_never(struct library *lib, uint64_t addr)
{
	for (;;) {
		lib->refuted = false;
		bool ends = never(lib, addr, 0);
		if (!lib->refuted)
			return ends;
		for (uint32_t i = 0; i < lib->asked.n; i++)
			if (lib->asked.at[i].verdict == NEVER)
				lib->asked.at[i].verdict = NOT_ASKED;
	}
}

static uint64_t definition(const struct library *lib, const char *name)
{
	uint32_t n;
	const struct elf_symbol *symbols = elf_image_symbols(lib->image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (symbols[i].dynamic && symbols[i].code && !strcmp(symbols[i].name, name))
			return symbols[i].addr;
	return 0;
}

enum { UNDEFINED, ENDS, GOES_ON };

/* What is found of each import of a model. */
struct names {
	const struct pugmark_model *model;
	uint8_t *found;
};

/* Whatever a library defines that is not asked may return. */
static bool take_definition(void *ctx, const char *name, const GElf_Sym *sym)
{
	const struct names *names = ctx;
	for (uint32_t i = 0; i < names->model->n_imports && sym->st_shndx != SHN_UNDEF; i++)
		if (names->found[i] == ENDS && !strcmp(names->model->imports[i].name, name))
			names->found[i] = GOES_ON;
	return true;
}

static bool may_define_any(struct names *names, const char *path)
{
	private_elf_guard struct private_elf file = {.elf = NULL};
	int err = private_elf_open(path, &file);
	return err ? private_file_unknown(err)
		   : dynamic_symbols_each(file.elf, take_definition, names) != 0;
}

/* Where it ends in one library, another that calls no unwinder may define the name as well, and
 * before it in the order in which names are searched. What has symbols that cannot be read may
 * define any. */
static void ask_others(struct names *names, const char *const *files, uint32_t n, const bool *asked)
{
	for (uint32_t f = 0; f < n; f++)
		if (!asked[f] && memchr(names->found, ENDS, names->model->n_imports) &&
		    may_define_any(names, files[f]))
			memset(names->found, GOES_ON, names->model->n_imports);
}

static int ask(struct names *names, const char *path)
{
	struct library lib = {.insns_left = MAX_INSNS};
	struct pugmark_diag diag = {0};
	if (elf_image_open(path, &lib.image, &diag))
		return -ENOEXEC;
	decoder_init(&lib.decoder);
	lib.codes = elf_image_code(lib.image, &lib.n_codes);
	lib.landings = elf_image_landings(lib.image, &lib.n_landings);
	for (uint32_t i = 0; i < names->model->n_imports; i++) {
		uint64_t addr = definition(&lib, names->model->imports[i].name);
		if (addr && names->found[i] != GOES_ON)
			names->found[i] = surely_never(&lib, addr) ? ENDS : GOES_ON;
	}
	VEC_FREE(&lib.asked);
	elf_image_free(lib.image);
	return lib.no_memory ? -ENOMEM : 0;
}

int never_returns_mark(const struct pugmark_model *model, const char *const *files, uint32_t n,
		       uint8_t *out)
{
	struct names names = {model, calloc(model->n_imports + 1, 1)};
	bool *asked = calloc(n + 1, sizeof(*asked));
	bool failed = !names.found || !asked;
	for (uint32_t f = 0; f < n && !failed; f++) {
		int err = raises(files[f]) ? ask(&names, files[f]) : -ENOENT;
		asked[f] = !err;
		failed = err == -ENOMEM;
	}
	if (!failed)
		ask_others(&names, files, n, asked);
	for (uint32_t i = 0; i < model->n_imports && !failed; i++)
		out[i] |= names.found[i] == ENDS;
	free(names.found);
	free(asked);
	return failed ? -ENOMEM : 0;
}
