// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_jumps.c: see call_jumps.h. */
#include "user/values/calls/call_jumps.h"

#include "user/values/calls/call_code.h"
#include "user/values/calls/call_stubs.h"

#include <string.h>
#include <sys/syscall.h>

bool call_jumps_may_be_written(const struct call_patches *p, const struct tracee *t)
{
	uint8_t bytes[CALL_SITE_BYTES];

	for (uint32_t i = 0; i < p->n; i++)
		if (tracee_read(t, p->sites[i].at, bytes, sizeof(bytes)) ||
		    memcmp(bytes, p->sites[i].old, sizeof(bytes)))
			return false;
	return true;
}

/* The jump of site number @i. */
static void make_jump(const struct call_patches *p, uint32_t i, uint8_t out[CALL_SITE_BYTES])
{
	const struct call_site *s = &p->sites[i];
	uint64_t to =
		call_stubs_address(p, i) + (call_stubs_begins_fast(s) ? CALL_FAST : CALL_SLOW);

	if (s->number == SYS_rt_sigreturn)
		to = p->code + call_code_places.zones.sigreturn;
	out[0] = CALL_JUMP;
	call_put_distance(out + 1, to, s->at + CALL_SITE_BYTES);
}

bool call_jumps_lead(const struct call_patches *p, const struct tracee *t, uint32_t i)
{
	uint8_t bytes[CALL_SITE_BYTES];
	int32_t by;

	if (tracee_read(t, p->sites[i].at, bytes, sizeof(bytes)) || bytes[0] != CALL_JUMP)
		return false;
	memcpy(&by, bytes + 1, sizeof(by));
	uint64_t to = p->sites[i].at + CALL_SITE_BYTES + by;
	return to == call_stubs_address(p, i) + CALL_FAST ||
	       to == call_stubs_address(p, i) + CALL_SLOW ||
	       to == p->code + call_code_places.zones.sigreturn;
}

int call_jumps_write(const struct call_patches *p, const struct tracee *t)
{
	uint8_t jump[CALL_SITE_BYTES];
	int err = 0;

	for (uint32_t i = 0; !err && i < p->n; i++) {
		make_jump(p, i, jump);
		err = tracee_write(t, p->sites[i].at, jump, sizeof(jump));
	}
	return err;
}

int call_jumps_undo(const struct call_patches *p, const struct tracee *t)
{
	int err = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct call_site *s = &p->sites[i];
		uint8_t bytes[CALL_SITE_BYTES];
		int failed = tracee_read(t, s->at, bytes, sizeof(bytes));

		if (!failed && memcmp(bytes, s->old, sizeof(bytes)) != 0)
			failed = tracee_write(t, s->at, s->old, sizeof(s->old));
		err = failed ? failed : err;
	}
	return err;
}

int call_jumps_remove(const struct call_patches *p, const struct tracee *t)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < p->n; i++)
		if (call_jumps_lead(p, t, i))
			err = tracee_write(t, p->sites[i].at, p->sites[i].old, CALL_SITE_BYTES);
	return err;
}
