// SPDX-License-Identifier: GPL-2.0
/* cost.bpf.c: the emptiest program: what a probe costs before it does anything. */
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("uprobe.multi")
int empty(struct pt_regs *ctx)
{
	return 0;
}
