/* SPDX-License-Identifier: GPL-2.0 */
/* capture_send.h: what a capture sends to the ring `captures`: notes (registers and numbers), and
 * the bytes of memory that an output of a call or of a system call describes. What is made is kept
 * in the task's storage meanwhile, since uprobes are preemptible; and it waits there for what the
 * task captures next, as the ring's lock, memory that no cache has, and the recorder's reading
 * beside it cost more than the record itself. */
#ifndef BPF_CAPTURE_SEND_H
#define BPF_CAPTURE_SEND_H

#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include "offline/capture/call_area.h"
#include "offline/capture/capture_ring.h"

#include "bpf/batch.h"

#define MAX_ENTRY_MODULES 16
#define MAX_IOVECS 1024 /* UIO_MAXIOV of the kernel: no call takes more */
#define MAX_STRING_CHUNKS 256
#define LOWEST_ADDR 65536 /* vm.mmap_min_addr: below are null pointers and small numbers */
#define USUAL_STRING 256
#define OLD_TICKS 8 /* of the kernel's clock: older records are sent with the next one */

struct pending_call {
	__u64 sp;
	__u64 args[6];
};

struct capture_state {
	__u64 number;
	__u64 errno_addr;
	__u64 entered; /* of the order: where the system call began; 0: none, or before capturing */
	__u64 file;    /* what its descriptor led to then; 0: nothing, or nobody asks */
	__u64 channel; /* the same, of one that moves bytes */
	__u64 changed; /* when that file was changed last */
	__u64 base[MAX_ENTRY_MODULES]; /* run-time address of text_addr of modules met so far */
	__u32 errno_last;
	__u32 met; /* a place */
	__u32 depth;
	__u32 generation;  /* of the probes that count for this task */
	__u32 signalled;   /* a signal was delivered since the last place, to: */
	__u32 batched;	   /* bytes of the batch */
	__u32 n_batched;   /* records in them */
	__u32 urgent;	   /* enum capture_urgency of the next note */
	__u32 busy;	   /* at a place: what it sends is half made */
	__u64 handler;	   /* its address */
	__u64 tick;	   /* of the kernel's clock, at which the note's time was read */
	__u64 batch_tick;  /* the same, of the batch's first record */
	__u64 clock_owner; /* the thread pointer whose slot it has (clocks.h); 0: none that is known
			    */
	__u64 clock_slot;  /* where that is; 0: not known yet */
	__u64 clocks;	   /* entries of it that were read or are not the task's */
	__u64 rseq;	   /* where its processor was told last, and */
	__u32 processor;   /* which that was; by then none: rseq is 0 */
	__u32 has_run;	   /* it has got the processor since capturing began */
	__u32 is_off;	   /* it has lost the processor (switches.h) */
	__u32 call_nr;	   /* of the call that it makes slowly (calls.h) */
	__u32 call_told;   /* that call is told already */
	__u32 in_stub;	   /* the last signal has found it in the stubs' code */
	__u32 end_untold;  /* the kernel may write more as it ends than what is told (thread_end.h)
			    */
	__u64 noted_head; /* a handler has returned into a note that was told; so many there were */
	__u64 lane_clocks;   /* what clocks had told when its lane was told of last, */
	__u64 lane_head;     /* and how many notes it had then */
	struct pt_regs regs; /* of a hit in the stubs' code, as they are to be told */
	struct pending_call pending[CAPTURE_PENDING];
	struct capture_note off; /* then: where */
	struct capture_note on;	 /* it has it back, while that is sent */
	__u64 time_ns;		 /* of the next note */
	__u64 words[MOST_WORDS]; /* of it, while it is made */
	__s32 pid;
	__u32 interrupted; /* the system call that restart_syscall() goes on with; 0: none */
	struct capture_batch batch;
};

enum capture_urgency {
	NOT_URGENT,
	SENT_AT_ONCE,
	LOOKED_AT_AT_ONCE, /* the recorder is woken */
};

/* The recorder wants to know where tasks lose the processor (switches.h), and in the order of that
 * what others capture. */
const volatile bool noting_switches = false;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct capture_state);
} capture_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 26);
} captures SEC(".maps");

volatile bool capturing = false;
struct capture_counters capture_counters = {};
__u64 capture_order = 1;

/* Where the process that notes its calls itself counts its orders (call_area.h); 0: nobody does. */
volatile __u64 call_shared = 0;

/* What the process has counted comes before, what it will count behind. Global, so that it is
 * verified once. */
__noinline int order_raise(void)
{
	__u64 at = 0;

	if (bpf_probe_read_user(&at, sizeof(at), (void *)call_shared))
		return 0;
	if (at >= CALL_ORDERS) /* nobody has made so many calls */
		return 0;
	at = (at << CALL_ORDER_SHIFT) + 1;
	for (int i = 0; i < 8; i++) {
		__u64 now = *(volatile __u64 *)&capture_order;

		if (now >= at || __sync_val_compare_and_swap(&capture_order, now, at) == now)
			break;
	}
	return 0;
}

/* The next @n numbers of the order. */
static __always_inline __u64 order_take(__u64 n)
{
	if (call_shared)
		order_raise();
	return __sync_fetch_and_add(&capture_order, n);
}

static __always_inline struct capture_state *state_get(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_state *cs = NULL;

	/* As task_new() of tasks.h: more are made while this tries again. */
	for (int i = 0; i < 64 && !cs; i++)
		cs = bpf_task_storage_get(&capture_states, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!cs)
		count(&capture_counters.without_task);
	return cs;
}

/* What it sends is of this task. */
static __always_inline void state_begin(struct capture_state *cs, const struct task_state *st)
{
	cs->batch.task = st->head.task;
	cs->pid = st->head.pid;
}

/* By number of the encoding, then the flags. */
static __always_inline void note_all(__u64 *w, const struct pt_regs *r)
{
	w[0] = r->ax;
	w[1] = r->cx;
	w[2] = r->dx;
	w[3] = r->bx;
	w[4] = r->sp;
	w[5] = r->bp;
	w[6] = r->si;
	w[7] = r->di;
	w[8] = r->r8;
	w[9] = r->r9;
	w[10] = r->r10;
	w[11] = r->r11;
	w[12] = r->r12;
	w[13] = r->r13;
	w[14] = r->r14;
	w[15] = r->r15;
	w[16] = r->flags;
}

/* Notes the time, which is read once a tick: in a virtual machine that costs as much as the rest.
 */
static __always_inline void time_note(struct capture_state *cs)
{
	__u64 tick = bpf_jiffies64();

	if (tick == cs->tick)
		return;
	cs->tick = tick;
	cs->time_ns = bpf_ktime_get_ns();
}

/* Sends the records that wait. Whoever takes their length away owns them: a task that ends and
 * end_values() may meet here. Global, so that it is verified once. */
__noinline int records_send(struct capture_state *cs, __u64 flags)
{
	__u32 len = cs ? __sync_lock_test_and_set(&cs->batched, 0) : 0, n = cs ? cs->n_batched : 0;

	if (!len)
		return 0;
	cs->n_batched = 0;
	len += __builtin_offsetof(struct capture_batch, data);
	barrier_var(len);
	if (len > sizeof(cs->batch))
		return 0;
	cs->batch.kind = RING_CAPTURE_BATCH;
	if (bpf_ringbuf_output(&captures, &cs->batch, len, flags))
		__sync_fetch_and_add(&capture_counters.lost, n);
	return 0;
}

/* Where the next record is made: CAPTURE_RECORD_MAX bytes less its length before it. */
static __always_inline void *record_room(struct capture_state *cs)
{
	__u32 at = cs->batched;

	if (at > CAPTURE_BATCH_FULL) {
		records_send(cs, BPF_RB_NO_WAKEUP);
		at = 0;
	}
	return cs->batch.data + at + sizeof(__u64);
}

/* It is made, of @len bytes. */
static __always_inline void record_keep(struct capture_state *cs, __u32 len)
{
	__u32 at = cs->batched;

	if (at > CAPTURE_BATCH_FULL)
		return;
	*(__u64 *)(cs->batch.data + at) = len;
	if (!at)
		cs->batch_tick = cs->tick;
	cs->n_batched++;
	cs->batched = at + sizeof(__u64) + ((len + 7) & ~7u);
}

/* Bytes at @addr, of which @len were written. Returns what is to be filled and kept. */
static __always_inline struct capture_bytes *bytes_room(struct capture_state *cs, __u64 addr,
							__u32 len)
{
	struct capture_bytes *c = record_room(cs);

	c->kind = RING_CAPTURE_RANGE;
	c->task = cs->batch.task;
	c->len = len;
	c->unread = 0;
	c->number = cs->number++;
	c->addr = addr;
	return c;
}

/* Sends a note that is made where there is room, but for its head; of the time that cs holds. */
static __always_inline void note_keep_at(struct capture_state *cs, struct capture_note *n,
					 __u64 order, __u32 kind, __u32 place, __u64 ip, __u64 sp,
					 __u32 n_words)
{
	n->kind = kind;
	n->task = cs->batch.task;
	n->place = place;
	n->n_words = n_words;
	n->number = cs->number++;
	n->order = order;
	n->time_ns = cs->time_ns;
	n->ip = ip;
	n->sp = sp;
	n->pid = cs->pid;
	n->reserved = 0;
	record_keep(cs, __builtin_offsetof(struct capture_note, words) + 8 * n_words);
	if (noting_switches || call_shared || cs->urgent || cs->batched > CAPTURE_BATCH_FULL ||
	    cs->tick - cs->batch_tick > OLD_TICKS)
		records_send(cs, cs->urgent == LOOKED_AT_AT_ONCE ? BPF_RB_FORCE_WAKEUP
								 : BPF_RB_NO_WAKEUP);
	cs->urgent = NOT_URGENT;
}

static __always_inline void note_keep(struct capture_state *cs, struct capture_note *n, __u32 kind,
				      __u32 place, __u64 ip, __u64 sp, __u32 n_words)
{
	note_keep_at(cs, n, order_take(1), kind, place, ip, sp, n_words);
}

/* The first words of a KERNEL note; what was mapped is not told. */
static __always_inline void note_call(struct capture_note *n, const struct pt_regs *r, __u32 nr,
				      __u64 result, __u64 entered)
{
	n->words[0] = nr;
	n->words[1] = result;
	n->words[2] = r->di;
	n->words[3] = r->si;
	n->words[4] = r->dx;
	n->words[5] = r->r10;
	n->words[6] = r->r8;
	n->words[7] = r->r9;
	n->words[8] = n->words[9] = 0;
	n->words[10] = entered;
}

/* Sends a note of the words that cs holds. */
static __always_inline void note_send(struct capture_state *cs, __u32 kind, __u32 place, __u64 ip,
				      __u64 sp, __u32 n_words)
{
	struct capture_note *n = record_room(cs);

	__builtin_memcpy(n->words, cs->words, 8 * n_words);
	note_keep(cs, n, kind, place, ip, sp, n_words);
}

struct range_walk {
	struct capture_state *cs;
	__u64 addr, end;
};

/* One chunk of a range. */
static long range_step(__u32 step, struct range_walk *w)
{
	__u64 left = w->end - w->addr;

	if (w->addr >= w->end)
		return 1;
	__u32 len = left > CAPTURE_CHUNK_BYTES ? CAPTURE_CHUNK_BYTES : left;
	barrier_var(len);
	if (len > CAPTURE_CHUNK_BYTES)
		return 1;
	struct capture_bytes *c = bytes_room(w->cs, w->addr, len);
	c->unread = bpf_probe_read_user(c->data, len, (void *)w->addr) != 0;
	record_keep(w->cs, __builtin_offsetof(struct capture_bytes, data) + (c->unread ? 0 : len));
	w->addr += len;
	return 0;
}

/* These bytes were written, and are not told. */
static __always_inline void unread_send(struct capture_state *cs, __u64 addr, __u64 len)
{
	struct capture_bytes *c =
		bytes_room(cs, addr, len > CAPTURE_MAX_UNREAD ? CAPTURE_MAX_UNREAD : len);

	c->unread = 1;
	record_keep(cs, __builtin_offsetof(struct capture_bytes, data));
}

/* Global, so that it is verified once. */
__noinline int range_send(struct capture_state *cs, __u64 addr, __u64 len)
{
	if (!cs || !addr || !len)
		return 0;
	__u64 told = len > CAPTURE_MAX_RANGE ? CAPTURE_MAX_RANGE : len;
	struct range_walk w = {.cs = cs, .addr = addr, .end = addr + told};
	if (told <= CAPTURE_CHUNK_BYTES)
		range_step(0, &w);
	else
		bpf_loop(CAPTURE_MAX_RANGE / CAPTURE_CHUNK_BYTES, range_step, &w, 0);
	if (len > told)
		unread_send(cs, addr + told, len - told);
	return 0;
}

/* A string with its zero byte; @max 0: nothing. Where it cannot be read, or is longer than what is
 * told, what follows is not known. */
__noinline int string_send(struct capture_state *cs, __u64 addr, __u64 max)
{
	if (!cs || !addr)
		return 0;
	if (!max)
		return 0;
	struct capture_bytes *c = bytes_room(cs, addr, 0);
	long n = bpf_probe_read_user_str(c->data, USUAL_STRING, (void *)addr);
	if (n > 0 && n < USUAL_STRING) {
		c->len = n;
		record_keep(cs, __builtin_offsetof(struct capture_bytes, data) + n);
		return 0;
	}
	cs->number--;
	int i;
	bpf_for(i, 0, MAX_STRING_CHUNKS)
	{
		c = record_room(cs); /* read here, and then there again */
		n = bpf_probe_read_user_str(c->data, CAPTURE_CHUNK_BYTES, (void *)addr);
		if (n <= 0)
			break;
		/* Without room for the zero byte, the last one read is another one's. */
		bool whole = n < CAPTURE_CHUNK_BYTES;
		range_send(cs, addr, whole ? n : n - 1);
		if (whole)
			return 0;
		addr += n - 1;
	}
	unread_send(cs, addr, CAPTURE_CHUNK_BYTES);
	return 0;
}

struct iovec_walk {
	struct capture_state *cs;
	__u64 at, left;
};

static long iovec_step(__u32 step, struct iovec_walk *w)
{
	__u64 iov[2] = {};

	if (!w->left || bpf_probe_read_user(iov, sizeof(iov), (void *)w->at))
		return 1;
	__u64 len = iov[1] < w->left ? iov[1] : w->left;
	range_send(w->cs, iov[0], len);
	w->left -= len;
	w->at += sizeof(iov);
	return 0;
}

__noinline int iovec_send(struct capture_state *cs, __u64 at, __u64 n, __u64 bytes)
{
	struct iovec_walk w = {.cs = cs, .at = at, .left = bytes};

	if (!cs)
		return 0;
	bpf_loop(n < MAX_IOVECS ? n : MAX_IOVECS, iovec_step, &w, 0);
	return 0;
}

/* struct msghdr: name, its length, iovecs, how many, control data, its length, flags. */
__noinline int msghdr_send(struct capture_state *cs, __u64 at, __u64 bytes)
{
	__u64 m[7] = {};

	if (!cs || bpf_probe_read_user(m, sizeof(m), (void *)at))
		return 0;
	range_send(cs, at, sizeof(m));
	range_send(cs, m[0], (__u32)m[1]);
	range_send(cs, m[4], m[5]);
	iovec_send(cs, m[2], m[3], bytes);
	return 0;
}

/* struct _IO_FILE of glibc: behind the flags where reading stands, and where what is read ends. */
__noinline int file_send(struct capture_state *cs, __u64 at)
{
	__u64 f[3] = {};

	if (!cs || bpf_probe_read_user(f, sizeof(f), (void *)at))
		return 0;
	range_send(cs, at, 216);
	if (f[2] > f[1] && f[2] - f[1] <= 1 << 20)
		range_send(cs, f[1], f[2] - f[1]);
	return 0;
}

struct output_ctx {
	struct capture_state *cs;
	__u64 v[CAPTURE_VALUES]; /* by enum capture_value */
};

static __always_inline void output_send(const struct capture_output *o, struct output_ctx *c)
{
	__u64 addr = c->v[o->base & (CAPTURE_VALUES - 1)] + o->addend;

	for (int i = 0; i < 3; i++)
		if (i < o->loads && bpf_probe_read_user(&addr, sizeof(addr), (void *)addr))
			return;
	if (addr < LOWEST_ADDR)
		return;
	__u64 a = c->v[o->a & 7], b = c->v[o->b & 7], result = c->v[VALUE_RESULT];
	__u32 word = 0;

	switch (o->length) {
	case LENGTH_PRODUCT:
		if ((o->a == VALUE_RESULT || o->b == VALUE_RESULT) && (__s64)result < 0)
			return;
		range_send(c->cs, addr, a * b * o->k + o->c);
		break;
	case LENGTH_STRING:
		string_send(c->cs, addr, o->k);
		break;
	case LENGTH_U32:
		if (!bpf_probe_read_user(&word, sizeof(word), (void *)a))
			range_send(c->cs, addr, word < o->k ? word : o->k);
		break;
	case LENGTH_IOVEC:
		if ((__s64)result > 0)
			iovec_send(c->cs, addr, a, result);
		break;
	case LENGTH_MSGHDR:
		msghdr_send(c->cs, addr, (__s64)result > 0 ? result : 0);
		break;
	case LENGTH_FILE:
		file_send(c->cs, addr);
		break;
	}
}

#endif
