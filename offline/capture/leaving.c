// SPDX-License-Identifier: LGPL-2.1-or-later
/* leaving.c: see leaving.h. What a function may leave by grows until nothing changes: by nothing,
 * by one import, by several. */
#include "offline/capture/leaving.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct way_out {
	bool leaves, several;
	bool clock; /* what is called may read one of the vDSO */
	const struct import_row *row;
	const char *import;
};

struct leaving {
	const struct pugmark_model *model;
	const struct places_options *options;
	struct way_out *of_func; /* by tail jumps */
};

/* The way out by @site itself. */
static struct way_out way_of(const struct leaving *l, const struct pugmark_site *site)
{
	const struct places_options *o = l->options;
	struct way_out way = {.import = ""};

	if (site->via == PUGMARK_VIA_INDIRECT) {
		way.leaves = true;
	} else if (site->via == PUGMARK_VIA_IMPORT && site->target == PUGMARK_NONE) {
		const struct pugmark_import *import = &l->model->imports[site->import];

		way.import = import->name;
		way.row = imports_find(o->imports, import->name);
		way.leaves = !way.row || way.row->kind != IMPORT_MODEL;
		bool inside = o->is_inside && o->is_inside(o->ctx, import->name);
		way.clock = way.row ? way.row->clock : !inside;
		if (inside) {
			way.row = NULL;
			way.leaves = true;
		}
	} else if (site->target != PUGMARK_NONE) {
		way = l->of_func[site->target];
	} else {
		way.leaves = site->via == PUGMARK_VIA_DIRECT;
	}
	return way;
}

static bool grow(struct way_out *f, const struct way_out *by)
{
	bool same = !by->several && f->row == by->row && !strcmp(f->import, by->import);

	if (!by->leaves || ((f->several || (f->leaves && same)) && f->clock >= by->clock))
		return false;
	if (!f->leaves)
		*f = *by;
	else if (!same)
		*f = (struct way_out){
			.leaves = true, .several = true, .clock = f->clock, .import = ""};
	f->clock |= by->clock;
	return true;
}

int leaving_new(const struct pugmark_model *model, const struct places_options *options,
		struct leaving **out)
{
	struct leaving *l = calloc(1, sizeof(*l));
	bool changed = true;

	if (!l || !(l->of_func = calloc(model->n_funcs + 1, sizeof(*l->of_func)))) {
		free(l);
		return -ENOMEM;
	}
	l->model = model;
	l->options = options;
	for (uint32_t f = 0; f < model->n_funcs; f++)
		l->of_func[f].import = "";
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < model->n_sites; i++) {
			const struct pugmark_site *s = &model->sites[i];

			if (s->kind != PUGMARK_SITE_TAIL || s->func == PUGMARK_NONE)
				continue;
			struct way_out way = way_of(l, s);
			changed |= grow(&l->of_func[s->func], &way);
		}
	}
	*out = l;
	return 0;
}

void leaving_free(struct leaving *l)
{
	if (!l)
		return;
	free(l->of_func);
	free(l);
}

bool leaving_by(const struct leaving *l, const struct pugmark_site *site,
		const struct import_row **row, const char **import, uint8_t *flags, bool *clock)
{
	struct way_out way = way_of(l, site);

	*row = way.row;
	*import = way.import;
	*flags = 0;
	*clock = way.clock;
	if (site->via == PUGMARK_VIA_INDIRECT)
		*flags |= PLACE_INSIDE;
	if (site->via != PUGMARK_VIA_INDIRECT && site->target != PUGMARK_NONE)
		*flags |= PLACE_INSIDE | PLACE_TAIL;
	return way.leaves;
}
