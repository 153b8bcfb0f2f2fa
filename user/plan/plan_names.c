// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_names.c: see plan_names.h. */
#include "user/plan/plan_names.h"

#include <string.h>

static const char *const mode_names[] = {
	[MODE_FULL] = "full",
	[MODE_BRANCH] = "branch",
	[MODE_CASPER] = "casper",
	[MODE_BEST] = "best",
	[MODE_PATHS_BLOCKS] = "paths-blocks",
	[MODE_PATHS_TARGETS] = "paths-targets",
	[MODE_PATHS_EDGES] = "paths-edges",
	[MODE_PATHS_NODES] = "paths-nodes",
	[MODE_PATHS_BEST] = "paths-best",
};

const char *const plan_kind_names[] = {
	[PUGMARK_WITNESS_BLOCK] = "block",
	[PUGMARK_WITNESS_BRANCH] = "branch",
	[PUGMARK_WITNESS_TARGET] = "target",
	[PUGMARK_WITNESS_RETURN] = "return",
};

bool planning_placement_named(const char *name, enum plan_mode *out)
{
	for (int i = MODE_PATHS_BLOCKS; i < N_PLAN_MODES; i++)
		if (!strcmp(name, mode_names[i] + strlen("paths-"))) {
			*out = i;
			return true;
		}
	return false;
}

bool planning_mode_named(const char *name, enum plan_mode *out)
{
	for (int i = 0; i < N_PLAN_MODES; i++) /* paths-*: for record --twin */
		if (!strcmp(name, mode_names[i])) {
			*out = i;
			return true;
		}
	return false;
}

const char *planning_mode_name(enum plan_mode mode)
{
	return mode < N_PLAN_MODES ? mode_names[mode] : "?";
}

void plan_put_captures(struct outbuf *out, const struct pugmark_plan_site *site)
{
	static const struct {
		uint8_t flag;
		const char *name;
	} captures[] = {
		{PUGMARK_CAPTURE_RET, "ret"},	    {PUGMARK_CAPTURE_FLAGS, "flags"},
		{PUGMARK_CAPTURE_TARGET, "target"}, {PUGMARK_CAPTURE_SNAPSHOT, "snapshot"},
		{PUGMARK_CAPTURE_STACK, "stack"},   {PUGMARK_CAPTURE_IF_AGAIN, "if-again"},
		{PUGMARK_CAPTURE_BELOW, "below"},
	};
	const char *comma = "";
	for (size_t i = 0; i < sizeof(captures) / sizeof(*captures); i++)
		if (site->capture & captures[i].flag) {
			outbuf_text(out, comma);
			outbuf_text(out, captures[i].name);
			comma = ",";
		}
	if (!*comma)
		outbuf_char(out, '-');
}
