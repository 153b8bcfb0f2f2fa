// SPDX-License-Identifier: LGPL-2.1-or-later
/* captures_table.c: the table of a file of captures: places, modules, mappings, files. */
#include "offline/capture/captures_impl.h"

#include "offline/capture/capture_code.h"

#include <errno.h>

static uint64_t number_at(const json_t *array, size_t i)
{
	return (uint64_t)json_integer_value(json_array_get(array, i));
}

static const char *text_at(const json_t *array, size_t i)
{
	const char *text = json_string_value(json_array_get(array, i));

	return text ? text : "";
}

static int read_places(struct captures *c, const json_t *list)
{
	size_t n = json_array_size(list);

	c->places = calloc(n + 1, sizeof(*c->places));
	if (!c->places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *p = json_array_get(list, i);

		c->places[i] = (struct capture_place){
			.module = number_at(p, 0),
			.addr = number_at(p, 1),
			.site = number_at(p, 2),
			.site_next = number_at(p, 3),
			.kinds = number_at(p, 4),
			.flags = number_at(p, 5),
			.import = text_at(p, 6),
		};
		if (c->places[i].module >= c->n_modules)
			return -EBADMSG;
	}
	c->n_places = n;
	return 0;
}

static int read_mappings(struct captures *c, const json_t *list)
{
	size_t n = json_array_size(list);

	c->mappings = calloc(n + 1, sizeof(*c->mappings));
	if (!c->mappings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *m = json_array_get(list, i);
		int64_t file = (int64_t)number_at(m, 4);

		if (file >= (int64_t)c->n_files)
			return -EBADMSG;
		c->mappings[i] = (struct capture_mapping){
			.start = number_at(m, 0),
			.end = number_at(m, 1),
			.off = number_at(m, 2),
			.prot = number_at(m, 3),
			.file = file == CAPTURE_MAPPING_NO_FILE ? CAPTURE_NONE
				: file < 0			? CAPTURE_UNKNOWN
								: file,
			.shared = number_at(m, 5) & CAPTURE_MAPPING_SHARED,
			.heap = number_at(m, 5) & CAPTURE_MAPPING_HEAP,
			.wiped = number_at(m, 5) & CAPTURE_MAPPING_WIPED,
			.grows_to = number_at(m, 6),
		};
	}
	c->n_mappings = n;
	return 0;
}

static int read_files(struct captures *c, const json_t *list)
{
	size_t n = json_array_size(list);

	c->files = calloc(n + 1, sizeof(*c->files));
	if (!c->files)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *f = json_array_get(list, i);
		const char *hex = text_at(f, 1);

		c->files[i].path = text_at(f, 0);
		c->files[i].changed = json_is_true(json_array_get(f, 2));
		for (unsigned k = 0; k < sizeof(c->files[i].build_id) && *hex; k++, hex += 2) {
			unsigned byte;

			if (sscanf(hex, "%2x", &byte) != 1 || !hex[1])
				return -EBADMSG;
			c->files[i].build_id[k] = byte;
			c->files[i].build_id_len = k + 1;
		}
	}
	c->n_files = n;
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct named_addr *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named_addr *)a)->name, ((const struct named_addr *)b)->name);
}

/* All modules' members called @key. */
static int read_names(struct named_addrs *out, const struct captures *c, const json_t *modules,
		      const char *key, int (*order)(const void *, const void *))
{
	size_t n = 0;

	for (size_t m = 0; m < json_array_size(modules); m++)
		n += json_array_size(json_object_get(json_array_get(modules, m), key));
	out->at = calloc(n + 1, sizeof(*out->at));
	if (!out->at)
		return -ENOMEM;
	for (size_t m = 0; m < json_array_size(modules); m++) {
		const json_t *list = json_object_get(json_array_get(modules, m), key);

		if (c->bias[m] == UINT64_MAX)
			continue;
		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *pair = json_array_get(list, i);

			out->at[out->n++] = (struct named_addr){c->bias[m] + number_at(pair, 0),
								text_at(pair, 1)};
		}
	}
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), order);
	return 0;
}

static int read_modules(struct captures *c, const json_t *modules)
{
	size_t n = json_array_size(modules);

	c->bias = calloc(n + 1, sizeof(*c->bias));
	if (!c->bias)
		return -ENOMEM;
	for (size_t m = 0; m < n; m++) {
		const json_t *bias = json_object_get(json_array_get(modules, m), "bias");

		c->bias[m] =
			json_is_integer(bias) ? (uint64_t)json_integer_value(bias) : UINT64_MAX;
	}
	c->n_modules = n;
	int err = read_names(&c->stubs, c, modules, "stubs", by_addr);
	if (!err)
		err = read_names(&c->slots, c, modules, "slots", by_addr);
	if (!err)
		err = read_names(&c->exports, c, modules, "exports", by_name);
	return err;
}

/* The last table that is intact. One that says nothing but "final" is of the one before; tables of
 * older recorders do not tell. */
static json_t *load_table(struct captures *c)
{
	bool damaged = false;

	for (uint32_t i = c->segments.n; i--;) {
		const struct segment_ref *seg = &c->segments.at[i];
		json_t *table;

		if (seg->header.kind != CAPTURE_SEGMENT_TABLE)
			continue;
		int err = segment_load(c->segments.fd, seg, c->codec, &c->stored, &c->raw);
		table = err ? NULL
			    : json_loadb((const char *)c->raw.data, seg->header.raw_bytes, 0, NULL);
		damaged |= !table;
		if (!table)
			continue;
		c->ended |= !json_is_false(json_object_get(table, "final"));
		if (!json_is_true(json_object_get(table, "final"))) {
			c->ended &= !damaged;
			return table;
		}
		json_decref(table);
	}
	return NULL;
}

int captures_table_read(struct captures *c, struct pugmark_diag *diag)
{
	int err;

	c->table = load_table(c);
	if (!c->table)
		return pugmark_diag_set(diag, -EBADMSG, NULL, PUGMARK_NO_OFFSET,
					"captures: its table of places is damaged or missing (the "
					"recorder may have been killed, or the disk full, before "
					"the program ran)");
	c->whole = json_is_true(json_object_get(c->table, "whole"));
	err = read_modules(c, json_object_get(c->table, "modules"));
	if (!err)
		err = read_files(c, json_object_get(c->table, "files"));
	if (!err)
		err = read_places(c, json_object_get(c->table, "places"));
	if (!err)
		err = read_mappings(c, json_object_get(c->table, "mappings"));
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "captures: %s",
				      err == -EBADMSG ? "its table is wrong" : strerror(-err))
		   : 0;
}

bool captures_has_subleaves(uint32_t leaf)
{
	enum {
		CACHES = 4,
		FEATURES = 7,
		STATES = 0xd,
		TRACING = 0x14,
		TILES = 0x1d,
		MULTIPLY = 0x1e
	};
	return leaf == CACHES || leaf == FEATURES || leaf == STATES || leaf == TRACING ||
	       leaf == TILES || leaf == MULTIPLY;
}

bool captures_cpuid(const struct captures *c, uint32_t leaf, uint32_t subleaf, uint32_t out[4],
		    uint32_t varies[4])
{
	enum { EBX = 1, FEATURES = 1, STATES = 0xd, COMPACT = 1 };
	const uint32_t apic_id = UINT32_C(0xff) << 24;
	const json_t *list = json_object_get(json_object_get(c->table, "processor"), "cpuid");
	size_t i = 0;

	subleaf = captures_has_subleaves(leaf) ? subleaf : 0;
	while (i < json_array_size(list) && (number_at(json_array_get(list, i), 0) != leaf ||
					     number_at(json_array_get(list, i), 1) != subleaf))
		i++;
	if (i == json_array_size(list))
		return false;
	for (unsigned k = 0; k < 4; k++) {
		out[k] = (uint32_t)number_at(json_array_get(list, i), 2 + k);
		varies[k] = 0;
	}
	varies[EBX] = leaf == FEATURES			     ? apic_id
		      : leaf == STATES && subleaf == COMPACT ? UINT32_MAX /* of IA32_XSS too */
							     : 0;
	return true;
}

bool captures_xcr0(const struct captures *c, uint64_t *out)
{
	const json_t *n = json_object_get(json_object_get(c->table, "processor"), "xcr0");

	if (!json_is_integer(n))
		return false;
	*out = (uint64_t)json_integer_value(n);
	return true;
}

void captures_table_deinit(struct captures *c)
{
	free(c->places);
	free(c->mappings);
	free(c->files);
	free(c->bias);
	free(c->stubs.at);
	free(c->slots.at);
	free(c->exports.at);
	json_decref(c->table);
}
