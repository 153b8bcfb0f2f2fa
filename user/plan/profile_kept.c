// SPDX-License-Identifier: LGPL-2.1-or-later
/* profile_kept.c: see profile_kept.h. A file is named by a digest of all that was counted in: so
 * one of that name is of these recordings. It is a header, the counts, and the calls. */
#include "user/plan/profile_kept.h"

#include "offline/base/digest.h"
#include "offline/code/model_digest.h"
#include "user/file/own_cache.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNTING_VERSION = 1, /* raised when the same recordings would be counted differently */
	META_MAX_BYTES = 64 << 20,
};
#define KEPT_MAX_BYTES (UINT64_C(1) << 30)

struct kept {
	uint32_t n_blocks, n_calls, hash, unused;
	uint64_t events;
	double seconds;
};

/* Adds what the recording says of itself: among it when it was made, and what it holds. */
static int add_recording(struct digest *d, const char *dir)
{
	struct private_file file;
	char *path;
	if (asprintf(&path, "%s/meta.json", dir) < 0)
		return -ENOMEM;
	int err = private_file_open(path, META_MAX_BYTES, &file);
	free(path);
	if (err)
		return err;
	digest_add(d, file.bytes, file.len_bytes);
	private_file_free(&file);
	return 0;
}

char *profile_kept_path(const struct pugmark_model *model, const char *const *dirs, uint32_t n,
			uint64_t most_events, const char *tag)
{
	struct digest d;
	char name[2 * DIGEST_HEX], hex[DIGEST_HEX];
	digest_init(&d);
	digest_add_number(&d, COUNTING_VERSION);
	model_digest(model, &d);
	digest_add_number(&d, most_events);
	for (uint32_t i = 0; i < n; i++)
		if (add_recording(&d, dirs[i]))
			return NULL;
	digest_hex(&d, hex);
	snprintf(name, sizeof(name), "%.*s%s", DIGEST_HEX, tag ? tag : "", hex);
	return own_cache_path("counted", name);
}

/* Whether @bytes are of such a file, of @model. */
static bool fits(const void *bytes, uint64_t len, const struct pugmark_model *m, struct kept *k)
{
	if (!bytes || len < sizeof(*k))
		return false;
	memcpy(k, bytes, sizeof(*k));
	uint64_t counts = k->n_blocks * sizeof(uint64_t);
	if (k->n_blocks != m->n_blocks ||
	    len != sizeof(*k) + counts + k->n_calls * sizeof(struct share_call))
		return false;
	const struct share_call *calls = (const void *)((const char *)bytes + sizeof(*k) + counts);
	for (uint32_t i = 0; i < k->n_calls; i++)
		if (calls[i].caller >= m->n_funcs || calls[i].callee >= m->n_funcs ||
		    !isfinite(calls[i].calls))
			return false;
	return isfinite(k->seconds);
}

static void *copy(const void *bytes, size_t len)
{
	void *own = malloc(len + 1);
	return own ? memcpy(own, bytes, len) : NULL;
}

int profile_kept_read(const char *path, const struct pugmark_model *model, struct profile *out)
{
	struct private_file file;
	struct kept k;
	int err = own_cache_read(path, KEPT_MAX_BYTES, &file);
	if (err)
		return err;
	if (!fits(file.bytes, file.len_bytes, model, &k)) {
		private_file_free(&file);
		return -EBADMSG;
	}
	size_t counts = k.n_blocks * sizeof(uint64_t);
	const uint8_t *at = file.bytes + sizeof(k);
	struct profile p = {.counts = copy(at, counts),
			    .hash = k.hash,
			    .events = k.events,
			    .seconds = k.seconds,
			    .calls = copy(at + counts, k.n_calls * sizeof(*p.calls)),
			    .n_calls = k.n_calls};
	private_file_free(&file);
	if (!p.counts || !p.calls) {
		profile_deinit(&p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

int profile_kept_write(const char *path, const struct pugmark_model *model,
		       const struct profile *profile)
{
	struct kept k = {.n_blocks = model->n_blocks,
			 .n_calls = profile->n_calls,
			 .hash = profile->hash,
			 .events = profile->events,
			 .seconds = profile->seconds};
	size_t counts = k.n_blocks * sizeof(uint64_t), calls = k.n_calls * sizeof(*profile->calls);
	char *bytes = malloc(sizeof(k) + counts + calls);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &k, sizeof(k));
	memcpy(bytes + sizeof(k), profile->counts, counts);
	if (calls)
		memcpy(bytes + sizeof(k) + counts, profile->calls, calls);
	int err = own_cache_write(path, bytes, sizeof(k) + counts + calls);
	free(bytes);
	return err;
}
