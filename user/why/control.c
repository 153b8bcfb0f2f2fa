// SPDX-License-Identifier: LGPL-2.1-or-later
/* control.c: control dependence needs the code as it could have gone: the models of the files that
 * were traced. */
#include "user/why/control.h"

#include "user/why/criterion.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int control_of_trace(const struct dep_trace *trace, const struct value_names *names,
		     const struct captures *captures, const char *dir, struct slice_control **out,
		     struct pugmark_diag *diag)
{
	uint32_t n = value_names_modules(names);
	struct slice_module *modules = calloc(n + 1, sizeof(*modules));
	struct pugmark_model **models = calloc(n + 1, sizeof(struct pugmark_model *));
	uint32_t known = 0;
	int err = modules && models ? 0
				    : pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET,
						       "out of memory");
	for (uint32_t m = 0; !err && m < n; m++) {
		const char *path = value_names_file(names, m);
		uint64_t bias;
		if (!captures_bias(captures, m, &bias))
			continue;
		if (!path)
			err = pugmark_diag_set(diag, -ENOENT, dir, PUGMARK_NO_OFFSET,
					       "a traced file is not there any more, or is another "
					       "one now: what could have been executed is not "
					       "known (--control needs the files)");
		err = err ? err : pugmark_model_open(path, &models[known], diag);
		if (!err) {
			modules[known] = (struct slice_module){models[known], bias};
			known++;
		}
	}
	if (!err) {
		err = slice_control_new(trace, modules, known, out);
		if (err)
			pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "out of memory");
	}
	for (uint32_t m = 0; models && m < known; m++)
		pugmark_model_free(models[m]);
	free(models);
	free(modules);
	return err;
}

int why_run_control(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	return control_of_trace(dep_build_trace(w->build), w->names,
				value_replay_captures(w->replay), o->dir, &w->control, diag);
}
