// SPDX-License-Identifier: LGPL-2.1-or-later
/* measure_costs.c: a file of machine code in memory, a child that maps it and runs loops in it, and
 * probes on one instruction of a loop at a time. Only that file is probed, and only that child has
 * it. Where two programs are compared, each has a copy of the loop, and they run in turns on one
 * processor, together with a copy that has no probe. */
#include "user/measure/measure_costs.h"

#include "user/file/own_cache.h"

#include "bpf/cost.skel.h"
#include "user/kernel/probe_limits.h"
#include "user/kernel/probes.h"
#include "user/kernel/ring.h"
#include "user/plan/probe_costs.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOT_BYTES = 64, CODE_BYTES = 4096, ROUNDS = 5, HITS = 4000, HITS_STEPPED = 500 };
enum { TURNS = 151, HITS_OF_TURN = 400 };
enum copy { COPY_BARE, COPY_EMPTY, COPY_WITNESS, COPIES };
_Static_assert(COPIES *COST_INSNS *SLOT_BYTES <= CODE_BYTES, "every loop has a slot in each copy");

/* A loop: mov %edi,%ecx; L: body; dec %ecx; jnz L; ret. The instruction is at @probe in the
 * body. */
struct loop_code {
	const char *name;
	const char *body;
	uint8_t len, probe;
	bool stepped;
};

/* clang-format off */
static const struct loop_code loops[COST_INSNS] = {
	[COST_CALL]  = {"call",    "\xe8\x02\x00\x00\x00\xeb\x01\xc3", 8, 0, false}, /* call 1f; jmp 2f; 1: ret; 2: */
	[COST_JMP]   = {"jmp",     "\xeb\x00", 2, 0, false},
	[COST_JCC]   = {"jcc",     "\x74\x00", 2, 0, false},
	[COST_PUSH]  = {"push",    "\xe8\x02\x00\x00\x00\xeb\x03\x50\x58\xc3", 10, 7, false}, /* at a function's entry */
	[COST_NOP]   = {"nop",     "\x90", 1, 0, false},
	[COST_RET]   = {"ret",     "\xe8\x02\x00\x00\x00\xeb\x01\xc3", 8, 7, true},
	[COST_MOV]   = {"mov",     "\x48\x89\xc0", 3, 0, true}, /* mov %rax,%rax */
	[COST_POP]   = {"pop",     "\x50\x58", 2, 1, true},
	[COST_ENDBR] = {"endbr64", "\xf3\x0f\x1e\xfa", 4, 0, true},
};
/* clang-format on */

/* clang-format off */
static const struct witness_kind {
	const char *name, *key;
	uint32_t loop;
	uint8_t capture;
	uint32_t time_unit_ns;
} kinds[COST_WITNESSES] = {
	[COST_WITNESS]       = {"call", "witness", COST_CALL, 0, 1},
	[COST_WITNESS_PLAIN] = {"call, no time", "witness_no_time", COST_CALL, 0, 0},
	[COST_WITNESS_RET]   = {"push, return address", "witness_ret", COST_PUSH, PUGMARK_CAPTURE_RET, 1},
	[COST_WITNESS_JCC]   = {"jcc, flags", "witness_jcc", COST_JCC, PUGMARK_CAPTURE_FLAGS, 1},
};
/* clang-format on */

struct question {
	uint32_t slot, hits;
};

struct bench {
	int code_fd;
	char path[32]; /* of the code */
	pid_t pid;
	int talk; /* a socket to the child */
};

/* Processor time of this thread. What else a busy machine does is no part of it. */
static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void write_code(uint8_t *code)
{
	memset(code, 0xcc, CODE_BYTES);
	for (unsigned i = 0; i < COPIES * COST_INSNS; i++) {
		const struct loop_code *loop = &loops[i % COST_INSNS];
		uint8_t *p = code + i * SLOT_BYTES;

		memcpy(p, "\x89\xf9", 2);
		memcpy(p + 2, loop->body, loop->len);
		p += 2 + loop->len;
		memcpy(p, "\xff\xc9\x75", 3);
		p[3] = -(loop->len + 4);
		p[4] = 0xc3;
	}
}

static uint64_t probe_offset(unsigned loop, enum copy copy)
{
	return (copy * COST_INSNS + loop) * SLOT_BYTES + 2 + loops[loop].probe;
}

/* The child: answers each question with how long it took. */
static void child_main(int code_fd, int talk)
{
	const uint8_t *code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_fd, 0);
	struct question q;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
	if (code == MAP_FAILED)
		_exit(1);
	while (read(talk, &q, sizeof(q)) == sizeof(q)) {
		void (*run)(uint32_t) = (void (*)(uint32_t))(code + q.slot * SLOT_BYTES);
		uint64_t start = spent_ns();

		run(q.hits);
		uint64_t took = spent_ns() - start;
		if (write(talk, &took, sizeof(took)) != sizeof(took))
			break;
	}
	_exit(0);
}

/* A file in memory: it is gone with this process however that ends, and no mount option forbids to
 * run it. */
static int open_code(void)
{
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
	uint8_t code[CODE_BYTES];
	int fd = memfd_create("pugmark-loops", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("pugmark-loops", MFD_CLOEXEC);
	write_code(code);
	if (fd >= 0 && write(fd, code, sizeof(code)) != sizeof(code)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int bench_open(struct bench *b, struct pugmark_diag *diag)
{
	int ends[2];

	*b = (struct bench){.talk = -1, .code_fd = open_code()};
	if (b->code_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return pugmark_diag_set(diag, -errno, NULL, PUGMARK_NO_OFFSET,
					"measuring probes: %s", strerror(errno));
	snprintf(b->path, sizeof(b->path), "/proc/self/fd/%d", b->code_fd);
	b->pid = fork();
	if (!b->pid) {
		close(ends[0]);
		child_main(b->code_fd, ends[1]);
	}
	close(ends[1]);
	b->talk = ends[0];
	return b->pid < 0 ? pugmark_diag_set(diag, -errno, NULL, PUGMARK_NO_OFFSET,
					     "measuring probes: fork: %s", strerror(errno))
			  : 0;
}

static void bench_close(struct bench *b)
{
	if (b->talk >= 0)
		close(b->talk);
	if (b->pid > 0)
		waitpid(b->pid, NULL, 0);
	if (b->code_fd >= 0)
		close(b->code_fd);
}

/* Nanoseconds a hit, or -1. */
static double time_once(struct bench *b, uint32_t loop, enum copy copy, uint32_t hits)
{
	struct question q = {copy * COST_INSNS + loop, hits};
	uint64_t took;

	if (send(b->talk, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q) ||
	    recv(b->talk, &took, sizeof(took), MSG_WAITALL) != sizeof(took))
		return -1;
	return (double)took / hits;
}

/* The least of several rounds: disturbances only add time. */
static double time_loop(struct bench *b, uint32_t loop, uint32_t hits)
{
	double best = -1;

	for (int i = 0; i < ROUNDS; i++) {
		double ns = time_once(b, loop, COPY_BARE, hits);

		if (ns < 0)
			return -1;
		if (best < 0 || ns < best)
			best = ns;
	}
	return best;
}

static struct bpf_link *attach_empty(struct cost_bpf *skel, const struct bench *b,
				     unsigned long offset)
{
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .cnt = 1, .offsets = &offset);

	if (probe_limits_have_multi() > 0)
		return bpf_program__attach_uprobe_multi(skel->progs.empty, -1, b->path, NULL,
							&opts);
	return bpf_program__attach_uprobe(skel->progs.empty, false, -1, b->path, offset);
}

static int child_ended(struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ECHILD, NULL, PUGMARK_NO_OFFSET,
				"measuring probes: the process that was probed has ended");
}

static int measure_empty(struct bench *b, struct cost_bpf *skel, struct measured_costs *costs,
			 struct pugmark_diag *diag)
{
	for (unsigned i = 0; i < COST_INSNS; i++) {
		uint32_t hits = loops[i].stepped ? HITS_STEPPED : HITS;
		double bare = time_loop(b, i, hits);
		struct bpf_link *link = attach_empty(skel, b, probe_offset(i, COPY_BARE));

		if (!link)
			return pugmark_diag_set(diag, -errno, NULL, PUGMARK_NO_OFFSET,
						"measuring probes: %s", strerror(errno));
		double probed = time_loop(b, i, hits);
		bpf_link__destroy(link);
		if (bare < 0 || probed < 0)
			return child_ended(diag);
		costs->rows[i] = (struct cost_row){loops[i].name, loops[i].stepped, probed - bare};
	}
	return 0;
}

static int load_empty(struct cost_bpf **out, struct pugmark_diag *diag)
{
	struct cost_bpf *skel = cost_bpf__open();
	int err = skel ? 0 : -errno;

	if (skel && probe_limits_have_multi() <= 0)
		bpf_program__set_expected_attach_type(skel->progs.empty, 0);
	if (!err)
		err = cost_bpf__load(skel);
	if (err) {
		cost_bpf__destroy(skel);
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "measuring probes: %s",
					strerror(-err));
	}
	*out = skel;
	return 0;
}

static int ignore_record(void *context, void *data, size_t bytes)
{
	(void)context, (void)data, (void)bytes;
	return 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The three copies in turns. */
static int compare_copies(struct bench *b, const struct witness_kind *kind,
			  struct cost_witness *out, struct pugmark_diag *diag)
{
	double added[TURNS], ratios[TURNS];

	for (int i = 0; i < TURNS; i++) {
		double ns[COPIES];

		for (int copy = 0; copy < COPIES; copy++) {
			ns[copy] = time_once(b, kind->loop, copy, HITS_OF_TURN);
			if (ns[copy] < 0)
				return child_ended(diag);
		}
		added[i] = ns[COPY_WITNESS] - ns[COPY_BARE];
		ratios[i] = added[i] / (ns[COPY_EMPTY] - ns[COPY_BARE]);
	}
	qsort(added, TURNS, sizeof(*added), compare_doubles);
	qsort(ratios, TURNS, sizeof(*ratios), compare_doubles);
	*out = (struct cost_witness){
		.name = kind->name,
		.key = kind->key,
		.added_ns = added[TURNS / 2],
		.over_empty = ratios[TURNS / 2],
		.low = ratios[TURNS / 4],
		.high = ratios[3 * TURNS / 4],
	};
	return 0;
}

/* Measures one copy of the loop under the recording program, as the recorder runs it, against
 * another under the empty program. */
static int measure_witness(struct bench *b, struct cost_bpf *empty, const struct witness_kind *kind,
			   struct cost_witness *out, struct pugmark_diag *diag)
{
	uint64_t offset = probe_offset(kind->loop, COPY_WITNESS);
	struct pugmark_plan_site site = {
		.addr = offset,
		.off_file = offset,
		.cfa_reg = PUGMARK_CFA_SP,
		.cfa_off = 8,
		.capture = kind->capture,
		.cond = 4,
	};
	const struct recorder_module module = {.path = b->path, .sites = &site, .n_sites = 1};
	const struct recorder_options options = {
		.modules = &module,
		.n_modules = 1,
		.time_unit_ns = kind->time_unit_ns,
		/* All rounds fit into the ring, so that no consumer takes the other processor
		 * meanwhile. */
		.ring_bytes = 4 << 20,
	};
	const struct text_span span = {.end = CODE_BYTES};
	struct probes *probes;
	int err = probes_load(&options, &span, &probes, diag);

	if (err)
		return err;
	err = probes_attach(probes, &options, false, diag);
	if (!err) {
		int n = probes_adopt(probes, b->pid, true, diag);
		err = n < 0 ? n : 0;
	}
	struct ring_reader *ring =
		err ? NULL : ring_open(probes_events_fd(probes), ignore_record, NULL);
	struct bpf_link *link =
		ring ? attach_empty(empty, b, probe_offset(kind->loop, COPY_EMPTY)) : NULL;
	if (!err && !link)
		err = -errno;
	if (!err) {
		probes_enable(probes);
		err = compare_copies(b, kind, out, diag);
		ring_consume(ring);
		probes_stop(probes);
	}
	bpf_link__destroy(link);
	ring_close(ring);
	probes_free(probes);
	return err;
}

static double median(const struct measured_costs *costs, bool stepped)
{
	double values[COST_INSNS];
	unsigned n = 0;

	for (unsigned i = 0; i < COST_INSNS; i++)
		if (costs->rows[i].stepped == stepped)
			values[n++] = costs->rows[i].empty_ns;
	qsort(values, n, sizeof(*values), compare_doubles);
	return values[n / 2];
}

int costs_measure(struct measured_costs *costs, struct pugmark_diag *diag)
{
	struct cost_bpf *empty = NULL;
	struct bench b;
	int err = bench_open(&b, diag);

	if (!err)
		err = load_empty(&empty, diag);
	if (!err)
		err = measure_empty(&b, empty, costs, diag);
	for (unsigned i = 0; !err && i < COST_WITNESSES; i++)
		err = measure_witness(&b, empty, &kinds[i], &costs->witnesses[i], diag);
	cost_bpf__destroy(empty);
	bench_close(&b);
	if (err)
		return err;
	costs->emulated_ns = median(costs, false);
	costs->stepped_ns = median(costs, true);
	return 0;
}

int costs_save(const struct measured_costs *costs, struct pugmark_diag *diag)
{
	char *path = probe_costs_path(), *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = -ENOENT;

	if (f) {
		fprintf(f, "{\"emulated\": %.1f, \"stepped\": %.1f, \"witness\": %.1f",
			costs->emulated_ns, costs->stepped_ns,
			costs->witnesses[COST_WITNESS].added_ns);
		for (unsigned i = 0; i < COST_INSNS; i++)
			fprintf(f, ", \"%s\": %.1f", costs->rows[i].name, costs->rows[i].empty_ns);
		fputs("}\n", f);
		err = fclose(f) ? -ENOMEM : path ? own_cache_write(path, text, len) : -ENOENT;
	}
	if (err)
		pugmark_diag_set(diag, err, path ? path : "costs.json", PUGMARK_NO_OFFSET,
				 "keeping the costs: %s", own_cache_why(err));
	free(path);
	free(text);
	return err;
}
