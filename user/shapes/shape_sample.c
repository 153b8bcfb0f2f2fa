// SPDX-License-Identifier: LGPL-2.1-or-later
/* shape_sample.c: see shape_sample.h. */
#include "user/shapes/shape_sample.h"

#include "offline/code/probe_class.h"
#include "user/shapes/shape_try.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The shapes that occur in most files, an example each: tests/shapes/sample.sh. */
static const struct shape_case sample[] = {
#include "user/shapes/sample_shapes.inc"
};

enum { N_SAMPLE = sizeof(sample) / sizeof(*sample), FORMAT = 1 };

static bool is_probed(const struct shape_case *c)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, c->bytes, c->len, &insn)))
		return false;
	enum pugmark_probe_class class = probe_class_of(&insn);
	return class == PUGMARK_PROBE_EMULATED || class == PUGMARK_PROBE_STEPPED;
}

/* The caller frees it; NULL: no home. */
static char *answer_path(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct utsname os;
	char *path = NULL;
	int n = -1;
	if (uname(&os) || strchr(os.release, '/'))
		return NULL;
	if (cache && *cache == '/')
		n = asprintf(&path, "%s/pugmark/shapes-%s", cache, os.release);
	else if (home && *home == '/')
		n = asprintf(&path, "%s/.cache/pugmark/shapes-%s", home, os.release);
	return n < 0 ? NULL : path;
}

static bool read_answer(const char *path, struct shape_answer *answer)
{
	struct shape_answer a = {.kept = true};
	unsigned format = 0;
	FILE *f = path ? fopen(path, "re") : NULL;
	bool found = f && fscanf(f, "shapes %u %u %u", &format, &a.n_tried, &a.n_harmed) == 3 &&
		     format == FORMAT && a.n_tried && a.n_harmed <= a.n_tried;
	if (found && a.n_harmed && fscanf(f, " %255[^\n]", a.harmed) != 1)
		found = false;
	if (f)
		fclose(f);
	if (found)
		*answer = a;
	return found;
}

/* By rename; that it cannot be kept costs the next recording half a second. */
static void keep_answer(const char *path, const struct shape_answer *a)
{
	char *temporary = NULL;
	if (!path || asprintf(&temporary, "%s.%d", path, getpid()) < 0)
		return;
	for (char *slash = strchr(temporary + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(temporary, 0755);
		*slash = '/';
	}
	FILE *f = fopen(temporary, "wxe");
	if (f) {
		fprintf(f, "shapes %u %u %u\n%s\n", FORMAT, a->n_tried, a->n_harmed, a->harmed);
		if (fclose(f) || rename(temporary, path))
			unlink(temporary);
	}
	free(temporary);
}

static void say_harmed(struct shape_answer *a, const struct shape_case *c,
		       const struct shape_verdict *v)
{
	size_t at = 0;
	for (uint8_t i = 0; i < c->len; i++)
		at += (size_t)snprintf(a->harmed + at, sizeof(a->harmed) - at, "%02x", c->bytes[i]);
	for (int p = 0; p < N_PARTS && at < sizeof(a->harmed); p++)
		if (v->differs >> p & 1)
			at += (size_t)snprintf(a->harmed + at, sizeof(a->harmed) - at, " %s",
					       shape_part_name(p));
	if (at < sizeof(a->harmed) && v->repeated)
		snprintf(a->harmed + at, sizeof(a->harmed) - at, " fires again");
}

static int try_sample(struct shape_answer *a, struct pugmark_diag *diag)
{
	struct shape_case cases[N_SAMPLE];
	struct shape_verdict verdicts[N_SAMPLE];
	uint32_t n = 0;
	for (uint32_t i = 0; i < N_SAMPLE; i++)
		if (is_probed(&sample[i]))
			cases[n++] = sample[i];
	int err = shapes_try(cases, n, 1, verdicts, NULL, diag);
	if (err)
		return err;
	*a = (struct shape_answer){.n_tried = n};
	for (uint32_t i = 0; i < n; i++) {
		const struct shape_verdict *v = &verdicts[i];
		if (v->skipped || v->stuck_bare || !shape_is_harmed(v))
			continue;
		if (!a->n_harmed++)
			say_harmed(a, &cases[i], v);
	}
	return 0;
}

int shape_sample_ask(bool fresh, struct shape_answer *answer, struct pugmark_diag *diag)
{
	char *path = answer_path();
	int err = 0;
	if (fresh || !read_answer(path, answer)) {
		err = try_sample(answer, diag);
		if (!err)
			keep_answer(path, answer);
	}
	free(path);
	return err;
}
