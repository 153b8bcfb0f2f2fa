// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_left.c: see call_left.h. */
#include "user/values/calls/call_left.h"

#include "user/file/maps_lines.h"
#include "user/values/calls/call_code.h"
#include "user/values/calls/call_memory.h"
#include "user/values/calls/call_stubs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Where the stubs of some recorder are in the process; false: nowhere. */
bool call_left_find(pid_t pid, struct call_patches *p)
{
	struct maps_lines lines;
	struct maps_line line;

	if (maps_lines_open(&lines, pid))
		return false;
	while (maps_lines_next(&lines, &line))
		if (line.prot & PROT_EXEC && !strcmp(line.name, CALL_MEMORY_NAME_MAPPED)) {
			p->code = line.start;
			p->code_end = line.end;
		}
	maps_lines_close(&lines);
	return p->code;
}

/* Fills @p with what stands in that memory. */
int call_left_read(const struct tracee *t, struct call_patches *p)
{
	const struct call_code_places *at = &call_code_places;
	const size_t len = (size_t)(call_code_end - call_code);
	const struct call_patches most = {.n = CALL_STUBS_MOST};
	uint64_t bytes, recorder;

	/* As long as the process chooses to have it. */
	if (p->code_end - p->code > call_stubs_bytes(&most))
		return -EPERM;
	uint8_t *code = malloc(p->code_end - p->code);
	int err = code ? tracee_read(t, p->code, code, p->code_end - p->code) : -ENOMEM;

	if (!err && (p->code_end - p->code < CALL_STUBS ||
		     memcmp(code + at->words, call_code + at->words, len - at->words)))
		err = -EPERM;
	if (!err) {
		memcpy(&bytes, code + at->stub_bytes, sizeof(bytes));
		memcpy(&recorder, code + at->recorder, sizeof(recorder));
		memcpy(&p->lanes, code + at->lanes, sizeof(p->lanes));
		memcpy(&p->find_at, code + at->find_at, sizeof(p->find_at));
		memcpy(&p->find_was, code + at->find_next, sizeof(p->find_was));
		p->n = (uint32_t)((bytes - CALL_STUBS) >> CALL_STUB_SHIFT);
		if (bytes < CALL_STUBS || p->n > CALL_STUBS_MOST ||
		    call_stubs_bytes(p) != p->code_end - p->code)
			err = -EPERM;
		else if (!kill((pid_t)recorder, 0) || errno != ESRCH)
			err = -EBUSY;
	}
	if (!err && !(p->sites = calloc(p->n + (size_t)1, sizeof(*p->sites))))
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < p->n; i++) {
		struct call_jump jump;
		struct call_site *s = &p->sites[i];
		uint64_t behind;

		memcpy(&jump, code + call_stubs_jumps(p) + i * sizeof(jump), sizeof(jump));
		memcpy(&behind, code + CALL_STUBS + i * (size_t)CALL_STUB_BYTES + at->stub_back,
		       sizeof(behind));
		s->at = jump.at;
		s->call = behind - CALL_SYSCALL_BYTES;
		s->n_moved = jump.n_moved;
		memcpy(s->old, jump.old, sizeof(s->old));
	}
	free(code);
	p->local = p->code_end;
	p->shared = p->local + CALL_PAGE;
	p->kept = p->shared + CALL_PAGE;
	return err;
}
