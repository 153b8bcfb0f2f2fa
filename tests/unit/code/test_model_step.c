// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_model_step.c: the model against a processor. Programs with every kind of control flow are
 * compiled in several ways and single-stepped, but for what runs outside; every step inside the
 * program has to be one that the model allows, every CFA rule has to give the frame's CFA, and
 * every static stack height has to be the real one. The stepper keeps the frames itself, from the
 * calls and returns that it sees. */
#include "tests/unit/elf/elf_helper.h"

#include <errno.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#define SNIPPETS "tests/unit/code/snippets/"

enum { MAX_FRAMES = 256 };

struct frame {
	uint64_t cfa;
	uint32_t block; /* that called, or PUGMARK_NONE */
};

struct stepper {
	const struct pugmark_model *model;
	uint64_t bias;	    /* runtime address minus ELF address */
	char *text, *traps; /* the model's code, and as many breakpoints */
	struct frame frames[MAX_FRAMES];
	uint32_t n_frames;
	uint32_t returned_to; /* block that called the frame popped last, or PUGMARK_NONE */
	uint64_t last;	      /* ELF address of the step before, 0 if it was not in a block */
	uint64_t n_steps, n_known_cfa, n_sites, n_known_heights, n_edges;
};

static const struct pugmark_insn *insn_in(const struct pugmark_model *m, uint32_t block,
					  uint64_t addr)
{
	const struct pugmark_block *b = &m->blocks[block];
	for (uint32_t i = b->insn; i < b->insn + b->n_insns; i++)
		if (m->text_addr + m->insns[i].off == addr)
			return &m->insns[i];
	return NULL;
}

static bool has_edge(const struct pugmark_model *m, uint32_t from, uint32_t to)
{
	const struct pugmark_block *b = &m->blocks[from];
	for (uint32_t k = 0; k < b->n_edges; k++)
		if (m->edges[b->edge + k].to == to)
			return true;
	return false;
}

static bool is_entry(const struct pugmark_model *m, uint32_t block)
{
	return m->blocks[block].addr == m->funcs[m->blocks[block].func].addr;
}

/* Whether the model lets control get from the last instruction of @from to the block @to. */
static bool leaves_to(struct stepper *s, uint32_t from, uint32_t to)
{
	const struct pugmark_model *m = s->model;
	const struct pugmark_block *b = &m->blocks[from];
	if (has_edge(m, from, to) && b->end != PUGMARK_END_CALL)
		return true;
	if (b->site == PUGMARK_NONE)
		return false;
	const struct pugmark_site *site = &m->sites[b->site];
	if (site->via == PUGMARK_VIA_INDIRECT)
		return is_entry(m, to) &&
		       m->funcs[m->blocks[to].func].flags & PUGMARK_FUNC_ADDRESS_TAKEN;
	return is_entry(m, to) && site->target == m->blocks[to].func;
}

/* Whether control may come back into the block @to, by a return or an unwinding. */
static bool comes_back_to(struct stepper *s, uint32_t to)
{
	const struct pugmark_model *m = s->model;
	if (s->returned_to != PUGMARK_NONE && has_edge(m, s->returned_to, to))
		return true;
	return m->blocks[to].flags & PUGMARK_BLOCK_SETJMP_RETURN;
}

static void check_transfer(struct stepper *s, uint32_t block, uint64_t addr, uint64_t sp)
{
	const struct pugmark_model *m = s->model;
	uint32_t from = s->last ? pugmark_model_block_at(m, s->last) : PUGMARK_NONE;
	const struct pugmark_insn *insn = from == PUGMARK_NONE ? NULL : insn_in(m, from, s->last);
	bool ok, at_start = m->blocks[block].addr == addr;
	s->n_edges++;
	size_t len;
	if (insn && insn->len == 1 && *pugmark_model_bytes(m, s->last, &len) == 0xf0) {
		/* A lock prefix that is jumped over elsewhere: executed with what follows it. */
		from = pugmark_model_block_at(m, ++s->last);
		assert_int_not_equal(from, PUGMARK_NONE);
		insn = insn_in(m, from, s->last);
	}
	if (insn && insn->kind == PUGMARK_INSN_OTHER && addr == s->last)
		ok = true; /* a repeated string instruction */
	else if (insn && s->last + insn->len != m->blocks[from].addr + m->blocks[from].size)
		ok = addr == s->last + insn->len;
	else if (insn && insn->kind != PUGMARK_INSN_RET)
		ok = at_start && leaves_to(s, from, block);
	else
		ok = at_start && (comes_back_to(s, block) || (!insn && is_entry(m, block)));
	if (!ok)
		fail_msg("%s: step %llx -> %llx is not in the model", m->path,
			 (unsigned long long)s->last, (unsigned long long)addr);
	/* A callback: nobody here called it. */
	if (!insn && is_entry(m, block) &&
	    (!s->n_frames || s->frames[s->n_frames - 1].cfa != sp + 8)) {
		assert_in_range(s->n_frames, 0, MAX_FRAMES - 1);
		s->frames[s->n_frames++] = (struct frame){sp + 8, PUGMARK_NONE};
	}
}

static void check_frame(struct stepper *s, uint32_t block, uint64_t addr,
			const struct user_regs_struct *regs)
{
	const struct pugmark_model *m = s->model;
	const struct pugmark_block *b = &m->blocks[block];
	struct pugmark_cfa rule = pugmark_model_cfa_at(m, addr);
	uint64_t cfa = s->frames[s->n_frames - 1].cfa;
	if (rule.reg != PUGMARK_CFA_UNKNOWN) {
		uint64_t base = rule.reg == PUGMARK_CFA_SP ? regs->rsp : regs->rbp;
		if (base + (uint64_t)(int64_t)rule.offset != cfa)
			fail_msg("%s: wrong CFA at %llx", m->path, (unsigned long long)addr);
		s->n_known_cfa++;
	}
	const struct pugmark_insn *last = &m->insns[b->insn + b->n_insns - 1];
	if (b->site == PUGMARK_NONE || m->text_addr + last->off != addr)
		return;
	const struct pugmark_site *site = &m->sites[b->site];
	assert_int_equal(site->addr, addr);
	s->n_sites++;
	if (site->height != PUGMARK_HEIGHT_UNKNOWN) {
		if (cfa - regs->rsp != (uint64_t)(int64_t)site->height)
			fail_msg("%s: height at %llx is %lld, not %d", m->path,
				 (unsigned long long)addr, (long long)(cfa - regs->rsp),
				 site->height);
		s->n_known_heights++;
	}
	if (site->kind == PUGMARK_SITE_CALL) {
		assert_in_range(s->n_frames, 0, MAX_FRAMES - 1);
		s->frames[s->n_frames++] = (struct frame){regs->rsp, block};
	}
}

static void check_step(struct stepper *s, const struct user_regs_struct *regs)
{
	uint64_t addr = regs->rip - s->bias;
	s->n_steps++;
	while (s->n_frames && regs->rsp >= s->frames[s->n_frames - 1].cfa)
		s->returned_to = s->frames[--s->n_frames].block;
	uint32_t block = pugmark_model_block_at(s->model, addr);
	if (block == PUGMARK_NONE) {
		s->last = 0; /* a PLT stub, or another module */
		return;
	}
	assert_non_null(insn_in(s->model, block, addr));
	check_transfer(s, block, addr, regs->rsp);
	assert_true(s->n_frames > 0);
	check_frame(s, block, addr, regs);
	s->last = addr;
}

static uint64_t load_bias(pid_t pid, const struct pugmark_model *model)
{
	char path[64];
	unsigned long long start;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "r");
	assert_non_null(maps);
	assert_int_equal(fscanf(maps, "%llx", &start), 1);
	fclose(maps);
	return model->pie ? start : 0;
}

static size_t text_bytes(const struct stepper *s)
{
	return s->model->text_end - s->model->text_addr;
}

static bool is_in_text(const struct stepper *s, const struct user_regs_struct *regs)
{
	return regs->rip - s->bias - s->model->text_addr < text_bytes(s);
}

static FILE *open_text(const struct stepper *s, pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	FILE *memory = fopen(path, "r+");
	assert_non_null(memory);
	setbuf(memory, NULL);
	assert_int_equal(fseeko(memory, (off_t)(s->model->text_addr + s->bias), SEEK_SET), 0);
	return memory;
}

static void keep_text(struct stepper *s, pid_t pid)
{
	FILE *memory = open_text(s, pid);
	s->text = malloc(text_bytes(s));
	s->traps = malloc(text_bytes(s));
	assert_true(s->text && s->traps);
	assert_int_equal(fread(s->text, text_bytes(s), 1, memory), 1);
	memset(s->traps, 0xcc, text_bytes(s));
	fclose(memory);
}

static void put_text(const struct stepper *s, pid_t pid, const char *text)
{
	FILE *memory = open_text(s, pid);
	assert_int_equal(fwrite(text, text_bytes(s), 1, memory), 1);
	fclose(memory);
}

/* From outside of the model's code to wherever in it that leads, or to the end: nothing is checked
 * there, and a throw alone has ten thousand steps. Returns waitpid()'s status. */
static int come_back(const struct stepper *s, pid_t pid)
{
	struct user_regs_struct regs;
	int status;
	put_text(s, pid, s->traps);
	do {
		assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	} while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP);
	if (!WIFSTOPPED(status))
		return status;
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	regs.rip--;
	assert_true(is_in_text(s, &regs));
	assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
	put_text(s, pid, s->text);
	return status;
}

static int step(const struct stepper *s, pid_t pid)
{
	struct user_regs_struct regs;
	int status;
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	if (!is_in_text(s, &regs))
		return come_back(s, pid);
	assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Starts @path and stops it at main. */
static pid_t start(const char *path, struct stepper *s)
{
	uint32_t main_func = pugmark_model_func_named(s->model, "main");
	assert_int_not_equal(main_func, PUGMARK_NONE);
	pid_t pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	s->bias = load_bias(pid, s->model);
	uint64_t at = s->model->funcs[main_func].addr + s->bias;
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, pid, at, NULL);
	assert_int_equal(errno, 0);
	assert_int_equal(ptrace(PTRACE_POKETEXT, pid, at, (word & ~0xffL) | 0xcc), 0);
	assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	struct user_regs_struct regs;
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	regs.rip = at;
	assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
	assert_int_equal(ptrace(PTRACE_POKETEXT, pid, at, word), 0);
	s->frames[s->n_frames++] = (struct frame){regs.rsp + 8, PUGMARK_NONE};
	check_step(s, &regs);
	keep_text(s, pid);
	return pid;
}

static void step_through(const char *path)
{
	struct pugmark_diag diag;
	struct pugmark_model *model;
	if (pugmark_model_open(path, &model, &diag))
		fail_msg("%s", diag.text);
	struct stepper s = {.model = model, .returned_to = PUGMARK_NONE};
	pid_t pid = start(path, &s);
	int status;
	for (;;) {
		struct user_regs_struct regs;
		status = step(&s, pid);
		if (!WIFSTOPPED(status))
			break;
		assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
		check_step(&s, &regs);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	print_message("%llu steps, %llu of them inside; CFA known at %llu; heights at %llu of %llu "
		      "sites\n",
		      (unsigned long long)s.n_steps, (unsigned long long)s.n_edges,
		      (unsigned long long)s.n_known_cfa, (unsigned long long)s.n_known_heights,
		      (unsigned long long)s.n_sites);
	assert_true(s.n_edges > 500 && s.n_sites > 30);
	assert_true(s.n_known_cfa * 100 >= s.n_edges * 99);
	assert_true(s.n_known_heights * 100 >= s.n_sites * 95);
	pugmark_model_free(model);
	free(s.text);
	free(s.traps);
}

static bool may_trace(void)
{
	pid_t pid = fork();
	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	int status;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void compile_and_step(const char *compiler, const char *flags, const char *sources)
{
	char dir[] = "/tmp/pugmark-step-XXXXXX", path[64];
	if (!may_trace()) {
		print_message("SKIP: this machine does not let processes be traced\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	command_end(command("%s %s -w -o %s %s 2>&1", compiler, flags, path, sources));
	step_through(path);
	unlink(path);
	rmdir(dir);
}

#define FLOWS SNIPPETS "flows.c " SNIPPETS "by_hand.S"
#define STEP(name, compiler, flags, sources)                                                       \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		compile_and_step(compiler, flags, sources);                                        \
	}

STEP(gcc_without_optimisation, "gcc", "-O0", FLOWS)
STEP(gcc_optimised, "gcc", "-O2", FLOWS)
STEP(gcc_optimised_with_frame_pointers, "gcc", "-O2 -fno-omit-frame-pointer", FLOWS)
STEP(gcc_for_size, "gcc", "-Os -fcf-protection", FLOWS)
STEP(gcc_at_a_fixed_address, "gcc", "-O2 -fno-pie -no-pie", FLOWS)
STEP(gcc_stripped_of_local_symbols, "gcc", "-O2 -rdynamic -Wl,-x", FLOWS)
STEP(clang_without_optimisation, "clang", "-O0", FLOWS)
STEP(clang_optimised, "clang", "-O2", FLOWS)
STEP(clang_at_a_fixed_address, "clang", "-O2 -fno-pie -no-pie", FLOWS)
STEP(exceptions_without_optimisation, "g++", "-O0", SNIPPETS "throws.cc")
STEP(exceptions_optimised, "g++", "-O2", SNIPPETS "throws.cc")

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcc_without_optimisation),
		cmocka_unit_test(gcc_optimised),
		cmocka_unit_test(gcc_optimised_with_frame_pointers),
		cmocka_unit_test(gcc_for_size),
		cmocka_unit_test(gcc_at_a_fixed_address),
		cmocka_unit_test(gcc_stripped_of_local_symbols),
		cmocka_unit_test(clang_without_optimisation),
		cmocka_unit_test(clang_optimised),
		cmocka_unit_test(clang_at_a_fixed_address),
		cmocka_unit_test(exceptions_without_optimisation),
		cmocka_unit_test(exceptions_optimised),
	};
	return cmocka_run_group_tests_name("the model, single-stepped", tests, NULL, NULL);
}
