// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_where.c: see value_where.h.
 *
 *   where = comparison { "&&" comparison }
 *   comparison = path ("==" | "!=" | "<=" | ">=" | "<" | ">") constant
 *   constant = number | "'" character "'" | '"' text '"' | { name "::" } enumerator */
#include "user/values/vars/value_where.h"

#include "offline/base/vec.h"
#include "user/values/types/value_strings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 128, TEXT_BYTES = 200 };

struct comparison {
	char path[PATH_BYTES], text[TEXT_BYTES];
	char op[3];
	bool is_text, is_enumerator;
	long double number;
	double rounded; /* the number as C has it, for a float or a double */
};

struct value_where {
	VEC(struct comparison) of;
};

static const char *skip_spaces(const char *s)
{
	return s + strspn(s, " \t");
}

/* The operator at @s; an arrow is none. */
static const char *operator_at(const char *s)
{
	static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">"};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strncmp(s, ops[i], strlen(ops[i])))
			return ops[i];
	return NULL;
}

/* The name of an enumerator at @s; returns what is behind it, or NULL. */
static const char *parse_enumerator(const char *s, struct comparison *c)
{
	size_t len;

	if ((!isalpha((unsigned char)*s) && *s != '_') || value_path_name(s, &len) != s ||
	    len >= TEXT_BYTES)
		return NULL;
	c->is_enumerator = true;
	memcpy(c->text, s, len);
	return s + len;
}

/* The character at @s, between apostrophes; returns what is behind them, or NULL. */
static const char *parse_character(const char *s, struct comparison *c)
{
	static const char escapes[] = "n\nt\tr\rf\fv\va\ab\b\\\\''\"\"";
	const char *at = s + 1;
	char is = *at;

	if (is == '\\') {
		const char *e = escapes;

		for (is = *++at; *e && *e != is; e += 2)
			;
		if (!*e && is != '0')
			return NULL;
		is = *e ? e[1] : 0;
	}
	c->number = is;
	c->rounded = is;
	return *at && at[1] == '\'' ? at + 2 : NULL;
}

/* The constant at @s; returns what is behind it, or NULL. */
static const char *parse_constant(const char *s, struct comparison *c)
{
	char *end;

	c->is_text = *s == '"';
	if (c->is_text) {
		const char *quote = strchr(s + 1, '"');

		if (!quote || quote - s - 1 >= TEXT_BYTES)
			return NULL;
		memcpy(c->text, s + 1, (size_t)(quote - s - 1));
		return c->op[1] == '=' && (c->op[0] == '=' || c->op[0] == '!') ? quote + 1 : NULL;
	}
	if (*s == '\'')
		return parse_character(s, c);
	/* Octal, as in C; all whole numbers of 64 bits are a long double exactly. */
	errno = 0;
	unsigned long long whole = strtoull(*s == '-' ? s + 1 : s, &end, 0);
	if (end != s + (*s == '-') && !strchr(".eEpP", *end ? *end : ' ') && !errno) {
		c->number = *s == '-' ? -(long double)whole : (long double)whole;
		c->rounded = (double)c->number;
	} else {
		c->number = strtold(s, &end);
		c->rounded = strtod(s, NULL);
	}
	return end == s || isalnum((unsigned char)*end) || *end == '_' ? parse_enumerator(s, c)
								       : end;
}

static const char *parse_comparison(const char *s, struct comparison *c)
{
	const char *at = s = skip_spaces(s), *op = NULL;

	*c = (struct comparison){0};
	for (; *at; at++) {
		if (at[0] == '-' && at[1] == '>')
			at++;
		else if ((op = operator_at(at)))
			break;
	}
	size_t len = (size_t)(at - s), name;
	while (len && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	if (!op || !len || len >= PATH_BYTES)
		return NULL;
	memcpy(c->path, s, len);
	strcpy(c->op, op);
	return value_path_name(c->path, &name) ? parse_constant(skip_spaces(at + strlen(op)), c)
					       : NULL;
}

int value_where_parse(const char *text, struct value_where **out, struct pugmark_diag *diag)
{
	struct value_where *w = calloc(1, sizeof(*w));
	const char *at = text;

	while (w && at) {
		struct comparison c;

		at = parse_comparison(at, &c);
		if (!at)
			break;
		if (!VEC_PUSH(&w->of, c)) {
			value_where_free(w);
			return -ENOMEM;
		}
		at = skip_spaces(at);
		if (!*at) {
			*out = w;
			return 0;
		}
		at = strncmp(at, "&&", 2) ? NULL : at + 2;
	}
	value_where_free(w);
	if (!w)
		return -ENOMEM;
	return pugmark_diag_set(diag, -EINVAL, text, PUGMARK_NO_OFFSET,
				"--where wants NAME, one of == != <= >= < >, and a number, a "
				"'character', an enumerator or a \"text\" (for == and !=), and "
				"more of them behind &&");
}

void value_where_free(struct value_where *w)
{
	if (!w)
		return;
	VEC_FREE(&w->of);
	free(w);
}

static bool compare(const struct comparison *c, long double v, long double with)
{
	switch (c->op[0]) {
	case '=':
		return v == with;
	case '!':
		return v != with;
	case '<':
		return c->op[1] ? v <= with : v < with;
	default:
		return c->op[1] ? v >= with : v > with;
	}
}

static enum value_holds by_quality(bool holds, uint8_t quality)
{
	if (quality >= VALUE_UNKNOWN)
		return VALUE_HOLDS_UNKNOWN;
	if (quality == VALUE_ASSUMED)
		return holds ? VALUE_HOLDS_ASSUMED : VALUE_HOLDS_NOT_ASSUMED;
	return holds ? VALUE_HOLDS : VALUE_HOLDS_NOT;
}

static enum value_holds holds_one(const struct comparison *c, const struct value_part *part,
				  struct value_memory *memory)
{
	Dwarf_Die type = part->type;
	bool is_real, is_unsigned;
	long double real, with = c->number;
	int64_t whole;
	uint8_t quality;

	if (c->is_enumerator && !value_enumerator(&type, c->text, &with))
		return VALUE_HOLDS_UNKNOWN;
	if (c->is_text) {
		bool is = false;

		quality = value_string_is(&type, &part->value, part->off, c->text, memory, &is);
		return by_quality(is == (c->op[0] == '='), quality);
	}
	quality = value_scalar_number(&type, &part->value, part->off, part->bits, memory, &whole,
				      &real, &is_real, &is_unsigned);
	if (quality >= VALUE_UNKNOWN)
		return VALUE_HOLDS_UNKNOWN;
	if (!is_real)
		real = is_unsigned ? (long double)(uint64_t)whole : (long double)whole;
	else if (value_type_size(&type) <= sizeof(double))
		with = c->rounded;
	return by_quality(compare(c, real, with), quality);
}

enum value_holds value_where_holds(const struct value_where *w, struct value_vars *vars,
				   uint64_t addr, uint64_t bias, struct value_machine *m)
{
	enum value_holds all = VALUE_HOLDS;

	for (size_t i = 0; i < w->of.n; i++) {
		struct value_part part;
		enum value_holds one =
			value_vars_part(vars, w->of.at[i].path, addr, bias, m, &part)
				? holds_one(&w->of.at[i], &part, value_machine_memory(m))
				: VALUE_HOLDS_UNKNOWN;

		all = one > all ? one : all;
	}
	return all;
}
