// SPDX-License-Identifier: LGPL-2.1-or-later
/* bindings.c: see bindings.h. Such calls are the call nodes of a plan that have an import's name.
 * All slots that a relocation fills with that symbol count, whichever of them the call goes
 * through. The file is read in a sandbox (user/sandbox): its slots come back. */
#include "user/kernel/bindings.h"

#include "offline/base/vec.h"
#include "offline/elf/private_elf.h"
#include "user/sandbox/sandbox.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *path;
	VEC(const char *) names; /* of imports, each once; the plan's */
	VEC(struct bound_slot) slots;
	bool *seen; /* per name: it has a slot */
	uint64_t text;
	bool failed;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int gather_names(struct reader *r, const struct pugmark_plan *plan)
{
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];

		if (n->kind == PUGMARK_NODE_KIND_CALL && n->import &&
		    !VEC_PUSH(&r->names, plan->strings + n->import))
			return -ENOMEM;
	}
	if (!r->names.n)
		return 0;
	qsort(r->names.at, r->names.n, sizeof(*r->names.at), by_text);
	uint32_t kept = 1;
	for (uint32_t i = 1; i < r->names.n; i++)
		if (strcmp(r->names.at[i], r->names.at[kept - 1]))
			r->names.at[kept++] = r->names.at[i];
	r->names.n = kept;
	r->seen = calloc(kept, sizeof(*r->seen));
	return r->seen ? 0 : -ENOMEM;
}

static void add_slot(struct reader *r, Elf *elf, const GElf_Shdr *symbols, Elf_Data *data,
		     const GElf_Rela *rela)
{
	uint32_t type = GELF_R_TYPE(rela->r_info);
	GElf_Sym sym;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
	    !gelf_getsym(data, GELF_R_SYM(rela->r_info), &sym) || sym.st_shndx == SHN_UNDEF)
		return;
	const char *name = elf_strptr(elf, symbols->sh_link, sym.st_name);
	const char **found =
		name ? bsearch(&name, r->names.at, r->names.n, sizeof(name), by_text) : NULL;
	if (!found)
		return;
	r->seen[found - r->names.at] = true;
	struct bound_slot slot = {rela->r_offset - r->text, sym.st_value - r->text};
	r->failed |= !VEC_PUSH(&r->slots, slot);
}

/* In the child. */
static int read_slots(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	struct reader *r = ctx;
	private_elf_guard struct private_elf file = {.elf = NULL};
	int err = private_elf_open(r->path, &file);
	(void)diag;
	if (err)
		return err;
	Elf *elf = file.elf;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh, symbols;
		Elf_Scn *of = NULL;

		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_entsize)
			of = elf_getscn(elf, sh.sh_link);
		if (!of || !gelf_getshdr(of, &symbols) || symbols.sh_type != SHT_DYNSYM)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL), *entries = elf_getdata(of, NULL);
		GElf_Rela rela;
		for (size_t i = 0; data && entries && i < data->d_size / sh.sh_entsize; i++)
			if (gelf_getrela(data, i, &rela))
				add_slot(r, elf, &symbols, entries, &rela);
	}
	for (uint32_t i = 0; i < r->names.n; i++)
		if (!r->seen[i])
			return -ESTALE;
	fwrite(r->slots.at, sizeof(*r->slots.at), r->slots.n, out);
	return r->failed ? -ENOMEM : 0;
}

/* Whatever numbers come back: a slot is compared with what processes have there, and nothing is
 * written to it. */
static int ask_for_slots(struct reader *r, struct bindings *out, struct pugmark_diag *diag)
{
	const struct sandbox sandbox = {.subject = r->path, .grants = &r->path, .n_grants = 1};
	void *bytes = NULL;
	size_t len = 0;
	int err = sandbox_or_here(&sandbox, read_slots, r, &bytes, &len, diag);
	if (!err && len % sizeof(*out->at)) {
		free(bytes);
		return -EBADMSG;
	}
	out->at = bytes;
	out->n = (uint32_t)(len / sizeof(*out->at));
	return err;
}

/* Whether the plan is of a library some of whose exported functions do not show. */
static bool has_known_programs(const struct pugmark_plan *plan)
{
	bool hidden = false;

	for (uint32_t f = 0; f < plan->n_funcs; f++) {
		uint32_t flags = plan->funcs[f].flags;

		if (flags & PUGMARK_PLAN_FUNC_START)
			return false;
		hidden |=
			flags & PUGMARK_PLAN_FUNC_EXPORTED && !(flags & PUGMARK_PLAN_FUNC_ENTERED);
	}
	return hidden;
}

int bindings_read(const char *path, const struct pugmark_plan *plan, const struct text_span *span,
		  struct bindings *out, struct pugmark_diag *diag)
{
	struct reader r = {.path = path, .text = span->addr};
	struct bindings found = {.by_known_programs = has_known_programs(plan)};
	struct pugmark_diag died = {.text = ""};
	int err = gather_names(&r, plan);

	if (!err && r.names.n)
		err = ask_for_slots(&r, &found, &died);
	if (!err)
		*out = found;
	VEC_FREE(&r.slots);
	VEC_FREE(&r.names);
	free(r.seen);
	if (err == -EFAULT || err == -ETIME) /* its own words */
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s", died.text);
	if (err == -ESTALE)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
					"a plan of another binary: it has calls of imports that "
					"the file does not have (plan again)");
	return err ? pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s", strerror(-err)) : 0;
}

void bindings_deinit(struct bindings *bindings)
{
	free(bindings->at);
	*bindings = (struct bindings){0};
}
