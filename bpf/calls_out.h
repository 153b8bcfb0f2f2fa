/* SPDX-License-Identifier: GPL-2.0 */
/* calls_out.h: calls out of the traced modules that are open: the arguments of each are kept until
 * it is back, when what it has written is told by them and by its result (the table `outputs`). */
#ifndef BPF_CALLS_OUT_H
#define BPF_CALLS_OUT_H

#include "bpf/capture_send.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_output);
} outputs SEC(".maps");

static __always_inline void keep_call(struct capture_state *cs, const struct pt_regs *r, bool tail)
{
	__u64 sp = r->sp + (tail ? 8 : 0);
	__u32 d = cs->depth;

	for (int i = 0; i < CAPTURE_PENDING; i++) {
		if (!d || d > CAPTURE_PENDING ||
		    cs->pending[(d - 1) & (CAPTURE_PENDING - 1)].sp > sp)
			break;
		d--; /* it has been left by other means */
	}
	if (d >= CAPTURE_PENDING)
		d = CAPTURE_PENDING - 1;
	struct pending_call *p = &cs->pending[d & (CAPTURE_PENDING - 1)];
	p->sp = sp;
	p->args[0] = r->di;
	p->args[1] = r->si;
	p->args[2] = r->dx;
	p->args[3] = r->cx;
	p->args[4] = r->r8;
	p->args[5] = r->r9;
	cs->depth = d + 1;
}

/* The arguments of the call that is over at @sp; NULL: they are not known. */
static __always_inline struct pending_call *find_call(struct capture_state *cs, __u64 sp)
{
	__u32 d = cs->depth;

	for (int i = 0; i < CAPTURE_PENDING; i++) {
		if (!d || d > CAPTURE_PENDING ||
		    cs->pending[(d - 1) & (CAPTURE_PENDING - 1)].sp >= sp)
			break;
		d--;
	}
	if (!d || d > CAPTURE_PENDING)
		return NULL;
	struct pending_call *p = &cs->pending[(d - 1) & (CAPTURE_PENDING - 1)];
	if (p->sp != sp)
		return NULL;
	cs->depth = d - 1;
	return p;
}

struct outputs_walk {
	struct output_ctx c;
	__u32 first;
};

static long outputs_step(__u32 i, struct outputs_walk *w)
{
	__u32 at = w->first + i;
	struct capture_output *o = bpf_map_lookup_elem(&outputs, &at);

	if (o)
		output_send(o, &w->c);
	return 0;
}

static __always_inline void send_outputs(struct capture_state *cs, const struct capture_desc *d,
					 const struct pt_regs *r, __u64 base)
{
	struct pending_call *p = find_call(cs, r->sp);
	struct outputs_walk w = {.c.cs = cs, .first = d->output};

	for (int i = 0; p && i < 6; i++)
		w.c.v[i] = p->args[i];
	w.c.v[VALUE_RESULT] = r->ax;
	w.c.v[VALUE_ONE] = 1;
	w.c.v[VALUE_SYMBOL] = base;
	w.c.v[VALUE_KEPT_RSP] = r->sp;
	w.c.v[VALUE_KEPT_RBX] = r->bx;
	w.c.v[VALUE_KEPT_RBP] = r->bp;
	w.c.v[VALUE_KEPT_R12] = r->r12;
	w.c.v[VALUE_KEPT_R13] = r->r13;
	w.c.v[VALUE_KEPT_R14] = r->r14;
	w.c.v[VALUE_KEPT_R15] = r->r15;
	bpf_loop(d->n_outputs, outputs_step, &w, 0);
}

/* errno, where its address is known and it has changed. */
static __always_inline void send_errno(struct capture_state *cs, __u64 result, bool is_address)
{
	__u32 now = 0;

	if (is_address)
		cs->errno_addr = result;
	if (!cs->errno_addr || bpf_probe_read_user(&now, sizeof(now), (void *)cs->errno_addr))
		return;
	if (is_address || now != cs->errno_last)
		range_send(cs, cs->errno_addr, sizeof(now));
	cs->errno_last = now;
}

#endif
