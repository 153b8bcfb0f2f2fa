// SPDX-License-Identifier: LGPL-2.1-or-later
/* captures_text.c: TASK NUMBER KIND and what its kind has; ranges as ADDRESS+LENGTH:CRC32, so that
 * a test can compare them with what it knows. */
#include "user/values/show/captures_text.h"

#include "offline/capture/captures.h"
#include "offline/capture/syscalls.h"
#include "user/cli/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

static const char *const kind_names[] = {"?",	 "start", "enter", "result", "kernel", "signal",
					 "insn", "fork",  "exec",  "end",    "lost",   "switch"};
static const char *const register_names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
					     "rsi", "rdi", "r8",  "r9",	 "r10", "r11",
					     "r12", "r13", "r14", "r15"};

static void print_registers(const struct capture *c)
{
	for (int i = 0; i < 16; i++)
		if (c->known >> i & 1)
			printf(" %s=%" PRIx64, register_names[i], c->regs[i]);
	if (c->known & CAPTURE_FLAGS_KNOWN)
		printf(" flags=%" PRIx64, c->flags);
}

static void print_kernel(const struct capture *c)
{
	const char *name = syscall_name(c->nr);

	if (name)
		printf(" %s(", name);
	else
		printf(" %u(", c->nr);
	for (int i = 0; i < 6; i++)
		printf("%s%" PRIx64, i ? "," : "", c->args[i]);
	printf(")=%" PRId64, c->result);
	if (c->map_op)
		printf(" map=%u:%" PRIx64 "+%" PRIx64 ":%d", c->map_op, c->map_addr, c->map_len,
		       (int)c->map_file);
}

static void print_capture(uint32_t task, const struct capture_place *places,
			  const struct capture *c)
{
	printf("%u %" PRIu64 " %s ip=%" PRIx64 " sp=%" PRIx64, task, c->number,
	       c->kind < sizeof(kind_names) / sizeof(*kind_names) ? kind_names[c->kind] : "?",
	       c->ip, c->sp);
	if (c->place != CAPTURE_NONE) {
		const struct capture_place *p = &places[c->place];

		printf(" place=%u:%" PRIx64, p->module, p->addr);
		if (c->kind == CAPTURE_RESULT)
			printf(" site=%" PRIx64, p->site);
		if (*p->import) {
			fputs(" of=", stdout);
			command_print_safe(stdout, p->import);
		}
	}
	print_registers(c);
	if (c->has_hash)
		printf(" hash=%04x", c->hash);
	if (c->kind == CAPTURE_KERNEL)
		print_kernel(c);
	if (c->kind == CAPTURE_SIGNAL)
		printf(" signal=%u handler=%" PRIx64, c->signal, c->handler);
	if (c->kind == CAPTURE_LOST)
		printf(" lost=%" PRIu64, c->lost);
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct capture_range *r = &c->ranges[i];

		printf(" %" PRIx64 "+%u:", r->addr, r->len);
		if (r->unread)
			fputs("unread", stdout);
		else
			printf("%08lx", crc32(0, r->bytes, r->len));
	}
	putchar('\n');
}

int captures_text_print(const char *dir, struct pugmark_diag *diag)
{
	struct captures *captures;
	uint32_t n_tasks, n_places, n_mappings, n_files;
	int err = captures_open(dir, &captures, diag);

	if (err)
		return err;
	const uint32_t *tasks = captures_tasks(captures, &n_tasks);
	const struct capture_place *places = captures_places(captures, &n_places);
	const struct capture_mapping *m = captures_mappings(captures, &n_mappings);
	printf("# %u places\n", n_places);
	for (uint32_t i = 0; i < n_mappings; i++)
		printf("# mapping %" PRIx64 "-%" PRIx64 " %" PRIx64 " prot %u file %d%s%s\n",
		       m[i].start, m[i].end, m[i].off, m[i].prot, (int)m[i].file,
		       m[i].shared ? " shared" : "", m[i].heap ? " heap" : "");
	const struct capture_file *files = captures_files(captures, &n_files);
	for (uint32_t i = 0; i < n_files; i++) {
		printf("# file %u ", i);
		command_print_safe(stdout, files[i].path);
		putchar('\n');
	}
	for (uint32_t i = 0; !err && i < n_tasks; i++) {
		struct captures_iter *iter;
		struct capture c;
		int more;

		err = captures_iter_new(captures, tasks[i], &iter);
		if (err)
			break;
		while ((more = captures_next(iter, &c)) > 0)
			print_capture(tasks[i], places, &c);
		err = more;
		captures_iter_free(iter);
	}
	captures_free(captures);
	return err ? pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "%s", strerror(-err)) : 0;
}
