// SPDX-License-Identifier: LGPL-2.1-or-later
/* made_code.c: see made_code.h. Whether memory has a file is asked of the mappings that were read,
 * page by page, and kept: there may be thousands of them. */
#include "user/view/trace/made_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BITS = 12 };

/* Whether what is mapped by this name, as /proc/PID/maps has it, is memory without a file. */
static bool is_memory(const char *name)
{
	static const char *const memory[] = {"/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV",
					     "/dev/shm/"};
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		if (!strncmp(name, memory[i], strlen(memory[i])))
			return true;
	return *name != '/' && strcmp(name, "[vdso]") != 0 && strcmp(name, "[vsyscall]") != 0 &&
	       strcmp(name, "[uprobes]") != 0;
}

/* Whether the page of @addr is executable memory without a file; false too where nothing is known.
 */
static bool has_no_file(struct trace_view *view, int32_t pid, uint64_t addr, uint64_t time_ns)
{
	uint64_t page = addr >> PAGE_BITS;
	struct view_page *slot = &view->pages[(page ^ (uint32_t)pid) % VIEW_PAGES];
	if (slot->known && slot->page == page && slot->pid == pid)
		return slot->no_file;
	const struct pugmark_recording_map *map =
		pugmark_recording_map_at(view->rec, pid, addr, time_ns);
	*slot = (struct view_page){page, pid, true, map && is_memory(map->path)};
	return slot->no_file;
}

bool made_code_find(struct trace_view *view, uint32_t task, uint64_t addr, uint64_t time_ns,
		    struct made_code *out)
{
	int32_t pid = view->tasks[task].pid;
	struct pugmark_recording_code code;
	if (!addr)
		return false;
	/* The call instruction lies before. */
	if (pugmark_recording_code_at(view->rec, pid, addr - 1, time_ns, &code)) {
		*out = (struct made_code){code.name, code.certain};
		return true;
	}
	*out = (struct made_code){0};
	return has_no_file(view, pid, addr - 1, time_ns);
}

uint32_t made_code_number(const struct trace_view *view, uint32_t task, uint64_t addr,
			  uint64_t time_ns)
{
	struct pugmark_recording_code code;
	/* The call instruction lies before where it returns to. */
	if (!addr ||
	    !pugmark_recording_code_at(view->rec, view->tasks[task].pid, addr - 1, time_ns, &code))
		return 0;
	return (code.number + 1) << 1 | code.certain;
}

char *made_code_shown(const struct trace_view *view, uint32_t number)
{
	const char *name = pugmark_recording_code_name(view->rec, (number >> 1) - 1);
	char *text;
	return asprintf(&text, "[jit] %s%s", name, made_code_is_certain(number) ? "" : "?") < 0
		       ? NULL
		       : text;
}

void made_code_print(struct outbuf *out, const struct made_code *code)
{
	if (!code->name) {
		outbuf_text(out, "[anonymous code]");
		return;
	}
	outbuf_text(out, "[jit] ");
	outbuf_safe_text(out, code->name);
	outbuf_text(out, code->certain ? "" : "?");
}

void made_code_json(struct outbuf *out, const struct made_code *code)
{
	if (!code->name) {
		outbuf_text(out, ",\"from\":null");
		return;
	}
	outbuf_json(out, ",\"from\":", code->name);
	if (!code->certain)
		outbuf_text(out, ",\"from_certain\":false");
}
