// SPDX-License-Identifier: LGPL-2.1-or-later
/* shape_try.c: see shape_try.h. A batch of cases is a file in memory, which three children run: two
 * without probes, so that what differs by itself (a clock, a random number) is known, and one with
 * a probe on each instruction. The probes are there before the child maps the file: where the
 * kernel refuses an instruction, it does so without a word, and the probe never fires. */
#include "user/shapes/shape_try.h"

#include "offline/base/clock.h"
#include "bpf/shapes.skel.h"
#include "user/kernel/probe_limits.h"
#include "user/shapes/shape_places.h"

#include <Zydis/Zydis.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 128 };
/* A trial is stuck that takes so much of a processor, or, if it sleeps, so long: on a loaded
 * machine the child may wait for seconds for its processor. */
#define STUCK_CPU_NS 1000000000ull
#define STUCK_NS 30000000000ull
enum run { RUN_BARE, RUN_AGAIN, RUN_PROBED, RUNS };
_Static_assert(BATCH *TRIALS_PER_CASE <= LAB_MOST_TRIALS, "a batch is one lab");

struct batch {
	const struct shape_case *cases;
	struct shape_verdict *verdicts;
	uint32_t n;
	int code_fd, cpu;
	char path[32];
	uint32_t *offsets; /* of the places in the file */
	struct lab *lab;   /* shared with the child */
	struct lab_outcome *outcomes[RUNS];
};

static const char *const part_names[N_PARTS] = {
	"r8",		"r9",	 "r10",	   "r11",   "r12",	   "r13",      "r14",	 "r15",
	"rdi",		"rsi",	 "rbp",	   "rbx",   "rdx",	   "rax",      "rcx",	 "rsp",
	"rip",		"flags", "signal", "fault", "trap number", "segments", "memory", "x87",
	"x87 pointers", "mxcsr", "xmm",	   "ymm",   "masks",	   "zmm",      "other",
};

const char *shape_part_name(enum lab_part part)
{
	return part_names[part];
}

bool shape_is_harmed(const struct shape_verdict *v)
{
	return v->differs & ~(1u << PART_TRAP_NUMBER) || v->repeated ||
	       (v->stuck && !v->stuck_bare);
}

bool shape_can_be_tried(const struct shape_case *c)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, c->bytes, c->len, &insn)))
		return false;
	uint8_t op = insn.opcode;
	if (insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return true;
	/* A nop of five bytes is a fault of its own, and never probed (see probe_class.h). */
	if (insn.length == 5 && (op == 0x90 || op == 0x1f))
		return false;
	if (insn.opcode_map == ZYDIS_OPCODE_MAP_0F)
		return op > 0x01 && op != 0x05 && op != 0x07 && op != 0x34 && op != 0x35;
	if (insn.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return true;
	/* int, iret, far returns, calls and jumps. */
	bool far = op == 0xff && (insn.raw.modrm.reg == 3 || insn.raw.modrm.reg == 5);
	return !(op >= 0xca && op <= 0xcf) && op != 0xf1 && op != 0x9a && op != 0xea && !far;
}

static void add_trials(struct batch *b, uint32_t i, const struct shape_place *places,
		       uint64_t *seed)
{
	for (uint32_t k = 0; k < TRIALS_PER_CASE; k++) {
		/* The last trials repeat the first place, with other values. */
		uint32_t place = k < PLACES_PER_CASE ? k : 0;
		b->lab->trials[i * TRIALS_PER_CASE + k] = (struct lab_trial){
			.ip = LAB_CODE + (uint64_t)i * CASE_BYTES + places[place].offset,
			.seed = *seed += 0x1234567,
			.small_registers = places[place].small_registers,
			.small_vectors = k % 2,
			.trap = place >= PLACE_TRAP,
		};
	}
}

static int write_code(struct batch *b, uint64_t *seed)
{
	static uint8_t code[CASE_BYTES];
	b->code_fd = memfd_create("pugmark-shapes", MFD_CLOEXEC);
	if (b->code_fd < 0)
		return -errno;
	snprintf(b->path, sizeof(b->path), "/proc/self/fd/%d", b->code_fd);
	for (uint32_t i = 0; i < b->n; i++) {
		struct shape_place places[PLACES_PER_CASE];
		uint64_t address = LAB_CODE + (uint64_t)i * CASE_BYTES;
		shape_places_write(&b->cases[i], code, address, seed, places);
		for (uint32_t k = 0; k < PLACES_PER_CASE; k++)
			b->offsets[i * PLACES_PER_CASE + k] = i * CASE_BYTES + places[k].offset;
		add_trials(b, i, places, seed);
		/* The file ends with the last case's last instruction. */
		size_t bytes = i + 1 < b->n ? CASE_BYTES : HOLE_AT;
		if (write(b->code_fd, code, bytes) != (ssize_t)bytes)
			return -EIO;
	}
	return 0;
}

static _Noreturn void child_main(const struct batch *b)
{
	size_t bytes = (size_t)b->n * CASE_BYTES;
	void *at = (void *)(uintptr_t)LAB_CODE;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	/* All on one processor, whose number cpuid and others tell. */
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(b->cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (mmap(at, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, b->code_fd,
		 0) != at)
		_exit(3);
	for (uint32_t i = 0; i < b->n; i++)
		munmap((char *)at + (size_t)i * CASE_BYTES + HOLE_AT, CASE_BYTES - HOLE_AT);
	shape_child_run(b->lab);
}

/* What the child @pid has had of a processor. */
static uint64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Waits until the child ends or is stuck. */
static int wait_for(pid_t pid, const struct lab *lab)
{
	uint32_t seen = lab->done;
	uint64_t since = clock_now_ns(), cpu_since = 0;
	int status;
	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (lab->done != seen) {
			seen = lab->done;
			since = clock_now_ns();
			cpu_since = cpu_ns_of(pid);
		} else if (clock_now_ns() - since > STUCK_NS ||
			   cpu_ns_of(pid) > cpu_since + STUCK_CPU_NS) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
	}
}

/* Runs all trials; a child that a trial ends is followed by another, which goes on behind its case.
 */
static int run(struct batch *b, enum run which)
{
	struct lab *lab = b->lab;
	lab->n = b->n * TRIALS_PER_CASE;
	lab->done = 0;
	memset(lab->outcomes, 0, sizeof(lab->outcomes));
	while (lab->done < lab->n) {
		uint32_t before = lab->done;
		pid_t pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid)
			child_main(b);
		int status = wait_for(pid, lab);
		if (lab->done >= lab->n)
			break;
		if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) && lab->done == before)
			return -ENOEXEC;
		uint32_t i = lab->done / TRIALS_PER_CASE;
		b->verdicts[i].stuck = true;
		b->verdicts[i].stuck_bare |= which != RUN_PROBED;
		lab->done = (i + 1) * TRIALS_PER_CASE;
	}
	memcpy(b->outcomes[which], lab->outcomes, lab->n * sizeof(*lab->outcomes));
	return 0;
}

static int place_probes(struct batch *b, struct shapes_bpf *skel, struct bpf_link ***out,
			uint32_t *n_links)
{
	uint32_t n = b->n * PLACES_PER_CASE;
	bool multi = probe_limits_have_multi() > 0;
	unsigned long *offsets = calloc(n, sizeof(*offsets));
	__u64 *cookies = calloc(n, sizeof(*cookies));
	struct bpf_link **links = calloc(multi ? 1 : n, sizeof(*links));
	int err = offsets && cookies && links ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < n; i++) {
		offsets[i] = b->offsets[i];
		cookies[i] = i;
		if (multi)
			continue;
		LIBBPF_OPTS(bpf_uprobe_opts, one, .bpf_cookie = i);
		links[i] = bpf_program__attach_uprobe_opts(skel->progs.count, -1, b->path,
							   offsets[i], &one);
		err = links[i] ? 0 : -errno;
	}
	if (!err && multi) {
		LIBBPF_OPTS(bpf_uprobe_multi_opts, all, .cnt = n, .offsets = offsets,
			    .cookies = cookies);
		*links = bpf_program__attach_uprobe_multi(skel->progs.count, -1, b->path, NULL,
							  &all);
		err = *links ? 0 : -errno;
	}
	free(offsets);
	free(cookies);
	*out = links;
	*n_links = links ? (multi ? 1 : n) : 0;
	return err;
}

static int run_probed(struct batch *b, struct shapes_bpf *skel, const uint64_t **hits)
{
	struct bpf_link **links = NULL;
	uint32_t n_links = 0;
	size_t bytes = (size_t)b->n * PLACES_PER_CASE * sizeof(uint64_t);
	int err = place_probes(b, skel, &links, &n_links);
	if (!err)
		err = run(b, RUN_PROBED);
	for (uint32_t i = 0; i < n_links; i++)
		bpf_link__destroy(links[i]);
	free(links);
	if (err)
		return err;
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(skel->maps.hits), 0);
	*hits = at == MAP_FAILED ? NULL : at;
	return *hits ? 0 : -errno;
}

static void judge(struct batch *b, uint32_t i, const uint64_t *hits)
{
	struct shape_verdict *v = &b->verdicts[i];
	uint32_t executed = 0, fired = 0;
	for (uint32_t k = 0; k < TRIALS_PER_CASE && !v->stuck; k++) {
		uint32_t t = i * TRIALS_PER_CASE + k, differs = 0;
		const uint64_t *bare = b->outcomes[RUN_BARE][t].part;
		for (int p = 0; p < N_PARTS; p++)
			if (bare[p] == b->outcomes[RUN_AGAIN][t].part[p] &&
			    bare[p] != b->outcomes[RUN_PROBED][t].part[p])
				differs |= 1u << p;
		executed += bare[PART_SIGNAL] >> 32 != SIGILL;
		if (b->lab->trials[t].trap)
			v->under_trap |= differs;
		else
			v->differs |= differs;
	}
	for (uint32_t k = 0; k < PLACES_PER_CASE; k++) {
		uint64_t n = hits[i * PLACES_PER_CASE + k];
		uint64_t want = k ? 1 : 1 + TRIALS_PER_CASE - PLACES_PER_CASE;
		fired += n > 0;
		v->repeated |= !v->stuck && k < PLACE_TRAP && n && n != want;
	}
	v->refused = !fired;
	v->untried = !executed && !v->stuck;
}

static int load_counter(uint32_t n_places, struct shapes_bpf **out)
{
	struct shapes_bpf *skel = shapes_bpf__open();
	int err = skel ? bpf_map__set_max_entries(skel->maps.hits, n_places) : -errno;
	if (skel && probe_limits_have_multi() <= 0)
		bpf_program__set_expected_attach_type(skel->progs.count, 0);
	if (!err)
		err = shapes_bpf__load(skel);
	if (err)
		shapes_bpf__destroy(skel);
	else
		*out = skel;
	return err;
}

static int try_batch(struct batch *b, uint64_t *seed)
{
	struct shapes_bpf *skel = NULL;
	const uint64_t *hits = NULL;
	int err = write_code(b, seed);
	if (!err)
		err = run(b, RUN_BARE);
	if (!err)
		err = run(b, RUN_AGAIN);
	if (!err)
		err = load_counter(b->n * PLACES_PER_CASE, &skel);
	if (!err)
		err = run_probed(b, skel, &hits);
	for (uint32_t i = 0; !err && i < b->n; i++)
		judge(b, i, hits);
	if (hits)
		munmap((void *)hits, (size_t)b->n * PLACES_PER_CASE * sizeof(uint64_t));
	shapes_bpf__destroy(skel);
	if (b->code_fd >= 0)
		close(b->code_fd);
	return err;
}

/* Tries those that can be tried among the cases, a batch at a time. */
static int try_all(struct batch *b, const struct shape_case *cases, uint32_t n, uint64_t seed,
		   struct shape_verdict *verdicts, struct shape_count *count)
{
	struct shape_case *some = calloc(BATCH, sizeof(*some));
	struct shape_verdict *theirs = calloc(BATCH, sizeof(*theirs));
	uint32_t *numbers = calloc(BATCH, sizeof(*numbers));
	int err = some && theirs && numbers ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < n;) {
		b->n = 0;
		for (; i < n && b->n < BATCH; i++) {
			verdicts[i] = (struct shape_verdict){.skipped = true};
			if (!shape_can_be_tried(&cases[i]))
				continue;
			some[b->n] = cases[i];
			theirs[b->n] = (struct shape_verdict){.skipped = false};
			numbers[b->n++] = i;
		}
		b->cases = some;
		b->verdicts = theirs;
		b->code_fd = -1;
		if (b->n)
			err = try_batch(b, &seed);
		for (uint32_t k = 0; k < b->n; k++)
			verdicts[numbers[k]] = theirs[k];
		if (count)
			count->runs += (uint64_t)b->n * TRIALS_PER_CASE * RUNS;
	}
	free(some);
	free(theirs);
	free(numbers);
	return err;
}

int shapes_try(const struct shape_case *cases, uint32_t n, uint64_t seed,
	       struct shape_verdict *verdicts, struct shape_count *count, struct pugmark_diag *diag)
{
	struct batch b = {.code_fd = -1, .cpu = sched_getcpu()};
	uint64_t start = clock_now_ns();
	int err = 0;
	b.lab = mmap(NULL, sizeof(*b.lab), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	b.offsets = calloc(BATCH * PLACES_PER_CASE, sizeof(*b.offsets));
	for (int i = 0; i < RUNS; i++) {
		b.outcomes[i] = calloc(LAB_MOST_TRIALS, sizeof(*b.outcomes[i]));
		err = b.outcomes[i] ? err : -ENOMEM;
	}
	if (b.lab == MAP_FAILED || !b.offsets || err)
		err = -ENOMEM;
	else
		err = try_all(&b, cases, n, seed, verdicts, count);
	if (b.lab != MAP_FAILED)
		munmap(b.lab, sizeof(*b.lab));
	free(b.offsets);
	for (int i = 0; i < RUNS; i++)
		free(b.outcomes[i]);
	if (count)
		count->seconds += (double)(clock_now_ns() - start) / 1e9;
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				      "trying instructions with and without a probe: %s",
				      strerror(-err))
		   : 0;
}
