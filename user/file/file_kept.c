// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_kept.c: see file_kept.h. A file of an answer begins with a digest of its own name and of the
 * answer: what is damaged, or lies under another name, is none. */
#include "user/file/file_kept.h"

#include "offline/base/digest.h"
#include "user/file/own_cache.h"
#include "user/sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Which file, since when: whoever may write to a file cannot set that time. */
static void add_identity(struct digest *d, const struct stat *st)
{
	digest_add_number(d, st->st_dev);
	digest_add_number(d, st->st_ino);
	digest_add_number(d, (uint64_t)st->st_ctim.tv_sec);
	digest_add_number(d, (uint64_t)st->st_ctim.tv_nsec);
}

/* Functions and their names tell what a separate debug file has added to the model. */
static void add_plan(struct digest *d, const struct pugmark_plan *plan)
{
	digest_add_number(d, plan->mode);
	digest_add(d, plan->funcs, plan->n_funcs * sizeof(*plan->funcs));
	digest_add(d, plan->strings, plan->strings_bytes);
}

char *file_kept_path(const char *question, unsigned version, const char *path,
		     const struct pugmark_plan *plan, const struct pugmark_plan_site *sites,
		     uint32_t n_sites)
{
	struct private_file file;
	struct digest d;
	char hex[DIGEST_HEX];

	if (private_file_open(path, PRIVATE_FILE_MAX, &file))
		return NULL;
	digest_init(&d);
	digest_add_text(&d, PUGMARK_VERSION);
	digest_add_number(&d, version);
	add_identity(&d, &file.st);
	digest_add(&d, file.bytes, file.len_bytes);
	private_file_free(&file);
	add_plan(&d, plan);
	digest_add(&d, sites, n_sites * sizeof(*sites));
	digest_hex(&d, hex);
	return own_cache_path(question, hex);
}

static void digest_answer(const char *kept, const void *bytes, size_t len,
			  uint8_t out[DIGEST_BYTES])
{
	const char *slash = strrchr(kept, '/');
	struct digest d;

	digest_init(&d);
	digest_add_text(&d, slash ? slash + 1 : kept);
	digest_add(&d, bytes, len);
	digest_end(&d, out);
}

int file_kept_read(const char *kept, struct file_kept *out)
{
	uint8_t digest[DIGEST_BYTES];
	struct file_kept found;
	int err = kept ? own_cache_read(kept, SANDBOX_RESULT_MAX, &found.file) : -ENOENT;

	if (err)
		return err;
	if (found.file.len_bytes >= DIGEST_BYTES) {
		found.bytes = found.file.bytes + DIGEST_BYTES;
		found.len = found.file.len_bytes - DIGEST_BYTES;
		digest_answer(kept, found.bytes, found.len, digest);
		if (!memcmp(found.file.bytes, digest, DIGEST_BYTES)) {
			*out = found;
			return 0;
		}
	}
	private_file_free(&found.file);
	return -EBADMSG;
}

void file_kept_deinit(struct file_kept *answer)
{
	private_file_free(&answer->file);
}

void file_kept_write(const char *kept, const void *bytes, size_t len)
{
	uint8_t *all =
		kept && len < SANDBOX_RESULT_MAX - DIGEST_BYTES ? malloc(DIGEST_BYTES + len) : NULL;

	if (!all)
		return;
	digest_answer(kept, bytes, len, all);
	if (len)
		memcpy(all + DIGEST_BYTES, bytes, len);
	own_cache_write(kept, all, DIGEST_BYTES + len);
	free(all);
}
