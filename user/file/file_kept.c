// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_kept.c: see file_kept.h. */
#include "user/file/file_kept.h"

#include "offline/base/digest.h"
#include "offline/base/private_file.h"
#include "user/file/own_cache.h"

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
