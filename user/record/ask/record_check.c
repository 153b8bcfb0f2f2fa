// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_check.c: see record_check.h. What the machine lacks is doctor's to know. */
#include "user/record/ask/record_check.h"

#include "offline/base/open_regular.h"
#include "offline/plan/plan_places.h"
#include "user/cli/printable.h"
#include "user/file/build_id.h"
#include "user/file/file_kept.h"
#include "user/cli/command.h"
#include "user/kernel/probe_limits.h"
#include "user/shapes/shape_sample.h"
#include "user/measure/doctor.h"
#include "user/plan/planning.h"
#include "user/proc/living_thread.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_VERSION 1 /* raised when the same plan would be judged differently */

static int say_lack(const struct doctor_report *report, int err, struct pugmark_diag *diag)
{
	for (unsigned i = 0; i < report->n; i++) {
		const struct doctor_item *item = &report->items[i];
		if (item->state == DOCTOR_LACKS)
			return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
						"cannot record here: %s: %s (%s; see: pugmark "
						"doctor)",
						item->name, item->value, item->advice);
	}
	return 0;
}

int record_check_rights(struct pugmark_diag *diag)
{
	struct doctor_report report;
	doctor_examine_rights(&report);
	return say_lack(&report, -EPERM, diag);
}

int record_check_shapes(bool quiet, struct pugmark_diag *diag)
{
	struct pugmark_diag untried = {.offset = PUGMARK_NO_OFFSET};
	struct shape_answer answer;

	if (probe_limits_have_multi() <= 0)
		return 0;
	if (shape_sample_ask(false, &answer, &untried)) {
		if (!quiet)
			command_say(stderr, "pugmark: note: ", untried.text, "\n");
		return 0;
	}
	if (!answer.n_harmed)
		return 0;
	return pugmark_diag_set(diag, -ENOTSUP, NULL, PUGMARK_NO_OFFSET,
				"this kernel changes what %u of %u instructions do when they are "
				"probed (the first: %.200s): nothing is recorded, so that no "
				"program is harmed (please report it; see: pugmark doctor)",
				answer.n_harmed, answer.n_tried, answer.harmed);
}

int record_explain_failure(int err, struct pugmark_diag *diag)
{
	struct doctor_report report;
	if (err != -EPERM && err != -EACCES && err != -ENOTSUP && err != -EOPNOTSUPP &&
	    probe_limits_have_btf())
		return err;
	doctor_examine(&report);
	say_lack(&report, err, diag);
	return err;
}

/* The process that @pid is a thread of. */
static pid_t process_of(pid_t pid)
{
	char path[32], line[128];
	pid_t process = pid;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &process) == 1)
			break;
	if (f)
		fclose(f);
	return process;
}

static bool is_32_bits(const char *path)
{
	unsigned char ident[EI_NIDENT];
	int fd = open_regular(path, NULL);
	bool is = fd >= 0 && read(fd, ident, sizeof(ident)) == sizeof(ident) &&
		  !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS32;
	if (fd >= 0)
		close(fd);
	return is;
}

int record_check_process(pid_t pid, struct pugmark_diag *diag)
{
	char path[32], exe[4096];
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (access(path, F_OK))
		return pugmark_diag_set(diag, -ESRCH, NULL, PUGMARK_NO_OFFSET, "no process %d",
					pid);
	if (pid == getpid())
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"process %d is this recorder itself", pid);
	if (process_of(pid) != pid)
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"%d is a thread of process %d (attach to that)", pid,
					process_of(pid));
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (readlink(path, exe, sizeof(exe)) >= 0) {
		if (!is_32_bits(path))
			return 0;
		return pugmark_diag_set(diag, -ENOEXEC, NULL, PUGMARK_NO_OFFSET,
					"process %d runs a 32-bit program: only x86-64 ones can be "
					"traced",
					pid);
	}
	int err = -errno;
	if (err == -ENOENT && living_thread(pid) != pid)
		return pugmark_diag_set(diag, -ENOTSUP, NULL, PUGMARK_NO_OFFSET,
					"process %d: its first thread has ended, which alone says "
					"what it runs (-a FILE records all processes of a file)",
					pid);
	if (err == -ENOENT)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"process %d has no program: it is a kernel thread, or it "
					"has ended",
					pid);
	return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				"process %d: its program cannot be seen: %s%s", pid, strerror(-err),
				err == -EACCES || err == -EPERM
					? " (CAP_SYS_PTRACE, or root, is needed for a process that "
					  "may do more than you, or is another user's)"
					: "");
}

struct places {
	const struct pugmark_plan *plan;
	const char *plan_path;
};

/* In a sandbox: the model of the code is made for that. */
static int check_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	const struct planning_inside *inside = ctx;
	const struct places *p = inside->ctx;
	struct pugmark_model *model;
	uint64_t addr = 0;
	bool all = true;
	(void)out;
	int err = pugmark_model_open(inside->binary, &model, diag);
	if (err)
		return err;
	for (uint32_t i = 0; all && i < p->plan->n_sites; i++) {
		addr = p->plan->sites[i].addr;
		all = plan_place_of(p->plan, i, model) == PLACE_HOLDS;
	}
	pugmark_model_free(model);
	return all ? 0
		   : pugmark_diag_set(
			     diag, -EINVAL, p->plan_path, PUGMARK_NO_OFFSET,
			     "not a plan of %s, though of the same build-id: that has other "
			     "code at 0x%llx (plan again)",
			     inside->binary, (unsigned long long)addr);
}

static int check_places_apart(const struct pugmark_plan *plan, const char *plan_path,
			      const char *binary, struct pugmark_diag *diag)
{
	struct places places = {plan, plan_path};
	struct planning_inside inside = {.ctx = &places};
	const struct planning_options options = {.exports = EXPORTS_NEEDED};
	void *bytes = NULL;
	size_t len;
	int err = planning_apart(binary, &options, NULL, check_inside, &inside, &bytes, &len, diag);
	free(bytes);
	return err;
}

/* Whether each probe of @plan, of the file @plan_path, stands on an instruction of @binary. */
static int check_places(const struct pugmark_plan *plan, const char *plan_path, const char *binary,
			struct pugmark_diag *diag)
{
	char *kept =
		file_kept_path("checked", CHECK_VERSION, binary, plan, plan->sites, plan->n_sites);
	struct file_kept answer;
	int err = file_kept_read(kept, &answer);
	if (!err) { /* they did, and nothing has changed */
		file_kept_deinit(&answer);
	} else {
		err = check_places_apart(plan, plan_path, binary, diag);
		if (!err)
			file_kept_write(kept, NULL, 0);
	}
	free(kept);
	return err;
}

int record_check_plan(const struct pugmark_plan *plan, const char *plan_path, const char *binary,
		      struct pugmark_diag *diag)
{
	struct build_id id = build_id_read(binary);
	bool same = build_id_is(&id, plan->build_id, plan->build_id_len);
	if (same && !plan_path)
		return 0;
	if (same && id.len)
		return check_places(plan, plan_path, binary, diag);
	if (plan_path)
		return pugmark_diag_set(diag, -EINVAL, plan_path, PUGMARK_NO_OFFSET,
					id.len ? "not a plan of %s: another build-id (plan again)"
					       : "%s has no build-id: its plan cannot be checked "
						 "(record without --plan)",
					binary);
	return pugmark_diag_set(diag, -ESTALE, binary, PUGMARK_NO_OFFSET,
				"it was replaced since it was planned (run this again)");
}

void record_explain_files(int err, struct pugmark_diag *diag)
{
	size_t len = strnlen(diag->text, sizeof(diag->text));
	if (err == -EMFILE)
		snprintf(diag->text + len, sizeof(diag->text) - len, " (raise `ulimit -n`)");
}

int record_explain_script(const char *path, int err, struct pugmark_diag *diag)
{
	char line[256];
	bool odd = err == -ENOEXEC || err == -EINVAL || err == -EBADMSG;
	int fd = odd ? open_regular(path, NULL) : -1;
	if (fd < 0)
		return err;
	ssize_t n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n < 3 || memcmp(line, "#!", 2))
		return err;
	line[n] = 0;
	line[strcspn(line, "\r\n")] = 0;
	char *interpreter = line + 2 + strspn(line + 2, " \t");
	/* All that follows is one argument. */
	char *option = interpreter + strcspn(interpreter, " \t");
	if (*option)
		*option++ = 0;
	option += strspn(option, " \t");
	for (size_t len = strlen(option); len && strchr(" \t", option[len - 1]);)
		option[--len] = 0;
	char *words[] = {printable_dup(interpreter, PRINT_SHELL),
			 printable_dup(option, PRINT_SHELL), printable_dup(path, PRINT_SHELL)};
	if (words[0] && words[1] && words[2])
		err = pugmark_diag_set(
			diag, err, path, PUGMARK_NO_OFFSET,
			"a script: what runs is its interpreter (record -- %s%s%s %s)", words[0],
			*option ? " " : "", *option ? words[1] : "", words[2]);
	for (int i = 0; i < 3; i++)
		free(words[i]);
	return err;
}
