// SPDX-License-Identifier: LGPL-2.1-or-later
/* probe_limits.c: see probe_limits.h. */
#include "user/kernel/probe_limits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <linux/perf_event.h>
#include "bpf/protocol.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/bpf.h of Debian 12 is older than uprobe_multi. */
#define ATTACH_UPROBE_MULTI ((enum bpf_attach_type)48)
#define LINK_UPROBE_MULTI_MAX (1u << 20)
/* Of one probe by a perf event: the event and its link; and what all else needs. */
#define FILES_OF_PROBE 2
#define FILES_BESIDE 256

bool probe_limits_have_btf(void)
{
	uint16_t magic = 0;
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	bool have = fd >= 0 && read(fd, &magic, sizeof(magic)) == sizeof(magic) && magic == 0xeb9f;
	if (fd >= 0)
		close(fd);
	return have;
}

int probe_limits_have_multi(void)
{
	if (getenv("PUGMARK_PERF_EVENTS"))
		return 0;
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, load, .expected_attach_type = ATTACH_UPROBE_MULTI);
	int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", insns, 2, &load);
	if (prog < 0)
		return prog == -EPERM || prog == -EACCES ? -EPERM : 0;
	/* A kernel that knows the type says that a directory cannot be probed. */
	const unsigned long offset = 0;
	LIBBPF_OPTS(bpf_link_create_opts, create, .uprobe_multi.path = "/",
		    .uprobe_multi.offsets = &offset, .uprobe_multi.cnt = 1);
	int link = bpf_link_create(prog, -1, ATTACH_UPROBE_MULTI, &create);
	bool have = link == -EBADF || (link < 0 && errno == EBADF);

	if (link >= 0)
		close(link);
	close(prog);
	return have;
}

int probe_limits_try_perf(void)
{
	/* A folder cannot be probed, but the kernel checks rights before it says so. */
	struct perf_event_attr attr = {.size = sizeof(attr), .uprobe_path = (uintptr_t) "/"};
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	bool have = f && fscanf(f, "%u", &attr.type) == 1;

	if (f)
		fclose(f);
	if (!have)
		return -ENOENT;
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && (errno == EACCES || errno == EPERM) ? -EACCES : 0;
}

uint64_t probe_limits_perf_probes(uint64_t files)
{
	return files < FILES_BESIDE ? 0 : (files - FILES_BESIDE) / FILES_OF_PROBE;
}

int probe_limits_check(const struct recorder_options *options, struct pugmark_diag *diag)
{
	uint64_t total = 0;

	if (!options->n_modules || options->n_modules > BATCH_MODULES)
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"%u modules given, 1 to %d can be traced at a time",
					options->n_modules, BATCH_MODULES);
	for (uint32_t m = 0; m < options->n_modules; m++) {
		const struct recorder_module *mod = &options->modules[m];

		total += mod->n_sites;
		if (mod->n_sites > LINK_UPROBE_MULTI_MAX)
			return pugmark_diag_set(
				diag, -E2BIG, mod->path, PUGMARK_NO_OFFSET,
				"%u probes, the kernel takes %u in one file (choose "
				"functions with -F)",
				mod->n_sites, LINK_UPROBE_MULTI_MAX);
	}
	if (total > BATCH_MAX_SITES)
		return pugmark_diag_set(diag, -E2BIG, NULL, PUGMARK_NO_OFFSET,
					"%llu probes, at most %u can be placed (choose functions "
					"with -F)",
					(unsigned long long)total, BATCH_MAX_SITES);
	return 0;
}

int probe_limits_without_multi(uint32_t n_sites, struct pugmark_diag *diag)
{
	struct rlimit limit;
	int err = probe_limits_try_perf();

	if (err)
		return pugmark_diag_set(
			diag, err, NULL, PUGMARK_NO_OFFSET,
			err == -EACCES ? "CAP_SYS_ADMIN: no (without uprobe_multi, which 6.6 has, "
					 "this kernel wants it for placing probes; or run as root)"
				       : "this kernel has no uprobe_multi (6.6 has), nor probes by "
					 "perf events (CONFIG_UPROBE_EVENTS)");
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (n_sites <= probe_limits_perf_probes(limit.rlim_cur))
		return 0;
	return pugmark_diag_set(diag, -E2BIG, NULL, PUGMARK_NO_OFFSET,
				"this kernel has no uprobe_multi (6.6 has), so %u probes need %llu "
				"file descriptors and %llu are allowed (choose functions with -F, "
				"or raise `ulimit -n`)",
				n_sites,
				(unsigned long long)FILES_OF_PROBE * n_sites + FILES_BESIDE,
				(unsigned long long)limit.rlim_cur);
}
