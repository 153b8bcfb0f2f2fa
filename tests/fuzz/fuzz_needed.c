// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_needed.c: any bytes as a program and as a plugin of it: which libraries it needs, which of
 * its functions others name, which of its imports they have. Every mark is 0 or 1. */
#include "tests/fuzz/as_file.h"

#include "offline/link/callers_by_name.h"

#include <pugmark/model.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = as_file(data, size);
	const struct library_options options = {
		.plugins = &path, .n_plugins = 1, .library_path = "/nowhere"};
	struct pugmark_diag diag;
	struct pugmark_model *model;
	uint32_t n = 0;
	char **files = NULL;

	if (!library_files(path, &options, &files, &n, &diag)) {
		for (uint32_t i = 0; i < n; i++) {
			MUST(files[i] && *files[i]);
			free(files[i]);
		}
		free(files);
	}
	if (pugmark_model_open(path, &model, &diag))
		return 0;
	uint8_t *entered = calloc(model->n_funcs + 1, 1), *bound = calloc(model->n_imports + 1, 1);
	uint8_t *traced = calloc(model->n_imports + 1, 1);
	callers_by_name_mark(model, &options, entered, bound, &diag);
	callers_by_name_mark_traced(model, &path, 1, traced);
	for (uint32_t i = 0; i < model->n_funcs; i++)
		MUST(entered[i] <= 1);
	for (uint32_t i = 0; i < model->n_imports; i++)
		MUST(bound[i] <= 1 && traced[i] <= 1);
	free(entered);
	free(bound);
	free(traced);
	pugmark_model_free(model);
	return 0;
}
