// SPDX-License-Identifier: GPL-2.0
/* shapes.bpf.c: counts how often each of many probes fires; its number is the cookie. */
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} hits SEC(".maps");

SEC("uprobe.multi")
int count(struct pt_regs *ctx)
{
	__u32 place = (__u32)bpf_get_attach_cookie(ctx);
	__u64 *n = bpf_map_lookup_elem(&hits, &place);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
