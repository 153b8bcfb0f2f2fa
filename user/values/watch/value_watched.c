// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_watched.c: see value_watched.h. */
#include "user/values/watch/value_watched.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8 };

static int read_range(const char *text, struct value_watched *w, struct pugmark_diag *diag)
{
	char *end;

	w->kind = WATCHED_MEMORY;
	w->len = WORD;
	w->at = strtoull(text, &end, 16);
	if (*end == ':')
		w->len = strtoull(end + 1, &end, 0);
	if (*end || !w->len || w->at + w->len < w->at)
		return pugmark_diag_set(
			diag, -EINVAL, text, PUGMARK_NO_OFFSET,
			"--watch wants 0xADDRESS:LENGTH, a variable or FUNCTION:VARIABLE");
	return 0;
}

/* The bytes of a member that is bits begin where its bits do. */
static void take_part(struct value_watched *w, const struct value_part *part)
{
	uint64_t size = value_type_size((Dwarf_Die *)&part->type);

	w->typed = true;
	w->part = *part;
	w->at += part->off;
	w->part.off = 0;
	if (part->bits.n) {
		w->at += part->bits.first / 8;
		w->part.bits.first %= 8;
		size = (w->part.bits.first + w->part.bits.n + 7) / 8;
	}
	w->len = size;
}

/* Along the path up to a pointer that has to be read, or to its end. */
static enum value_walked walk(struct value_watched *w, struct value_part *part,
			      struct value_path_why *why)
{
	struct value_part to;
	enum value_walked how = value_walk_on(&w->rest, part, &to, why);

	if (how == VALUE_WALK_NO)
		return how;
	take_part(w, part);
	w->points = how == VALUE_WALK_POINTER;
	if (w->points) {
		w->part = to; /* where its value is: the next part's offset from there */
		w->len = WORD;
	}
	return how;
}

void value_watched_next(struct value_watched *w, uint64_t *off)
{
	struct value_part part = w->part;
	struct value_path_why why;

	w->at = 0;
	walk(w, &part, &why); /* the whole path was tried before */
	*off = w->at;
}

/* Whether the rest of the path is one, as far as types tell. */
static bool leads_on(const struct value_watched *watched, struct value_path_why *why)
{
	struct value_watched w = *watched;

	while (w.points) {
		struct value_part part = w.part;

		if (walk(&w, &part, why) == VALUE_WALK_NO)
			return false;
	}
	return true;
}

static int of_static(struct value_names *names, uint32_t m, const struct value_static *s,
		     const char *path, const char *text, struct value_watched *w,
		     struct pugmark_diag *diag)
{
	struct value_path_why why = {"its type is not known"};
	struct value_part part = {0};
	uint64_t bias, below;

	if (!value_names_bias(names, m, &bias))
		return -ENOENT;
	w->kind = s->thread ? WATCHED_THREAD : WATCHED_MEMORY;
	w->at = s->thread ? s->at : s->at + bias;
	if (s->thread && !value_names_thread_block(names, m, &below))
		return pugmark_diag_set(
			diag, -ENOTSUP, text, PUGMARK_NO_OFFSET,
			"it is thread-local in a library, whose block has no place that "
			"is known: only those of the program itself are found");
	if (s->thread)
		w->at -= below;
	w->len = s->size;
	value_walk_begin(&w->rest, path);
	Dwarf_Die die = s->die;
	if (!value_plain_type(&die, &part.type) || walk(w, &part, &why) == VALUE_WALK_NO ||
	    !leads_on(w, &why))
		return pugmark_diag_set(diag, -EINVAL, text, PUGMARK_NO_OFFSET, "%s", why.text);
	if (!w->len)
		return pugmark_diag_set(diag, -EINVAL, text, PUGMARK_NO_OFFSET,
					"the size of its type is not known");
	return 0;
}

/* Names of functions that have a variable of that name. */
struct owners {
	const char *name;
	size_t len;
	char text[160];
	uint32_t n;
};

static int is_named(void *ctx, Dwarf_Die *die)
{
	const struct owners *o = ctx;
	int tag = dwarf_tag(die);
	const char *name = tag == DW_TAG_variable || tag == DW_TAG_formal_parameter
				   ? dwarf_diename(die)
				   : NULL;

	return name && strlen(name) == o->len && !strncmp(name, o->name, o->len);
}

static int add_owner(void *ctx, Dwarf_Die *die)
{
	enum { NAMED = 4, BETWEEN = 2 /* ", " */ };
	struct owners *o = ctx;
	const char *name = dwarf_diename(die);
	size_t at = strlen(o->text);

	if (at + BETWEEN + 1 >= sizeof(o->text))
		return 0; /* it is full */
	if (dwarf_tag(die) == DW_TAG_subprogram && name && o->n < NAMED &&
	    value_scopes_each(die, is_named, o)) {
		snprintf(o->text + at, sizeof(o->text) - at, "%s%s:%.*s", at ? ", " : "", name,
			 (int)o->len, o->name);
		if (strstr(o->text, o->text + at + (at ? BETWEEN : 0)) < o->text + at)
			o->text[at] = '\0'; /* it is there already */
		else
			o->n++;
	}
	return 0;
}

static int no_global(struct value_names *names, const char *text, const char *name, size_t len,
		     struct pugmark_diag *diag)
{
	struct owners o = {.name = name, .len = len};
	bool dwarf = false;

	for (uint32_t m = 0; m < value_names_modules(names); m++) {
		struct value_vars *vars = value_names_vars(names, m);
		Dwarf_Die *unit = NULL;
		Dwarf_Addr bias;

		dwarf |= vars != NULL;
		while (vars &&
		       (unit = dwfl_module_nextcu(value_vars_scopes(vars)->module, unit, &bias)))
			value_scopes_each(unit, add_owner, &o);
	}
	if (o.n)
		return pugmark_diag_set(
			diag, -ENOENT, text, PUGMARK_NO_OFFSET,
			"no variable outside of functions is called '%.*s', but there "
			"is %s",
			(int)len, name, o.text);
	return pugmark_diag_set(
		diag, -ENOENT, text, PUGMARK_NO_OFFSET,
		dwarf ? "no such variable '%.*s' in the symbols and the DWARF of what "
			"was traced (one of a function is FUNCTION:NAME)"
		      : "no such variable '%.*s' in the symbols of what was traced, "
			"which has no DWARF (or is not the file that was recorded)",
		(int)len, name);
}

static int find_global(struct value_names *names, const char *text, struct value_watched *w,
		       struct pugmark_diag *diag)
{
	size_t len = 0;
	const char *at = value_path_name(text, &len);
	struct value_static s;
	bool thread, plain = at == text && at && !at[len];
	int err = -ENOENT;

	if (!at)
		return pugmark_diag_set(diag, -EINVAL, text, PUGMARK_NO_OFFSET,
					"there is no name of a variable in it");
	char *name = strndup(at, len);
	if (!name)
		return -ENOMEM;
	for (uint32_t m = 0; err == -ENOENT && m < value_names_modules(names); m++) {
		struct value_vars *vars = value_names_vars(names, m);

		if (vars && value_static_find(vars, name, &s))
			err = of_static(names, m, &s, text, text, w, diag);
	}
	if (err == -ENOENT && plain &&
	    value_names_variable(names, name, &w->at, &w->len, &thread)) {
		w->kind = thread ? WATCHED_THREAD : WATCHED_MEMORY;
		w->len = w->len ? w->len : WORD;
		err = 0;
	} else if (err == -ENOENT) {
		err = no_global(names, text, at, len, diag);
	}
	free(name);
	return err;
}

/* Text in front of a variable's name that is a function's: its length; 0: there is none. */
static size_t function_length(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon && colon > text && colon[-1] != ':' ? (size_t)(colon - text) : 0;
}

static int find_local(struct value_names *names, const char *text, size_t len,
		      struct value_watched *w, struct pugmark_diag *diag)
{
	const char *path = text + len + 1;
	struct value_path_why why = {""};
	char *function = strndup(text, len), *has = NULL, *all = NULL;
	int err = function ? -ENOENT : -ENOMEM;
	uint64_t bias;

	w->kind = WATCHED_LOCAL;
	for (uint32_t m = 0; err == -ENOENT && m < value_names_modules(names); m++) {
		struct value_vars *vars = value_names_vars(names, m);

		if (!vars || !value_names_bias(names, m, &bias))
			continue;
		err = value_locals_find(vars, bias, function, path, &w->locals, &has, &why);
		if (!err && w->locals.is_fixed)
			err = of_static(names, m, &w->locals.fixed, path, text, w, diag);
		else if (err == -EINVAL)
			pugmark_diag_set(diag, err, text, PUGMARK_NO_OFFSET, "%s", why.text);
		free(all);
		all = has;
	}
	if (err == -ENOENT)
		pugmark_diag_set(
			diag, err, text, PUGMARK_NO_OFFSET,
			all ? "%s() has no such variable; it has %s"
			    : "there is no function '%s' with variables in the DWARF of what "
			      "was traced",
			function, all);
	free(all);
	free(function);
	return err;
}

int value_watched_find(struct value_names *names, const char *text, struct value_watched *out,
		       struct pugmark_diag *diag)
{
	struct value_watched w = {0};
	size_t len = function_length(text);
	int err = !strncmp(text, "0x", 2) ? read_range(text, &w, diag)
		  : len			  ? find_local(names, text, len, &w, diag)
					  : find_global(names, text, &w, diag);

	if (err)
		value_watched_deinit(&w);
	else
		*out = w;
	return err;
}

void value_watched_deinit(struct value_watched *w)
{
	value_locals_deinit(&w->locals);
}
