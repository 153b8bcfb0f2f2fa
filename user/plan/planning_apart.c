// SPDX-License-Identifier: LGPL-2.1-or-later
/* planning_apart.c: planning_make(), whose analysis is done in a sandbox (user/sandbox): the child
 * plans and hands back the plan's bytes and what is said of them. Each of these bytes may be made
 * up: the plan is decoded as a plan file is, texts are bounded, and the recorder compares every
 * probe with the file before it places it. */
#include "user/plan/planning.h"

#include "offline/base/digest.h"
#include "offline/plan/plan_file.h"
#include "user/cli/command.h"
#include "user/file/debuginfod.h"
#include "user/file/own_cache.h"
#include "user/plan/host_modules.h"
#include "user/plan/plan_entered.h"
#include "user/plan/probe_costs.h"
#include "user/sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TAG_BYTES = 34, TEXT_BYTES = 16384 };
enum text { TEXT_PATH, TEXT_NOT_KEPT, TEXT_LEFT_OUT, TEXT_PLUGIN, N_TEXTS };

/* What the child hands back; behind it the texts, and then the plan. */
struct found {
	double seconds;
	uint32_t cached, n_left_out;
	uint32_t text_bytes[N_TEXTS]; /* with their NULs; 0: NULL */
};

/* ---- in the child ---- */

static int hand_back(const struct planning_result *r, FILE *out, struct pugmark_diag *diag)
{
	const char *const texts[N_TEXTS] = {r->path, r->not_kept, r->left_out, r->plugin};
	struct found f = {.seconds = r->seconds, .cached = r->cached, .n_left_out = r->n_left_out};
	const void *bytes;
	void *own;
	size_t len;
	for (int i = 0; i < N_TEXTS; i++)
		f.text_bytes[i] = texts[i] ? (uint32_t)strlen(texts[i]) + 1 : 0;
	int err = plan_file_bytes(r->plan, &bytes, &len, &own);
	if (err)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "out of memory");
	fwrite(&f, sizeof(f), 1, out);
	for (int i = 0; i < N_TEXTS; i++)
		if (texts[i])
			fwrite(texts[i], f.text_bytes[i], 1, out);
	fwrite(bytes, len, 1, out);
	free(own);
	return 0;
}

static int plan_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	const struct planning_inside *p = ctx;
	struct planning_result result;
	int err = planning_make_here(p->binary, p->options, p->modules, &result, diag);
	return err ? err : hand_back(&result, out, diag); /* what was held goes with the child */
}

/* ---- in the process that asked ---- */

/* The text at *@at, which ends before @end; false: there is none of that length. */
static bool take_text(const char **at, const char *end, uint32_t bytes, char **out)
{
	if (!bytes)
		return true;
	if (bytes > TEXT_BYTES || bytes > (size_t)(end - *at) || (*at)[bytes - 1])
		return false;
	*out = strdup(*at);
	*at += bytes;
	return *out != NULL;
}

int planning_take_plan(const char *bytes, size_t len, const char *name, struct planning_result *out,
		       struct pugmark_diag *diag)
{
	struct pugmark_plan *plan = calloc(1, sizeof(*plan));
	/* As pugmark_plan_free() gives it back. */
	void *own = mmap(NULL, len + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err = plan && own != MAP_FAILED ? 0 : -ENOMEM;
	if (!err) {
		memcpy(own, bytes, len);
		err = plan_decode(own, len, name, plan, diag);
	}
	if (err) {
		if (own != MAP_FAILED)
			munmap(own, len + 1);
		free(plan);
		return err;
	}
	plan->storage = own;
	plan->storage_bytes = len + 1;
	out->plan = plan;
	return 0;
}

int planning_take(const void *handed, size_t len, const char *binary, struct planning_result *out,
		  struct pugmark_diag *diag)
{
	struct found f;
	const char *bytes = handed, *at = bytes + sizeof(f), *end = bytes + len;
	char **const texts[N_TEXTS] = {&out->path, &out->not_kept, &out->left_out, &out->plugin};
	bool whole = len >= sizeof(f);
	if (whole)
		memcpy(&f, bytes, sizeof(f));
	for (int i = 0; whole && i < N_TEXTS; i++)
		whole = take_text(&at, end, f.text_bytes[i], texts[i]);
	if (!whole)
		return pugmark_diag_set(diag, -EBADMSG, binary, PUGMARK_NO_OFFSET,
					"its analysis handed back what is no plan");
	out->seconds = f.seconds;
	out->cached = f.cached;
	out->n_left_out = out->left_out ? f.n_left_out : 0;
	return planning_take_plan(at, (size_t)(end - at), binary, out, diag);
}

/* Of the bytes of @binary, as this process sees them. */
static int make_tag(const char *binary, char tag[TAG_BYTES], struct pugmark_diag *diag)
{
	struct private_file file;
	struct digest d;
	char hex[DIGEST_HEX];
	int err = private_file_open(binary, PRIVATE_FILE_MAX, &file);
	if (err)
		return pugmark_diag_set(diag, err, binary, PUGMARK_NO_OFFSET, "cannot open: %s",
					private_file_why(err));
	digest_init(&d);
	digest_add(&d, file.bytes, file.len_bytes);
	digest_hex(&d, hex);
	private_file_free(&file);
	snprintf(tag, TAG_BYTES, "%.32s-", hex);
	return 0;
}

/* What the child may ask for, and of which program. */
struct asked {
	char tag[TAG_BYTES];
	const char *program;
};

static int answer(void *ctx, char op, const char *text, int sent, int *fd)
{
	struct asked *of = ctx;
	return op == HOST_MODULES_OP ? host_modules_answer(of->program, fd)
				     : own_cache_answer(of->tag, op, text, sent, fd);
}

int planning_apart(const char *binary, const struct planning_options *options, const char *grant,
		   sandbox_work *work, struct planning_inside *inside, void **bytes, size_t *len,
		   struct pugmark_diag *diag)
{
	const char *grants[2 + 2 * PLANNING_TRACED_MAX + PLANNING_PLUGINS_MAX];
	struct asked asked = {.program = options->origin ? options->origin : binary};
	struct planning_options own = *options;
	struct plan_modules modules;
	struct sandbox sandbox = {.subject = asked.program,
				  .grants = grants,
				  .cancelled = options->cancelled,
				  .answer = answer,
				  .answer_ctx = &asked};
	debuginfod_fetch(binary);
	int err = make_tag(binary, asked.tag, diag);
	if (!err)
		err = plan_modules_list(options, &modules, diag);
	if (err)
		return err;
	grants[sandbox.n_grants++] = binary;
	if (grant)
		grants[sandbox.n_grants++] = grant;
	for (uint32_t i = 0; i < options->n_profiles && i < PLANNING_TRACED_MAX; i++)
		grants[sandbox.n_grants++] = options->profiles[i];
	for (uint32_t i = 0; i < options->n_traced && i < PLANNING_TRACED_MAX; i++)
		grants[sandbox.n_grants++] = options->traced[i];
	/* What a process has loaded is a descriptor of this one; the child sees no other way there.
	 */
	for (uint32_t i = 0; i < options->n_plugins && i < PLANNING_PLUGINS_MAX; i++)
		if (!strncmp(options->plugins[i], "/proc/", 6))
			grants[sandbox.n_grants++] = options->plugins[i];
	own.tag = asked.tag;
	own.progress = NULL; /* its thread is not in the child */
	void *shared = options->progress ? mmap(NULL, sizeof(*own.permille), PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS, -1, 0)
					 : MAP_FAILED;
	own.permille = shared == MAP_FAILED ? NULL : shared;
	if (own.permille)
		progress_by(options->progress, own.permille);
	inside->binary = binary;
	inside->options = &own;
	inside->modules = &modules;
	err = sandbox_or_here(&sandbox, work, inside, bytes, len, diag);
	if (own.permille) {
		progress_by(options->progress, NULL);
		munmap(shared, sizeof(*own.permille));
	}
	inside->options = NULL;
	inside->modules = NULL;
	plan_modules_deinit(&modules);
	return err;
}

int planning_make(const char *binary, const struct planning_options *options,
		  struct planning_result *out, struct pugmark_diag *diag)
{
	struct planning_options own = *options;
	struct planning_inside inside;
	void *bytes = NULL;
	size_t len = 0;
	*out = (struct planning_result){0};
	out->costs_measured = probe_costs_of_machine(&out->costs);
	own.keep_model = false;
	int err = planning_apart(binary, &own, NULL, plan_inside, &inside, &bytes, &len, diag);
	if (!err)
		err = planning_take(bytes, len, binary, out, diag);
	free(bytes);
	if (err)
		planning_deinit(out);
	return err;
}
