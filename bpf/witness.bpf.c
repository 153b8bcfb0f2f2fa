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
 * task's log has no hole at either end, although attaching and detaching take their time. */
#include <vmlinux.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <pugmark/batch.h>

char LICENSE[] SEC("license") = "GPL";

/* Records that one hit may need at most; the batch is sent while there is still room for them. */
#define HIT_RECORDS 8

/* Of x86-64. */
#define SYS_EXIT 60
#define SYS_EXIT_GROUP 231

/* How far above the last hit's frame the frame may lie that is in the foreign call. */
#define DEEP_MARGIN 1024

struct task_state {
	__u64 last_ns;
	__u64 last_cfa; /* of the last hit: somewhere near are the frames of the module */
	__u64 base[BATCH_MODULES]; /* run-time address of text_addr, 0: to be said */
	__u32 n;
	__u32 attached; /* RECORD_ATTACH is due */
	__u32 stopped;	/* PROCESS_STOP was sent */
	__u32 cfa_high;
	__u32 snapshots; /* sent, ever */
	__u32 reserved;
	struct batch head;
	struct batch_record records[BATCH_RECORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct site_desc);
} sites SEC(".maps");

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

#define PAD_BYTES (8 * SNAPSHOT_WORDS)

/* The last two snapshots of a task; few tasks need any. They are compared at the same address, not
 * at the same place: so there is room on either side of each. */
struct stack_state {
	__u32 current; /* odd or even: the last one */
	__u32 reserved;
	__u8 pad1[PAD_BYTES];
	struct snapshot even;
	__u8 pad2[PAD_BYTES];
	struct snapshot odd;
	__u8 pad3[PAD_BYTES];
	struct deep_stack deep;
	struct attach_stack attach;
	__u64 scratch[SNAPSHOT_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_state);
} stacks_of_tasks SEC(".maps");

/* By the kernel's own number of the process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u8);
} tracked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} process SEC(".maps");

const volatile bool with_times = true;
const volatile bool trace_all = false;
const volatile bool follow = true;
const volatile bool in_cgroup = false;		   /* trace_all: only what is in cgroups[0] */
const volatile __u32 in_pid_namespace = 0;	   /* trace_all: only what is in it; its number */
const volatile __u64 module_bytes[BATCH_MODULES];  /* length of text_addr..text_end */
const volatile __u32 returns_first[BATCH_MODULES]; /* of its words in the map `returns` */
const volatile __u32 n_modules = 1;

/* Set by the collector while it runs. */
volatile bool enabled = false;
volatile bool closing = false; /* for good */
volatile __u32 generation = 0;
volatile __u64 enabled_boot_ns = ~0ull; /* after that: tasks older than this ran before */
volatile __u32 adopt_pid = 0;		/* for adopt(): in the collector's own pid namespace */
volatile bool adopt_running = false;

/* Read by the collector. */
struct batch_counters counters = {};
volatile __u32 adopted = 0;
volatile __u32 stop_pending = 0;

static __u32 n_tasks;
static __u32 self_tgid, self_level;
static struct pid_namespace *self_ns;

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* The number of a task in the collector's pid namespace, or @otherwise where it has none there. */
static __always_inline int pid_seen(struct task_struct *task, int otherwise)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = self_level;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return otherwise;
	struct upid upid = {};
	bpf_probe_read_kernel(&upid, sizeof(upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid));
	return upid.ns == self_ns ? upid.nr : otherwise;
}

/* Before anything that compares or reports numbers of processes: runs as the collector. */
static __always_inline void learn_self(void)
{
	struct task_struct *self = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(self, group_leader, thread_pid);
	struct upid upid = {};

	self_tgid = self->tgid;
	self_level = BPF_CORE_READ(pid, level);
	bpf_probe_read_kernel(&upid, sizeof(upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      self_level * bpf_core_type_size(struct upid));
	self_ns = upid.ns;
}

static __always_inline struct process_record *process_reserve(__u32 kind, struct task_struct *task,
							      struct task_state *st)
{
	struct process_record *r = bpf_ringbuf_reserve(&process, sizeof(*r), 0);

	if (!r) {
		count(&counters.process_lost);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->task = st->head.task;
	r->lost = st->head.lost;
	r->execs = st->head.execs;
	r->time_ns = bpf_ktime_get_ns();
	r->tid = pid_seen(task, task->pid);
	r->pid = pid_seen(BPF_CORE_READ(task, group_leader), task->tgid);
	r->start_ns = task->start_boottime;
	BPF_CORE_READ_STR_INTO(&r->comm, task, comm);
	return r;
}

static struct task_state *task_new(struct task_struct *task, __u32 parent, bool attached)
{
	struct task_state *st = NULL;

	/* The kernel keeps one or two such states ready on each processor and makes more in an
	 * interrupt of its own, which comes while this tries again. */
	for (int i = 0; i < 64 && !st; i++)
		st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) {
		count(&counters.hits_without_task);
		return NULL;
	}
	if (st->head.task)
		return st;
	st->head.kind = RING_BATCH;
	st->head.task = __sync_fetch_and_add(&n_tasks, 1) + 1;
	st->attached = attached;
	st->head.pid = pid_seen(BPF_CORE_READ(task, group_leader), task->tgid);
	count(&counters.live);
	struct process_record *r = process_reserve(PROCESS_TASK, task, st);
	if (r) {
		r->parent = parent;
		r->attached = attached;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	return st;
}

/* Sends the batch. Whoever takes n away owns it: an exiting task and stop() may meet here. */
static __always_inline void task_flush(struct task_state *st)
{
	__u32 n = __sync_lock_test_and_set(&st->n, 0);

	if (!n)
		return;
	if (n > BATCH_RECORDS)
		n = BATCH_RECORDS;
	st->head.n = n;
	st->head.generation = generation;
	if (bpf_ringbuf_output(&events, &st->head,
			       sizeof(st->head) + n * sizeof(struct batch_record),
			       BPF_RB_NO_WAKEUP)) {
		st->head.lost += st->head.witnesses;
		__builtin_memset(st->base, 0, sizeof(st->base));
	}
	st->head.witnesses = 0;
	st->head.time_ns = st->last_ns;
	st->head.cfa_high = st->cfa_high;
	st->head.snapshots = st->snapshots;
}

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

static __always_inline __u32 lines_below(__u64 bits)
{
	__u32 n = 0;

	if (!bits)
		return 0;
	for (__u32 step = 32; step; step /= 2)
		if (bits >> (n + step))
			n += step;
	return n + 1;
}

/* How many lines of 8 words, from the first, are not as in @old at the same address. Compares all
 * of them without a branch: the verifier has one path to follow instead of one a word. */
static __always_inline __u32 lines_changed(struct snapshot *now, struct snapshot *old)
{
	__u64 apart = now->addr - old->addr, changed = 0;
	__u32 n = now->n_words / 8 & 127;

	if (!old->n_words || apart + PAD_BYTES > 2 * PAD_BYTES || apart & 7)
		return n;
	const __u64 *was = (void *)old->words - PAD_BYTES + ((apart + PAD_BYTES) & 0x3ff8);
	for (__u32 line = 0; line < SNAPSHOT_WORDS / 8; line++) {
		__u64 differ = 0;

		for (__u32 i = 0; i < 8; i++)
			differ |= now->words[8 * line + i] ^ was[8 * line + i];
		__u64 negated = -differ;
		barrier_var(negated); /* or clang makes a branch of it */
		changed |= (differ | negated) >> 63 << line;
	}
	if ((__s64)apart < 0) /* what was not there then */
		changed |= (1ull << ((-apart + 63) / 64 & 63)) - 1;
	if (n < 64)
		changed &= (1ull << n) - 1;
	return lines_below(changed);
}

/* Sends the stack from @sp upwards: SNAPSHOT_WORDS, or as much as there is. Where the one before
 * ends not far below that, it ends there as well, so that the rest can be told to be the same. */
__noinline int snapshot_send(__u64 sp)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct stack_state *stacks = NULL;

	for (int i = 0; i < 64 && !stacks; i++)
		stacks = bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st || !stacks) {
		count(&counters.snapshots_lost);
		return false;
	}
	struct snapshot *old = stacks->current & 1 ? &stacks->odd : &stacks->even;
	struct snapshot *now = stacks->current & 1 ? &stacks->even : &stacks->odd;
	__u64 bytes = 8 * SNAPSHOT_WORDS, kept = old->addr + 8 * (__u64)old->n_words - sp;

	if (old->n_words && kept >= 4 * SNAPSHOT_WORDS && kept < bytes)
		bytes = kept & ~63ull;
	barrier_var(bytes); /* the verifier looks for the bound here */
	if (bytes > 8 * SNAPSHOT_WORDS)
		return false;
	if (bpf_probe_read_user(now->words, bytes, (void *)sp)) {
		/* Only the page that sp lies in is sure to be there. */
		bytes = (4096 - (sp & 4095)) & ~63ull;
		if (bytes > 8 * SNAPSHOT_WORDS ||
		    bpf_probe_read_user(now->words, bytes, (void *)sp))
			bytes = 0;
	}
	now->kind = RING_SNAPSHOT;
	now->task = st->head.task;
	now->addr = sp;
	now->n_words = bytes / 8;
	now->serial = st->snapshots;
	__u32 n = 8 * lines_changed(now, old);
	if (n > SNAPSHOT_WORDS)
		n = SNAPSHOT_WORDS;
	now->n_sent = n;
	stacks->current++;
	if (bpf_ringbuf_output(&events, now, sizeof(*now) - sizeof(now->words) + 8 * n,
			       BPF_RB_NO_WAKEUP)) {
		now->n_words = 0; /* the next one is sent whole */
		count(&counters.snapshots_lost);
		return false;
	}
	st->snapshots++;
	return true;
}

struct deep_scan {
	struct stack_state *stacks;
	__u64 from, end;
	__u64 base, bytes;
	__u32 place, n;
};

/* One step of deep_send(). Without a branch for each word, so that the verifier follows one path.
 */
static long deep_scan_step(__u32 step, struct deep_scan *scan)
{
	struct stack_state *stacks = scan->stacks;
	__u64 base = scan->base, bytes = scan->bytes;
	__u32 n = scan->n, place = scan->place;

	if (scan->from >= scan->end)
		return 1;
	scan->place = place + SNAPSHOT_WORDS;
	scan->from += 8 * SNAPSHOT_WORDS;
	/* A page of a large array that was never touched is not there, and holds nothing. */
	if (bpf_probe_read_user(stacks->scratch, 8 * SNAPSHOT_WORDS,
				(void *)(scan->from - 8 * SNAPSHOT_WORDS)))
		return 0;
	for (__u32 i = 0; i < SNAPSHOT_WORDS; i++) {
		struct deep_word *word = &stacks->deep.words[n & (DEEP_MAX - 1)];
		__u64 off = stacks->scratch[i] - base, inside = off - bytes;

		word->place = place + i;
		word->off = off;
		barrier_var(inside); /* or clang makes a branch of it */
		n += inside >> 63 & ~off >> 63;
	}
	scan->n = n;
	return 0;
}

/* The module's frames may lie further up than a snapshot goes: looks through the stack up to @end
 * for addresses in the module, whose text is @bytes long from @base on. Global, so that it is
 * verified once and not for every way that leads here. */
__noinline int deep_send(__u64 end, __u64 base, __u64 bytes)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct stack_state *stacks =
		bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0, 0);

	if (!st || !stacks)
		return 0;
	struct snapshot *last = stacks->current & 1 ? &stacks->odd : &stacks->even;
	struct deep_stack *deep = &stacks->deep;
	struct deep_scan scan = {
		.stacks = stacks,
		.from = (last->addr + 8 * (__u64)last->n_words) & ~4095ull, /* by pages */
		.end = end,
		.base = base,
		.bytes = bytes,
	};

	scan.place = (scan.from - last->addr) >> 3;
	if (end <= last->addr + 8 * (__u64)last->n_words || end - last->addr > 8 * DEEP_WORDS ||
	    !last->n_words)
		return 0;
	bpf_loop(DEEP_WORDS / SNAPSHOT_WORDS + 1, deep_scan_step, &scan, 0);
	__u32 n = scan.n;
	if (n > DEEP_MAX) /* no stack of return addresses; the nearest are gone */
		return 0;
	deep->kind = RING_DEEP;
	deep->task = st->head.task;
	deep->serial = last->serial;
	deep->n_words = (end - last->addr) / 8;
	deep->base = base;
	deep->n = n;
	bpf_ringbuf_output(&events, deep, sizeof(*deep) - sizeof(deep->words) + 8 * n,
			   BPF_RB_NO_WAKEUP);
	return 0;
}

struct attach_scan {
	struct stack_state *stacks;
	__u64 at;
};

/* One step of attach_send(): up to the end of the page. */
static long attach_step(__u32 step, struct attach_scan *scan)
{
	struct attach_stack *a = &scan->stacks->attach;
	__u64 at = scan->at, bytes = 4096 - (at & 4095);

	barrier_var(bytes);
	if (bytes > 8 * SNAPSHOT_WORDS || bpf_probe_read_user(a->words, bytes, (void *)at))
		return 1;
	a->addr = at;
	a->n_words = bytes / 8;
	scan->at = at + bytes;
	return bpf_ringbuf_output(&events, a, sizeof(*a) - sizeof(a->words) + bytes,
				  BPF_RB_NO_WAKEUP) != 0;
}

/* Sends the registers and the stack of a task that ran before it was recorded. snapshot_send() has
 * made the state that this uses. */
static __noinline int attach_send(struct pt_regs *ctx)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct stack_state *stacks =
		bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0, 0);

	if (!st || !stacks)
		return 0;
	struct attach_stack *a = &stacks->attach;
	a->kind = RING_ATTACH;
	a->task = st->head.task;
	a->ip = ctx->ip;
	a->regs[0] = ctx->ax;
	a->regs[1] = ctx->dx;
	a->regs[2] = ctx->cx;
	a->regs[3] = ctx->bx;
	a->regs[4] = ctx->si;
	a->regs[5] = ctx->di;
	a->regs[6] = ctx->bp;
	a->regs[7] = ctx->sp;
	a->regs[8] = ctx->r8;
	a->regs[9] = ctx->r9;
	a->regs[10] = ctx->r10;
	a->regs[11] = ctx->r11;
	a->regs[12] = ctx->r12;
	a->regs[13] = ctx->r13;
	a->regs[14] = ctx->r14;
	a->regs[15] = ctx->r15;
	struct attach_scan scan = {.stacks = stacks, .at = ctx->sp & ~7ull};
	bpf_loop(DEEP_WORDS / SNAPSHOT_WORDS, attach_step, &scan, 0);
	return 0;
}

/* __restore_rt: mov $15,%rax; syscall. */
static __always_inline bool is_signal_trampoline(__u64 ret)
{
	__u64 code[2] = {};

	if (bpf_probe_read_user(code, 9, (void *)ret))
		return false;
	return code[0] == 0x0f0000000fc0c748 && (code[1] & 0xff) == 0x05;
}

/* Whether @ret is where a call of a traced function returns to, as far as the task's events have
 * told where modules are. What lies in a module beside those is as foreign as another module.
 * Global, so that it is verified once. */
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
		__u32 word = returns_first[m] + (off >> 6);
		__u64 *bits = bpf_map_lookup_elem(&returns, &word);
		return bits && *bits >> (off & 63) & 1;
	}
	return false;
}

#define PID_LEVELS 32 /* MAX_PID_NS_LEVEL */

/* Whether the current task has a number in the pid namespace that is asked for. */
__noinline int is_in_pid_namespace(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = pid ? BPF_CORE_READ(pid, level) : 0;

	for (__u32 i = 0; i < PID_LEVELS; i++) {
		struct upid upid = {};

		if (!pid || i > level)
			break;
		bpf_probe_read_kernel(&upid, sizeof(upid),
				      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
					      i * bpf_core_type_size(struct upid));
		if (upid.ns && BPF_CORE_READ(upid.ns, ns.inum) == in_pid_namespace)
			return true;
	}
	return false;
}

/* trace_all: whether the current task, which has come upon a probe, is one of those. */
static __always_inline bool is_wanted(struct task_struct *task)
{
	if ((__u32)task->tgid == self_tgid)
		return false;
	if (in_cgroup && bpf_current_task_under_cgroup(&cgroups, 0) != 1)
		return false;
	return !in_pid_namespace || is_in_pid_namespace();
}

/* First hit of a task that has no state yet. */
static __noinline struct task_state *task_found(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid;

	if (trace_all ? !is_wanted(task) : !bpf_map_lookup_elem(&tracked, &tgid))
		return NULL;
	return task_new(task, 0, task->start_boottime < enabled_boot_ns);
}

#define APPEND(st, n, what, number)                                                                \
	do {                                                                                       \
		struct batch_record *r_ = &(st)->records[(n) & (BATCH_RECORDS - 1)];               \
		r_->head = (what);                                                                 \
		r_->dt_ns = 0;                                                                     \
		r_->value = (number);                                                              \
		(n)++;                                                                             \
	} while (0)

SEC("uprobe.multi")
int witness(struct pt_regs *ctx)
{
	__u32 index = bpf_get_attach_cookie(ctx);
	struct site_desc *site = bpf_map_lookup_elem(&sites, &index);

	if (!enabled || !site)
		return 0;
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	if (!st) {
		st = task_found();
		if (!st)
			return 0;
	}
	__u32 n = st->n;
	if (n > BATCH_RECORDS - HIT_RECORDS) {
		task_flush(st);
		n = 0;
	}

	__u32 head = index, dt_ns = 0;
	__u32 module = site->module & (BATCH_MODULES - 1);
	__u32 capture = site->capture;
	__u64 base = ctx->ip - site->addr_off;
	if (st->base[module] != base) {
		st->base[module] = base;
		APPEND(st, n, RECORD_BASE << HEAD_RECORD_SHIFT | module, base);
	}
	bool attached = st->attached;
	if (attached) {
		st->attached = 0;
		APPEND(st, n, (__u32)RECORD_ATTACH << HEAD_RECORD_SHIFT, 0);
	}
	if (with_times) {
		__u64 now_ns = bpf_ktime_get_ns();
		__u64 passed_ns = now_ns - st->last_ns;

		st->last_ns = now_ns;
		dt_ns = passed_ns;
		if (passed_ns >> 32) {
			APPEND(st, n, RECORD_TIME << HEAD_RECORD_SHIFT, now_ns);
			dt_ns = 0;
		}
	}
	__u64 sp = ctx->sp, bp = ctx->bp;
	barrier_var(sp); /* or clang picks the field by a computed offset: refused for a context */
	__u64 cfa = (site->cfa_reg == DESC_CFA_BP ? bp : sp) + site->cfa_off;
	if (cfa >> 32 != st->cfa_high) {
		st->cfa_high = cfa >> 32;
		APPEND(st, n, RECORD_CFA << HEAD_RECORD_SHIFT, cfa >> 32);
	}
	__u64 far = 0;
	if (capture & DESC_RET) {
		__u64 ret = 0;

		bpf_probe_read_user(&ret, sizeof(ret), (void *)(cfa - 8));
		far = ret - ctx->ip;
		head |= HEAD_RET;
		if ((__s64)far != (__s32)far || !ret)
			APPEND(st, n, RECORD_RET << HEAD_RECORD_SHIFT, ret);
		if (capture & DESC_SNAPSHOT && !is_return_of_ours(ret)) {
			if (is_signal_trampoline(ret))
				head |= HEAD_SIGNAL;
			head |= HEAD_SNAPSHOT;
		}
	}
	if (capture & DESC_STACK)
		head |= HEAD_SNAPSHOT;
	if ((head & HEAD_SNAPSHOT || attached) && snapshot_send(sp)) {
		head |= HEAD_SNAPSHOT;
		if (attached)
			attach_send(ctx);
		else if (st->last_cfa - sp < 8 * DEEP_WORDS)
			deep_send(st->last_cfa + DEEP_MARGIN, base, module_bytes[module]);
	} else {
		head &= ~HEAD_SNAPSHOT;
	}
	st->last_cfa = cfa;
	if (capture & DESC_FLAGS && flag_taken(ctx->flags, site->cond))
		head |= HEAD_TAKEN;
	if (capture & DESC_TARGET)
		APPEND(st, n, (__u32)RECORD_TARGET << HEAD_RECORD_SHIFT,
		       branch_target(ctx, site->operand, base));

	struct batch_record *r = &st->records[n & (BATCH_RECORDS - 1)];
	r->head = head;
	r->dt_ns = dt_ns;
	r->cfa = cfa;
	r->ret = far;
	st->head.witnesses++;
	st->n = n + 1;
	if (head & HEAD_SNAPSHOT && st->snapshots - st->head.snapshots >= BATCH_SNAPSHOTS)
		task_flush(st);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_state *st = bpf_task_storage_get(&tasks, parent, 0, 0);
	__u32 tgid = child->tgid;
	__u8 one = 1;

	if (!st || st->stopped)
		return 0;
	if (tgid != (__u32)parent->tgid) {
		if (!follow)
			return 0;
		if (!trace_all && bpf_map_update_elem(&tracked, &tgid, &one, BPF_ANY)) {
			count(&counters.untracked);
			return 0;
		}
	}
	/* What it does until every probe is in place is not seen. */
	bool open = enabled;
	struct task_state *born = task_new(child, st->head.task, !open);
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(parent);
	struct pt_regs *its_regs = (struct pt_regs *)bpf_task_pt_regs(child);
	/* On a stack of its own it does not go on, it starts. */
	if (!born || !open || regs->sp != its_regs->sp)
		return 0;
	if (st->n > BATCH_RECORDS - HIT_RECORDS)
		task_flush(st);
	__u32 n = st->n;
	APPEND(st, n, (__u32)RECORD_FORK << HEAD_RECORD_SHIFT, born->head.task);
	st->n = n;
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!st)
		return 0;
	task_flush(st);
	st->head.execs++;
	__builtin_memset(st->base, 0, sizeof(st->base));
	struct process_record *r = process_reserve(PROCESS_EXEC, task, st);
	if (r) {
		bpf_probe_read_kernel_str(r->file, sizeof(r->file), bprm->filename);
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	bool last = BPF_CORE_READ(task, signal, live.counter) == 0;
	__u32 tgid = task->tgid;

	if (last && !trace_all)
		bpf_map_delete_elem(&tracked, &tgid);
	if (!st || st->stopped)
		return 0;
	bool open = !closing;
	__sync_fetch_and_add(&counters.live, -1);
	task_flush(st);
	st->stopped = 1;
	struct process_record *r = process_reserve(open ? PROCESS_EXIT : PROCESS_STOP, task, st);
	if (!r)
		return 0;
	r->exit_code = task->exit_code;
	r->last = last;
	if (open) {
		struct pt_regs *regs =
			(struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
		r->sp = regs->sp;
		r->ip = regs->ip;
		r->stopped =
			!enabled || (regs->orig_ax != SYS_EXIT && regs->orig_ax != SYS_EXIT_GROUP);
	}
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Read once for each process to adopt: makes a state for each thread of adopt_pid. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u8 one = 1;

	learn_self();
	if (!task)
		return 0;
	__u32 tgid = task->tgid;
	if (!adopt_pid || pid_seen(BPF_CORE_READ(task, group_leader), 0) != (int)adopt_pid)
		return 0;
	if (bpf_map_update_elem(&tracked, &tgid, &one, BPF_ANY)) {
		count(&counters.untracked);
		return 0;
	}
	if (task_new(task, 0, adopt_running))
		__sync_fetch_and_add(&adopted, 1);
	return 0;
}

/* Read after the probes are gone, before others are placed: each task's log says so. */
SEC("iter/task")
int pause(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!st || st->stopped)
		return 0;
	if (st->n > BATCH_RECORDS - HIT_RECORDS)
		task_flush(st);
	__u32 n = st->n;
	APPEND(st, n, (__u32)RECORD_PAUSE << HEAD_RECORD_SHIFT, 0);
	st->n = n;
	task_flush(st);
	st->attached = 1;
	__builtin_memset(st->base, 0, sizeof(st->base));
	return 0;
}

/* Read after the probes are gone, until stop_pending stays 0: sends what each task still holds. */
SEC("iter/task")
int stop(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!st || st->stopped)
		return 0;
	task_flush(st);
	struct process_record *r = process_reserve(PROCESS_STOP, task, st);
	if (!r) {
		__sync_fetch_and_add(&stop_pending, 1);
		return 0;
	}
	st->stopped = 1;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}
