// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_filter.c: see encode_filter.h. A sequence begins with the first call that passes. */
#include "offline/encode/encode_filter.h"

#include "offline/base/vec.h"

#include <errno.h>

enum { ASKED = 0x80 };

enum level_flag {
	LEVEL_PASSED = 1,
	LEVEL_IN_ROOT = 2, /* it, and what is inside of it */
	LEVEL_HIDDEN = 4,
};

struct filter {
	struct filter_rules rules;
	struct tree_sink sink;
	const struct tree_sink *next;
	VEC(uint8_t) verdicts; /* per name; 0: not asked yet */
	VEC(uint8_t) levels;
	uint32_t passed_open;
	uint64_t passed;
	struct tree_place place;
	bool begun;
	bool closed_passed; /* the call that was closed last */
};

static int filter_begin(void *ctx, const struct tree_place *place)
{
	struct filter *f = ctx;
	f->place = *place;
	f->begun = false;
	f->levels.n = f->passed_open = 0;
	return 0;
}

static int verdict_of(struct filter *f, uint32_t name, uint8_t *out)
{
	while (f->verdicts.n <= name)
		if (!VEC_PUSH(&f->verdicts, 0))
			return -ENOMEM;
	if (!f->verdicts.at[name])
		f->verdicts.at[name] = ASKED | f->rules.verdict(f->rules.ctx, name);
	*out = f->verdicts.at[name];
	return 0;
}

static uint8_t judge(const struct filter *f, const struct tree_call *call, uint8_t verdict)
{
	const struct filter_rules *r = &f->rules;
	uint8_t around = f->levels.n ? f->levels.at[f->levels.n - 1] : 0;
	uint8_t level = around & (LEVEL_IN_ROOT | LEVEL_HIDDEN);
	if (verdict & FILTER_HIDE || (r->depth && f->passed_open >= r->depth))
		level |= LEVEL_HIDDEN;
	if (verdict & FILTER_ROOT)
		level |= LEVEL_IN_ROOT;
	bool in = !(level & LEVEL_HIDDEN) && !(verdict & FILTER_SKIP) &&
		  (!r->roots || level & LEVEL_IN_ROOT) && (!r->face || verdict & FILTER_FACE) &&
		  call->time.to_ns >= r->from_ns && call->time.from_ns <= r->to_ns;
	if (r->face && verdict & FILTER_FACE)
		level |= LEVEL_HIDDEN;
	return level | (in ? LEVEL_PASSED : 0);
}

static int filter_open(void *ctx, const struct tree_call *call)
{
	struct filter *f = ctx;
	uint8_t verdict;
	int err = verdict_of(f, symbol_name_index(call->symbol), &verdict);
	if (err)
		return err;
	uint8_t level = judge(f, call, verdict);
	if (!VEC_PUSH(&f->levels, level))
		return -ENOMEM;
	if (!(level & LEVEL_PASSED))
		return 0;
	f->passed++;
	f->passed_open++;
	if (!f->begun) {
		f->begun = true;
		err = f->next->begin(f->next->ctx, &f->place);
	}
	return err ? err : f->next->open(f->next->ctx, call);
}

static int filter_close(void *ctx, const struct tree_return *ret)
{
	struct filter *f = ctx;
	f->closed_passed = f->levels.at[--f->levels.n] & LEVEL_PASSED;
	if (!f->closed_passed)
		return 0;
	f->passed_open--;
	return f->next->close(f->next->ctx, ret);
}

static int filter_end(void *ctx, enum tree_edge why)
{
	struct filter *f = ctx;
	return f->begun ? f->next->end(f->next->ctx, why) : 0;
}

static int filter_value(void *ctx, const struct tree_value *value)
{
	struct filter *f = ctx;
	bool open = f->levels.n && f->levels.at[f->levels.n - 1] & LEVEL_PASSED;
	bool passed = value->returned || value->out ? f->closed_passed : open;
	return passed && f->next->value ? f->next->value(f->next->ctx, value) : 0;
}

int filter_new(const struct filter_rules *rules, const struct tree_sink *next, struct filter **out)
{
	struct filter *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->rules = *rules;
	f->next = next;
	f->sink = (struct tree_sink){f,		 filter_begin, filter_open, filter_close,
				     filter_end, filter_value};
	*out = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	VEC_FREE(&f->verdicts);
	VEC_FREE(&f->levels);
	free(f);
}

const struct tree_sink *filter_sink(const struct filter *f)
{
	return &f->sink;
}

uint64_t filter_passed(const struct filter *f)
{
	return f->passed;
}
