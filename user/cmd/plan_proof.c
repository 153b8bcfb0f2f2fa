// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_proof.c: `pugmark plan --check`: reads the plan or the shares that the user named, and
 * prints what the proof says. */
#include "user/cmd/plan_proof.h"

#include "user/plan/plan_checked.h"
#include "user/share/shares_checked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int plan_proof(bool json, const struct pugmark_plan *plan, const char *path,
	       const struct pugmark_model *model, struct pugmark_diag *diag)
{
	struct outbuf *out = malloc(sizeof(*out));
	if (!out)
		return pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "out of memory");
	outbuf_init(out, stdout);
	int err = plan_checked(plan, path, model, json, out, diag);
	outbuf_flush(out);
	free(out);
	return err;
}

/* The shares of a folder: their plan as any other, and that runs under them can be put together. */
static int check_shares(bool json, const char *path, const struct pugmark_model *model,
			struct pugmark_diag *diag)
{
	struct shares_read shares;
	struct outbuf *out = malloc(sizeof(*out));
	if (!out)
		return pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "out of memory");
	int err = shares_read(path, &shares, diag);
	if (err) {
		free(out);
		return err;
	}
	err = plan_proof(json, &shares.whole, path, model, diag);
	if (!err || err == -EILSEQ) {
		outbuf_init(out, stdout);
		int told = shares_checked(&shares, path, json, out, diag);
		outbuf_flush(out);
		err = told ? told : err;
	}
	shares_read_deinit(&shares);
	free(out);
	return err;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int plan_proof_of_file(bool json, const char *binary, const char *path, struct pugmark_diag *diag)
{
	struct pugmark_model *model;
	struct pugmark_plan *plan = NULL;
	int err = pugmark_model_open(binary, &model, diag);
	if (err)
		return err;
	if (is_folder(path)) {
		err = check_shares(json, path, model, diag);
		pugmark_model_free(model);
		return err;
	}
	err = pugmark_plan_open(path, &plan, diag);
	if (!err)
		err = plan_proof(json, plan, path, model, diag);
	pugmark_plan_free(plan);
	pugmark_model_free(model);
	return err;
}
