// SPDX-License-Identifier: GPL-2.0
/* values.bpf.c: captures what crosses the boundary of the traced modules (level values): registers
 * where control comes in from outside, results and outputs behind calls out, what the kernel writes
 * at the exit of system calls, and signals.
 *
 * Records go to the ring `captures` in batches of a task (capture_send.h). The tasks are those that
 * witness.bpf.c follows: its map `tasks` is shared. */
#include <vmlinux.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "offline/capture/capture_ring.h"

#include "bpf/batch.h"
#include "bpf/calls_out.h"
#include "bpf/capture_send.h"
#include "bpf/channel.h"
#include "bpf/call_lanes.h"
#include "bpf/clocks.h"
#include "bpf/opened_name.h"
#include "bpf/pids.h"
#include "bpf/switches.h"
#include "bpf/thread_end.h"

char LICENSE[] SEC("license") = "GPL";

#define ENOENT 2
#define ERESTART_RESTARTBLOCK 516
#define SYS_MMAP 9
#define SYS_MPROTECT 10
#define SYS_CLONE 56
#define SYS_VFORK 58
#define SYS_RESTART_SYSCALL 219
#define SYS_PKEY_MPROTECT 329
#define SYS_CLONE3 435
#define PROT_EXEC 4
#define LOOKED_AT 64
#define PF_EXITING 4
#define MAP_ANONYMOUS 0x20

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_desc);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_MAX_SYSCALLS);
	__type(key, __u32);
	__type(value, struct capture_syscall);
} syscalls SEC(".maps");

/* Of each place that may be watched no longer. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_hits);
} hits SEC(".maps");

/* Probes are placed anew, and those that were there are taken away behind that. Each has its
 * generation in the upper half of its cookie, and counts for a task of that one (is_of_now()). */
volatile __u32 capture_generation = 0;
/* A process has code of no file: a call out may run it, and then its result follows from nothing.
 */
volatile bool makes_code = false;

/* The recorder wants to know where each descriptor leads whose content a system call brings. */
const volatile bool redacting = false;
/* Length of the text of traced modules; beyond the first so many, entries from one of them into
 * another count as from outside. */
volatile __u64 text_bytes[MAX_ENTRY_MODULES] = {};

/* Where the kernel keeps what belongs to maps of a task: NULL before any does. */
struct task_struct___stored {
	struct bpf_local_storage *bpf_storage;
} __attribute__((preserve_access_index));

/* The state of the current task that captures are made of, if it has one: then its number and its
 * process' are in it, which do not change. One that has been stopped makes no more system calls. */
static __always_inline struct capture_state *state_of(struct task_struct *task)
{
	struct capture_state *cs = bpf_task_storage_get(&capture_states, task, 0, 0);

	return cs && cs->batch.task ? cs : NULL;
}

/* The same, made at the first record of the task; NULL: it is not recorded. */
static __noinline struct capture_state *state_new(void)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);

	if (!st || st->stopped || !st->head.task)
		return NULL;
	struct capture_state *cs = state_get();
	if (cs)
		state_begin(cs, st);
	return cs;
}

static __always_inline struct capture_state *recorded(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	/* Nobody keeps anything of it: so are most tasks of a machine, at each system call. */
	if (!((struct task_struct___stored *)task)->bpf_storage)
		return NULL;
	struct capture_state *cs = state_of(task);
	if (!cs)
		cs = state_new();
	if (!cs)
		return NULL;
	time_note(cs);
	if (cs->is_off && !cs->busy)
		switch_untold(cs);
	return cs;
}

/* As capture_hash() of captures.h. */
static __always_inline __u64 hash_step(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

static __always_inline __u64 kept_hash(const struct pt_regs *r)
{
	__u64 h = hash_step(0, r->bx);

	h = hash_step(h, r->sp);
	h = hash_step(h, r->bp);
	h = hash_step(h, r->r12);
	h = hash_step(h, r->r13);
	h = hash_step(h, r->r14);
	h = hash_step(h, r->r15);
	return h >> 48;
}

/* Whether @addr is in the text of a traced module, as far as this task has shown where they are. */
static __always_inline bool is_ours(struct capture_state *cs, __u64 addr)
{
	for (int m = 0; m < MAX_ENTRY_MODULES; m++)
		if (cs->base[m] && addr - cs->base[m] < text_bytes[m])
			return true;
	return false;
}

static long note_file(struct task_struct *task, struct vm_area_struct *vma, bool *of_file)
{
	*of_file = vma->vm_file != NULL;
	return 0;
}

/* Whether the code at @addr can certainly not be executed again: it is of no file. */
static __always_inline bool is_of_no_file(__u64 addr)
{
	bool of_file = false;
	long err = bpf_find_vma(bpf_get_current_task_btf(), addr, note_file, &of_file, 0);

	return err ? err == -ENOENT : !of_file;
}

/* An entry from outside follows from executing what entered, but where that is the kernel (a
 * handler) or code of no file; of those that are frequent some are looked at. */
static __always_inline void count_hit(struct capture_state *cs, __u32 index, bool outside,
				      __u64 ret)
{
	struct capture_hits *h = bpf_map_lookup_elem(&hits, &index);

	if (!h)
		return;
	__u32 n = __sync_fetch_and_add(&h->n, 1);
	if (!outside || h->alone)
		return;
	if (cs->signalled || ((n < LOOKED_AT || !(n % LOOKED_AT)) && is_of_no_file(ret)))
		h->alone = 1;
}

/* The kernel has entered: what a handler returns to may be traced code as well (of a program that
 * is linked statically, or in Go). */
enum {
	ENTRY_BYTES = 64, /* of a function, where the place of its entry is */
	/* struct rt_sigframe: return address, ucontext, siginfo (arch/x86/include/asm/sigframe.h).
	 */
	SIGNAL_FRAME_BYTES = 8 + 304 + 128,
};
static __always_inline bool begins_handler(const struct capture_state *cs, __u64 ip)
{
	return cs->signalled && ip - cs->handler < ENTRY_BYTES;
}

/* A handler's frame. What a signal has found in the stubs' code (calls.h) stands there as it is
 * there: the registers follow from what was told of the signal. */
enum { FRAME_REGISTERS = 48, FRAME_REGISTERS_END = FRAME_REGISTERS + 8 * 18 };
static __always_inline void frame_send(struct capture_state *cs, __u64 at)
{
	if (!cs->in_stub) {
		range_send(cs, at, SIGNAL_FRAME_BYTES);
		return;
	}
	range_send(cs, at, FRAME_REGISTERS);
	range_send(cs, at + FRAME_REGISTERS_END, SIGNAL_FRAME_BYTES - FRAME_REGISTERS_END);
}

/* Of a hit of two probes at one place, exactly one is to count, whenever the generation changes
 * between the two. The kernel runs the one that was placed last first: it takes the task along to
 * the generation that it finds, and the older one counts if that is its own. */
static __always_inline bool is_of_now(struct capture_state *cs, __u32 generation)
{
	if (generation == cs->generation)
		return true;
	__u32 now = capture_generation;
	if (generation < now)
		return false;
	cs->generation = now;
	return generation == now;
}

SEC("uprobe.multi")
int capture(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 index = cookie;
	struct capture_desc *d = bpf_map_lookup_elem(&places, &index);

	if (!capturing || !d)
		return 0;
	struct capture_state *cs = recorded();
	if (!cs || !is_of_now(cs, cookie >> 32))
		return 0;
	cs->busy = 1;
	noted_send(cs, 0);
	struct pt_regs regs;
	bpf_probe_read_kernel(&regs, sizeof(regs), ctx);
	__u64 base = regs.ip - d->addr_off;
	if (d->module < MAX_ENTRY_MODULES)
		cs->base[d->module] = base;
	__u64 ret = 0;
	/* Of a task that ran before nothing is known at its first place: an entry tells all. */
	bool first = !cs->met;
	cs->met |= (d->roles & ~(ROLE_CALL | ROLE_TAIL)) != 0;
	first &= cs->met;
	if (d->roles & ROLE_ENTER)
		bpf_probe_read_user(&ret, sizeof(ret), (void *)(regs.sp + d->cfa_off - 8));
	if (d->roles & ROLE_RESULT) {
		if (d->n_outputs)
			send_outputs(cs, d, &regs, base);
		send_errno(cs, regs.ax, d->roles & ROLE_ERRNO);
	}
	bool handles = d->roles & ROLE_ENTER && begins_handler(cs, regs.ip);
	bool outside = handles || (d->roles & ROLE_ENTER && !is_ours(cs, ret));
	count_hit(cs, index, outside, ret);
	cs->signalled = 0;
	if (handles &&
	    !redacting) /* what a handler is told: its return address is the first word */
		frame_send(cs, regs.sp + d->cfa_off - 8);
	if (first || d->roles & ROLE_LAND || outside) {
		note_all(cs->words, &regs);
		note_send(cs, RING_CAPTURE_ENTER, index, regs.ip, regs.sp, 17);
	}
	if (d->roles & ROLE_RESULT && !first) {
		cs->words[0] = regs.ax;
		cs->words[1] = regs.dx;
		cs->words[2] = kept_hash(&regs);
		cs->words[3] = (d->no_rax ? 0 : 1) | (d->roles & ROLE_RDX ? 4 : 0);
		note_send(cs, RING_CAPTURE_RESULT, index, regs.ip, regs.sp, 4);
	}
	if (d->roles & ROLE_INSN && d->all_regs && !first && !(d->roles & ROLE_LAND) && !outside) {
		note_all(cs->words, &regs);
		note_send(cs, RING_CAPTURE_ENTER, index, regs.ip, regs.sp, 17);
	}
	if (d->roles & ROLE_INSN && !d->all_regs && !first) {
		cs->words[0] = regs.ax;
		cs->words[1] = regs.cx;
		cs->words[2] = regs.dx;
		cs->words[3] = regs.bx;
		cs->words[4] = regs.flags;
		note_send(cs, RING_CAPTURE_INSN, index, regs.ip, regs.sp, 5);
	}
	if (d->roles & ROLE_CALL)
		keep_call(cs, &regs, d->roles & ROLE_TAIL);
	noted_sent(cs);
	switch_after_hit(cs);
	return 0;
}

struct syscall_walk {
	struct output_ctx c;
	struct capture_syscall *row;
};

static long syscall_step(__u32 i, struct syscall_walk *w)
{
	if (i < CAPTURE_MAX_OUTPUTS)
		output_send(&w->row->outputs[i], &w->c);
	return 0;
}

static __always_inline __u64 descriptor(const struct pt_regs *r, __u32 nr)
{
	return nr == SYS_MMAP ? r->r8 : r->di;
}

/* A system call begins. */
static __always_inline void begin_call(struct capture_state *cs, const struct pt_regs *r, __u32 nr)
{
	struct capture_syscall *row = bpf_map_lookup_elem(&syscalls, &nr);
	bool pauses = row && row->traits & CAPTURE_PAUSES;

	cs->entered = order_take(nr == SYS_EXIT ? EXIT_NUMBERS : 1);
	if (nr == SYS_EXIT)
		words_send(cs);
	if (redacting)
		cs->file = (__u64)opened_file(descriptor(r, nr));
	if (row && row->traits & CAPTURE_MOVES) {
		struct file *file = opened_file(r->di);
		cs->channel = (__u64)file;
		cs->changed = channel_changed(file);
		pauses |= row->traits & CAPTURE_CONTENT && channel_waits(file);
	}
	/* What waits in it would wait as long. */
	if (cs->batched && (pauses || noting_switches))
		records_send(cs, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *r, long nr)
{
	if (!capturing)
		return 0;
	struct capture_state *cs = recorded();
	if (!cs)
		return 0;
	clocks_send(cs);
	begin_call(cs, r, nr);
	return 0;
}

/* Sends what the descriptor @fd leads to. It is not whole where another thread has made it lead
 * elsewhere since the call began, or where the path is too long. */
static __always_inline void name_send(struct capture_state *cs, __u64 fd)
{
	struct file *file = opened_file(fd);
	struct capture_bytes *c = record_room(cs);
	struct name_walk w = {.out = c->data,
			      .at = BPF_CORE_READ(file, f_path.dentry),
			      .mnt = BPF_CORE_READ(file, f_path.mnt)};

	if (file && (__u64)file == cs->file)
		bpf_loop(NAME_DEPTH, name_step, &w, 0);
	__u32 len = w.whole ? w.len : 0;
	c->kind = RING_CAPTURE_NAME;
	c->task = cs->batch.task;
	c->len = len;
	c->unread = !w.whole;
	c->number = cs->number++;
	c->addr = (__u64)BPF_CORE_READ(file, f_inode, i_mode) << 32 | (__u32)fd;
	record_keep(cs, __builtin_offsetof(struct capture_bytes, data) + len);
}

struct mapped {
	__u64 inode, size, device;
};

static long note_mapped(struct task_struct *task, struct vm_area_struct *vma, struct mapped *m)
{
	struct inode *inode = BPF_CORE_READ(vma, vm_file, f_inode);

	if (inode) {
		m->inode = BPF_CORE_READ(inode, i_ino);
		m->size = BPF_CORE_READ(inode, i_size);
		m->device = BPF_CORE_READ(inode, i_sb, s_dev);
	}
	return 0;
}

static __always_inline void note_code(__u32 nr, __u64 addr, __u64 prot, long result)
{
	bool maps = nr == SYS_MMAP || nr == SYS_MPROTECT || nr == SYS_PKEY_MPROTECT;

	if (maps && prot & PROT_EXEC && !(result < 0 && result > -4096) && !makes_code &&
	    is_of_no_file(addr))
		makes_code = true;
}

static __always_inline bool makes_task(__u32 nr)
{
	return nr == SYS_CLONE || nr == SYS_VFORK || nr == SYS_CLONE3;
}

/* The number of the system call that is over. One that was interrupted (poll(), nanosleep(), ...)
 * the kernel goes on with as restart_syscall(), with the same arguments: that has the number of the
 * first. */
static __always_inline __u32 number_of_call(struct capture_state *cs, const struct pt_regs *r,
					    long result)
{
	/* rt_sigreturn() leaves -1 there, so that what it goes back to is not made again. */
	__u32 nr = (__s32)r->orig_ax < 0 ? 15 : r->orig_ax;

	if (nr == SYS_RESTART_SYSCALL && cs->interrupted)
		nr = cs->interrupted;
	cs->interrupted = result == -ERESTART_RESTARTBLOCK ? nr : 0;
	return nr;
}

/* Sends nothing. */
static __always_inline void note_interrupted(const struct pt_regs *r, long result)
{
	struct capture_state *cs = state_of(bpf_get_current_task_btf());

	if (!cs)
		cs = state_new();
	if (cs)
		number_of_call(cs, r, result);
}

/* A system call is over, and its result is in @r, or what rt_sigreturn() goes back to. */
static __always_inline void end_call(struct capture_state *cs, const struct pt_regs *r, __u32 nr,
				     long result)
{
	struct capture_syscall *row = bpf_map_lookup_elem(&syscalls, &nr);

	/* Of a task that has begun, and of one that vfork's child has used the thread pointer of.
	 */
	if ((!cs->entered && !call_lanes) || makes_task(nr))
		clocks_skip(cs);
	if (redacting && row && row->traits & CAPTURE_CONTENT)
		name_send(cs, descriptor(r, nr));
	if (row && row->n_outputs && (result >= 0 || row->traits & CAPTURE_WHEN_FAILED)) {
		struct syscall_walk walk = {.c.cs = cs, .row = row};

		walk.c.v[0] = r->di;
		walk.c.v[1] = r->si;
		walk.c.v[2] = r->dx;
		walk.c.v[3] = r->r10;
		walk.c.v[4] = r->r8;
		walk.c.v[5] = r->r9;
		walk.c.v[VALUE_RESULT] = result;
		walk.c.v[VALUE_ONE] = 1;
		if (row->n_outputs == 1)
			syscall_step(0, &walk);
		else
			bpf_loop(row->n_outputs, syscall_step, &walk, 0);
	}
	if (processor_changed(cs, bpf_get_current_task_btf()))
		processor_note(cs);
	bool opens = row && row->traits & CAPTURE_OPENS;
	/* Another thread may map what it has opened before this one's batch is full. */
	if (opens && current_object()->signal->live.counter > 1)
		cs->urgent = SENT_AT_ONCE;
	struct mapped m = {};
	if (nr == SYS_MMAP && !(r->r10 & MAP_ANONYMOUS) && (__u64)result < -4095ull)
		bpf_find_vma(bpf_get_current_task_btf(), result, note_mapped, &m, 0);
	note_code(nr, nr == SYS_MMAP ? result : r->di, r->dx, result);
	if (m.inode) {
		cs->time_ns = bpf_ktime_get_ns();
		cs->urgent = LOOKED_AT_AT_ONCE;
	}
	struct capture_note *n = record_room(cs);
	note_call(n, r, nr, result, cs->entered);
	n->words[8] = opens && result >= 0 ? opened_memory(result) : m.inode;
	n->words[9] = m.size;
	cs->entered = 0;
	bool channel = row && row->traits & (CAPTURE_MOVES | CAPTURE_MAKES) && result >= 0;
	if (channel)
		channel_note(cs, (struct capture_channel *)&n->words[CHANNEL_WORDS], r, nr, result,
			     row->traits);
	else if (m.inode)
		n->words[CHANNEL_WORDS] = m.device;
	note_keep(cs, n, RING_CAPTURE_KERNEL, ~0u, r->ip, r->sp,
		  channel ? CHANNEL_WORDS + sizeof(struct capture_channel) / 8
			  : CHANNEL_WORDS + !!m.inode);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *r, long result)
{
	/* One that is interrupted as the process is stopped for its start counts as well, though
	 * nothing is captured yet. */
	if (!capturing) {
		if (result == -ERESTART_RESTARTBLOCK)
			note_interrupted(r, result);
		return 0;
	}
	struct capture_state *cs = recorded();
	if (!cs)
		return 0;
	__u32 nr = number_of_call(cs, r, result);
	end_call(cs, r, nr, result);
	return 0;
}

#include "bpf/calls.h"

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal_values, int sig, struct kernel_siginfo *info, struct k_sigaction *ka)
{
	if (!capturing)
		return 0;
	struct capture_state *cs = recorded();
	__u64 handler = (__u64)BPF_CORE_READ(ka, sa.sa_handler);

	if (!cs)
		return 0;
	if (handler <= 1) { /* SIG_DFL, SIG_IGN */
		clocks_send(cs);
		noted_sent(cs);
		return 0;
	}
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct pt_regs *regs = &cs->regs;
	bpf_probe_read_kernel(regs, sizeof(*regs), r);
	bool hidden = false;
	/* Before the first instruction of another handler, which its frame was made for. */
	if (begins_handler(cs, regs->ip) && regs->ip == cs->handler && !redacting)
		frame_send(cs, regs->sp);
	if (call_code)
		hidden = call_signalled(cs);
	else
		clocks_send(cs);
	cs->signalled = 1;
	cs->interrupted = 0; /* it has failed (EINTR) */
	cs->handler = handler;
	note_all(cs->words, regs);
	cs->words[17] = sig;
	cs->words[18] = handler;
	/* Behind a system call the place is known without. */
	if (!noting_surroundings || (__s64)regs->orig_ax >= 0 || hidden) {
		note_send(cs, RING_CAPTURE_SIGNAL, hidden ? CAPTURE_HIDDEN_PLACE : ~0u, regs->ip,
			  regs->sp, SIGNAL_WORDS);
		return 0;
	}
	note_surroundings((struct general_regs *)cs->words,
			  (struct surroundings *)(cs->words + SIGNAL_WORDS), 0);
	note_send(cs, RING_CAPTURE_SIGNAL, ~0u, regs->ip, regs->sp, MOST_WORDS);
	return 0;
}

/* What the task had is gone: nothing is known of what it runs now. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_values, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct capture_state *cs = bpf_task_storage_get(&capture_states, task, 0, 0);

	if (!cs || !capturing || !recorded())
		return 0;
	cs->call_told = cs->entered = 0;
	__builtin_memset(cs->base, 0, sizeof(cs->base));
	cs->errno_addr = 0;
	cs->depth = 0;
	cs->clock_owner = cs->clocks = 0;
	note_send(cs, RING_CAPTURE_EXEC, ~0u, 0, 0, 0);
	return 0;
}

/* The last registers of user mode; and where in the order a system call began that is not over.
 * @exits: the current task ends, not the recording. */
static __always_inline void end_send(struct capture_state *cs, struct task_state *st,
				     struct pt_regs *r, bool exits)
{
	struct pt_regs regs;

	bpf_probe_read_kernel(&regs, sizeof(regs), r);
	state_begin(cs, st);
	time_note(cs);
	if (exits)
		exit_send(cs, &regs);
	note_all(cs->words, &regs);
	cs->words[17] = cs->entered;
	note_send(cs, RING_CAPTURE_END, ~0u, regs.ip, regs.sp, 18);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_values, struct task_struct *task)
{
	struct capture_state *cs = bpf_task_storage_get(&capture_states, task, 0, 0);
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	/* on_exit() of witness.bpf.c may have been before and have stopped it. */
	if (capturing && cs && st) {
		if (call_lanes)
			lane_send(cs, 0);
		end_send(cs, st, r, true);
	}
	records_send(cs, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Read once nothing is captured any more: sends what each task still holds. One that waits in a
 * system call then has executed nothing since it made that. Without this it would be awake up to
 * the end, for all that is known. */
SEC("iter/task")
int end_values(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || capturing)
		return 0;
	struct capture_state *cs = bpf_task_storage_get(&capture_states, task, 0, 0);
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	/* One that nobody has waited for has told its END, and its stack may be gone. */
	if (cs && st && cs->entered && st->head.task && !(task->flags & PF_EXITING))
		end_send(cs, st, (struct pt_regs *)bpf_task_pt_regs(task), false);
	records_send(cs, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Says which threads are recorded, and by which numbers: a struct task_number each. */
SEC("iter/task")
int numbers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *st = task ? bpf_task_storage_get(&tasks, task, 0, 0) : NULL;

	if (!st || !st->head.task)
		return 0;
	learn_self();
	struct task_number n = {.tid = pid_seen(task, 0), .task = st->head.task};
	bpf_seq_write(ctx->meta->seq, &n, sizeof(n));
	return 0;
}
