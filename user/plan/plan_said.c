// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_said.c: see plan_said.h. What comes back may be made up by the file that was analysed: the
 * plan is decoded as a plan file is, and the text is printed as names are. */
#include "user/plan/plan_said.h"

#include "offline/base/whole_file.h"
#include "offline/base/write_all.h"
#include "offline/plan/plan_file.h"
#include "user/cli/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct said {
	int64_t status;
	uint64_t text_bytes; /* the plan is behind them */
};

struct saying {
	plan_says *says;
	void *ctx;
	bool wants_plan;
};

/* ---- in the sandbox ---- */

static int write_plan(const struct pugmark_plan *plan, FILE *out)
{
	const void *bytes;
	void *own;
	size_t len;
	int err = plan ? plan_file_bytes(plan, &bytes, &len, &own) : 0;
	if (err || !plan)
		return err;
	fwrite(bytes, len, 1, out);
	free(own);
	return 0;
}

static int say(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	const struct planning_inside *inside = ctx;
	const struct saying *s = inside->ctx;
	struct planning_result result = {0};
	FILE *before = stdout;
	char *text = NULL;
	size_t len = 0;
	stdout = open_memstream(&text, &len);
	int err = stdout ? s->says(s->ctx, inside, &result, diag) : -ENOMEM;
	if (stdout && fclose(stdout) && !err)
		err = -ENOMEM;
	stdout = before;
	if (!err || err == -EILSEQ) {
		fwrite(&(struct said){err, len}, sizeof(struct said), 1, out);
		fwrite(text, 1, len, out);
		err = write_plan(s->wants_plan && !err ? result.plan : NULL, out);
	}
	free(text);
	planning_deinit(&result);
	return err;
}

/* ---- here ---- */

/* Line by line; what is between tabs and ends of lines is printed as names are. */
static void print_text(const char *text, size_t len)
{
	for (const char *at = text, *end = text + len; at < end;) {
		size_t n = strcspn(at, "\n\t");
		char *part = strndup(at, n);
		if (part)
			printable_print(stdout, part, PRINT_TEXT);
		free(part);
		at += n;
		if (at < end)
			putchar(*at++ ? at[-1] : ' ');
	}
}

static int put_plan(const char *bytes, size_t len, const char *binary, const char *path,
		    struct pugmark_diag *diag)
{
	struct planning_result result = {0};
	bool to_stdout = !strcmp(path, "-");
	int err = planning_take_plan(bytes, len, binary, &result, diag);
	planning_deinit(&result); /* it was looked at alone */
	if (err)
		return err;
	if (to_stdout && (err = write_all(STDOUT_FILENO, bytes, len)))
		pugmark_diag_set(diag, err, "standard output", PUGMARK_NO_OFFSET,
				 "cannot write the plan: %s", strerror(-err));
	else if (!to_stdout && (err = whole_file_write(path, bytes, len)))
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot write the plan: %s",
				 whole_file_why(err));
	return err;
}

int plan_said(const char *binary, const struct planning_options *options, const char *grant,
	      plan_says *says, void *ctx, struct pugmark_diag *diag)
{
	struct saying saying = {says, ctx, options->output != NULL};
	struct planning_inside inside = {.ctx = &saying};
	struct said said = {0};
	void *bytes = NULL;
	size_t len = 0;
	struct progress progress;
	struct planning_options own = *options;
	progress_start(&progress, "planning", 0, false);
	own.progress = &progress;
	int err = planning_apart(binary, &own, grant, say, &inside, &bytes, &len, diag);
	progress_end(&progress);
	if (!err && len >= sizeof(said))
		memcpy(&said, bytes, sizeof(said));
	const char *text = (const char *)bytes + sizeof(said), *plan = text + said.text_bytes;
	size_t rest = len - sizeof(said);
	if (!err && (len < sizeof(said) || said.text_bytes > rest ||
		     (said.status && said.status != -EILSEQ)))
		err = pugmark_diag_set(diag, -EBADMSG, binary, PUGMARK_NO_OFFSET,
				       "its analysis handed back what is no answer");
	if (!err && options->output && !said.status)
		err = put_plan(plan, rest - said.text_bytes, binary, options->output, diag);
	if (!err)
		print_text(text, said.text_bytes);
	free(bytes);
	return err ? err : (int)said.status;
}
