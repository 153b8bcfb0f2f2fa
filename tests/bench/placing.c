// SPDX-License-Identifier: LGPL-2.1-or-later
/* placing.c: what the kernel itself needs to place and to remove probes:
 *
 *   placing FILE MILLISECONDS <ADDRESSES
 *
 * Puts the emptiest program at each of the ELF addresses (hex, one a line) of FILE by one
 * uprobe_multi link, waits, takes it away, and prints the milliseconds that both took. */
#include <bpf/bpf.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* linux/bpf.h of Debian 12 is older than uprobe_multi. */
#define ATTACH_UPROBE_MULTI ((enum bpf_attach_type)48)

enum { SITES_MAX = 1 << 20, HEADERS_MAX = 64 };

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/* The executable segments of @path. */
static int read_segments(const char *path, Elf64_Phdr *out)
{
	Elf64_Ehdr header;
	Elf64_Phdr all[HEADERS_MAX];
	FILE *f = fopen(path, "re");
	int n = 0;
	if (!f || fread(&header, sizeof(header), 1, f) != 1 || header.e_phnum > HEADERS_MAX ||
	    fseek(f, (long)header.e_phoff, SEEK_SET) ||
	    fread(all, sizeof(*all), header.e_phnum, f) != header.e_phnum) {
		perror(path);
		exit(1);
	}
	for (int i = 0; i < header.e_phnum; i++)
		if (all[i].p_type == PT_LOAD && all[i].p_flags & PF_X)
			out[n++] = all[i];
	fclose(f);
	return n;
}

static int load_empty(void)
{
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, load, .expected_attach_type = ATTACH_UPROBE_MULTI);
	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", insns, 2, &load);
}

int main(int argc, char **argv)
{
	static unsigned long offsets[SITES_MAX];
	Elf64_Phdr segments[HEADERS_MAX];
	unsigned long addr;
	unsigned int n = 0;
	if (argc != 3)
		return 2;
	int n_segments = read_segments(argv[1], segments);
	while (n < SITES_MAX && scanf("%lx", &addr) == 1)
		for (int i = 0; i < n_segments; i++)
			if (addr - segments[i].p_vaddr < segments[i].p_filesz)
				offsets[n++] = addr - segments[i].p_vaddr + segments[i].p_offset;
	int prog = load_empty();
	LIBBPF_OPTS(bpf_link_create_opts, create, .uprobe_multi.path = argv[1],
		    .uprobe_multi.offsets = offsets, .uprobe_multi.cnt = n);
	setpriority(PRIO_PROCESS, 0, -20); /* as the recorder does */
	double begun = now_ms();
	int link = prog < 0 ? -1 : bpf_link_create(prog, -1, ATTACH_UPROBE_MULTI, &create);
	if (link < 0) {
		perror("placing");
		return 1;
	}
	double placed = now_ms();
	usleep((unsigned int)(atof(argv[2]) * 1000));
	double waited = now_ms();
	close(link);
	printf("%.1f %.1f\n", placed - begun, now_ms() - waited);
	return 0;
}
