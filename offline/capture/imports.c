// SPDX-License-Identifier: LGPL-2.1-or-later
/* imports.c: see imports.h. Both tables are sorted by name, for bsearch(). */
#include "offline/capture/imports.h"

#include "offline/base/private_file.h"
#include "offline/capture/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct import_row builtin[] = {
#define ROW(name, kind, outputs) {name, IMPORT_##kind, false, false, outputs},
#define FRESH(name) {name, IMPORT_RESULT, true, false, ""},
#define CLOCK(name, kind, outputs) {name, IMPORT_##kind, false, true, outputs},
#include "offline/capture/imports.def"
#undef ROW
#undef FRESH
#undef CLOCK
};

enum { N_BUILTIN = sizeof(builtin) / sizeof(*builtin) };

struct imports {
	const struct import_row *sorted[N_BUILTIN];
	struct import_row *own; /* the user's, whose strings are owned */
	uint32_t n_own, cap_own;
};

static const char *const kind_names[] = {"model", "result", "output", "opaque"};

const struct import_row *imports_builtin(uint32_t index)
{
	return index < N_BUILTIN ? &builtin[index] : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct import_row *const *)a)->name,
		      (*(const struct import_row *const *)b)->name);
}

static int own_by_name(const void *a, const void *b)
{
	return strcmp(((const struct import_row *)a)->name, ((const struct import_row *)b)->name);
}

static int add_own(struct imports *m, const char *name, uint8_t kind, const char *outputs)
{
	if (m->n_own == m->cap_own) {
		uint32_t cap = m->cap_own ? 2 * m->cap_own : 32;
		struct import_row *own = realloc(m->own, cap * sizeof(*own));

		if (!own)
			return -ENOMEM;
		m->own = own;
		m->cap_own = cap;
	}
	char *n = strdup(name), *o = strdup(outputs);
	if (!n || !o) {
		free(n);
		free(o);
		return -ENOMEM;
	}
	m->own[m->n_own++] = (struct import_row){n, kind, false, false, o};
	return 0;
}

/* One line of a user's file, without what follows a '#'. */
static int take_line(struct imports *m, char *line, const char *file, uint64_t number,
		     struct pugmark_diag *diag)
{
	struct output_word words[CAPTURE_MAX_OUTPUTS];
	char *rest, *name, *kind;
	const char *bad = "";
	uint8_t k = 0;

	line[strcspn(line, "#\n")] = 0;
	name = strtok_r(line, " \t", &rest);
	if (!name)
		return 0;
	kind = strtok_r(NULL, " \t", &rest);
	while (kind && k < 4 && strcmp(kind, kind_names[k]) != 0)
		k++;
	if (!kind || k == 4)
		return pugmark_diag_set(
			diag, -EINVAL, file, PUGMARK_NO_OFFSET,
			"line %llu: '%s' needs a kind: model, result, output or opaque",
			(unsigned long long)number, name);
	rest = rest ? rest : "";
	int n = outputs_read(rest, words, &bad);
	if (n < 0 || (n > 0) != (k == IMPORT_OUTPUT))
		return pugmark_diag_set(diag, -EINVAL, file, PUGMARK_NO_OFFSET,
					"line %llu: '%s': %s%s", (unsigned long long)number, name,
					n < 0 ? "no output can be read from here: "
					: n   ? "only kind output has outputs"
					      : "kind output needs one, such as arg0:result",
					n < 0 ? bad : "");
	return add_own(m, name, k, rest);
}

enum { LIST_MAX = 1 << 20 };

static int read_own(struct imports *m, const char *file, struct pugmark_diag *diag)
{
	struct private_file bytes;
	int err = private_file_open(file, LIST_MAX, &bytes);

	if (err)
		return pugmark_diag_set(diag, err, file, PUGMARK_NO_OFFSET, "%s",
					private_file_why(err));
	char *text = strndup(bytes.bytes ? (const char *)bytes.bytes : "", bytes.len_bytes);
	private_file_free(&bytes);
	if (!text)
		return pugmark_diag_set(diag, -ENOMEM, file, PUGMARK_NO_OFFSET, "out of memory");
	uint64_t number = 1;
	for (char *line = text, *next; line && !err; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		err = take_line(m, line, file, number, diag);
	}
	free(text);
	if (m->n_own)
		qsort(m->own, m->n_own, sizeof(*m->own), own_by_name);
	return err;
}

int imports_open(const char *file, struct imports **out, struct pugmark_diag *diag)
{
	struct imports *m = calloc(1, sizeof(*m));

	if (!m)
		return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	for (uint32_t i = 0; i < N_BUILTIN; i++)
		m->sorted[i] = &builtin[i];
	qsort(m->sorted, N_BUILTIN, sizeof(*m->sorted), by_name);
	int err = file ? read_own(m, file, diag) : 0;
	if (err) {
		imports_free(m);
		return err;
	}
	*out = m;
	return 0;
}

void imports_free(struct imports *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n_own; i++) {
		free((char *)m->own[i].name);
		free((char *)m->own[i].outputs);
	}
	free(m->own);
	free(m);
}

const struct import_row *imports_find(const struct imports *m, const char *name)
{
	const struct import_row key = {.name = name}, *pkey = &key;
	const struct import_row *own =
		m->n_own ? bsearch(&key, m->own, m->n_own, sizeof(*m->own), own_by_name) : NULL;

	if (own)
		return own;
	const struct import_row *const *found =
		bsearch(&pkey, m->sorted, N_BUILTIN, sizeof(*m->sorted), by_name);
	return found ? *found : NULL;
}
