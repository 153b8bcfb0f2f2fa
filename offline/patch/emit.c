// SPDX-License-Identifier: LGPL-2.1-or-later
/* emit.c: see emit.h. */
#include "offline/patch/emit.h"

#include "offline/base/search.h"
#include "offline/patch/assemble.h"
#include "offline/patch/layout.h"
#include "offline/patch/liveness.h"
#include "offline/patch/original.h"
#include "offline/patch/runtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RED_ZONE = 128, OP_LOAD = 0x8b, OP_STORE = 0x89, OP_LEA = 0x8d };

/* One event in a trampoline, and what of its code is to come behind the hot path. */
struct event {
	const struct patch_spec *spec;
	const struct original *original; /* the instruction that it is of */
	uint32_t head;			 /* of its record */
	uint32_t rare;			 /* what is pushed for the probe */
	bool called;			 /* the return address of a patched call has been pushed */
	bool ended;		     /* the patched instruction counts as done once it is told */
	bool moved;		     /* it is none: instructions make room for an island */
	bool flags;		     /* are live */
	bool stepped;		     /* over the red zone, in the hot path */
	uint8_t at;		     /* which of the patched instructions is next, by its offset */
	uint8_t ring, record;	     /* scratch registers */
	uint8_t saved[3], n_saved;   /* registers that are to be as they were */
	uint8_t n_pushed;	     /* of these, on the stack at the moment */
	int32_t up;		     /* site's sp minus sp, where the record is written */
	uint32_t top, restore, tail; /* offsets */
	uint32_t to_slow[2], to_rare[3], n_to_rare;
};

static void note_state(struct patch_code *c, const struct event *e, int32_t up, bool told)
{
	if (c->n_states == c->cap_states) {
		uint32_t cap = c->cap_states ? 2 * c->cap_states : 1024;
		struct patch_state *grown = realloc(c->states, cap * sizeof(*grown));

		if (!grown) {
			c->err = -ENOMEM;
			return;
		}
		c->states = grown;
		c->cap_states = cap;
	}
	struct patch_state *s = &c->states[c->n_states++];
	*s = (struct patch_state){
		.off = c->len,
		.place = e->spec->index,
		.up = up,
		.at = e->at,
		.told = told,
		.moved = e->moved,
		.ended = e->ended,
		.below = e->stepped  ? RED_ZONE
			 : e->called ? 8
				     : 0,
		.n_pushed = e->n_pushed,
	};
	memcpy(s->pushed, e->saved, sizeof(s->pushed));
}

/* Chooses scratch registers: what is dead first, and what functions may clobber in any case, so
 * that whoever unwinds finds all others as they were. */
static void choose_registers(struct event *e, uint32_t live)
{
	static const uint8_t order[] = {ASM_CX, ASM_DX, ASM_SI, ASM_DI, 8, 9, 10, 11, ASM_AX};
	uint32_t barred = e->original->regs | (e->flags ? 1u << ASM_AX : 0);
	uint8_t chosen[2], n = 0;

	if (e->flags && (live | e->original->regs) >> ASM_AX & 1)
		e->saved[e->n_saved++] = ASM_AX;
	for (int dead = 1; dead >= 0; dead--)
		for (size_t i = 0; i < sizeof(order) && n < 2; i++) {
			uint8_t reg = order[i];

			bool is_dead = !(live >> reg & 1);

			if (barred >> reg & 1 || is_dead != dead)
				continue;
			chosen[n++] = reg;
			if (!dead)
				e->saved[e->n_saved++] = reg;
		}
	e->ring = chosen[0];
	e->record = chosen[1];
}

/* For tests: what is said to be dead does not survive. */
static void poison(struct patch_code *c, const struct event *e, uint32_t live)
{
	for (uint8_t reg = 0; reg < 16; reg++)
		if (!(live >> reg & 1) && reg != ASM_SP && reg != ASM_BP &&
		    !(e->original->regs >> reg & 1))
			asm_mov_imm(c, reg, 0xdeadbeef);
	if (!e->flags) /* cmp $0x7fffffff, %esp */
		asm_bytes(c, "\x81\xfc\xff\xff\xff\x7f", 6);
}

static void save(struct patch_code *c, struct event *e, uint32_t live)
{
	e->up = e->called ? 8 : 0;
	e->stepped = e->n_saved && !e->called;
	note_state(c, e, e->up, false);
	if (e->stepped) {
		asm_move_sp(c, -RED_ZONE);
		e->up += RED_ZONE;
		note_state(c, e, e->up, false);
	}
	for (uint8_t i = 0; i < e->n_saved; i++) {
		asm_push(c, e->saved[i]);
		e->up += 8;
		e->n_pushed++;
		note_state(c, e, e->up, false);
	}
	if (c->poison)
		poison(c, e, live);
	if (e->flags)
		asm_bytes(c, "\x9f\x0f\x90\xc0", 4); /* lahf; seto %al */
}

static void restore(struct patch_code *c, struct event *e, bool told)
{
	int32_t up = e->up;

	e->n_pushed = e->n_saved;
	note_state(c, e, up, told);
	if (e->flags)
		asm_bytes(c, "\x04\x7f\x9e", 3); /* add $0x7f, %al; sahf */
	for (uint8_t i = e->n_saved; i-- > 0;) {
		asm_pop(c, e->saved[i]);
		up -= 8;
		e->n_pushed--;
		note_state(c, e, up, told);
	}
	if (e->stepped) {
		asm_move_sp(c, RED_ZONE);
		note_state(c, e, up - RED_ZONE, told);
	}
}

/* Where the return address of the function is. */
static struct asm_mem return_slot(const struct event *e)
{
	const struct patch_place *p = e->spec->place;

	if (p->by_bp)
		return (struct asm_mem){ASM_BP, p->cfa_off - 8};
	return (struct asm_mem){ASM_SP, p->cfa_off - 8 + e->up};
}

/* A return address that is none of ours is for the kernel to look at, with the stack. */
static void check_return(struct patch_code *c, struct event *e)
{
	const struct patch_spec *s = e->spec;

	asm_op_mem(c, OP_LOAD, e->ring, return_slot(e));
	asm_op_rip(c, OP_LEA, e->record, s->text);
	asm_op_reg(c, 0x29, e->record, e->ring); /* sub */
	asm_cmp_imm(c, e->ring, s->text_bytes);
	e->to_rare[e->n_to_rare++] = asm_jcc(c, ASM_AE);
	asm_op_rip(c, 0x0fa3, e->ring, s->returns); /* bt */
	e->to_rare[e->n_to_rare++] = asm_jcc(c, ASM_AE);
}

/* setjmp has returned again: the stack tells which frames are left, and the kernel copies it. */
static void check_again(struct patch_code *c, struct event *e)
{
	asm_bytes(c, "\x85\xc0", 2); /* test %eax, %eax */
	e->to_rare[e->n_to_rare++] = asm_jcc(c, ASM_NE);
}

/* Loads the target of the indirect call or jump to the ring's register. Where the flags are kept in
 * ax, what that was is on the stack. */
static void load_target(struct patch_code *c, const struct event *e)
{
	struct asm_mem ax = {ASM_SP, 8 * (e->n_saved - 1)}; /* the first that was pushed */
	bool moved = e->flags && e->original->regs >> ASM_AX & 1;

	if (moved)
		asm_op_mem(c, OP_LOAD, e->ring, ax);
	original_load_target(c, e->original, e->ring, moved ? e->ring : ASM_AX);
}

static uint32_t record_bytes(const struct event *e)
{
	return 12 + (e->head & PATCH_HEAD_RET ? 8 : 0) + (e->head & PATCH_HEAD_TARGET ? 8 : 0);
}

static void write_record(struct patch_code *c, struct event *e)
{
	uint8_t len = 12;
	uint8_t frame = e->spec->place->by_bp ? ASM_BP : ASM_SP;
	bool ret = e->head & PATCH_HEAD_RET, target = e->head & PATCH_HEAD_TARGET;

	e->top = c->len;
	asm_load_fs(c, e->ring, PATCH_SLOT);
	asm_op_reg(c, 0x85, e->ring, e->ring); /* test */
	e->to_slow[0] = asm_jcc(c, ASM_E);
	asm_mov_imm(c, e->record, record_bytes(e));
	asm_op_mem(c, 0x0fc1, e->record, (struct asm_mem){e->ring, 0}); /* xadd */
	note_state(c, e, e->up, true);
	asm_op_mem(c, 0x3b, e->record, /* cmp */
		   (struct asm_mem){e->ring, offsetof(struct patch_ring, end)});
	e->to_slow[1] = asm_jcc(c, ASM_AE);
	asm_op_mem(c, OP_STORE, frame, (struct asm_mem){e->record, 4});
	asm_op_mem(c, OP_STORE, e->record,
		   (struct asm_mem){e->ring, offsetof(struct patch_ring, last)});
	if (ret) {
		asm_op_mem(c, OP_LOAD, e->ring, return_slot(e));
		asm_op_mem(c, OP_STORE, e->ring, (struct asm_mem){e->record, len});
		len += 8;
	}
	if (target) {
		load_target(c, e);
		asm_op_mem(c, OP_STORE, e->ring, (struct asm_mem){e->record, len});
	}
	asm_store_imm(c, (struct asm_mem){e->record, 0}, e->head);
}

/* The hot path of an event, up to where the instruction itself comes. */
static void begin_event(struct patch_code *c, struct event *e, uint32_t live)
{
	e->flags = live & LIVE_FLAGS;
	choose_registers(e, live);
	save(c, e, live);
	if (e->spec->capture & PUGMARK_CAPTURE_SNAPSHOT)
		check_return(c, e);
	if (e->spec->capture & PUGMARK_CAPTURE_STACK)
		check_again(c, e);
	write_record(c, e);
	e->restore = c->len;
	restore(c, e, true);
	e->tail = c->len;
}

/* Its cold paths. */
static void end_event(struct patch_code *c, struct event *e)
{
	bool step = !e->called && !e->stepped;
	int32_t at_site = e->called ? 8 : 0;

	int32_t stepped = step ? RED_ZONE : 0;

	e->n_pushed = e->n_saved;
	note_state(c, e, e->up, false);
	asm_land(c, e->to_slow[0]);
	asm_mov_imm(c, e->record, 0); /* nothing is reserved */
	asm_land(c, e->to_slow[1]);
	if (step) {
		asm_move_sp(c, -RED_ZONE);
		note_state(c, e, e->up + stepped, false);
	}
	asm_push(c, e->record);
	note_state(c, e, e->up + stepped + 8, false);
	asm_byte(c, 0x68); /* push */
	asm_word(c, record_bytes(e));
	note_state(c, e, e->up + stepped + 16, false);
	asm_call(c, c->runtime + pugmark_patch_slow);
	asm_move_sp(c, stepped + 16);
	note_state(c, e, e->up, false);
	asm_jcc_to(c, ASM_E, e->top);
	asm_jcc_to(c, ASM_B, e->restore);
	for (uint32_t i = 0; i < e->n_to_rare; i++)
		asm_land(c, e->to_rare[i]);
	restore(c, e, false);
	asm_move_sp(c, -RED_ZONE);
	note_state(c, e, at_site + RED_ZONE, false);
	asm_byte(c, 0x68); /* push */
	asm_word(c, e->rare);
	note_state(c, e, at_site + RED_ZONE + 8, false);
	asm_call(c, c->runtime + pugmark_patch_rare);
	note_state(c, e, at_site + RED_ZONE + 8, true);
	asm_move_sp(c, RED_ZONE + 8);
	note_state(c, e, at_site, true);
	asm_jmp(c, c->addr + e->tail);
}

/* The instruction that comes last, and where it goes. */
static void emit_last(struct patch_code *c, const struct patch_spec *spec, struct event *e,
		      const struct original *o)
{
	switch ((enum patch_form)spec->place->form) {
	case PATCH_JCC:
		asm_jcc_to_address(c, o->insn.opcode & 15, o->target);
		asm_jmp(c, spec->addr + spec->place->code_len);
		break;
	case PATCH_CALL:
	case PATCH_JMP:
		asm_jmp(c, o->target);
		break;
	case PATCH_CALL_IND:
		original_emit(c, o, 4); /* jmp, for the call has been made */
		break;
	case PATCH_JMP_IND:
		original_emit(c, o, ORIGINAL_AS_IT_IS);
		break;
	case PATCH_INSN:
		original_emit(c, o, ORIGINAL_AS_IT_IS);
		if (o->insn.meta.category == ZYDIS_CATEGORY_RET)
			break;
		e->at = spec->place->code_len;
		note_state(c, e, 0, true);
		asm_jmp(c, spec->addr + spec->place->code_len);
		break;
	case PATCH_NONE:
		break;
	}
}

/* What the patched instructions do from the event on. */
static void emit_tail(struct patch_code *c, const struct patch_spec *spec, struct event *e,
		      const struct original *o, uint32_t n)
{
	for (; n > 1; n--, o++) {
		original_emit(c, o, ORIGINAL_AS_IT_IS);
		e->at = o[1].at;
		note_state(c, e, e->called ? 8 : 0, true);
	}
	emit_last(c, spec, e, o);
}

static void emit_branch(struct patch_code *c, const struct patch_spec *spec,
			const struct original *o, struct event *e, struct patch_made *made)
{
	uint32_t live = spec->place->live_after;
	bool flags = spec->capture & PUGMARK_CAPTURE_FLAGS;
	struct event taken = *e;

	if (flags) {
		e->rare |= PATCH_RARE_FLAGS;
		taken.rare |= PATCH_RARE_FLAGS | PATCH_RARE_TAKEN;
		taken.head |= PATCH_HEAD_TAKEN;
	}
	note_state(c, e, 0, false);
	uint32_t to_taken = asm_jcc(c, o->insn.opcode & 15);
	begin_event(c, e, live);
	made->tail[0] = e->tail;
	asm_jmp(c, spec->addr + spec->place->code_len);
	end_event(c, e);
	asm_land(c, to_taken);
	made->taken = c->len;
	if (spec->place->edge) { /* what is decided here is no event */
		note_state(c, &taken, 0, false);
		made->tail[1] = c->len;
		asm_jmp(c, o->target);
		return;
	}
	begin_event(c, &taken, live);
	made->tail[1] = taken.tail;
	asm_jmp(c, o->target);
	end_event(c, &taken);
}

/* A jump or call (@opcode) of five bytes at @from to @off of the code. */
static void make_jump(struct patch_code *c, uint8_t opcode, uint64_t from, uint32_t off,
		      uint8_t *bytes)
{
	int64_t rel = (int64_t)(c->addr + off - (from + 5));
	int32_t word = (int32_t)rel;

	if (rel != word && !c->err)
		c->err = -ERANGE;
	bytes[0] = opcode;
	memcpy(bytes + 1, &word, 4);
}

/* What goes to the place of the instructions, to reach @off of the code, and to that of those that
 * make room, to reach @room. */
static void make_patch(struct patch_code *c, const struct patch_spec *spec, uint32_t off,
		       uint32_t room, struct patch_made *out)
{
	const struct patch_place *p = spec->place;
	bool call = patch_place_calls(p);
	static const uint8_t prefixes[2] = {0x2e, 0x67};

	memcpy(out->bytes, spec->bytes, p->len);
	if (p->island) {
		uint64_t bias = spec->addr - p->addr;

		make_jump(c, 0xe9, p->island + bias, off, out->island);
		if (p->room)
			make_jump(c, 0xe9, p->room + bias, room, out->room);
		out->bytes[0] = 0xeb;
		out->bytes[1] = p->island - (p->addr + 2);
		return;
	}
	/* A call keeps its length by prefixes without meaning, so that it returns where it did. */
	uint8_t at = call ? p->len - 5 : 0;
	memset(out->bytes, prefixes[at == 1], at);
	make_jump(c, call ? 0xe8 : 0xe9, spec->addr + at, off, out->bytes + at);
}

/* The kernel takes a breakpoint away from where a probe was: what looks like one there, and is
 * none, would be changed. */
static bool looks_like_breakpoint(const struct patch_spec *spec, const struct patch_made *made)
{
	return spec->probe_at < spec->place->len && made->bytes[spec->probe_at] == 0xcc;
}

/* Decodes the instructions of @bytes. Returns how many, 0: they cannot be made elsewhere. */
static uint32_t decode_all(const uint8_t *bytes, uint8_t len, uint64_t addr, struct original *o)
{
	uint32_t n = 0;

	for (uint8_t at = 0; at < len; at += o[n++].insn.length) {
		if (n == PATCH_INSNS_MAX || original_decode(bytes + at, len - at, addr + at, &o[n]))
			return 0;
		o[n].at = at;
	}
	return n;
}

/* The same of the patch; *@of: the one that the event is of. */
static uint32_t decode(const struct patch_spec *spec, struct original *o, uint32_t *of)
{
	const struct patch_place *p = spec->place;
	uint32_t n = decode_all(spec->bytes, p->code_len, spec->addr, o);

	*of = 0;
	while (*of < n && o[*of].at != p->event_at)
		++*of;
	bool indirect = p->form == PATCH_CALL_IND || p->form == PATCH_JMP_IND;
	bool call = patch_place_calls(p);
	if (*of >= n || (indirect && !o[n - 1].readable) ||
	    (spec->capture & PUGMARK_CAPTURE_TARGET && *of + 1 != n))
		return 0;
	for (uint32_t i = 0; call && i + 1 < n; i++)
		if (o[i].touches_sp)
			return 0;
	return n;
}

/* What makes room for the island. Returns where it begins. */
static uint32_t emit_room(struct patch_code *c, const struct patch_spec *spec,
			  const struct original *o, uint32_t n)
{
	const struct patch_place *p = spec->place;
	ZydisInstructionCategory last = o[n - 1].insn.meta.category;
	struct patch_place moved = {.addr = p->room,
				    .len = p->room_len,
				    .code_len = p->room_len,
				    .form = last == ZYDIS_CATEGORY_COND_BR     ? PATCH_JCC
					    : last == ZYDIS_CATEGORY_UNCOND_BR ? PATCH_JMP
									       : PATCH_INSN};
	struct patch_spec its = *spec;
	struct event e = {.spec = &its, .original = o, .moved = true};

	its.place = &moved;
	its.addr = spec->addr - p->addr + p->room;
	patch_code_append(c, NULL, 0, 16);
	uint32_t at = c->len;
	note_state(c, &e, 0, false);
	emit_tail(c, &its, &e, o, n);
	return at;
}

/* A call that has become a jump: what it pushes, which goes back to @addr. */
static void push_return(struct patch_code *c, const struct event *e, uint64_t addr)
{
	note_state(c, e, 0, false);
	asm_byte(c, 0x68); /* push, with the sign of the lower half */
	asm_word(c, (uint32_t)addr);
	note_state(c, e, 8, false);
	asm_store_imm(c, (struct asm_mem){ASM_SP, 4}, addr >> 32);
}

static void emit(struct patch_code *c, const struct patch_spec *spec, const struct original *o,
		 uint32_t n, uint32_t of, struct patch_made *made)
{
	struct original moved[PATCH_INSNS_MAX];
	uint32_t n_moved = 0;
	const struct patch_place *p = spec->place;
	struct event e = {.spec = spec, .original = &o[of]};

	patch_code_append(c, NULL, 0, 16);
	made->off = c->len;
	if (patch_place_calls(p) && p->island)
		push_return(c, &e, spec->addr + p->code_len);
	e.called = patch_place_calls(p);
	e.head = PATCH_HEAD_SET | spec->site;
	e.rare = spec->site | (e.called ? PATCH_RARE_CALLED : 0) |
		 (uint32_t)p->words << PATCH_RARE_WORDS;
	if (spec->capture & PUGMARK_CAPTURE_RET)
		e.head |= PATCH_HEAD_RET;
	if (spec->capture & PUGMARK_CAPTURE_TARGET)
		e.head |= PATCH_HEAD_TARGET;
	for (uint32_t i = 0; i < of; i++) {
		e.at = o[i].at;
		note_state(c, &e, e.called ? 8 : 0, false);
		original_emit(c, &o[i], ORIGINAL_AS_IT_IS);
	}
	e.at = o[of].at;
	made->event = c->len;
	made->target = o[n - 1].target;
	e.ended = of + 1 == n && (e.called || p->form == PATCH_JCC);
	if (e.ended && p->form == PATCH_JCC) {
		emit_branch(c, spec, &o[of], &e, made);
	} else {
		begin_event(c, &e, p->live);
		made->tail[0] = e.tail;
		struct event tail = e;
		emit_tail(c, spec, &tail, &o[of], n - of);
		end_event(c, &e);
	}
	made->frame_add = p->cfa_off + (p->by_bp ? 0 : e.up);
	if (p->room && spec->room)
		n_moved =
			decode_all(spec->room, p->room_len, spec->addr - p->addr + p->room, moved);
	if (p->room && !n_moved && !c->err)
		c->err = -EINVAL;
	make_patch(c, spec, made->off, n_moved ? emit_room(c, spec, moved, n_moved) : 0, made);
}

int patch_emit(struct patch_code *c, const struct patch_spec *spec, struct patch_made *out)
{
	struct original o[PATCH_INSNS_MAX];
	uint32_t len = c->len, n_states = c->n_states, of;

	if (c->err)
		return c->err;
	uint32_t n = spec->place->form == PATCH_NONE ? 0 : decode(spec, o, &of);
	if (!n)
		return -EINVAL;
	/* Elsewhere a jump has other bytes; one to idle bytes near by has the same wherever. */
	for (uint32_t tries = 0; tries < 64; tries++) {
		struct patch_made made = {0};

		emit(c, spec, o, n, of, &made);
		int err = c->err;
		if (!err && !looks_like_breakpoint(spec, &made)) {
			*out = made;
			return 0;
		}
		c->len = err ? len : (len += 16);
		c->n_states = n_states;
		c->err = err == -ERANGE || err == -EINVAL ? 0 : err;
		if (err)
			return err;
	}
	c->len = len;
	return -EINVAL;
}

uint32_t patch_code_append(struct patch_code *c, const void *bytes, uint32_t n, uint32_t align)
{
	while (!c->err && c->len % align)
		asm_byte(c, 0xcc);
	uint32_t off = c->len;
	if (n)
		asm_bytes(c, bytes, n);
	return c->err ? UINT32_MAX : off;
}

void patch_code_deinit(struct patch_code *c)
{
	free(c->bytes);
	free(c->states);
	*c = (struct patch_code){0};
}

const struct patch_state *patch_state_at(const struct patch_code *c, uint32_t off)
{
	uint32_t behind = SEARCH_FIRST_NOT(0u, c->n_states, i, c->states[i].off <= off);

	return behind && off < c->len ? &c->states[behind - 1] : NULL;
}
