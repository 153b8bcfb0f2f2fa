// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_stubs.c: see call_stubs.h. */
#include "user/values/calls/call_stubs.h"

#include "user/values/calls/call_code.h"
#include "user/values/calls/call_frames.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls whose record the stub itself writes. It reads what they write only where the kernel has
 * just written it, or read it. futex() is none of them: when it is over, its word may rightly be
 * gone. */
static const struct fast_call fast_calls[] = {
	{{.nr = SYS_read, .base = 1, .each = 1}, {0}},
	{{.nr = SYS_pread64, .base = 1, .each = 1}, {0}},
	/* test %r8, %r8: nobody asks for the peer's address */
	{{.nr = SYS_recvfrom, .base = 1, .each = 1}, {0x4d, 0x85, 0xc0}},
	{{.nr = SYS_write}, {0}},
	{{.nr = SYS_pwrite64}, {0}},
	{{.nr = SYS_writev}, {0}},
	{{.nr = SYS_sendto}, {0}},
	{{.nr = SYS_sendmsg}, {0}},
	{{.nr = SYS_sendfile, .base = 2, .bytes = 8}, {0}},
	{{.nr = SYS_close}, {0}},
	/* test $3, %dl: to be read. What is opened to be written may be a process' memory. */
	{{.nr = SYS_openat, .base = 1, .flags = CALL_WRITES_STRING}, {0xf6, 0xc2, 0x03}},
	{{.nr = SYS_fstat, .base = 1, .bytes = 144}, {0}},
	{{.nr = SYS_stat, .base = 1, .bytes = 144}, {0}},
	{{.nr = SYS_lstat, .base = 1, .bytes = 144}, {0}},
	{{.nr = SYS_newfstatat, .base = 2, .bytes = 144}, {0}},
	{{.nr = SYS_clock_gettime, .base = 1, .bytes = 16}, {0}},
	{{.nr = SYS_epoll_wait, .base = 1, .each = 12}, {0}},
	{{.nr = SYS_epoll_pwait, .base = 1, .each = 12}, {0}},
	{{.nr = SYS_epoll_ctl}, {0}},
	/* test %rsi, %rsi */
	{{.nr = SYS_accept4}, {0x48, 0x85, 0xf6}},
	{{.nr = SYS_accept}, {0x48, 0x85, 0xf6}},
	{{.nr = SYS_setsockopt}, {0}},
	{{.nr = SYS_shutdown}, {0}},
	{{.nr = SYS_getpid}, {0}},
	{{.nr = SYS_getppid}, {0}},
	{{.nr = SYS_gettid}, {0}},
	{{.nr = SYS_getuid}, {0}},
	{{.nr = SYS_geteuid}, {0}},
	{{.nr = SYS_sched_yield}, {0}},
};

const struct fast_call *call_stubs_fast(const struct call_site *s)
{
	for (size_t i = 0; s->flags_unread && i < sizeof(fast_calls) / sizeof(*fast_calls); i++)
		if (fast_calls[i].kind.nr == s->number)
			return &fast_calls[i];
	return NULL;
}

static void put_number(uint8_t *at, const struct call_site *s)
{
	uint32_t number = (uint32_t)s->number;

	if (s->zeroes) {
		memcpy(at, "\x31\xc0\x0f\x1f\x00", CALL_SITE_BYTES);
	} else if (s->number != CALL_SITE_ANY) {
		*at = 0xb8;
		memcpy(at + 1, &number, sizeof(number));
	}
}

uint64_t call_stubs_address(const struct call_patches *p, uint32_t i)
{
	return p->code + CALL_STUBS + (uint64_t)i * CALL_STUB_BYTES;
}

/* Whether the jump leads to what a stub has at CALL_FAST. */
bool call_stubs_begins_fast(const struct call_site *s)
{
	return call_stubs_fast(s) || s->number == SYS_clone;
}

/* Of clone(): a new thread that has the memory, and no thread pointer of its own, would use the
 * lane of the one that makes it. From then on no call is made fast, as at the end (CALL_ENDING):
 * what was noted is still told before what comes behind. In a child, which has a 0 there, it stays.
 *
 *   lahf; seto %al; mov %edi, %ecx; and $(CLONE_VM | CLONE_VFORK | CLONE_SETTLS), %ecx
 *   cmp $CLONE_VM, %ecx; jne 1f; cmpq $1, local(%rip); jne 1f; incq local(%rip)
 *   1: jmp to where a miss goes */
static void put_clone(const struct call_patches *p, uint64_t here, uint8_t *out)
{
	static const uint8_t code[] = {0x9f,	 0x0f, 0x90, 0xc0, 0x89, 0xf9, /* to mov */
				       0x81,	 0xe1, 0x00, 0x41, 0x08, 0x00, /* and */
				       0x81,	 0xf9, 0x00, 0x01, 0x00, 0x00, /* cmp */
				       0x75,	 0x11, 0x48, 0x83, 0x3d, 0,    0, 0, 0,
				       1,						/* cmpq */
				       0x75,	 0x07, 0x48, 0xff, 0x05, 0,    0, 0, 0, /* incq */
				       CALL_JUMP};
	enum { CMP = 23, BEHIND_CMP = 28, INC = 33, BEHIND_INC = 37, BEHIND = sizeof(code) + 4 };

	memcpy(out + CALL_FAST, code, sizeof(code));
	call_put_distance(out + CALL_FAST + CMP, p->local, here + CALL_FAST + BEHIND_CMP);
	call_put_distance(out + CALL_FAST + INC, p->local, here + CALL_FAST + BEHIND_INC);
	call_put_distance(out + CALL_FAST + sizeof(code), here + CALL_MISS,
			  here + CALL_FAST + BEHIND);
}

/* The stub of site number @i, as it is to lie at @out. */
static void make_stub(const struct call_patches *p, uint32_t i, uint8_t *out)
{
	const struct call_code_places *at = &call_code_places;
	const struct call_site *s = &p->sites[i];
	const struct fast_call *fast = call_stubs_fast(s);
	const uint64_t here = call_stubs_address(p, i), behind = s->call + CALL_SYSCALL_BYTES;
	uint64_t back = behind + s->n_moved;

	memcpy(out, call_stub, CALL_STUB_BYTES);
	put_number(out + CALL_STUB_NUMBER, s);
	put_number(out + at->stub_number, s);
	memcpy(out + at->stub_back, &behind, sizeof(behind));
	if (s->n_moved) {
		memcpy(out + CALL_MOVED, s->moved, s->n_moved);
		out[CALL_MOVED + s->n_moved] = CALL_JUMP;
		call_put_distance(out + CALL_MOVED + s->n_moved + 1, back,
				  here + CALL_MOVED + s->n_moved + CALL_SITE_BYTES);
		back = here + CALL_MOVED;
	}
	call_put_distance(out + at->stub_jump, back, here + at->stub_jump + 4);
	call_put_distance(out + at->stub_lanes, p->code + at->lanes, here + at->stub_lanes + 4);
	call_put_distance(out + at->stub_local, p->local, here + at->stub_local + 5);
	call_put_distance(out + at->stub_shared, p->shared, here + at->stub_shared + 4);
	call_put_distance(out + at->stub_post, p->code + at->zones.post, here + at->stub_post + 4);
	if (fast && fast->check[0])
		memcpy(out + at->stub_check, fast->check, sizeof(fast->check));
	if (s->number == SYS_clone)
		put_clone(p, here, out);
}

static void put_word(uint8_t *code, uint32_t at, uint64_t word)
{
	memcpy(code + at, &word, sizeof(word));
}

uint64_t call_stubs_kinds(const struct call_patches *p)
{
	return CALL_STUBS + (uint64_t)p->n * CALL_STUB_BYTES;
}

uint64_t call_stubs_jumps(const struct call_patches *p)
{
	return call_stubs_kinds(p) + p->n * sizeof(struct call_kind);
}

uint64_t call_stubs_bytes(const struct call_patches *p)
{
	uint64_t bytes = call_stubs_jumps(p) + p->n * sizeof(struct call_jump);

	return (bytes + CALL_PAGE - 1) & ~(uint64_t)(CALL_PAGE - 1);
}

static void put_jump(const struct call_patches *p, uint32_t i, uint8_t *code)
{
	struct call_jump jump = {.at = p->sites[i].at, .n_moved = p->sites[i].n_moved};

	memcpy(jump.old, p->sites[i].old, sizeof(jump.old));
	memcpy(code + call_stubs_jumps(p) + i * sizeof(jump), &jump, sizeof(jump));
}

uint8_t *call_stubs_make(struct call_patches *p)
{
	const struct call_code_places *at = &call_code_places;
	const size_t len = (size_t)(call_code_end - call_code);
	const uint32_t frames = (uint32_t)(len + 7) & ~7u;
	uint8_t *code =
		frames + CALL_FRAMES_BYTES <= CALL_STUBS ? calloc(1, call_stubs_bytes(p)) : NULL;

	if (!code)
		return NULL;
	memcpy(code, call_code, len);
	if (!call_frames_put(code, frames)) {
		free(code);
		return NULL;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		const struct fast_call *fast = call_stubs_fast(&p->sites[i]);
		struct call_kind kind =
			fast ? fast->kind : (struct call_kind){.nr = (__u16)p->sites[i].number};

		make_stub(p, i, code + CALL_STUBS + (size_t)i * CALL_STUB_BYTES);
		memcpy(code + call_stubs_kinds(p) + i * sizeof(kind), &kind, sizeof(kind));
		put_jump(p, i, code);
		if (p->sites[i].number == SYS_rt_sigreturn)
			p->restore = call_stubs_address(p, i);
	}
	put_word(code, at->base, p->code);
	put_word(code, at->leave, p->code + CALL_LEAVE - CALL_FAST_OVER);
	put_word(code, at->kinds,
		 p->code + call_stubs_kinds(p) -
			 CALL_STUBS / CALL_STUB_BYTES * sizeof(struct call_kind));
	put_word(code, at->lanes, p->lanes);
	put_word(code, at->shared, p->shared);
	put_word(code, at->local, p->local);
	put_word(code, at->restore, p->restore);
	put_word(code, at->stub_bytes, call_stubs_kinds(p));
	put_word(code, at->clocks, p->clocks);
	put_word(code, at->recorder, (uint64_t)getpid());
	put_word(code, at->frames, p->code + frames);
	put_word(code, at->find_next, p->find_was);
	put_word(code, at->find_at, p->find_at);
	put_word(code, at->kept, p->kept);
	return code;
}
