// SPDX-License-Identifier: LGPL-2.1-or-later
/* match_list.c: see match_list.h. */
#include "user/match/match_list.h"

#include "offline/match/suspects.h"
#include "user/match/intervals.h"
#include "user/values/names/value_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An instruction of the list. */
struct entry {
	uint32_t insn, place; /* by suspicion */
	uint8_t on_others;
	uint32_t head;	 /* the place of the first one of its line */
	float suspicion; /* of its line */
	struct value_frame *frames;
	uint32_t n_frames;
};

static int by_source(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	if (a->on_others != b->on_others)
		return a->on_others < b->on_others ? -1 : 1;
	const struct value_frame *f = a->frames, *g = b->frames;
	if (!f->line != !g->line)
		return f->line ? -1 : 1;
	int files = f->line ? strcmp(f->file, g->file) : 0;
	if (files)
		return files;
	if (f->line != g->line)
		return f->line < g->line ? -1 : 1;
	int calls = f->line ? value_frames_compare(f, a->n_frames, g, b->n_frames) : 0;
	return calls ? calls : (a->place > b->place) - (a->place < b->place);
}

static bool is_same_line(const struct entry *a, const struct entry *b)
{
	return a->on_others == b->on_others && a->frames->line &&
	       a->frames->line == b->frames->line && !strcmp(a->frames->file, b->frames->file) &&
	       !value_frames_compare(a->frames, a->n_frames, b->frames, b->n_frames);
}

static int by_suspicion(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	if (a->on_others != b->on_others)
		return a->on_others < b->on_others ? -1 : 1;
	if (a->suspicion != b->suspicion)
		return a->suspicion > b->suspicion ? -1 : 1;
	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

/* Whoever looks at one line of a function sees the others, too: the n-th counts 1 / n. */
static bool share_functions(const struct match_list *list, const struct match_side *b,
			    struct entry *all)
{
	uint32_t most = 0, n = 0;
	for (uint32_t i = 0; i < b->n; i++)
		most = b->functions[i] > most ? b->functions[i] : most;
	uint32_t *lines = calloc(most + 1, sizeof(*lines)); /* of each function */
	float shared = 0;
	for (uint32_t i = 0; lines && i < list->n_insns; i++) {
		bool first = !i || all[i].head != all[i - 1].head;
		n = first ? ++lines[b->functions[all[i].insn]] : n;
		shared = first ? all[i].suspicion / (float)n : shared;
		all[i].suspicion = shared;
	}
	free(lines);
	return lines;
}

static bool find_frames(struct match_run *run, struct entry *e)
{
	struct value_frame frames[VALUE_FRAMES];
	e->n_frames = value_names_frames(run->names, run->side.insns[e->insn].ip, frames);
	e->frames = malloc(e->n_frames * sizeof(*frames));
	if (e->frames)
		memcpy(e->frames, frames, e->n_frames * sizeof(*frames));
	return e->frames;
}

/* Puts those of a line together, where the first of them is. */
static bool put_together(struct match_list *list, struct match_run *run,
			 const struct match_suspect *suspects, const uint8_t *on_others)
{
	struct entry *all = calloc(list->n_insns + 1, sizeof(*all));
	bool fine = all;
	for (uint32_t i = 0; fine && i < list->n_insns; i++) {
		const struct match_suspect *s = &suspects[i];
		all[i] = (struct entry){s->insn, i, on_others[s->insn], i, s->suspicion, NULL, 0};
		fine = find_frames(run, &all[i]);
	}
	if (fine && list->n_insns) {
		qsort(all, list->n_insns, sizeof(*all), by_source);
		for (uint32_t i = 1; i < list->n_insns; i++)
			if (is_same_line(&all[i - 1], &all[i])) {
				all[i].head = all[i - 1].head;
				all[i].suspicion = all[i - 1].suspicion;
			}
		qsort(all, list->n_insns, sizeof(*all), by_suspicion);
		fine = share_functions(list, &run->side, all);
		qsort(all, list->n_insns, sizeof(*all), by_suspicion);
	}
	for (uint32_t i = 0; fine && i < list->n_insns; i++) {
		list->insns[i] = all[i].insn;
		if (!i || all[i].head != all[i - 1].head)
			list->lines[list->n_lines++].from = i;
		list->lines[list->n_lines - 1].n++;
	}
	for (uint32_t i = 0; all && i < list->n_insns; i++)
		free(all[i].frames);
	free(all);
	return fine;
}

int match_list_init(struct match_list *list, struct match_run runs[2],
		    const struct match_found *found, const uint8_t *on_others, bool going_on)
{
	const struct match_side *b = &runs[1].side;
	uint64_t executed[2] = {going_on ? 0 : runs[0].executed, going_on ? 0 : runs[1].executed};
	uint32_t *left = malloc((b->n + 1) * sizeof(*left));
	struct match_suspect *suspects = calloc(b->n + 1, sizeof(*suspects));
	*list = (struct match_list){.insns = calloc(b->n + 1, sizeof(*list->insns)),
				    .lines = calloc(b->n + 1, sizeof(*list->lines))};
	int err = left && suspects && list->insns && list->lines ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < b->n; i++)
		left[i] = match_left(b, found, i);
	err = err ? err : match_parting_init(&list->parting, &runs[0].side, b, executed);
	if (!err) {
		list->n_insns = match_suspects(b, &list->parting, left, suspects);
		err = put_together(list, &runs[1], suspects, on_others) ? 0 : -ENOMEM;
	}
	free(suspects);
	free(left);
	return err;
}

void match_list_deinit(struct match_list *list)
{
	match_parting_deinit(&list->parting);
	free(list->insns);
	free(list->lines);
}
