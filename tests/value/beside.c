// SPDX-License-Identifier: LGPL-2.1-or-later
/* beside.c: a process that is attached to, stepped by ptrace while it is recorded, so that one and
 * the same run is compared: what the processor had before each instruction, and what that has
 * loaded, against the replay of the recording.
 *
 *   beside step PID PROGRAM STEPS SECONDS LOG
 *   beside compare RECORDING LOG
 *
 * It is the first thread of PID that is stepped; its traced code is PROGRAM's, a path.
 * LOG: of each step of traced code a struct seen, loaded bytes, and the vector registers where they
 * are others than before. A step that the kernel does not report is left out: that of an
 * instruction behind a probed one that the kernel emulates. With --one-processor each stop is a
 * loss of the processor that is recorded, so that none is made where a program loses it once in a
 * while: in the kernel's clock functions and between the turns of a string instruction.
 *
 * `compare` prints one line; exit 1: something was wrong, or nothing was compared. */
#include "offline/replay/replay.h"
#include "tests/value/followed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOADED_MAX = 64, CODES = 1 << 16, UNSEEN_MAX = 4, RAN_MAX = 1 << 20 };

struct loaded {
	uint64_t addr;
	uint64_t len; /* 0: nothing is loaded, or it could not be read */
	uint8_t bytes[LOADED_MAX];
};

/* Before one instruction. */
struct seen {
	struct user_regs_struct regs;
	struct loaded loaded[2];
	uint64_t ran;	    /* 1: more was executed since the one before than that */
	uint64_t xsave_len; /* of the bytes that follow; 0: as before */
};

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* --- stepping -------------------------------------------------------------------------------- */

/* Where the traced code is, and that code, as its file has it: in memory it is full of probes. */
struct code {
	uint64_t start, end, off_file;
	int file;
	ZydisDecoder decoder;
	struct value_insn insns[CODES];
	struct value_access access[CODES][VALUE_ACCESSES];
};

static bool find_code(struct code *code, pid_t pid, const char *program)
{
	char path[64], line[512], name[256], prot[8];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "r");
	bool found = false;
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &code->start, &code->end,
			       prot, &code->off_file, name) == 5 &&
			prot[2] == 'x' && !strcmp(name, program);
	if (maps)
		fclose(maps);
	code->file = open(program, O_RDONLY);
	return found && code->file >= 0 &&
	       ZYAN_SUCCESS(ZydisDecoderInit(&code->decoder, ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64));
}

/* NULL: it cannot be decoded. */
static const struct value_insn *insn_at(struct code *code, uint64_t ip)
{
	struct value_insn *insn = &code->insns[ip % CODES];
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	if (insn->ip == ip)
		return insn;
	ssize_t n = pread(code->file, bytes, sizeof(bytes), ip - code->start + code->off_file);
	if (n <= 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&code->decoder, bytes, n, &zi, ops)))
		return NULL;
	value_insn_describe(&zi, ops, ip, code->access[ip % CODES], insn);
	insn->ip = ip;
	return insn;
}

static void note_loads(struct code *code, const struct stepped *p, struct seen *seen)
{
	const struct value_insn *insn = insn_at(code, p->regs.rip);
	struct value_state s = {.gpr = {[VALUE_FS] = p->regs.fs_base}};
	for (unsigned i = 0; i < 16; i++)
		s.gpr[i] = stepped_gpr(p, i);
	for (int i = 0; insn && i < insn->n_mem; i++) {
		struct loaded *l = &seen->loaded[i];
		l->addr = value_place_address(&insn->mem[i], &s);
		l->len = insn->mem[i].read && insn->mem[i].len <= LOADED_MAX ? insn->mem[i].len : 0;
		if (!stepped_read(p, l->addr, l->bytes, l->len))
			l->len = 0;
	}
}

static void note(struct code *code, struct stepped *p, bool ran, FILE *log)
{
	static uint8_t before[STEPPED_XSAVE];
	struct seen seen = {.ran = ran};
	stepped_registers(p);
	seen.regs = p->regs;
	note_loads(code, p, &seen);
	if (memcmp(before, p->xsave, p->xsave_len) != 0)
		seen.xsave_len = p->xsave_len;
	memcpy(before, p->xsave, p->xsave_len);
	if (fwrite(&seen, sizeof(seen), 1, log) != 1 ||
	    fwrite(p->xsave, 1, seen.xsave_len, log) != seen.xsave_len)
		stepped_die("the log");
}

/* How far a process has come. */
struct way {
	uint64_t ip, before; /* of the last two instructions */
	bool ran;	     /* there is more between */
};

/* Whether @back is behind a call that was one of the last two instructions: through a stub,
 * perhaps. */
static bool is_behind_call(const struct way *w, uint64_t back)
{
	enum { CALL_MIN = 2, CALL_MAX = 7 };
	return back - w->ip - CALL_MIN <= CALL_MAX - CALL_MIN ||
	       back - w->before - CALL_MIN <= CALL_MAX - CALL_MIN;
}

/* To the next instruction, or over all of a call out. */
static bool go_on(struct code *code, struct stepped *p, struct way *w)
{
	uint64_t ip = stepped_ip(p), back;
	bool over = ip < code->start || ip >= code->end;
	if (over) {
		stepped_general(p);
		over = stepped_read(p, p->regs.rsp, &back, sizeof(back)) && is_behind_call(w, back);
	}
	w->ran |= over;
	w->before = w->ip;
	w->ip = ip;
	return over ? stepped_run_to(p, back) : stepped_step_unseen(p);
}

static int step(char **argv)
{
	pid_t pid = atoi(argv[0]);
	uint64_t most = strtoull(argv[2], NULL, 0), n = 0;
	struct way way = {0};
	time_t until = time(NULL) + atoi(argv[3]);
	struct code *code = calloc(1, sizeof(*code));
	struct stepped *p = calloc(1, sizeof(*p));
	FILE *log = fopen(argv[4], "w");
	if (!code || !p || !log || !find_code(code, pid, argv[1]))
		stepped_die(argv[1]);
	stepped_attach(p, pid);
	while (n < most && time(NULL) < until && go_on(code, p, &way)) {
		uint64_t ip = stepped_ip(p);
		if (ip < code->start || ip >= code->end)
			continue;
		note(code, p, way.ran, log);
		way.ran = false;
		n++;
	}
	stepped_let_go(p);
	printf("%lu instructions\n", n);
	return fclose(log) || !n;
}

/* --- comparing ------------------------------------------------------------------------------- */

/* The next state of the log, into f->p. False: there is none. */
static bool next_seen(struct followed *f, FILE *log, struct seen *seen)
{
	if (fread(seen, sizeof(*seen), 1, log) != 1 || seen->xsave_len > STEPPED_XSAVE ||
	    fread(f->p.xsave, 1, seen->xsave_len, log) != seen->xsave_len)
		return false;
	f->p.regs = seen->regs;
	if (seen->xsave_len)
		f->p.xsave_len = seen->xsave_len;
	return true;
}

/* One instruction: *@insn. False: there is none, and why is said. */
static bool forward(struct followed *f, const struct value_insn **insn)
{
	*insn = value_machine_insn(f->machine, value_machine_state(f->machine)->rip);
	if (*insn)
		followed_undefined(f, *insn);
	enum value_replay_stop stop = value_run_forward(f->run, value_run_count(f->run) + 1, NULL);
	if (stop == VALUE_REPLAY_GAP)
		followed_part(f, "a gap before record %lu: %.120s", value_run_gap(f->run)->record,
			      value_run_gap(f->run)->text);
	else if (stop != VALUE_REPLAY_LIMIT)
		followed_part(f, "the replay is over (%d)", stop);
	return !*f->parted;
}

/* In all registers that the replay knows. */
static bool is_there(const struct followed *f)
{
	const struct value_state *s = value_machine_state(f->machine);
	uint64_t inexact = value_machine_known(f->machine)->inexact;
	bool same = s->rip == f->p.regs.rip;
	for (unsigned i = 0; i < 16; i++)
		same &= inexact >> i & 1 || s->gpr[i] == stepped_gpr(&f->p, i);
	return same;
}

/* Behind what it has called back the place may have been met before. */
static bool is_at(const struct followed *f, bool ran)
{
	const struct value_state *s = value_machine_state(f->machine);
	return s->rip == f->p.regs.rip && (!ran || s->gpr[VALUE_RSP] == f->p.regs.rsp);
}

static void compare(struct followed *f, FILE *log)
{
	const struct value_insn *insn = NULL;
	struct seen seen;
	uint64_t unseen = 0, first;
	if (!next_seen(f, log, &seen))
		return;
	while (!is_there(f))
		if (!forward(f, &insn))
			return; /* the log begins nowhere */
	first = value_run_count(f->run);
	while (!*f->parted) {
		for (int i = 0; i < 2; f->loads += seen.loaded[i++].len != 0)
			followed_loaded(f, insn, seen.loaded[i].addr, seen.loaded[i].bytes,
					seen.loaded[i].len);
		bool more, string, on = forward(f, &insn);
		string = insn && insn->kind == VALUE_INSN_STRING;
		do
			more = next_seen(f, log, &seen);
		while (more && string && f->p.regs.rip == insn->ip);
		for (int i = 0;
		     on && more && i < (seen.ran ? RAN_MAX : UNSEEN_MAX) && !is_at(f, seen.ran);
		     i++, unseen++)
			on = forward(f, &insn);
		if (!more)
			break;
		if (on)
			followed_compare(f, insn);
	}
	printf("from %lu on, %lu not stepped alone; ", first, unseen);
}

static int open_log(char **argv)
{
	struct pugmark_diag diag = {.text = ""};
	struct followed *f = calloc(1, sizeof(*f));
	struct value_replay *replay;
	FILE *log = fopen(argv[1], "r");
	uint32_t n;
	if (!f || !log || value_replay_open(argv[0], &replay, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[0], diag.text);
		return 2;
	}
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n);
	if (!n || value_run_new(replay, tasks[0], &f->run, &diag))
		return 2;
	f->machine = value_run_machine(f->run);
	if (value_run_forward(f->run, 0, NULL) != VALUE_REPLAY_LIMIT)
		return 2;
	compare(f, log);
	uint64_t assumed, unknown, all = value_run_count(f->run);
	value_machine_inexact(f->machine, &assumed, &unknown);
	assumed += value_run_supposed(f->run);
	printf("%lu compared, %lu loads, %lu wrong, %.4f %% of %lu exact, %.4f %% assumed, %.4f %% "
	       "unknown",
	       f->compared, f->loads, f->wrong, share(all - assumed - unknown, all), all,
	       share(assumed, all), share(unknown, all));
	if (*f->parted)
		printf("; parted: %s", f->parted);
	putchar('\n');
	return f->wrong || !f->compared || *f->parted;
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "step"))
		return step(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "compare"))
		return open_log(argv + 2);
	return 2;
}
