// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_symbols.c: see encode_symbols.h. Names lie in blocks that never move; a table of indices,
 * probed linearly and at most half full, finds them. */
#include "offline/encode/encode_symbols.h"

#include "offline/base/hash.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BLOCK_BYTES = 1 << 16, MAX_NAMES = SYMBOL_MAX / 4 - 1 };

struct name_block {
	struct name_block *next;
	size_t used, size;
	char text[];
};

struct symbols {
	VEC(const char *) names;
	struct name_block *blocks;
	uint32_t *slots; /* index + 1, or 0 */
	uint32_t mask;
};

struct import_slot {
	const char *import;
	uint32_t index;
};

struct symbol_map {
	const struct pugmark_trace *trace;
	struct symbols *symbols;
	uint32_t n_modules;
	uint32_t **funcs; /* per module and function: index of its name + 1, or 0 */
	VEC(struct symbol_origin) origins; /* per name */
	VEC(bool) has_origin;
	struct import_slot *imports; /* keyed by the pointer: a plan has each name once */
	uint32_t n_imports, import_mask;
};

int symbols_new(struct symbols **out)
{
	struct symbols *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->mask = 1023;
	s->slots = calloc(s->mask + 1, sizeof(*s->slots));
	if (!s->slots) {
		free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	while (s->blocks) {
		struct name_block *next = s->blocks->next;
		free(s->blocks);
		s->blocks = next;
	}
	VEC_FREE(&s->names);
	free(s->slots);
	free(s);
}

static uint32_t slot_of(const struct symbols *s, const char *name)
{
	uint32_t i = (uint32_t)hash_bytes(name, strlen(name)) & s->mask;
	while (s->slots[i] && strcmp(s->names.at[s->slots[i] - 1], name))
		i = (i + 1) & s->mask;
	return i;
}

static int grow_slots(struct symbols *s)
{
	uint32_t mask = 2 * s->mask + 1, *old = s->slots;
	uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	s->slots = slots;
	s->mask = mask;
	for (uint32_t i = 0; i < s->names.n; i++)
		s->slots[slot_of(s, s->names.at[i])] = i + 1;
	free(old);
	return 0;
}

static const char *keep_name(struct symbols *s, const char *name)
{
	size_t len = strlen(name) + 1;
	struct name_block *b = s->blocks;
	if (!b || b->size - b->used < len) {
		size_t size = len > NAME_BLOCK_BYTES ? len : NAME_BLOCK_BYTES;
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct name_block){.next = s->blocks, .size = size};
		s->blocks = b;
	}
	char *kept = memcpy(b->text + b->used, name, len);
	b->used += len;
	return kept;
}

int symbols_intern(struct symbols *s, const char *name, uint32_t *index)
{
	uint32_t slot = slot_of(s, name);
	if (s->slots[slot]) {
		*index = s->slots[slot] - 1;
		return 0;
	}
	if (s->names.n == MAX_NAMES)
		return -E2BIG;
	if (2 * s->names.n >= s->mask) {
		int err = grow_slots(s);
		if (err)
			return err;
		slot = slot_of(s, name);
	}
	const char *kept = keep_name(s, name);
	if (!kept || !VEC_PUSH(&s->names, kept))
		return -ENOMEM;
	s->slots[slot] = s->names.n;
	*index = s->names.n - 1;
	return 0;
}

uint32_t symbols_find(const struct symbols *s, const char *name)
{
	return s->slots[slot_of(s, name)] - 1;
}

uint32_t symbols_count(const struct symbols *s)
{
	return s->names.n;
}

const char *symbols_name(const struct symbols *s, uint32_t index)
{
	return index < s->names.n ? s->names.at[index] : "?";
}

/* ---- one recording ---- */

int symbol_map_new(const struct pugmark_trace *trace, struct symbols *symbols,
		   struct symbol_map **out)
{
	struct symbol_map *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->trace = trace;
	m->symbols = symbols;
	pugmark_recording_modules(pugmark_trace_recording(trace), &m->n_modules);
	m->funcs = calloc(m->n_modules + 1, sizeof(*m->funcs));
	m->import_mask = 255;
	m->imports = calloc(m->import_mask + 1, sizeof(*m->imports));
	bool failed = !m->funcs || !m->imports;
	for (uint32_t i = 0; !failed && i < m->n_modules; i++) {
		const struct pugmark_plan *plan = pugmark_trace_plan(trace, i);
		m->funcs[i] = calloc((plan ? plan->n_funcs : 0) + 1, sizeof(**m->funcs));
		failed = !m->funcs[i];
	}
	if (failed) {
		symbol_map_free(m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void symbol_map_free(struct symbol_map *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->funcs && i < m->n_modules; i++)
		free(m->funcs[i]);
	free(m->funcs);
	free(m->imports);
	VEC_FREE(&m->origins);
	VEC_FREE(&m->has_origin);
	free(m);
}

static int set_origin(struct symbol_map *m, uint32_t index, struct symbol_origin origin)
{
	while (m->origins.n <= index)
		if (!VEC_PUSH(&m->has_origin, false) ||
		    !VEC_PUSH(&m->origins, (struct symbol_origin){0}))
			return -ENOMEM;
	if (!m->has_origin.at[index] || !origin.import)
		m->origins.at[index] = origin;
	m->has_origin.at[index] = true;
	return 0;
}

int symbol_map_made(struct symbol_map *m, int32_t pid, uint64_t addr, uint64_t time_ns,
		    uint32_t *symbol)
{
	struct pugmark_recording_code code;
	uint32_t index;
	char *name;
	*symbol = 0;
	/* The call instruction lies before where it returns to. */
	if (!addr || !pugmark_recording_code_at(pugmark_trace_recording(m->trace), pid, addr - 1,
						time_ns, &code))
		return 0;
	if (asprintf(&name, "[jit] %s%s", code.name, code.certain ? "" : "?") < 0)
		return -ENOMEM;
	int err = symbols_intern(m->symbols, name, &index);
	free(name);
	if (!err)
		err = set_origin(m, index, (struct symbol_origin){"", PUGMARK_NONE, 0});
	if (!err)
		*symbol = symbol_make(index, HOW_CALL);
	return err;
}

const struct symbol_origin *symbol_map_origin(const struct symbol_map *m, uint32_t index)
{
	return index < m->origins.n && m->has_origin.at[index] ? &m->origins.at[index] : NULL;
}

/* How many functions of the plan before @func have its name. */
static uint32_t namesakes_before(const struct pugmark_plan *plan, uint32_t func)
{
	const char *name = plan->strings + plan->funcs[func].name;
	uint32_t n = 0;
	for (uint32_t i = 0; i < func; i++)
		n += plan->funcs[i].name == plan->funcs[func].name ||
		     !strcmp(plan->strings + plan->funcs[i].name, name);
	return n;
}

/* Whether a module before @module has a function called @name. */
static bool named_before(const struct symbol_map *m, uint16_t module, const char *name)
{
	for (uint32_t i = 0; i < module; i++) {
		const struct pugmark_plan *plan = pugmark_trace_plan(m->trace, i);
		for (uint32_t k = 0; plan && k < plan->n_funcs; k++)
			if (!strcmp(plan->strings + plan->funcs[k].name, name))
				return true;
	}
	return false;
}

static int name_func(struct symbol_map *m, uint16_t module, uint32_t func, uint32_t *index)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(m->trace, module);
	const char *name = pugmark_trace_func_name(m->trace, module, func);
	const char *file = pugmark_trace_module_name(m->trace, module);
	char *plain = pugmark_demangle(name), *full = NULL, ordinal[16] = "";
	uint32_t before = namesakes_before(plan, func);
	if (before)
		snprintf(ordinal, sizeof(ordinal), "#%u", before + 1);
	bool taken = named_before(m, module, name);
	int len = plain ? asprintf(&full, "%s%s%s%s", taken ? file : "", taken ? ":" : "", plain,
				   ordinal)
			: -1;
	int err = len < 0 ? -ENOMEM : symbols_intern(m->symbols, full, index);
	if (!err)
		err = set_origin(m, *index, (struct symbol_origin){NULL, func, module});
	free(plain);
	if (len >= 0)
		free(full);
	return err;
}

int symbol_map_func(struct symbol_map *m, uint16_t module, uint32_t func, enum symbol_how how,
		    uint32_t *symbol)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(m->trace, module);
	if (!plan || func >= plan->n_funcs)
		return symbol_map_import(m, module, "", how, symbol);
	uint32_t *known = &m->funcs[module][func];
	if (!*known) {
		uint32_t index;
		int err = name_func(m, module, func, &index);
		if (err)
			return err;
		*known = index + 1;
	}
	*symbol = symbol_make(*known - 1, how);
	return 0;
}

static uint32_t import_slot_of(const struct symbol_map *m, const char *import)
{
	uint32_t i = (uint32_t)hash_u64((uintptr_t)import) & m->import_mask;
	while (m->imports[i].import && m->imports[i].import != import)
		i = (i + 1) & m->import_mask;
	return i;
}

static int grow_imports(struct symbol_map *m)
{
	struct import_slot *old = m->imports;
	uint32_t n = m->import_mask + 1;
	m->imports = calloc(2 * (size_t)n, sizeof(*m->imports));
	if (!m->imports) {
		m->imports = old;
		return -ENOMEM;
	}
	m->import_mask = 2 * n - 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].import)
			m->imports[import_slot_of(m, old[i].import)] = old[i];
	free(old);
	return 0;
}

/* A function of a traced module and an import of the same name are the same function. */
static int name_import(struct symbol_map *m, const char *import, uint32_t *index)
{
	char *plain = *import ? pugmark_demangle(import) : strdup("(elsewhere)");
	int err = plain ? symbols_intern(m->symbols, plain, index) : -ENOMEM;
	free(plain);
	return err;
}

int symbol_map_import(struct symbol_map *m, uint16_t module, const char *import,
		      enum symbol_how how, uint32_t *symbol)
{
	uint32_t i = import_slot_of(m, import);
	if (!m->imports[i].import) {
		uint32_t index;
		int err = name_import(m, import, &index);
		if (!err)
			err = set_origin(m, index,
					 (struct symbol_origin){import, PUGMARK_NONE, module});
		if (!err && 2 * m->n_imports >= m->import_mask)
			err = grow_imports(m);
		if (err)
			return err;
		i = import_slot_of(m, import);
		m->imports[i] = (struct import_slot){import, index};
		m->n_imports++;
	}
	*symbol = symbol_make(m->imports[i].index, how);
	return 0;
}
