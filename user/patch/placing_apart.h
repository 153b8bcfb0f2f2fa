/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* placing_apart.h: where a module's witnesses can be patched, found in a sandbox (user/sandbox):
 * that takes the model of a file which others control. What it hands back may be made up, so it is
 * checked here for what the recorder relies on; that a place is a good one is the file's own
 * affair, and patches are written to where that file is mapped alone. */
#ifndef USER_PATCH_PLACING_APART_H
#define USER_PATCH_PLACING_APART_H

#include "offline/patch/placing.h"
#include "user/file/text_span.h"

/* From @addr to @end the CFA is sp + @offset; elsewhere that is not known. */
struct patch_height {
	uint64_t addr, end; /* ELF */
	int32_t offset;
};

/* Near the places, in order. */
struct patch_heights {
	struct patch_height *at;
	uint32_t n;
};

/* Finds @placing for the sites of @plan, with @heights for what lies between a witness and its
 * place; or takes what was found before (user/file/file_kept.h). Returns 0; -ENOTSUP: there is no
 * model of
 * @path; or -errno with @diag filled (its analysis died, or was not sound). The caller releases
 * @placing and @heights with patch_placing_deinit() and patch_heights_deinit(); there is nothing to
 * release after a failure. */
int patch_placing_apart(const char *path, const struct pugmark_plan *plan,
			const struct pugmark_plan_site *sites, uint32_t n_sites,
			const struct text_span *span, struct patch_placing *placing,
			struct patch_heights *heights, struct pugmark_diag *diag);
/* Checks and takes what was handed back: any bytes. Returns 0, -ENOTSUP as above, -EBADMSG or
 * -ENOMEM. The caller releases both, also after a failure. */
int patch_placing_take(const void *handed, size_t len, uint32_t n_sites,
		       const struct text_span *span, struct patch_placing *placing,
		       struct patch_heights *heights);
void patch_heights_deinit(struct patch_heights *heights);
/* Whether the CFA at @addr is sp + *@offset. */
bool patch_height_at(const struct patch_heights *heights, uint64_t addr, int32_t *offset);

#endif
