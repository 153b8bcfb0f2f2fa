/* SPDX-License-Identifier: GPL-2.0 */
/* capture.h: what a site asks for beside its frame: which way a branch goes, the target of an
 * indirect call or jump, and whether a return address is one of ours. */
#ifndef BPF_CAPTURE_H
#define BPF_CAPTURE_H

#include "bpf/batch.h"
#include <bpf/bpf_tracing.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct operand_desc);
} operands SEC(".maps");

/* A bit for each byte of each module's text: a call of a traced function returns there. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} returns SEC(".maps");

static __always_inline __u32 flag_taken(__u64 flags, __u32 cond)
{
	__u32 cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1, sf = flags >> 7 & 1;
	__u32 of = flags >> 11 & 1;
	__u32 all = of | cf << 1 | zf << 2 | (cf | zf) << 3 | sf << 4 | pf << 5 | (sf ^ of) << 6 |
		    (zf | (sf ^ of)) << 7;

	return (all >> (cond >> 1) ^ cond) & 1;
}

/* Where the indirect call or jump goes; 0 where its operand cannot be read. @base is the run-time
 * address of the module's text_addr. */
static __noinline __u64 branch_target(struct pt_regs *ctx, __u32 index, __u64 base)
{
	struct operand_desc *op = bpf_map_lookup_elem(&operands, &index);
	__u64 target = 0;

	if (!op)
		return 0;
	/* By number of the instruction encoding. */
	__u64 regs[16] = {ctx->ax,  ctx->cx,  ctx->dx,	ctx->bx, ctx->sp,  ctx->bp,
			  ctx->si,  ctx->di,  ctx->r8,	ctx->r9, ctx->r10, ctx->r11,
			  ctx->r12, ctx->r13, ctx->r14, ctx->r15};
	__u64 at = 0;
	if (op->base == OPERAND_RIP)
		at = base;
	else if (op->base != OPERAND_NONE)
		at = regs[op->base & 15];
	if (!op->is_memory)
		return at;
	at += op->disp;
	if (op->index != OPERAND_NONE)
		at += regs[op->index & 15] * op->scale;
	bpf_probe_read_user(&target, sizeof(target), (void *)at);
	return target;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct arg_reads_desc);
} arg_reads SEC(".maps");

/* Keeps the registers that arguments are in for what reads them below. Those are global, so that
 * each is verified once and not for every way that leads there; what is global is not given a
 * context. */
static __always_inline void args_keep(struct pt_regs *ctx, struct task_state *st)
{
	st->args[0] = ctx->di;
	st->args[1] = ctx->si;
	st->args[2] = ctx->dx;
	st->args[3] = ctx->cx;
	st->args[4] = ctx->r8;
	st->args[5] = ctx->r9;
}

/* Appends the text at @from, of at most @bytes: whole words, up to the one with its end. Returns
 * how many; 0: there is nothing to be read. */
__noinline int append_text(struct task_state *st, __u32 n, __u64 from, __u32 bytes)
{
	__u64 text[ARG_TEXT_WORDS + 1] = {};
	__u32 max = bytes & 63;

	if (!st || max > 8 * ARG_TEXT_WORDS)
		return 0;
	long got = bpf_probe_read_user_str(text, max + 1, (void *)from);
	if (got <= 0)
		return 0;
	__u32 words = (__u32)(got + 7) / 8, room = (max + 7) / 8, k = 0;
	for (__u32 i = 0; i < ARG_TEXT_WORDS; i++) {
		if (i >= words || i >= room)
			break;
		batch_append(st, &n, (__u32)RECORD_VALUE << HEAD_RECORD_SHIFT, text[i]);
		k++;
	}
	return k;
}

/* Appends what one read finds. Returns how many words. */
__noinline int append_read(struct task_state *st, __u32 n, const struct arg_read_desc *r,
			   __u64 from)
{
	__u64 value = 0;
	__u32 bytes = 0;

	if (!st || !r)
		return 0;
	from += r->at;
	if (r->through && bpf_probe_read_user(&from, sizeof(from), (void *)from))
		return 0;
	if (r->text)
		return append_text(st, n, from, r->bytes);
	bytes = r->bytes & 15;
	if (bytes > sizeof(value) || bpf_probe_read_user(&value, bytes, (void *)from))
		return 0;
	batch_append(st, &n, (__u32)RECORD_VALUE << HEAD_RECORD_SHIFT, value);
	return 1;
}

/* Appends what is to be read through the arguments: a word that has a bit for each read that found
 * something, and what these found. */
__noinline int append_reads(struct task_state *st, __u32 n, __u32 index)
{
	struct arg_reads_desc *list = bpf_map_lookup_elem(&arg_reads, &index);
	__u32 at = n;
	__u64 found = 0;

	if (!st || !list)
		return n;
	batch_append(st, &n, (__u32)RECORD_VALUE << HEAD_RECORD_SHIFT, 0);
	for (__u32 i = 0; i < ARG_READS; i++) {
		if (i >= list->n)
			break;
		__u32 words = append_read(st, n, &list->reads[i], st->args[list->reads[i].in & 7]);
		if (words)
			found |= 1ull << i;
		n += words;
	}
	st->records[at & (BATCH_RECORDS - 1)].value = found;
	return n;
}

/* Keeps the pointers that a call takes, of the arguments in @which, until it has returned: then the
 * stack pointer is @sp. */
__noinline int outs_keep(struct task_state *st, __u64 sp, __u32 which)
{
	__u32 free = st ? st->n_outs : 0;

	if (!st)
		return 0;
	for (__u32 i = 0; i < OUT_CALLS; i++)
		if (st->outs[i].sp == sp)
			free = i; /* of a call that did not return, or seen by its caller too */
	free = task_forget(st, free);
	if (free == st->n_outs)
		st->n_outs++;
	struct out_pointers *out = &st->outs[free & (OUT_CALLS - 1)];
	out->sp = sp;
	for (__u32 i = 0; i < OUT_ARGS; i++)
		out->at[i] = which >> i & 1 ? st->args[i] : 0;
	return 0;
}

/* Appends what the arguments of the call that has just returned point to. */
__noinline int append_outs(struct task_state *st, __u32 n, __u64 sp)
{
	__u32 at = n, found = 0, call = OUT_CALLS;

	if (!st)
		return n;
	for (__u32 i = 0; i < OUT_CALLS; i++)
		if (st->outs[i].sp == sp)
			call = i;
	call = task_forget(st, call);
	if (call >= OUT_CALLS)
		return n;
	struct out_pointers *out = &st->outs[call & (OUT_CALLS - 1)];
	out->sp = 0;
	batch_append(st, &n, (__u32)RECORD_VALUE << HEAD_RECORD_SHIFT, 0);
	for (__u32 i = 0; i < OUT_ARGS; i++) {
		__u64 value;

		if (!out->at[i] || bpf_probe_read_user(&value, sizeof(value), (void *)out->at[i]))
			continue;
		found = task_forget(st, found | 1 << i);
		batch_append(st, &n, (__u32)RECORD_VALUE << HEAD_RECORD_SHIFT, value);
		n = task_forget(st, n);
	}
	st->records[at & (BATCH_RECORDS - 1)].value = found;
	return n;
}

/* Appends the values that the site reads (enum pugmark_plan_reads). */
static __always_inline __u32 append_values(struct pt_regs *ctx, struct task_state *st, __u32 n,
					   __u32 reads)
{
	__u32 head = (__u32)RECORD_VALUE << HEAD_RECORD_SHIFT;

	if (reads & DESC_READS_RESULT) {
		batch_append(st, &n, head, ctx->ax);
		return n;
	}
	for (__u32 i = 0; i < 6; i++)
		if (i < (reads & DESC_READS_ARGS))
			batch_append(st, &n, head, st->args[i]);
	return task_forget(st, n);
}

/* __restore_rt: mov $15,%rax; syscall. */
static __always_inline bool is_signal_trampoline(__u64 ret)
{
	__u64 code[2] = {};

	if (bpf_probe_read_user(code, 9, (void *)ret))
		return false;
	return (code[0] == 0x0f0000000fc0c748 && (code[1] & 0xff) == 0x05) ||
	       (code[0] & 0xffffffffffffff) == 0x050f0000000fb8;
}

/* Whether @ret is where a call of a traced function returns to, as far as the task's events have
 * told where modules lie. A return address in a module at another place is as foreign as one in
 * another module. Global, so that it is verified once. */
__noinline int is_return_of_ours(__u64 ret)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);

	if (!st)
		return false;
	for (__u32 m = 0; m < BATCH_MODULES; m++) {
		if (m >= n_modules)
			break;
		__u64 off = ret - st->base[m];
		if (!st->base[m] || off > module_bytes[m])
			continue;
		__u32 word = returns_first[m] + (off >> 6) + (st->generation & 1) * half_returns;
		__u64 *bits = bpf_map_lookup_elem(&returns, &word);
		return bits && *bits >> (off & 63) & 1;
	}
	return false;
}

#endif
