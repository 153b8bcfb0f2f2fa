// SPDX-License-Identifier: LGPL-2.1-or-later
/* shape_sample.c: see shape_sample.h. */
#include "user/shapes/shape_sample.h"

#include "offline/code/probe_class.h"
#include "user/file/own_cache.h"
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

enum { N_SAMPLE = sizeof(sample) / sizeof(*sample), FORMAT = 2, ANSWER_MAX = 4096 };

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
	struct utsname os;
	char name[sizeof(os.release) + 16];
	if (uname(&os) || strchr(os.release, '/'))
		return NULL;
	snprintf(name, sizeof(name), "shapes-%s", os.release);
	return own_cache_path(NULL, name);
}

static bool parse_answer(const char *text, struct shape_answer *answer)
{
	struct shape_answer a = {.kept = true};
	unsigned format = 0;
	int at = 0;
	if (sscanf(text, "shapes %u %u %u%n", &format, &a.n_tried, &a.n_harmed, &at) != 3 ||
	    format != FORMAT || !a.n_tried || a.n_harmed > a.n_tried)
		return false;
	if (a.n_harmed && sscanf(text + at, " %255[^\n]", a.harmed) != 1)
		return false;
	*answer = a;
	return true;
}

static bool read_answer(const char *path, struct shape_answer *answer)
{
	struct private_file file;
	if (!path || own_cache_read(path, ANSWER_MAX, &file))
		return false;
	char *text = strndup((const char *)file.bytes, file.len_bytes);
	bool found = text && parse_answer(text, answer);
	free(text);
	private_file_free(&file);
	return found;
}

/* That it cannot be kept costs the next recording half a second. */
static void keep_answer(const char *path, const struct shape_answer *a)
{
	char *text = NULL;
	int len = path ? asprintf(&text, "shapes %u %u %u\n%s\n", FORMAT, a->n_tried, a->n_harmed,
				  a->harmed)
		       : -1;
	if (len < 0)
		return;
	own_cache_write(path, text, (size_t)len);
	free(text);
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
	*a = (struct shape_answer){0};
	for (uint32_t i = 0; i < n; i++) {
		const struct shape_verdict *v = &verdicts[i];
		a->n_tried += !v->skipped && !v->untried && !v->stuck_bare;
		if (v->skipped || v->stuck_bare || !shape_is_harmed(v))
			continue;
		if (!a->n_harmed++)
			say_harmed(a, &cases[i], v);
	}
	if (a->n_tried < n / 2)
		return pugmark_diag_set(diag, -EIO, NULL, PUGMARK_NO_OFFSET,
					"only %u of %u kinds of instruction could be tried: what "
					"probes do to them here is not known",
					a->n_tried, n);
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
