// SPDX-License-Identifier: GPL-2.0
/* witness.bpf.c: turns probe hits into batches of events, one batch a task, and follows tasks.
 *
 * The hot program is witness(): it reads what its site asks for, appends one 16-byte record to the
 * batch in the task's storage, and sends the batch whole when it is full. It takes no lock, touches
 * nothing shared and wakes nobody. A batch that finds the ring full is counted in its task, and the
 * count travels with all that the task sends from then on.
 *
 * Who is traced: the processes in `tracked` (those adopted, and what they fork), or everybody. A
 * traced task has a state from its birth; only in trace_all is one made at the first hit.
 *
 * `enabled` opens when every probe is in place and closes before the first is taken away. So a
 * task's log has no hole at either end, although attaching and detaching take their time. In the
 * same way `generation` goes from one set of probes to another while both are in place: a probe
 * knows which it belongs to by the upper half of its cookie, and a task that comes upon one of the
 * next has its log say so.
 *
 * The parts: settings.h, batch.h (the state of a task), tasks.h (which tasks), capture.h,
 * snapshot.h and attach.h (what is read at a hit), follow.h and signal.h (the programs beside
 * witness()). */
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/protocol.h"

#include "bpf/attach.h"
#include "bpf/batch.h"
#include "bpf/bindings.h"
#include "bpf/capture.h"
#include "bpf/follow.h"
#include "bpf/goroutine.h"
#include "bpf/lane.h"
#include "bpf/settings.h"
#include "bpf/signal.h"
#include "bpf/snapshot.h"
#include "bpf/tasks.h"
#include "bpf/waits.h"

char LICENSE[] SEC("license") = "GPL";

#define INTERRUPTED_NS 100000
/* A batch in which a second has passed is sent, full or not: if the recorder is killed, what waits
 * here is lost. */
#define BATCH_AGE_NS 1000000000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct site_desc);
} sites SEC(".maps");

/* Never filled: a program with a tail call has its frames on the task's own kernel stack. Without
 * one, Linux 6.13 and later put frames of 64 bytes or more into memory of the processor (a private
 * stack), which two tasks share if one is preempted there: uprobes have no guard against that.
 * Reading memory of the process takes longer there as well. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_programs SEC(".maps");

/* What one hit becomes, besides records of its own that say what has changed. */
struct hit {
	__u64 base; /* run-time address of the module's text_addr */
	__u64 cfa;
	__u64 far;    /* return address minus that of the site */
	__u64 ip, sp; /* at the site */
	__u32 taken;  /* a conditional jump whose way is known: 1, or 2 if it is taken; 0: by flags
		       */
	__u32 head, dt_ns;
	__u32 n; /* length of the batch */
	bool attached;
	bool overdue; /* the batch is */
};

/* Appends where the module lies, and that the task ran before, if that is new. Returns whether the
 * plan holds for its events. */
static __always_inline bool note_place(struct task_state *st, __u32 module, struct hit *hit)
{
	if (st->base[module] != hit->base) {
		__u64 bit = 1ull << module;

		st->base[module] = hit->base;
		if (is_as_planned(st->generation, module, hit->base))
			st->unplanned &= ~bit;
		else
			st->unplanned |= bit;
		batch_append(st, &hit->n, RECORD_BASE << HEAD_RECORD_SHIFT | module, hit->base);
	}
	if (st->unplanned >> module & 1)
		return false;
	hit->attached = st->attached;
	if (hit->attached) {
		st->attached = 0;
		batch_append(st, &hit->n, (__u32)RECORD_ATTACH << HEAD_RECORD_SHIFT, 0);
	}
	return true;
}

static __always_inline void note_time(struct task_state *st, struct hit *hit)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 passed_ns = now_ns - st->last_ns;

	st->last_ns = now_ns;
	hit->overdue = now_ns - st->head.time_ns > BATCH_AGE_NS;
	hit->dt_ns = passed_ns;
	if (passed_ns >> 32) {
		batch_append(st, &hit->n, RECORD_TIME << HEAD_RECORD_SHIFT, now_ns);
		hit->dt_ns = 0;
	}
}

static __always_inline void note_frame(struct task_state *st, const struct site_desc *site,
				       __u64 sp, __u64 bp, struct hit *hit)
{
	hit->cfa = ((site->cfa_reg & DESC_CFA_REG) == DESC_CFA_BP ? bp : sp) + site->cfa_off;
	if (hit->cfa >> 32 != st->cfa_high) {
		st->cfa_high = hit->cfa >> 32;
		batch_append(st, &hit->n, RECORD_CFA << HEAD_RECORD_SHIFT, hit->cfa >> 32);
	}
}

/* Appends the return address, and whether the frame was entered from outside of what is traced. */
static __always_inline void note_return(struct task_state *st, __u32 capture, __u64 ip,
					struct hit *hit)
{
	__u64 ret = 0;

	bpf_probe_read_user(&ret, sizeof(ret), (void *)(hit->cfa - 8));
	hit->far = ret - ip;
	hit->head |= HEAD_RET;
	if ((__s64)hit->far != (__s32)hit->far || !ret)
		batch_append(st, &hit->n, RECORD_RET << HEAD_RECORD_SHIFT, ret);
	if (capture & DESC_SNAPSHOT && !is_return_of_ours(ret)) {
		if (is_signal_trampoline(ret))
			hit->head |= HEAD_SIGNAL;
		hit->head |= HEAD_SNAPSHOT;
	}
}

/* Adds the time that it took to send a stack, unless something else ran meanwhile. */
static __always_inline void note_stack_cost(__u64 since_ns)
{
	__u64 took_ns = bpf_ktime_get_ns() - since_ns;

	if (took_ns > INTERRUPTED_NS)
		return;
	count(&counters.stacks);
	__sync_fetch_and_add(&counters.stacks_ns, took_ns);
}

/* Foreign code that calls back once does so again, from the same frame. The frame of ours that
 * called out is then still where it was the first time, far above the last hit. The call has ended
 * once a hit lies above all that was called back. Where what is called back lies above the last hit
 * itself, nothing of ours has called out, but it may. */
static __always_inline void note_callback(struct task_state *st, __u64 sp, __u64 cfa)
{
	if (st->out_cfa <= cfa || st->out_cfa - sp >= 8 * DEEP_WORDS) {
		st->out_cfa = st->last_cfa > cfa ? st->last_cfa : cfa;
		st->in_cfa = 0;
	}
	if (cfa > st->in_cfa)
		st->in_cfa = cfa;
}

#define LARGE_FRAME (4 * SNAPSHOT_WORDS) /* bytes: half of a snapshot */
#define FRAME_END 16			 /* bytes, with the return address */

/* From where the stack of a function that was called back is sent: of a large frame of its own only
 * the end, with its return address, or there would be no room for those that it came from. */
static __always_inline __u64 stack_begin(const struct hit *hit, __u64 sp)
{
	__u64 frame_bytes = hit->cfa - sp;

	return frame_bytes > LARGE_FRAME && frame_bytes >> 31 == 0 ? hit->cfa - FRAME_END : sp;
}

/* Up to where a stack is sent: to the frame that called out, or to that of the last hit. Of a
 * goroutine all is sent: another thread may have brought it here. */
static __always_inline __u64 stack_end(const struct task_state *st, bool calls_back, __u32 module,
				       __u64 r14, __u64 sp)
{
	__u64 end = goid_at[module] ? goroutine_stack_end(r14, sp) : 0;

	return end ? end : (calls_back ? st->out_cfa : st->last_cfa) + DEEP_MARGIN;
}

/* Sends the stack where it is asked for; HEAD_SNAPSHOT stays set where it was sent. */
static __always_inline void note_stack(struct pt_regs *ctx, struct task_state *st, __u64 sp,
				       __u32 module, __u32 capture, struct hit *hit)
{
	bool calls_back = hit->head & HEAD_SNAPSHOT && !(capture & DESC_STACK);
	__u64 since_ns = 0, below = capture & DESC_BELOW ? 8 : 0;

	if (with_costs && hit->head & HEAD_SNAPSHOT && !hit->attached)
		since_ns = bpf_ktime_get_ns();
	if (calls_back)
		note_callback(st, sp, hit->cfa);
	else if (hit->cfa > st->in_cfa)
		st->out_cfa = 0;
	if (calls_back && !hit->attached)
		sp = stack_begin(hit, sp);
	if ((hit->head & HEAD_SNAPSHOT || hit->attached) && snapshot_send(sp - below)) {
		hit->head |= HEAD_SNAPSHOT;
		if (hit->attached) {
			if (attach_begin(st, ctx, hit->ip, hit->sp))
				attach_send(sp);
		} else {
			anchor_find(sp, hit->base, module_bytes[module]);
			deep_send(stack_end(st, calls_back, module, ctx->r14, sp), hit->base,
				  module_bytes[module]);
		}
	} else {
		hit->head &= ~HEAD_SNAPSHOT;
	}
	if (since_ns)
		note_stack_cost(since_ns);
	st->last_cfa = hit->cfa;
	st->last_module = module;
}

/* Appends which goroutine it is, where the stack is sent because another one may have begun or gone
 * on. */
static __always_inline void note_goroutine(struct task_state *st, __u64 r14, __u32 module,
					   struct hit *hit)
{
	__u32 at = hit->head & HEAD_SNAPSHOT ? goid_at[module] : 0;
	__u64 number = at ? goroutine_number(r14, hit->sp, at) : 0;

	if (number)
		batch_append(st, &hit->n, (__u32)RECORD_GOROUTINE << HEAD_RECORD_SHIFT, number);
}

/* A hit of site number @index of generation @now. @area: it is by a patched instruction of that
 * area; 0: by a probe. */
static __always_inline int take_hit(struct pt_regs *ctx, __u32 index, __u32 now, __u32 area,
				    __u64 base, struct hit hit)
{
	__u32 at = index + (now & 1) * half_sites;
	struct site_desc *site = bpf_map_lookup_elem(&sites, &at);

	if (!site)
		bpf_tail_call(ctx, &no_programs, 0);
	if (!enabled || now != generation || !site)
		return 0;
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	if (!st) {
		st = task_found();
		if (!st)
			return 0;
	}
	if (st->generation != now)
		batch_pause(st);
	if (area)
		st->area = area;
	hit.n = batch_room(st, site->cond >> DESC_READS_SHIFT ? HIT_RECORDS_READ : HIT_RECORDS);
	hit.head = index;
	hit.n = lane_note(st, hit.n);
	__u32 module = site->module & (BATCH_MODULES - 1);
	__u32 capture = site->capture;

	if (area) {
		bpf_probe_read_user(&hit.base, sizeof(hit.base), (void *)(base + 8 * module));
		hit.ip = hit.base + site->addr_off;
	} else {
		hit.base = hit.ip - site->addr_off;
	}
	if (!note_place(st, module, &hit)) {
		st->head.lost++;
		count(&counters.unplanned);
		return 0;
	}
	if (with_times)
		note_time(st, &hit);
	__u64 sp = hit.sp, bp = ctx->bp;
	barrier_var(sp); /* or clang picks the field by a computed offset: refused for a context */
	note_frame(st, site, sp, bp, &hit);
	if (capture & DESC_RET)
		note_return(st, capture, hit.ip, &hit);
	if (capture & DESC_STACK && !(capture & DESC_IF_AGAIN && !(__u32)ctx->ax))
		hit.head |= HEAD_SNAPSHOT;
	if (capture & DESC_STACK && is_in_own_handler(st))
		hit.head |= HEAD_HANDLER;
	hit.head = task_forget(st, hit.head);
	note_stack(ctx, st, sp, module, capture, &hit);
	hit.head = task_forget(st, hit.head);
	note_goroutine(st, ctx->r14, module, &hit);
	hit.n = task_forget(st, hit.n);
	if (capture & DESC_FLAGS &&
	    (hit.taken ? hit.taken > 1 : flag_taken(ctx->flags, site->cond & 15)))
		hit.head |= HEAD_TAKEN;
	if (capture & DESC_TARGET)
		batch_append(st, &hit.n, (__u32)RECORD_TARGET << HEAD_RECORD_SHIFT,
			     branch_target(ctx, site->operand, hit.base));
	else if (hit.head & HEAD_SNAPSHOT && !(capture & DESC_FLAGS))
		batch_append(st, &hit.n, (__u32)RECORD_TARGET << HEAD_RECORD_SHIFT, bp);
	__u32 outs = site->cfa_reg >> DESC_OUTS_SHIFT;
	if (site->cond >> DESC_READS_SHIFT || outs)
		args_keep(ctx, st);
	if (site->cond >> DESC_READS_SHIFT)
		hit.n = append_values(ctx, st, hit.n, site->cond >> DESC_READS_SHIFT);
	if (site->cond >> DESC_READS_SHIFT & DESC_READS_ARGS && site->operand &&
	    !(capture & DESC_TARGET))
		hit.n = append_reads(st, hit.n, site->operand - 1);
	if (outs && site->cond >> DESC_READS_SHIFT & DESC_READS_RESULT)
		hit.n = append_outs(st, hit.n, hit.sp);
	else if (outs)
		outs_keep(st, capture & DESC_AT_CALL ? hit.sp : hit.cfa, outs);
	hit.head = task_forget(st, hit.head);
	hit.n = task_forget(st, hit.n);
	struct batch_record *r = &st->records[hit.n & (BATCH_RECORDS - 1)];
	r->head = hit.head;
	r->dt_ns = hit.dt_ns;
	r->cfa = hit.cfa;
	r->ret = hit.far;
	st->head.witnesses++;
	st->n = hit.n + 1;
	/* The stack of a task that ran before is read while it is still there. */
	if (hit.attached || hit.overdue ||
	    (hit.head & HEAD_SNAPSHOT && st->snapshots - st->head.snapshots >= BATCH_SNAPSHOTS))
		batch_send(st);
	return 0;
}

SEC("uprobe.multi")
int witness(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct hit hit = {.ip = ctx->ip, .sp = ctx->sp};

	return take_hit(ctx, cookie, cookie >> 32, 0, 0, hit);
}

/* A patched instruction whose event needs more than its trampoline can tell has come to the probe
 * of the runtime. On the stack are where that is called from, and what event it is. The cookie has
 * the area, and in its upper half how far behind the runtime's header the probe is. */
SEC("uprobe.multi")
int witness_patched(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), what = 0, ip = ctx->ip, sp = ctx->sp;
	struct hit hit = {.sp = sp + PATCH_RARE_BYTES};

	if (bpf_probe_read_user(&what, sizeof(what), (void *)(sp + 8)))
		return 0;
	if (what & PATCH_RARE_CALLED)
		hit.sp += 8;
	hit.sp += 8 * ((__s64)what >> PATCH_RARE_WORDS);
	if (what & PATCH_RARE_FLAGS)
		hit.taken = what & PATCH_RARE_TAKEN ? 2 : 1;
	__u64 bases = ip - (cookie >> 32) + offsetof(struct patch_header, bases);
	return take_hit(ctx, what & HEAD_SITE_MASK, generation, (__u32)cookie, bases, hit);
}
