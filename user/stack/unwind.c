// SPDX-License-Identifier: LGPL-2.1-or-later
/* unwind.c: see unwind.h. libdwfl does the work; its files are opened by way of map_files, which
 * has them whatever their names lead to by now. A frame without call frame information ends the
 * walk: what the library would guess from frame pointers is not taken. */
#include "user/stack/unwind.h"

#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"
#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "offline/elf/elf_unwinding.h"
#include "user/file/maps_lines.h"
#include "user/stack/heap_bound.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DWARF_BP = 6, DWARF_SP = 7, DWARF_RET = 16, RULES = 1 << 12, EXPRESSION_MAX = 64 };
/* Of a process, of what is left for all. */
enum { SHARE_OF_ROOM = 4 };
/* What the rules at one address may take: of the processor, for what takes microseconds, and of
 * memory. Most of that is for files without a table, of which libdw keeps all entries that it
 * passes.
 */
#define SLOW_NS 100000000
#define LOOKUP_BYTES (UINT64_C(32) << 20)

/* One line of /proc/PID/maps. */
struct mapping {
	uint64_t start, end, off_file;
	bool is_text;
	dev_t dev; /* is_text: of the file that is mapped, 0: of none */
	ino_t ino;
};

struct unwinder {
	Dwfl *dwfl;
	pid_t pid;
	struct mapping *maps;
	uint32_t n, cap;
	struct frame_rule *rules;	/* RULES of them, by a hash of ip; NULL: none yet */
	VEC(struct private_file) files; /* that the dwfl reads */
	struct unwind_room *room;
	uint64_t copied; /* taken of it */
	bool costly; /* call frame information was met that takes too much: nothing is unwound */
	/* Of the walk in progress. */
	const struct unwind_thread *thread;
	uint32_t *slots;
	uint32_t n_slots, max;
	bool lost;	/* a frame has no information */
	bool unmapped;	/* as nothing is known to be mapped where it is */
	bool began;	/* a frame was taken */
	bool outermost; /* the last frame says that it has no caller */
};

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **out)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)out;
	return -1;
}

static void map_file_path(const struct unwinder *u, const struct mapping *m, char path[96])
{
	snprintf(path, 96, "/proc/%d/map_files/%llx-%llx", u->pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
}

static bool is_of_text(const struct unwinder *u, const struct stat *st)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->maps[i].is_text && u->maps[i].dev == st->st_dev &&
		    u->maps[i].ino == st->st_ino)
			return true;
	return false;
}

/* The file @fd, as far as unwinding needs it, in memory: descriptors are scarcer than that. NULL:
 * it is no ELF file, or there is no room for it. Of compressed sections .debug_frame alone would be
 * of use, and libdw inflates all to find it. */
static Elf *elf_of(struct unwinder *u, int fd)
{
	struct private_file file;
	uint64_t max = (u->copied + u->room->bytes) / SHARE_OF_ROOM;
	if (max <= u->copied || elf_unwinding_read(fd, max - u->copied, &file))
		return NULL;
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)file.bytes, file.len_bytes);
	if (elf && elf_kind(elf) == ELF_K_ELF && VEC_PUSH(&u->files, file)) {
		u->copied += file.read_bytes;
		u->room->bytes -= file.read_bytes;
		return elf;
	}
	elf_end(elf);
	private_file_free(&file);
	return NULL;
}

/* The file that is mapped at @m, if code of it is, as far as there is room. */
static Elf *elf_mapped(struct unwinder *u, const struct mapping *m)
{
	char path[96];
	struct stat st;
	map_file_path(u, m, path);
	int fd = open_regular(path, &st);
	if (fd < 0)
		return NULL;
	Elf *elf = is_of_text(u, &st) ? elf_of(u, fd) : NULL;
	close(fd);
	return elf;
}

/* libdwfl passes no argument of ours to this, so the process stands in the argument of the dwfl. */
static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	struct unwinder *u = *data;
	for (uint32_t i = 0; u && i < u->n; i++)
		if (u->maps[i].start == base) {
			*elf = elf_mapped(u, &u->maps[i]);
			*file = *elf ? strdup(name) : NULL;
			return -1; /* no descriptor */
		}
	/* What no file is mapped for: the vdso. A file is never opened by a name in our folders. */
	if (*name == '/')
		return -1;
	return dwfl_linux_proc_find_elf(module, data, name, base, file, elf);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	const struct unwinder *u = arg;
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return u->pid;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *out, void *arg)
{
	struct unwinder *u = arg;
	const struct unwind_thread *t = u->thread;
	(void)dwfl;
	if (addr < t->addr || addr & 7 || (addr - t->addr) / 8 >= t->n_words) {
		u->lost = true; /* else the library would take this frame for the outermost */
		return false;
	}
	*out = t->words[(addr - t->addr) / 8];
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct unwind_thread *t = ((const struct unwinder *)arg)->thread;
	Dwarf_Word regs[17];
	for (int i = 0; i < 16; i++)
		regs[i] = t->regs[i];
	regs[16] = t->ip;
	return dwfl_thread_state_registers(thread, 0, 17, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static void learn_file(const struct unwinder *u, struct mapping *m)
{
	char path[96];
	struct stat st;
	map_file_path(u, m, path);
	if (stat(path, &st))
		return;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
}

static int read_maps(struct unwinder *u)
{
	struct maps_lines lines;
	struct maps_line line;
	int err = 0;
	if (maps_lines_open(&lines, u->pid))
		return -ESRCH;
	while (!err && maps_lines_next(&lines, &line)) {
		if (u->n == u->cap) {
			uint32_t cap = u->cap ? 2 * u->cap : 64;
			struct mapping *maps = realloc(u->maps, cap * sizeof(*maps));
			if (!maps) {
				err = -ENOMEM;
				break;
			}
			u->maps = maps;
			u->cap = cap;
		}
		struct mapping *m = &u->maps[u->n++];
		*m = (struct mapping){line.start, line.end, line.off, line.prot & PROT_EXEC, 0, 0};
		if (m->is_text)
			learn_file(u, m);
	}
	maps_lines_close(&lines);
	return err ? err : u->n ? 0 : -ESRCH;
}

static int give_data(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, void *arg)
{
	(void)module, (void)name, (void)base;
	*data = arg;
	return DWARF_CB_OK;
}

int unwinder_new(pid_t pid, struct unwind_room *room, struct unwinder **out)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->pid = pid;
	u->room = room;
	int err = read_maps(u);
	if (!err) {
		u->dwfl = dwfl_begin(&callbacks);
		err = u->dwfl ? 0 : -ENOMEM;
	}
	if (!err && (dwfl_linux_proc_report(u->dwfl, pid) || dwfl_report_end(u->dwfl, NULL, NULL)))
		err = -ESRCH;
	if (!err)
		dwfl_getmodules(u->dwfl, give_data, u, 0);
	if (!err && !dwfl_attach_state(u->dwfl, NULL, pid, &thread_callbacks, u))
		err = -ENOEXEC;
	if (err)
		unwinder_free(u);
	else
		*out = u;
	return err;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	if (u->dwfl)
		dwfl_end(u->dwfl);
	u->room->bytes += u->copied;
	for (uint32_t i = 0; i < u->files.n; i++)
		private_file_free(&u->files.at[i]);
	VEC_FREE(&u->files);
	free(u->maps);
	free(u->rules);
	free(u);
}

static int hold_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, void *arg)
{
	GElf_Addr bias;
	(void)data, (void)name, (void)base, (void)arg;
	dwfl_module_getelf(module, &bias);
	return DWARF_CB_OK;
}

void unwinder_hold(struct unwinder *u)
{
	dwfl_getmodules(u->dwfl, hold_file, NULL, 0);
}

/* The next mapping of code from *@i on. */
static const struct mapping *next_text(const struct unwinder *u, uint32_t *i)
{
	while (*i < u->n && !u->maps[*i].is_text)
		++*i;
	return *i < u->n ? &u->maps[(*i)++] : NULL;
}

bool unwinder_alike(const struct unwinder *a, const struct unwinder *b)
{
	uint32_t i = 0, k = 0;
	for (;;) {
		const struct mapping *m = next_text(a, &i), *n = next_text(b, &k);
		if (!m || !n)
			return m == n;
		if (m->start != n->start || m->end != n->end || m->off_file != n->off_file ||
		    m->dev != n->dev || m->ino != n->ino)
			return false;
	}
}

pid_t unwinder_pid(const struct unwinder *u)
{
	return u->pid;
}

bool unwinder_bias(const struct unwinder *u, const struct recorder_module *module, uint64_t *bias)
{
	struct stat file;
	if (!module->n_sites || stat(module->path, &file))
		return false;
	const struct pugmark_plan_site *site = &module->sites[0];
	for (uint32_t i = 0; i < u->n; i++) {
		const struct mapping *m = &u->maps[i];
		if (!m->is_text || site->off_file < m->off_file ||
		    site->off_file - m->off_file >= m->end - m->start)
			continue;
		if (m->dev != file.st_dev || m->ino != file.st_ino)
			continue;
		*bias = m->start + (site->off_file - m->off_file) - site->addr;
		return true;
	}
	return false;
}

static uint64_t processor_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* The rules at @addr, which the caller frees; NULL: there are none, or they take too much. libdw
 * counts no steps. After the first that take too much none are asked for: an attacker has as many.
 */
static Dwarf_Frame *frame_at(struct unwinder *u, Dwarf_CFI *cfi, uint64_t addr)
{
	Dwarf_Frame *frame;
	if (!cfi || u->costly)
		return NULL;
	uint64_t before_ns = processor_ns();
	heap_bound_begin(LOOKUP_BYTES);
	int none = dwarf_cfi_addrframe(cfi, addr, &frame);
	u->costly = heap_bound_end() || processor_ns() - before_ns > SLOW_NS;
	return none ? NULL : frame;
}

/* Whether the module that holds @ip says how its caller is found, or that there is none. */
static bool has_information(struct unwinder *u, uint64_t ip)
{
	Dwarf_Addr bias = 0;
	Dwarf_Op space[3], *ops;
	size_t n;
	Dwfl_Module *module = dwfl_addrmodule(u->dwfl, ip);
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	u->unmapped |= !module;
	Dwarf_Frame *frame = frame_at(u, cfi, ip - bias);
	if (!frame)
		return false;
	int ret = dwarf_frame_info(frame, NULL, NULL, NULL);
	u->outermost = !dwarf_frame_register(frame, ret, space, &ops, &n) && !n && ops;
	free(frame);
	return true;
}

/* Whether what @cfi says at @ip is worked out in few steps: a jump backwards in an expression may
 * go round for ever, a long one as often as another asks for it. */
static bool is_short(struct unwinder *u, Dwarf_CFI *cfi, uint64_t ip)
{
	Dwarf_Op space[3], *ops;
	size_t n;
	bool is = true;
	Dwarf_Frame *frame = frame_at(u, cfi, ip);
	if (!frame)
		return !u->costly;
	for (int reg = -1; reg <= DWARF_RET && is; reg++) {
		if (reg < 0 ? dwarf_frame_cfa(frame, &ops, &n)
			    : dwarf_frame_register(frame, reg, space, &ops, &n))
			continue;
		is = n <= EXPRESSION_MAX;
		for (size_t i = 0; i < n && is; i++)
			is = (ops[i].atom != DW_OP_skip && ops[i].atom != DW_OP_bra) ||
			     (int16_t)ops[i].number >= 0;
	}
	free(frame);
	return is;
}

/* The same of all that libdwfl may unwind a frame at @ip by. */
static bool unwinds_soon(struct unwinder *u, uint64_t ip)
{
	Dwarf_Addr eh_bias = 0, debug_bias = 0;
	Dwfl_Module *module = u->costly ? NULL : dwfl_addrmodule(u->dwfl, ip);
	if (!module)
		return !u->costly;
	Dwarf_CFI *eh = dwfl_module_eh_cfi(module, &eh_bias);
	Dwarf_CFI *debug = dwfl_module_dwarf_cfi(module, &debug_bias);
	return is_short(u, eh, ip - eh_bias) && is_short(u, eh, ip - 1 - eh_bias) &&
	       is_short(u, debug, ip - debug_bias) && is_short(u, debug, ip - 1 - debug_bias);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwinder *u = arg;
	Dwarf_Addr ip;
	Dwarf_Word sp;
	bool exact; /* no call: the probed instruction, or what a signal interrupted */
	/* To tell whether it is exact, the library unwinds the frame. */
	if (!dwfl_frame_pc(frame, &ip, NULL) || !unwinds_soon(u, ip) ||
	    !dwfl_frame_pc(frame, &ip, &exact) || dwfl_frame_reg(frame, DWARF_SP, &sp)) {
		u->lost = true;
		return DWARF_CB_ABORT;
	}
	/* Only the first one is where the thread stood: each call has taken a word at least. */
	bool first = !u->began;
	u->began = true;
	if (first != (sp == u->thread->regs[DWARF_SP])) {
		u->lost = true;
		return DWARF_CB_ABORT;
	}
	if (!first) {
		/* The frame before ended right below: its return address led here. */
		uint64_t i = (sp - 8 - u->thread->addr) / 8;
		if (exact || sp & 7 || sp - 8 < u->thread->addr || i >= u->thread->n_words ||
		    u->thread->words[i] != ip || u->n_slots == u->max) {
			u->lost = true;
			return DWARF_CB_ABORT;
		}
		u->slots[u->n_slots++] = i;
	}
	if (!has_information(u, ip - !exact)) {
		u->lost = true;
		return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
}

uint32_t unwinder_slots(struct unwinder *u, const struct unwind_thread *thread, uint32_t *slots,
			uint32_t max, bool *complete)
{
	u->thread = thread;
	u->slots = slots;
	u->n_slots = 0;
	u->max = max;
	u->lost = u->unmapped = u->outermost = u->began = false;
	int end = dwfl_getthread_frames(u->dwfl, u->pid, take_frame, u);
	u->thread = NULL;
	/* Where a register's value is lost the library ends the walk as if it were complete. */
	*complete = !end && !u->lost && u->outermost;
	return u->n_slots;
}

bool unwinder_missed_code(const struct unwinder *u)
{
	return u->unmapped;
}

bool unwinder_is_code(const struct unwinder *u, uint64_t addr)
{
	uint32_t lo = SEARCH_FIRST_NOT(0, u->n, i, u->maps[i].end <= addr);
	return lo < u->n && addr >= u->maps[lo].start && u->maps[lo].is_text;
}

static void read_cfa(Dwarf_Frame *frame, struct frame_rule *rule)
{
	Dwarf_Op *ops;
	size_t n;
	if (dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return;
	uint64_t reg = ops[0].number, off = ops[0].number2;
	if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		reg = ops[0].atom - DW_OP_breg0;
		off = ops[0].number;
	} else if (ops[0].atom != DW_OP_bregx) {
		return;
	}
	if ((int64_t)off != (int32_t)off)
		return;
	rule->cfa_off = (int32_t)off;
	rule->cfa_reg = reg == DWARF_SP ? FRAME_SP : reg == DWARF_BP ? FRAME_BP : FRAME_NONE;
}

static void read_bp(Dwarf_Frame *frame, struct frame_rule *rule)
{
	Dwarf_Op space[3], *ops;
	size_t n;
	rule->bp = BP_UNKNOWN;
	if (dwarf_frame_register(frame, DWARF_BP, space, &ops, &n))
		return;
	if (!n) {
		rule->bp = ops ? BP_UNKNOWN : BP_KEPT;
		return;
	}
	if (n != 2 || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_plus_uconst)
		return;
	rule->bp = BP_SAVED;
	rule->bp_off = (int32_t)ops[1].number;
}

static void read_ret(Dwarf_Frame *frame, struct frame_rule *rule)
{
	Dwarf_Op space[3], *ops;
	size_t n;
	rule->ret_reg = -1;
	if (dwarf_frame_register(frame, DWARF_RET, space, &ops, &n) || n != 1)
		return;
	if (ops[0].atom == DW_OP_regx && ops[0].number < DWARF_RET)
		rule->ret_reg = ops[0].number;
	else if (ops[0].atom >= DW_OP_reg0 && ops[0].atom < DW_OP_reg0 + DWARF_RET)
		rule->ret_reg = ops[0].atom - DW_OP_reg0;
}

const struct frame_rule *unwinder_rule(struct unwinder *u, uint64_t ip)
{
	static const struct frame_rule none = {.ret_reg = -1};
	if (!u->rules)
		u->rules = calloc(RULES, sizeof(*u->rules));
	if (!u->rules)
		return &none;
	struct frame_rule *rule = &u->rules[ip * 0x9e3779b97f4a7c15 >> 52];
	if (rule->ip == ip)
		return rule;
	*rule = (struct frame_rule){.ip = ip, .ret_reg = -1};
	Dwarf_Addr bias = 0;
	Dwfl_Module *module = dwfl_addrmodule(u->dwfl, ip);
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *frame = frame_at(u, cfi, ip - bias);
	if (!frame)
		return rule;
	dwarf_frame_info(frame, NULL, NULL, &rule->signal);
	read_cfa(frame, rule);
	read_bp(frame, rule);
	read_ret(frame, rule);
	free(frame);
	return rule;
}
