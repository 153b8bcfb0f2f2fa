// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_frames.c: see call_frames.h. Numbers are those of DWARF 4, section 7, and the psABI.
 *
 * A stub uses no stack and no register that a callee keeps, and goes on where it came from. So its
 * frame has the stack pointer and all registers of the frame that made the call, and the place of
 * that call is its return address: a word of the stub has it. Where the stub is is found in the
 * instruction pointer, or in registers and what is kept, as struct call_zones says. */
#include "user/values/calls/call_frames.h"

#include "user/file/maps_lines.h"
#include "user/patch/text/unwinders.h"
#include "user/values/calls/call_code.h"

#include <dwarf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
	REG_RCX = 2,
	REG_RSP = 7,
	REG_R10 = 10,
	REG_RIP = 16,
	RELATIVE = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	HEAD_BYTES = 12, /* of the index */
	ROW_BYTES = 8,
	CIE_BYTES = 24,
	FRAMES_MOST = 16,
};

/* Offset of the stub, as a number of two bytes in an expression. */
#define TWO(n) (uint8_t)(n), (uint8_t)((n) >> 8)
/* The code that stubs share is one page, and each stub has its own alignment. */
#define ITS_PAGE DW_OP_breg0 + REG_RIP, 0, DW_OP_const2s, TWO(-CALL_PAGE), DW_OP_and
/* From where a stub's call is over, as a distance from that page, to the stub. */
#define IN_PAGE ITS_PAGE, DW_OP_plus, DW_OP_const1u, CALL_FAST_OVER, DW_OP_minus
#define PACKED DW_OP_const1u, 44, DW_OP_shr, IN_PAGE

/* How the address of the stub is found. */
static const uint8_t by_place[] = {DW_OP_breg0 + REG_RIP, 0, DW_OP_const2s, TWO(-CALL_STUB_BYTES),
				   DW_OP_and};
static const uint8_t by_call[] = {DW_OP_breg0 + REG_RCX, 0, DW_OP_const1u, CALL_FAST_OVER,
				  DW_OP_minus};
static const uint8_t by_packed[] = {DW_OP_breg0 + REG_RCX, 0, PACKED};
static const uint8_t by_kept[] = {DW_OP_breg0 + REG_R10, 0, DW_OP_deref, PACKED};
static const uint8_t by_distance[] = {DW_OP_breg0 + REG_RCX, 0, IN_PAGE};
static const uint8_t by_leave[] = {DW_OP_breg0 + REG_RCX, 0, DW_OP_const1u, CALL_LEAVE,
				   DW_OP_minus};

_Static_assert(CALL_LEAVE < 256, "as they are encoded");

struct writing {
	uint8_t *code;
	uint32_t len, end, index, cie, n;
	bool full; /* there was more than fits */
};

static void put_bytes(struct writing *w, const void *bytes, size_t n)
{
	if (n > w->end - w->len) {
		w->full = true;
		return;
	}
	memcpy(w->code + w->len, bytes, n);
	w->len += n;
}

static void put_byte(struct writing *w, uint8_t byte)
{
	put_bytes(w, &byte, 1);
}

static void put_word(struct writing *w, uint32_t word)
{
	put_bytes(w, &word, sizeof(word));
}

/* Fills an entry that has begun at @start, and writes how long it is. */
static void end_entry(struct writing *w, uint32_t start)
{
	while (!w->full && (w->len - start) % 8)
		put_byte(w, DW_CFA_nop);
	if (w->full)
		return;
	uint32_t bytes = w->len - start - 4;
	memcpy(w->code + start, &bytes, sizeof(bytes));
}

/* Its frames are of what a signal has interrupted. */
static void put_cie(struct writing *w)
{
	static const uint8_t cie[] = {1, /* version */
				      'z',     'R',	 'S',
				      0,       1,	 0x78, /* units: 1, -8 */
				      REG_RIP,		       /* return address */
				      1,       RELATIVE, DW_CFA_def_cfa,
				      REG_RSP, 0};

	w->cie = w->len;
	put_word(w, 0);
	put_word(w, 0);
	put_bytes(w, cie, sizeof(cie));
	end_entry(w, w->cie);
}

/* From @from to @to the stub is where @stub, of @n bytes, says. */
static void put_frame(struct writing *w, uint32_t from, uint32_t to, const uint8_t *stub, size_t n)
{
	const uint8_t back = (uint8_t)call_code_places.stub_back;
	const uint8_t place[] = {DW_OP_plus_uconst,  back,	 DW_OP_deref, DW_OP_const1u,
				 CALL_SYSCALL_BYTES, DW_OP_minus};
	const uint32_t start = w->len, row = w->index + HEAD_BYTES + w->n * ROW_BYTES;
	const uint32_t indexed[2] = {from - w->index, start - w->index};

	w->full |= w->n++ >= FRAMES_MOST;
	if (!w->full)
		memcpy(w->code + row, indexed, sizeof(indexed));
	put_word(w, 0);
	put_word(w, w->len - w->cie);
	put_word(w, from - w->len);
	put_word(w, to - from);
	put_byte(w, 0);
	put_byte(w, DW_CFA_val_expression);
	put_byte(w, REG_RIP);
	put_byte(w, (uint8_t)(n + sizeof(place)));
	put_bytes(w, stub, n);
	put_bytes(w, place, sizeof(place));
	end_entry(w, start);
}

bool call_frames_put(uint8_t *code, uint32_t at)
{
	const struct call_zones *z = &call_code_places.zones;
	struct writing w = {.code = code,
			    .index = at,
			    .len = at + HEAD_BYTES + FRAMES_MOST * ROW_BYTES,
			    .end = at + CALL_FRAMES_BYTES};
	/* rt_sigreturn()'s: a word has the address of its stub. */
	const uint8_t by_word[] = {ITS_PAGE, DW_OP_const2s, TWO(call_code_places.restore),
				   DW_OP_plus, DW_OP_deref};
	const uint8_t head[] = {1, RELATIVE, DW_EH_PE_udata4, DW_EH_PE_datarel | DW_EH_PE_sdata4};

	put_cie(&w);
	put_frame(&w, z->post, z->packed, by_call, sizeof(by_call));
	put_frame(&w, z->packed, z->saved, by_packed, sizeof(by_packed));
	put_frame(&w, z->saved, z->restored, by_kept, sizeof(by_kept));
	put_frame(&w, z->restored, z->unpacked, by_packed, sizeof(by_packed));
	put_frame(&w, z->unpacked, z->back, by_distance, sizeof(by_distance));
	put_frame(&w, z->back, z->full, by_leave, sizeof(by_leave));
	put_frame(&w, z->full, z->sigreturn, by_packed, sizeof(by_packed));
	put_frame(&w, z->sigreturn, at, by_word, sizeof(by_word));
	put_frame(&w, CALL_STUBS, CALL_STUBS + CALL_STUBS_MOST * CALL_STUB_BYTES, by_place,
		  sizeof(by_place));
	memcpy(code + at, head, sizeof(head));
	const uint32_t rest[2] = {w.cie - at - sizeof(head), w.n};
	memcpy(code + at + sizeof(head), rest, sizeof(rest));
	return !w.full;
}

/* Whether each unwinder among the files that the process executes asks the C library. */
static bool unwinders_ask(pid_t pid)
{
	struct maps_lines lines;
	struct maps_line line;
	char path[80];
	bool ask = true;

	if (maps_lines_open(&lines, pid))
		return false;
	while (ask && maps_lines_next(&lines, &line)) {
		if (!(line.prot & PROT_EXEC) || !line.inode)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
			 (unsigned long long)line.start, (unsigned long long)line.end);
		ask = !tracee_symbol(path, "_Unwind_Find_FDE") ||
		      tracee_needs(path, "_dl_find_object");
	}
	maps_lines_close(&lines);
	return ask;
}

bool call_frames_find(struct call_patches *p, const struct tracee *t)
{
	struct unwinders u;

	unwinders_find(t, &u);
	p->find_at = u.find;
	p->find_was = u.find_was;
	return u.find && unwinders_ask(t->pid);
}

static int exchange(const struct call_patches *p, const struct tracee *t, uint64_t from,
		    uint64_t to)
{
	uint64_t is;
	int err = p->find_at ? tracee_read(t, p->find_at, &is, sizeof(is)) : 0;

	if (err || !p->find_at || is == to)
		return err;
	return is == from ? tracee_write(t, p->find_at, &to, sizeof(to)) : -EBUSY;
}

int call_frames_lead(const struct call_patches *p, const struct tracee *t)
{
	return exchange(p, t, p->find_was, p->code + call_code_places.find);
}

int call_frames_unlead(const struct call_patches *p, const struct tracee *t)
{
	return exchange(p, t, p->code + call_code_places.find, p->find_was);
}
