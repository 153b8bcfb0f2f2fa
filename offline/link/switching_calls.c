// SPDX-License-Identifier: LGPL-2.1-or-later
/* switching_calls.c: a library's function may switch stacks if its code does, or has a call or jump
 * of one that may, of the same library or another one. What it calls by a pointer is not followed,
 * unless the address of a function that switches is taken (stack_switch.c). A model is made only of
 * a library that has bytes which read as such code, or that calls what is known to switch. */
#include "offline/link/switching_calls.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "offline/code/decode.h"
#include "offline/code/stack_switch.h"
#include "offline/elf/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_CODE = 64 << 20, /* bytes of a library's code that are looked through */
	LOOKED_AT = 4,	     /* bytes of an instruction that tell whether it switches */
};

struct switching {
	VEC(char *) names; /* of the libraries' functions that may switch */
	bool no_memory;
};

static bool is_found(const struct switching *s, const char *name)
{
	for (uint32_t i = 0; i < s->names.n; i++)
		if (!strcmp(s->names.at[i], name))
			return true;
	return false;
}

static void add_name(struct switching *s, const char *name)
{
	char *copy = is_found(s, name) ? NULL : strdup(name);
	if (copy && VEC_PUSH(&s->names, copy))
		return;
	s->no_memory |= copy || !is_found(s, name);
	free(copy);
}

static bool is_c_library(const struct elf_image *image)
{
	uint32_t n;
	const struct elf_symbol *symbols = elf_image_symbols(image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (symbols[i].dynamic && !strcmp(symbols[i].name, "__libc_start_main"))
			return true;
	return false;
}

static bool calls_switch(const struct switching *s, const struct elf_image *image)
{
	uint32_t n;
	const struct pugmark_import *imports = elf_image_imports(image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (imports[i].flags & PUGMARK_SITE_SWITCHES || is_found(s, imports[i].name))
			return true;
	return false;
}

/* Whether the bytes at @addr may be an instruction, and not others' ends and begins: what is
 * decoded from the begin of their FDE on comes by there. Where no FDE covers them, or something
 * cannot be decoded before, they may be one. */
static bool may_begin(const struct elf_image *image, const struct elf_code *code, uint64_t addr)
{
	uint32_t n;
	struct decoder decoder;
	const struct elf_fde *fdes = elf_image_fdes(image, &n);
	uint32_t behind = SEARCH_FIRST_NOT(0, n, i, fdes[i].addr <= addr);
	uint64_t at = behind ? fdes[behind - 1].addr : 0;
	if (!behind || addr >= fdes[behind - 1].end || at < code->addr)
		return true;
	decoder_init(&decoder);
	while (at < addr) {
		struct pugmark_insn insn = {0};
		struct decoded_refs refs;
		if (!decode_insn(&decoder, code->bytes + (at - code->addr), code->end - at, at,
				 &insn, &refs))
			return true;
		at += insn.len;
	}
	return at == addr;
}

/* Whether bytes of @code read as an instruction that switches stacks. */
static bool may_switch(const struct elf_image *image, const struct elf_code *code)
{
	uint64_t len = code->end - code->addr;
	for (uint64_t at = 0; at + LOOKED_AT <= len; at++)
		if ((code->bytes[at] & 0xf8) == 0x48 &&
		    stack_switch_may_take(code->bytes + at, LOOKED_AT) &&
		    may_begin(image, code, code->addr + at))
			return true;
	return false;
}

static bool has_switch(const struct elf_image *image)
{
	uint32_t n;
	uint64_t left = MAX_CODE;
	const struct elf_code *codes = elf_image_code(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t len = codes[i].end - codes[i].addr;
		if (len > left)
			return false;
		left -= len;
		if (!codes[i].plt && may_switch(image, &codes[i]))
			return true;
	}
	return false;
}

/* Whether the call or jump may lead to a switch, where the functions of its model that may are in
 * @funcs. */
static bool site_may_switch(const struct switching *s, const struct pugmark_model *m,
			    const struct pugmark_site *site, const uint8_t *funcs)
{
	if (site->flags & PUGMARK_SITE_SWITCHES)
		return true;
	if (site->target != PUGMARK_NONE && funcs[site->target])
		return true;
	return site->import != PUGMARK_NONE && is_found(s, m->imports[site->import].name);
}

/* Adds the names of the functions of the library @image, of model @m, that may switch. */
static void find_in(struct switching *s, const struct elf_image *image,
		    const struct pugmark_model *m)
{
	uint32_t n;
	const struct elf_symbol *symbols = elf_image_symbols(image, &n);
	uint8_t *funcs = calloc(m->n_funcs + 1, 1);
	bool grew = funcs;
	s->no_memory |= !funcs;
	for (uint32_t f = 0; f < m->n_funcs && funcs; f++)
		funcs[f] = !!(m->funcs[f].flags & PUGMARK_FUNC_SWITCHES);
	while (grew) {
		grew = false;
		for (uint32_t i = 0; i < m->n_sites; i++) {
			uint8_t *in = &funcs[m->sites[i].func];
			bool more = !*in && site_may_switch(s, m, &m->sites[i], funcs);
			*in |= more;
			grew |= more;
		}
	}
	for (uint32_t i = 0; i < n && funcs; i++) {
		uint32_t f = symbols[i].dynamic && symbols[i].code
				     ? pugmark_model_func_at(m, symbols[i].addr)
				     : PUGMARK_NONE;
		if (f != PUGMARK_NONE && funcs[f] && m->funcs[f].addr == symbols[i].addr)
			add_name(s, symbols[i].name);
	}
	free(funcs);
}

/* Looks at the library at @path, unless there was no reason to yet; returns whether there was. */
static bool look_at(struct switching *s, const char *path)
{
	struct elf_image *image;
	struct pugmark_model *m;
	struct pugmark_diag diag = {0};
	if (elf_image_open(path, &image, &diag))
		return true;
	bool skip = is_c_library(image),
	     look = !skip && (calls_switch(s, image) || has_switch(image));
	if (look && !pugmark_model_open(path, &m, &diag)) {
		find_in(s, image, m);
		pugmark_model_free(m);
	}
	elf_image_free(image);
	return skip || look;
}

/* Sets @sites by the names that were found. */
static int mark_sites(const struct switching *s, const struct pugmark_model *m, uint8_t *sites)
{
	uint8_t *jumps = calloc(m->n_funcs + 1, 1); /* functions that jump to what switches */
	bool grew = jumps;
	while (grew) {
		grew = false;
		for (uint32_t i = 0; i < m->n_sites; i++) {
			const struct pugmark_site *site = &m->sites[i];
			bool more = !sites[i] && !(site->flags & PUGMARK_SITE_SWITCHES) &&
				    site_may_switch(s, m, site, jumps);
			sites[i] |= more;
			grew |= more;
			jumps[site->func] |= more && site->kind == PUGMARK_SITE_TAIL;
		}
	}
	free(jumps);
	return jumps ? 0 : -ENOMEM;
}

int switching_calls_mark(const struct pugmark_model *model, const char *const *files, uint32_t n,
			 uint8_t *sites)
{
	struct switching s = {.no_memory = false};
	bool *done = calloc(n + 1, sizeof(*done));
	bool again = done;
	s.no_memory = !done;
	while (again && !s.no_memory) {
		uint32_t known = s.names.n;
		for (uint32_t i = 0; i < n; i++)
			done[i] = done[i] || look_at(&s, files[i]);
		again = s.names.n > known;
	}
	int err = s.no_memory ? -ENOMEM : 0;
	if (!err && s.names.n)
		err = mark_sites(&s, model, sites);
	for (uint32_t i = 0; i < s.names.n; i++)
		free(s.names.at[i]);
	VEC_FREE(&s.names);
	free(done);
	return err;
}
