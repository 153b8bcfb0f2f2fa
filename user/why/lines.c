// SPDX-License-Identifier: LGPL-2.1-or-later
/* lines.c: see lines.h. The text of a line is read from its file where that is there. */
#include "user/why/lines.h"

#include "offline/base/open_regular.h"
#include "user/values/names/value_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 512 };

/* --- text ------------------------------------------------------------------------------------ */

static char *disassemble(struct why_run *w, uint64_t ip)
{
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	char text[128];
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct value_memory *memory = value_machine_memory(value_run_machine(w->run));
	size_t n = 0;
	while (n < sizeof(bytes) && !value_memory_read(memory, ip + n, bytes + n, 1, NULL))
		n++;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, n, &insn, operands)) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &insn, operands,
							insn.operand_count_visible, text,
							sizeof(text), ip, NULL)))
		return NULL;
	return strdup(text);
}

/* The lines of one file, read when it is first asked for. */
struct source {
	const char *name;
	FILE *file;
	uint32_t line; /* the one that is read next */
};

static char *read_line(struct source *s, const char *name, uint32_t line)
{
	char text[TEXT];
	if (s->name != name) {
		int fd = open_regular(name, NULL);
		if (s->file)
			fclose(s->file);
		s->file = fd >= 0 ? fdopen(fd, "r") : NULL;
		if (fd >= 0 && !s->file)
			close(fd);
		s->name = name;
		s->line = 1;
	}
	if (!s->file)
		return NULL;
	if (s->line > line) {
		rewind(s->file);
		s->line = 1;
	}
	while (fgets(text, sizeof(text), s->file)) {
		size_t n = strlen(text);
		bool whole = n && text[n - 1] == '\n';
		bool found = s->line == line;
		s->line += whole;
		if (found) {
			char *at = text + strspn(text, " \t");
			at[strcspn(at, "\r\n")] = 0;
			return strdup(at);
		}
	}
	return NULL;
}

/* --- lines ----------------------------------------------------------------------------------- */

static int by_source(const void *a, const void *b)
{
	const struct why_line *x = a, *y = b;
	if (!x->file != !y->file)
		return x->file ? -1 : 1;
	int files = x->file ? strcmp(x->file, y->file) : 0;
	if (files)
		return files;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	int calls = value_frames_compare(x->frames, x->n_frames, y->frames, y->n_frames);
	if (calls && x->file)
		return calls;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static int by_last(const void *a, const void *b)
{
	const struct why_line *x = a, *y = b;
	return x->last > y->last ? -1 : x->last < y->last;
}

static int by_first(const void *a, const void *b)
{
	const struct why_line *x = a, *y = b;
	return x->first < y->first ? -1 : x->first > y->first;
}

bool why_line_is(const struct why_line *a, const struct why_line *b)
{
	if (!a->file || !b->file)
		return !a->file && !b->file && a->ip == b->ip;
	return a->line == b->line && !strcmp(a->file, b->file) &&
	       !value_frames_compare(a->frames, a->n_frames, b->frames, b->n_frames);
}

/* Lines of the same source become one. */
static size_t merge(struct why_line *lines, size_t n, struct fold *fold)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		struct why_line *to = k ? &lines[k - 1] : NULL;
		const struct why_line *l = &lines[i];
		if (!to || !l->file || !why_line_is(to, l) || to->event != l->event) {
			lines[k++] = *l;
			fold->at[l->group].group = l->group;
			continue;
		}
		fold->at[l->group].group = to->group;
		free(l->frames);
		/* As often as its instruction that was executed most. */
		to->times = l->times > to->times ? l->times : to->times;
		to->first = l->first < to->first ? l->first : to->first;
		to->ends |= l->ends;
		to->beside &= l->beside;
		to->near = l->near < to->near ? l->near : to->near;
		to->instances += l->instances;
		to->pinned += l->pinned;
		if (l->last > to->last) {
			to->last = l->last;
			to->ip = l->ip;
			to->elf = l->elf;
			to->function = l->function;
		}
	}
	return k;
}

const char *why_file_name(const struct why_line *l)
{
	const char *slash = strrchr(l->file, '/');
	return slash ? slash + 1 : l->file;
}

const char *why_event_name(const struct why_line *l)
{
	static const char *const kinds[] = {
		[DEP_CALL] = "a call",
		[DEP_KERNEL] = "a system call",
		[DEP_ENTER] = "entered from outside",
		[DEP_BOUND] = "the dynamic linker",
		[DEP_OUTSIDE] = "code outside",
		[DEP_BORN] = "as the process was forked",
		[DEP_OTHERS] = "other threads, which were awake",
	};
	if (*l->event)
		return l->event;
	return l->kind < sizeof(kinds) / sizeof(*kinds) && kinds[l->kind] ? kinds[l->kind]
									  : "outside";
}

/* Which function and line the code at @ip is of. false: memory is out. */
static bool find_frames(struct why_run *w, uint64_t ip, struct why_line *l)
{
	struct value_frame frames[VALUE_FRAMES];
	uint32_t n = value_names_frames(w->names, ip, frames);
	l->function = frames[0].function;
	l->file = frames[0].file;
	l->line = frames[0].line;
	if (n == 1)
		return true;
	l->frames = malloc(n * sizeof(*frames));
	if (!l->frames)
		return false;
	memcpy(l->frames, frames, n * sizeof(*frames));
	l->n_frames = n;
	return true;
}

int why_lines(struct why_run *w, struct fold *fold, bool instructions, bool forward,
	      struct why_line **out, size_t *n)
{
	struct why_line *lines = calloc(fold->n + 1, sizeof(*lines));
	struct source source = {0};
	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < fold->n; i++) {
		const struct fold_entry *e = &fold->at[i];
		struct why_line *l = &lines[i];
		uint32_t module;
		*l = (struct why_line){.times = e->times,
				       .first = e->first,
				       .last = e->last,
				       .near = e->near,
				       .instances = e->times,
				       .pinned = e->pinned,
				       .group = (uint32_t)i,
				       .ip = e->ip,
				       .event = e->name,
				       .kind = e->kind,
				       .beside = e->beside,
				       .ends = e->ends};
		/* A call returns behind itself. */
		uint64_t at = e->name && (e->kind == DEP_CALL || e->kind == DEP_OUTSIDE) && e->ip
				      ? e->ip - 1
				      : e->ip;
		if (at)
			value_names_at(w->names, at, &module, &l->elf);
		l->elf += at != e->ip;
		if (at && !find_frames(w, at, l)) {
			why_lines_free(lines, i);
			return -ENOMEM;
		}
		if (instructions)
			l->file = NULL;
		l->line = l->file ? l->line : 0;
	}
	qsort(lines, fold->n, sizeof(*lines), by_source);
	*n = merge(lines, fold->n, fold);
	for (size_t i = 0; i < *n; i++)
		if (lines[i].file)
			lines[i].text = read_line(&source, lines[i].file, lines[i].line);
		else if (!lines[i].event)
			lines[i].text = disassemble(w, lines[i].ip);
	if (source.file)
		fclose(source.file);
	qsort(lines, *n, sizeof(*lines), forward ? by_first : by_last);
	*out = lines;
	return 0;
}

void why_line_deinit(struct why_line *l)
{
	free(l->frames);
	free(l->text);
	free(l->value);
}

void why_lines_free(struct why_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		why_line_deinit(&lines[i]);
	free(lines);
}

/* --- values ---------------------------------------------------------------------------------- */

static const char *doubt(uint8_t quality)
{
	return quality == VALUE_EXACT ? "" : quality == VALUE_ASSUMED ? "~" : "?";
}

/* What the instruction that was just executed has written: the first register, or its memory. 0 and
 * a text or NULL, or -ENOMEM. */
static int written(struct why_run *w, const struct value_insn *insn, uint64_t address, char **out)
{
	static const char names[16][4] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					  "r8",	 "r9",	"r10", "r11", "r12", "r13", "r14", "r15"};
	struct value_machine *m = value_run_machine(w->run);
	uint64_t word = 0;
	uint8_t quality = VALUE_EXACT;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (!a->write || !value_insn_result(insn, a) || a->kind != VALUE_ACCESS_GPR)
			continue;
		quality = value_quality(m, (uint64_t)1 << a->reg);
		word = value_machine_state(m)->gpr[a->reg];
		return asprintf(out, "%s = 0x%" PRIx64 "%s", names[a->reg], word, doubt(quality)) <
				       0
			       ? -ENOMEM
			       : 0;
	}
	for (int i = 0; i < insn->n_mem; i++) {
		size_t len = insn->mem[i].len < 8 ? insn->mem[i].len : 8;
		if (!insn->mem[i].write || insn->kind == VALUE_INSN_STRING)
			continue;
		int err = value_memory_read(value_machine_memory(m), address, &word, len, &quality);
		if (err)
			return err == -ENOMEM ? err : 0;
		return asprintf(out, "[0x%" PRIx64 "] = 0x%" PRIx64 "%s", address, word,
				doubt(quality)) < 0
			       ? -ENOMEM
			       : 0;
	}
	return 0;
}

/* Executes up to the line's last instance, and that: 0 or -ENOMEM. */
static int find_value(struct why_run *w, struct why_line *l)
{
	struct value_machine *m = value_run_machine(w->run);
	enum value_replay_stop stop = value_run_seek(w->run, l->last);
	if (stop == VALUE_REPLAY_NO_MEMORY)
		return -ENOMEM;
	if (stop != VALUE_REPLAY_LIMIT || value_run_count(w->run) != l->last ||
	    value_machine_state(m)->rip != l->ip)
		return 0;
	const struct value_insn *insn = value_machine_insn(m, l->ip);
	uint64_t address = 0;
	for (int a = 0; insn && a < insn->n_mem; a++)
		if (insn->mem[a].write)
			address = value_place_address(&insn->mem[a], value_machine_state(m));
	if (!insn) /* it was executed once */
		return -ENOMEM;
	stop = value_run_forward(w->run, l->last + 1, NULL);
	if (stop == VALUE_REPLAY_NO_MEMORY)
		return -ENOMEM;
	return stop == VALUE_REPLAY_LIMIT ? written(w, insn, address, &l->value) : 0;
}

int why_lines_values(struct why_run *w, struct why_line *lines, size_t n)
{
	struct why_line **order = calloc(n + 1, sizeof(*order));
	size_t k = 0;
	int err = order ? 0 : -ENOMEM;
	for (size_t i = 0; order && i < n; i++)
		if (!lines[i].event)
			order[k++] = &lines[i];
	/* From the first to the last, so that the task is executed once. */
	for (size_t i = 1; i < k; i++)
		for (size_t j = i; j && order[j - 1]->last > order[j]->last; j--) {
			struct why_line *t = order[j];
			order[j] = order[j - 1];
			order[j - 1] = t;
		}
	for (size_t i = 0; !err && i < k; i++)
		err = find_value(w, order[i]);
	free(order);
	return err;
}
