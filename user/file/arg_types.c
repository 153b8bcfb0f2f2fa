// SPDX-License-Identifier: LGPL-2.1-or-later
/* arg_types.c: see arg_types.h: the JSON read and checked, and what is to be read of a call.
 * arg_types_find.c makes it, arg_types_print.c prints by it. */
#include "user/file/arg_types.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MAX = 1 << 20, ARGS_MAX = 64, NAMES_MAX = 4096, STRUCT_BYTES_MAX = 1 << 20 };

struct arg_types {
	json_t *json; /* the names are its */
	struct arg_function *functions;
	uint32_t n;
};

const char *const arg_kind_words[N_ARG_KINDS] = {
	[ARG_UNREAD] = "unread", [ARG_INT] = "int",	    [ARG_UNSIGNED] = "unsigned",
	[ARG_BOOL] = "bool",	 [ARG_CHAR] = "char",	    [ARG_ENUM] = "enum",
	[ARG_REAL] = "real",	 [ARG_POINTER] = "pointer", [ARG_TEXT] = "text",
	[ARG_CHARS] = "chars",	 [ARG_STRUCT] = "struct",
};

/* ---- the JSON ---- */

static bool read_number(json_t *j, const char *key, int64_t max, int64_t *out)
{
	json_t *n = json_object_get(j, key);
	*out = n ? json_integer_value(n) : 0;
	return (!n || json_is_integer(n)) && *out >= 0 && *out <= max;
}

static bool read_kind(json_t *j, uint8_t *out)
{
	const char *word = json_string_value(json_object_get(j, "is"));
	for (uint8_t i = 0; word && i < N_ARG_KINDS; i++)
		if (!strcmp(word, arg_kind_words[i])) {
			*out = i;
			return true;
		}
	return false;
}

static bool is_size_of(uint8_t kind, int64_t bytes)
{
	if (kind == ARG_UNREAD || kind == ARG_TEXT || kind == ARG_STRUCT)
		return true;
	if (kind == ARG_CHARS)
		return bytes > 0;
	if (kind == ARG_REAL)
		return bytes == 4 || bytes == 8;
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool read_names(json_t *list, struct arg_type *out)
{
	size_t n = json_array_size(list);
	if (n > NAMES_MAX)
		return false;
	out->names = calloc(n + 1, sizeof(*out->names));
	for (size_t i = 0; out->names && i < n; i++) {
		json_t *pair = json_array_get(list, i), *value = json_array_get(pair, 1);
		const char *name = json_string_value(json_array_get(pair, 0));
		if (!name || !json_is_integer(value))
			return false;
		out->names[out->n_names++] = (struct arg_name){name, json_integer_value(value)};
	}
	return out->names != NULL;
}

static bool read_type(json_t *j, bool field, struct arg_type *out)
{
	int64_t bytes, in, at;
	*out = (struct arg_type){.name = json_string_value(json_object_get(j, "name"))};
	if (!out->name || !read_kind(j, &out->kind) ||
	    !read_number(j, "bytes", UINT16_MAX, &bytes) ||
	    !read_number(j, "in", ARG_REGISTERS - 1, &in) ||
	    !read_number(j, "at", STRUCT_BYTES_MAX, &at) || !is_size_of(out->kind, bytes))
		return false;
	out->bytes = (uint16_t)bytes;
	out->in = (uint8_t)in;
	out->at = (int32_t)at;
	out->more = json_is_true(json_object_get(j, "more"));
	if (out->kind == ARG_ENUM && !read_names(json_object_get(j, "names"), out))
		return false;
	if (field ? out->kind == ARG_STRUCT : out->kind == ARG_CHARS || out->kind == ARG_REAL)
		return false;
	return true;
}

static bool read_types(json_t *list, bool fields, struct arg_type **out, uint32_t *n)
{
	size_t all = json_array_size(list);
	if (all > (fields ? ARG_FIELDS_MAX : ARGS_MAX) || !(*out = calloc(all + 1, sizeof(**out))))
		return false;
	for (size_t i = 0; i < all; i++) {
		json_t *j = json_array_get(list, i);
		struct arg_type *t = &(*out)[(*n)++];
		if (!read_type(j, fields, t))
			return false;
		if (t->kind == ARG_STRUCT &&
		    !read_types(json_object_get(j, "fields"), true, &t->fields, &t->n_fields))
			return false;
	}
	return true;
}

static bool read_function(json_t *j, struct arg_function *out)
{
	int64_t addr;
	out->name = json_string_value(json_object_get(j, "function"));
	if (!out->name || !read_number(j, "address", INT64_MAX, &addr))
		return false;
	out->addr = (uint64_t)addr;
	return read_types(json_object_get(j, "arguments"), false, &out->args, &out->n_args);
}

static int by_addr(const void *a, const void *b)
{
	const struct arg_function *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

int arg_types_parse(const char *text, size_t len, struct arg_types **out)
{
	struct arg_types *types = calloc(1, sizeof(*types));
	if (!types)
		return -ENOMEM;
	types->json = json_loadb(text, len, 0, NULL);
	size_t n = json_array_size(types->json);
	if (json_is_array(types->json) && n <= FUNCTIONS_MAX)
		types->functions = calloc(n + 1, sizeof(*types->functions));
	int err = types->functions ? 0 : -EINVAL;
	for (size_t i = 0; !err && i < n; i++)
		if (!read_function(json_array_get(types->json, i), &types->functions[types->n++]))
			err = -EINVAL;
	if (err) {
		arg_types_free(types);
		return err;
	}
	qsort(types->functions, types->n, sizeof(*types->functions), by_addr);
	*out = types;
	return 0;
}

static void free_types(struct arg_type *types, uint32_t n)
{
	for (uint32_t i = 0; types && i < n; i++) {
		free(types[i].names);
		free_types(types[i].fields, types[i].n_fields);
	}
	free(types);
}

void arg_types_free(struct arg_types *types)
{
	if (!types)
		return;
	for (uint32_t i = 0; i < types->n; i++)
		free_types(types->functions[i].args, types->functions[i].n_args);
	free(types->functions);
	json_decref(types->json);
	free(types);
}

/* ---- what is known of a function ---- */

static const struct arg_function *find(const struct arg_types *types, uint64_t addr,
				       const char *name)
{
	struct arg_function key = {.addr = addr, .name = name};
	uint32_t low = 0, high = types ? types->n : 0;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		const struct arg_function *f = &types->functions[mid];
		int order = addr && f->addr == addr ? 0 : by_addr(f, &key);
		if (!order)
			return f;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const struct arg_function *arg_types_function(const struct arg_types *types, uint64_t addr)
{
	return addr ? find(types, addr, "") : NULL;
}

const struct arg_function *arg_types_import(const struct arg_types *types, const char *name)
{
	return find(types, 0, name);
}

static void add_read(const struct arg_type *arg, const struct arg_type *field, struct arg_read *out,
		     uint32_t *n)
{
	const struct arg_type *t = field ? field : arg;
	bool text = t->kind == ARG_TEXT || t->kind == ARG_CHARS;
	if (t->kind == ARG_UNREAD || *n == ARG_READS_MAX)
		return;
	out[(*n)++] = (struct arg_read){
		.in = arg->in,
		.at = field ? field->at : 0,
		.through = field && t->kind == ARG_TEXT,
		.text = text,
		.bytes = t->kind == ARG_TEXT || t->bytes > ARG_TEXT_BYTES ? ARG_TEXT_BYTES
									  : (uint8_t)t->bytes,
	};
}

uint32_t arg_function_reads(const struct arg_function *f, struct arg_read *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->n_args; i++) {
		if (f->args[i].kind == ARG_TEXT)
			add_read(&f->args[i], NULL, out, &n);
		for (uint32_t k = 0; f->args[i].kind == ARG_STRUCT && k < f->args[i].n_fields; k++)
			add_read(&f->args[i], &f->args[i].fields[k], out, &n);
	}
	return n;
}
