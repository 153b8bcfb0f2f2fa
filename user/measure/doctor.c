// SPDX-License-Identifier: LGPL-2.1-or-later
/* doctor.c: looks at the kernel and at the user's rights. What can be tried is tried; a version is
 * looked at only where nothing can be. */
#include "user/measure/doctor.h"

#include "user/kernel/probe_limits.h"
#include "user/kernel/probes.h"
#include "user/shapes/shape_sample.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static struct doctor_item *add(struct doctor_report *r, const char *name, enum doctor_state state)
{
	struct doctor_item *item = &r->items[r->n < DOCTOR_MAX - 1 ? r->n++ : r->n];

	*item = (struct doctor_item){.name = name, .state = state};
	return item;
}

static void set(char *field, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void set(char *field, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(field, size, format, args);
	va_end(args);
	field[strcspn(field, "\n")] = 0;
}
#define VALUE(item, ...) set((item)->value, sizeof((item)->value), __VA_ARGS__)
#define ADVICE(item, ...) set((item)->advice, sizeof((item)->advice), __VA_ARGS__)

/* The first line of a small file; false: it cannot be read. */
static bool read_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(out, size, f);

	if (f)
		fclose(f);
	if (got)
		out[strcspn(out, "\n")] = 0;
	return got;
}

static void look_at_system(struct doctor_report *r)
{
	struct utsname u;

	uname(&u);
	struct doctor_item *item =
		add(r, "architecture", strcmp(u.machine, "x86_64") ? DOCTOR_LACKS : DOCTOR_OK);
	VALUE(item, "%.100s", u.machine);
	if (item->state)
		ADVICE(item, "only x86-64 can be recorded");
	VALUE(add(r, "kernel", DOCTOR_OK), "%.100s", u.release);
	item = add(r, "libbpf", DOCTOR_OK);
	VALUE(item, "%s", libbpf_version_string());
	if (libbpf_major_version() < 1 ||
	    (libbpf_major_version() == 1 && libbpf_minor_version() < 3)) {
		item->state = DOCTOR_LACKS;
		ADVICE(item, "1.3 or newer is needed: install it with `make deps`");
	}
	bool btf = probe_limits_have_btf();
	item = add(r, "BTF", btf ? DOCTOR_OK : DOCTOR_LACKS);
	VALUE(item, "%s", btf ? "/sys/kernel/btf/vmlinux" : "missing");
	if (!btf)
		ADVICE(item,
		       "run a kernel built with CONFIG_DEBUG_INFO_BTF=y (every distribution's "
		       "is)");
}

static bool has_capability(unsigned cap)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &head, data))
		return false;
	return data[cap / 32].effective >> (cap % 32) & 1;
}

static void look_at_rights(struct doctor_report *r)
{
	static const struct {
		const char *name, *what_for;
		unsigned cap;
		bool needed;
	} caps[] = {
		{"CAP_BPF", "loading the programs", CAP_BPF, true},
		{"CAP_PERFMON", "placing probes and reading the traced program's memory",
		 CAP_PERFMON, true},
		{"CAP_SYS_PTRACE", "attaching to processes of other users", CAP_SYS_PTRACE, false},
	};
	bool admin = has_capability(CAP_SYS_ADMIN);

	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++) {
		bool has = has_capability(caps[i].cap) || (caps[i].needed && admin);
		struct doctor_item *item = add(r, caps[i].name,
					       has		? DOCTOR_OK
					       : caps[i].needed ? DOCTOR_LACKS
								: DOCTOR_NOTE);

		VALUE(item, "%s", has ? "yes" : "no");
		if (!has)
			ADVICE(item, "run as root, or with this capability: it is for %s",
			       caps[i].what_for);
	}
	char text[128];
	if (read_line("/sys/kernel/security/lockdown", text, sizeof(text))) {
		bool strict = strstr(text, "[confidentiality]");
		struct doctor_item *item = add(r, "lockdown", strict ? DOCTOR_LACKS : DOCTOR_OK);

		VALUE(item, "%.100s", text);
		if (strict)
			ADVICE(item,
			       "lockdown=confidentiality forbids BPF to read memory: boot with "
			       "lockdown=integrity or without");
	} else {
		VALUE(add(r, "lockdown", DOCTOR_OK), "none");
	}
	struct rlimit limit;
	if (!getrlimit(RLIMIT_MEMLOCK, &limit)) {
		struct doctor_item *item = add(r, "memlock", DOCTOR_OK);

		if (limit.rlim_cur == RLIM_INFINITY)
			VALUE(item, "unlimited");
		else
			VALUE(item, "%llu KiB (not counted since Linux 5.11)",
			      (unsigned long long)limit.rlim_cur >> 10);
	}
}

/* Loads the very programs that record, on a table of no sites. */
static int try_load(char *why, size_t size)
{
	static const struct pugmark_plan_site site = {.cfa_reg = PUGMARK_CFA_SP};
	const struct recorder_module module = {.path = "", .sites = &site, .n_sites = 1};
	const struct recorder_options options = {
		.modules = &module, .n_modules = 1, .time_unit_ns = 1, .ring_bytes = 4096};
	const struct text_span span = {.end = 4096};
	struct pugmark_diag diag = {.text = ""};
	struct probes *probes = NULL;
	int err = probes_load(&options, &span, &probes, &diag);

	if (err)
		snprintf(why, size, "%s", diag.text);
	probes_free(probes);
	return err;
}

static void look_at_probes(struct doctor_report *r)
{
	int multi = probe_limits_have_multi();
	struct doctor_item *item = add(r, "uprobe_multi", multi > 0 ? DOCTOR_OK : DOCTOR_NOTE);
	struct rlimit limit = {0};

	VALUE(item, "%s", multi > 0 ? "yes" : multi < 0 ? "not known" : "no");
	if (multi < 0)
		ADVICE(item, "may not be asked for without CAP_BPF");
	if (!multi) {
		int perf = probe_limits_try_perf();

		getrlimit(RLIMIT_NOFILE, &limit);
		if (perf)
			item->state = DOCTOR_LACKS;
		else
			VALUE(item, "no; by perf events, %llu probes at most",
			      (unsigned long long)probe_limits_perf_probes(limit.rlim_max));
		ADVICE(item, "%s; Linux 6.6 has it",
		       !perf ? "each probe costs two file descriptors and is removed on its own, "
			       "which is slow"
		       : perf == -EACCES
			       ? "run as root, or with CAP_SYS_ADMIN, which probes by perf events "
				 "take here"
			       : "nor are there probes by perf events (CONFIG_UPROBE_EVENTS)");
	}
	char why[512] = "";
	bool loads = !try_load(why, sizeof(why));
	item = add(r, "programs", loads ? DOCTOR_OK : DOCTOR_LACKS);
	VALUE(item, "%s", loads ? "load" : "do not load");
	if (!loads)
		ADVICE(item, "%.250s", why);
}

/* Which carriers of events are possible here; of one process says `doctor PID`. */
static void look_at_carrier(struct doctor_report *r)
{
	char line[16] = "";
	const char *against = NULL;

	if (probe_limits_have_multi() <= 0)
		against = "what patches leave to the kernel takes uprobe_multi (Linux 6.6)";
	else if (read_line("/proc/sys/vm/memfd_noexec", line, sizeof(line)) && atoi(line) > 1)
		against = "vm.memfd_noexec is 2: the memory that patches need is refused";
	else if (read_line("/proc/sys/kernel/yama/ptrace_scope", line, sizeof(line)) &&
		 atoi(line) > 2)
		against = "kernel.yama.ptrace_scope is 3: no process can be patched";
	struct doctor_item *item = add(r, "carrier", against ? DOCTOR_NOTE : DOCTOR_OK);

	VALUE(item, "%s", against ? "probe" : "probe, patch");
	if (against)
		ADVICE(item, "%s", against);
}

/* An answer in the cache is not used: doctor was asked for by name, so it tries anew. */
static void look_at_shapes(struct doctor_report *r)
{
	struct pugmark_diag diag = {.text = ""};
	struct shape_answer answer;

	if (probe_limits_have_multi() <= 0) {
		VALUE(add(r, "instructions", DOCTOR_NOTE),
		      "not tried with and without a probe (that takes uprobe_multi)");
	} else if (shape_sample_ask(true, &answer, &diag)) {
		struct doctor_item *item = add(r, "instructions", DOCTOR_NOTE);
		VALUE(item, "could not be tried with and without a probe");
		ADVICE(item, "%.250s", diag.text);
	} else {
		struct doctor_item *item =
			add(r, "instructions", answer.n_harmed ? DOCTOR_LACKS : DOCTOR_OK);
		VALUE(item, "%u tried with and without a probe, %u changed by it", answer.n_tried,
		      answer.n_harmed);
		if (answer.n_harmed)
			ADVICE(item,
			       "the first: %.100s; nothing is recorded on this kernel, so that "
			       "no program is harmed: please report it",
			       answer.harmed);
	}
}

static void conclude(struct doctor_report *r)
{
	r->can_record = true;
	for (unsigned i = 0; i < r->n; i++)
		if (r->items[i].state == DOCTOR_LACKS)
			r->can_record = false;
}

void doctor_examine_rights(struct doctor_report *r)
{
	memset(r, 0, sizeof(*r));
	look_at_rights(r);
	conclude(r);
}

void doctor_examine(struct doctor_report *r)
{
	memset(r, 0, sizeof(*r));
	look_at_system(r);
	look_at_rights(r);
	look_at_probes(r);
	look_at_carrier(r);
	conclude(r);
	if (r->can_record)
		look_at_shapes(r);
	conclude(r);
}
