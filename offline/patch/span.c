// SPDX-License-Identifier: LGPL-2.1-or-later
/* span.c: see span.h. */
#include "offline/patch/span.h"

#include "offline/code/decode.h"
#include "offline/patch/original.h"

#include <errno.h>
#include <stdlib.h>

enum { JUMP_BYTES = 5, ROOM_BYTES = 2 * JUMP_BYTES, CALL_BYTES_MAX = 15, PADDING_MAX = 32 };

struct spans {
	const struct pugmark_model *model;
	bool *open;	   /* of each function: it may jump to where it is not known */
	uint64_t *targets; /* of direct calls and jumps, by address */
	uint32_t n_targets;
	uint32_t *n_entering; /* of each block: edges that lead to it */
	uint8_t *taken;	      /* a bit a byte of text: of what nothing used, a patch has it */
	uint8_t *held;	      /* the same: does not move */
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int spans_new(const struct pugmark_model *m, struct spans **out)
{
	struct spans *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->model = m;
	s->open = calloc(m->n_funcs + 1, sizeof(*s->open));
	s->targets = calloc(m->n_sites + 1, sizeof(*s->targets));
	s->taken = calloc((m->text_end - m->text_addr) / 8 + 1, 1);
	s->held = calloc((m->text_end - m->text_addr) / 8 + 1, 1);
	s->n_entering = calloc(m->n_blocks + 1, sizeof(*s->n_entering));
	if (!s->open || !s->targets || !s->taken || !s->held || !s->n_entering) {
		spans_free(s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->n_funcs; i++)
		s->open[i] = m->funcs[i].flags & (PUGMARK_FUNC_OPEN_JUMP | PUGMARK_FUNC_NO_CFI |
						  PUGMARK_FUNC_OPAQUE | PUGMARK_FUNC_SIGNAL_FRAME);
	for (uint32_t b = 0; b < m->n_blocks; b++)
		if (m->blocks[b].end == PUGMARK_END_OPEN || m->blocks[b].end == PUGMARK_END_STRAY ||
		    m->blocks[b].flags & PUGMARK_BLOCK_TABLE_NATURAL)
			s->open[m->blocks[b].func] = true;
	for (uint32_t i = 0; i < m->n_edges; i++)
		s->n_entering[m->edges[i].to]++;
	for (uint32_t i = 0; i < m->n_sites; i++)
		if (m->sites[i].target_addr)
			s->targets[s->n_targets++] = m->sites[i].target_addr;
	qsort(s->targets, s->n_targets, sizeof(*s->targets), by_value);
	*out = s;
	return 0;
}

void spans_free(struct spans *s)
{
	if (!s)
		return;
	free(s->open);
	free(s->targets);
	free(s->n_entering);
	free(s->taken);
	free(s->held);
	free(s);
}

static void set_bits(const struct spans *s, uint8_t *bits, uint64_t from, uint64_t to)
{
	for (uint64_t at = from - s->model->text_addr; at < to - s->model->text_addr; at++)
		bits[at / 8] |= 1 << at % 8;
}

void spans_take(struct spans *s, uint64_t from, uint64_t to)
{
	set_bits(s, s->taken, from, to);
}

void spans_hold(struct spans *s, uint64_t from, uint64_t to)
{
	set_bits(s, s->held, from, to);
}

static bool is_held(const struct spans *s, uint64_t from, uint64_t to)
{
	for (uint64_t at = from - s->model->text_addr; at < to - s->model->text_addr; at++)
		if (s->held[at / 8] >> at % 8 & 1)
			return true;
	return false;
}

static bool is_taken(const struct spans *s, uint64_t addr)
{
	uint64_t at = addr - s->model->text_addr;

	return s->taken[at / 8] >> at % 8 & 1;
}

/* Whether nothing leads to the byte at @addr. */
static bool is_idle(const struct spans *s, uint64_t addr)
{
	const struct pugmark_model *m = s->model;

	if (addr < m->text_addr || addr >= m->text_end)
		return false;
	uint32_t b = pugmark_model_block_at(m, addr);
	if (b == PUGMARK_NONE)
		return true;
	return m->blocks[b].flags & PUGMARK_BLOCK_UNREACHED && !s->open[m->blocks[b].func] &&
	       !(m->blocks[b].flags & (PUGMARK_BLOCK_ADDRESS_TAKEN | PUGMARK_BLOCK_LANDING_PAD |
				       PUGMARK_BLOCK_SETJMP_RETURN));
}

/* Whether a direct call or jump goes to a byte of [@from, @to). */
static bool is_target(const struct spans *s, uint64_t from, uint64_t to)
{
	uint32_t low = 0, high = s->n_targets;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->targets[mid] < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->n_targets && s->targets[low] < to;
}

/* Whether what is decoded from @addr on, at least @len bytes, does nothing and is idle. */
static bool is_padding(const struct spans *s, uint64_t addr, uint32_t len)
{
	size_t have;
	const uint8_t *at = pugmark_model_bytes(s->model, addr, &have);
	struct original o;

	for (uint32_t i = 0; i < len; i++)
		if (!is_idle(s, addr + i))
			return false;
	for (uint32_t done = 0; done < len;) {
		if (!at || have <= done)
			return false;
		size_t rest = have - done < 15 ? have - done : 15;
		if (at[done] == 0xcc) {
			done++;
			continue;
		}
		if (original_decode(at + done, rest, addr + done, &o) ||
		    o.insn.mnemonic != ZYDIS_MNEMONIC_NOP)
			return false;
		done += o.insn.length;
	}
	return !is_target(s, addr, addr + len);
}

static bool is_free(const struct spans *s, uint64_t addr, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (is_taken(s, addr + i))
			return false;
	return true;
}

/* Whether @insn is a call that counts as a jump. What it calls writes over its return address on
 * the stack, so no trampoline can make it as a jump. */
static bool is_jumping_call(const struct pugmark_model *m, const struct pugmark_insn *insn)
{
	size_t have;
	const uint8_t *at = pugmark_model_bytes(m, m->text_addr + insn->off, &have);

	return at && have && insn_is_jumping_call(insn, at);
}

/* What a patch of instructions up to @insn has as its last. */
static enum patch_form form_of(const struct pugmark_model *m, const struct pugmark_insn *insn)
{
	switch (insn->kind) {
	case PUGMARK_INSN_CALL:
		return PATCH_CALL;
	case PUGMARK_INSN_CALL_IND:
		return PATCH_CALL_IND;
	case PUGMARK_INSN_JMP:
		return is_jumping_call(m, insn) ? PATCH_NONE : PATCH_JMP;
	case PUGMARK_INSN_JMP_IND:
		return PATCH_JMP_IND;
	case PUGMARK_INSN_JCC:
		return PATCH_JCC;
	case PUGMARK_INSN_OTHER:
	case PUGMARK_INSN_RET:
		return PATCH_INSN;
	default:
		return PATCH_NONE;
	}
}

static bool goes_on(const struct pugmark_insn *insn)
{
	return insn->kind != PUGMARK_INSN_JMP && insn->kind != PUGMARK_INSN_JMP_IND &&
	       insn->kind != PUGMARK_INSN_RET;
}

/* Where the padding that @addr is in begins, if what is before that goes elsewhere; 0: not so, or
 * it is far. */
static uint64_t padding_start(const struct spans *s, uint64_t addr)
{
	const struct pugmark_model *m = s->model;

	for (uint32_t i = 0; i < PADDING_MAX; i++, addr--) {
		if (is_idle(s, addr - 1))
			continue;
		uint32_t b = pugmark_model_block_at(m, addr - 1);
		if (b == PUGMARK_NONE || !m->blocks[b].n_insns)
			return 0;
		const struct pugmark_block *before = &m->blocks[b];
		return goes_on(&m->insns[before->insn + before->n_insns - 1]) ? 0 : addr;
	}
	return 0;
}

uint64_t spans_island(const struct spans *s, uint64_t addr)
{
	for (uint64_t at = addr + 2 - 128; at <= addr + 2 + 127; at++) {
		uint8_t rel = at - (addr + 2);
		uint64_t from;

		if (rel == 0xcc || !is_idle(s, at) || !is_idle(s, at + JUMP_BYTES - 1) ||
		    !is_free(s, at, JUMP_BYTES))
			continue;
		from = padding_start(s, at);
		if (from && is_padding(s, from, at + JUMP_BYTES - from))
			return at;
	}
	return 0;
}

/* Whether instructions @first to @last can be made elsewhere, the last of them as @form. */
static bool can_leave(const struct spans *s, uint32_t first, uint32_t last, enum patch_form form)
{
	const struct pugmark_model *m = s->model;
	bool call = form == PATCH_CALL || form == PATCH_CALL_IND;

	for (uint32_t i = first; i <= last; i++) {
		const struct pugmark_insn *insn = &m->insns[i];
		uint64_t addr = m->text_addr + insn->off;
		struct original o;
		size_t have;
		const uint8_t *at = pugmark_model_bytes(m, addr, &have);

		if (!at || have < insn->len || original_decode(at, insn->len, addr, &o) ||
		    o.insn.length != insn->len)
			return false;
		bool prefixed = o.insn.attributes &
				(ZYDIS_ATTRIB_HAS_SEGMENT | ZYDIS_ATTRIB_HAS_OPERANDSIZE |
				 ZYDIS_ATTRIB_HAS_ADDRESSSIZE);
		if (i == last && form != PATCH_INSN && prefixed)
			return false;
		if (i < last && call && o.touches_sp)
			return false;
		if (i == last && (form == PATCH_CALL_IND || form == PATCH_JMP_IND) && !o.readable)
			return false;
	}
	return true;
}

/* Instructions @first to @last as a span of @needed bytes or more, with @event among them. */
static bool try_span(const struct spans *s, uint32_t first, uint32_t last, uint32_t event,
		     uint8_t needed, struct patch_place *p)
{
	const struct pugmark_model *m = s->model;
	const struct pugmark_insn *end = &m->insns[last];
	uint64_t from = m->text_addr + m->insns[first].off;
	uint32_t len = end->off + end->len - m->insns[first].off, pad = 0;
	enum patch_form form = form_of(m, end);

	bool call = form == PATCH_CALL || form == PATCH_CALL_IND;

	if (form == PATCH_NONE || last - first >= PATCH_INSNS_MAX || len > PATCH_BYTES_MAX ||
	    (call && needed == JUMP_BYTES && len > CALL_BYTES_MAX))
		return false;
	if (len < needed && !goes_on(end) && is_padding(s, from + len, needed - len) &&
	    is_free(s, from + len, needed - len))
		pad = needed - len;
	if (len + pad < needed || is_target(s, from + 1, from + len) ||
	    !can_leave(s, first, last, form))
		return false;
	p->addr = from;
	p->len = len + pad;
	p->code_len = len;
	p->event_at = m->insns[event].off - m->insns[first].off;
	p->form = form;
	p->cond = end->cond;
	p->span = true;
	return true;
}

/* How many bytes the instructions from @first on have that can move, which are as few as leave room
 * enough; 0: they cannot. */
static uint8_t room_at(const struct spans *s, const struct pugmark_block *b, uint32_t first)
{
	const struct pugmark_model *m = s->model;
	uint64_t from = m->text_addr + m->insns[first].off;
	uint32_t len = 0;

	if (s->open[b->func] || from == m->funcs[b->func].addr)
		return 0;
	for (uint32_t i = first; i < b->insn + b->n_insns && i - first < PATCH_INSNS_MAX; i++) {
		enum patch_form form = form_of(m, &m->insns[i]);

		len += m->insns[i].len;
		if (len > PATCH_BYTES_MAX ||
		    (form != PATCH_INSN && form != PATCH_JCC && form != PATCH_JMP))
			return 0;
		if (len < ROOM_BYTES)
			continue;
		return !is_held(s, from, from + len) && !is_target(s, from + 1, from + len) &&
				       can_leave(s, first, i, form)
			       ? len
			       : 0;
	}
	return 0;
}

bool spans_make_room(const struct spans *s, struct patch_place *p)
{
	const struct pugmark_model *m = s->model;

	for (uint64_t at = p->addr + 2 - 128; at <= p->addr + 2 + 127; at++) {
		uint8_t rel = at - (p->addr + 2), len = 0;
		uint32_t b = pugmark_model_block_at(m, at - JUMP_BYTES);

		if (rel == 0xcc || b == PUGMARK_NONE)
			continue;
		const struct pugmark_block *block = &m->blocks[b];
		for (uint32_t i = block->insn; i < block->insn + block->n_insns; i++)
			if (m->text_addr + m->insns[i].off == at - JUMP_BYTES)
				len = room_at(s, block, i);
		if (!len)
			continue;
		p->room = at - JUMP_BYTES;
		p->room_len = len;
		p->island = at;
		return true;
	}
	return false;
}

bool spans_find(const struct spans *s, uint32_t block, uint32_t event, bool last, uint8_t needed,
		struct span_range range, struct patch_place *p)
{
	const struct pugmark_model *m = s->model;
	const struct pugmark_block *b = &m->blocks[block];
	uint32_t end = last ? event + 1 : b->insn + b->n_insns;

	if (s->open[b->func])
		return false;
	for (uint32_t n = 1; n <= PATCH_INSNS_MAX; n++)
		for (uint32_t first = event + 1 >= b->insn + n ? event + 1 - n : b->insn;
		     first <= event && first + n <= end; first++) {
			const struct pugmark_insn *to = &m->insns[first + n - 1];
			uint64_t from = m->text_addr + m->insns[first].off;

			if (first + n <= event || (last && first + n != event + 1) ||
			    from < range.from || m->text_addr + to->off + to->len > range.to ||
			    (n > 1 && from == m->funcs[b->func].addr))
				continue;
			if (try_span(s, first, first + n - 1, event, needed, p))
				return true;
		}
	return false;
}

uint32_t spans_fallen_from(const struct spans *s, uint32_t block)
{
	const struct pugmark_model *m = s->model;
	const struct pugmark_block *to = &m->blocks[block], *from = to - 1;
	const uint32_t entered = PUGMARK_BLOCK_ADDRESS_TAKEN | PUGMARK_BLOCK_LANDING_PAD |
				 PUGMARK_BLOCK_SETJMP_RETURN | PUGMARK_BLOCK_UNREACHED;

	if (!block || s->open[to->func] || to->flags & entered || s->n_entering[block] != 1 ||
	    to->addr == m->funcs[to->func].addr || is_target(s, to->addr, to->addr + to->size) ||
	    from->func != to->func || from->addr + from->size != to->addr || !from->n_insns ||
	    m->insns[from->insn + from->n_insns - 1].kind != PUGMARK_INSN_JCC)
		return PUGMARK_NONE;
	for (uint32_t e = from->edge; e < from->edge + from->n_edges; e++)
		if (m->edges[e].to == block && m->edges[e].kind == PUGMARK_EDGE_FALL)
			return block - 1;
	return PUGMARK_NONE;
}
