// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_cfa.c: interprets the CFA programs of .eh_frame, as far as they say how the CFA is computed
 * and where rbp is saved (DWARF 5, 6.4.2); other registers are skipped. rsp + N and rbp + N are
 * told apart, every other rule, expressions above all (the PLT's, realigned stacks), is
 * PUGMARK_CFA_UNKNOWN. What a row tells is the rsp that the caller has once the function has
 * returned. That is the CFA, unless there is a rule of its own for rsp, as GHC's run-time system
 * has where it enters Haskell code. A program that is damaged leaves the rest of its FDE unknown.
 */
#include "offline/elf/elf_parts.h"

#include "offline/elf/elf_cursor.h"

#include <dwarf.h>

#define REG_RBP 6
#define REG_RSP 7
#define REG_RETURN 16 /* the return address column */
#define REG_EXPRESSION UINT64_MAX
#define MAX_REMEMBERED 32

struct rule {
	uint64_t reg; /* DWARF's number, or REG_EXPRESSION */
	int64_t offset;
	uint8_t bp;  /* as in struct pugmark_cfa */
	bool has_sp; /* the caller's rsp is no CFA, but sp_reg + sp_offset */
	uint64_t sp_reg;
	int64_t sp_offset;
};

/* One run of a program, and the rows that it makes. */
struct run {
	const struct elf_cie *cie;
	struct rule now;
	struct rule remembered[MAX_REMEMBERED];
	uint32_t n_remembered;
	uint64_t row_start, addr_end;
	bool stated; /* the program says where the row begins what the CFA is: the same or not */
	struct elf_cfa_row *rows;
	uint32_t n_rows, max_rows;
	struct pugmark_cfa last;
};

static struct pugmark_cfa public_rule(const struct rule *rule)
{
	uint64_t reg = rule->has_sp ? rule->sp_reg : rule->reg;
	int64_t offset = rule->has_sp ? rule->sp_offset : rule->offset;
	if ((reg != REG_RSP && reg != REG_RBP) || offset < -ELF_CFA_HIGHEST ||
	    offset > ELF_CFA_HIGHEST)
		return (struct pugmark_cfa){.reg = PUGMARK_CFA_UNKNOWN, .bp = PUGMARK_BP_UNKNOWN};
	return (struct pugmark_cfa){.reg = reg == REG_RSP ? PUGMARK_CFA_SP : PUGMARK_CFA_BP,
				    .bp = rule->has_sp ? PUGMARK_BP_UNKNOWN : rule->bp,
				    .offset = (int32_t)offset};
}

/* Ends at @addr the row for which the current rule holds. Returns false when no more rows are
 * wanted. */
static bool end_row(struct run *run, uint64_t addr)
{
	if (addr <= run->row_start)
		return true;
	struct pugmark_cfa cfa = public_rule(&run->now);
	if (run->n_rows && !run->stated && run->last.reg == cfa.reg &&
	    run->last.offset == cfa.offset && run->last.bp == cfa.bp) {
		if (run->n_rows <= run->max_rows)
			run->rows[run->n_rows - 1].end = addr;
	} else {
		if (run->n_rows < run->max_rows)
			run->rows[run->n_rows] = (struct elf_cfa_row){run->row_start, addr, cfa};
		run->n_rows++;
		run->last = cfa;
	}
	run->row_start = addr;
	run->stated = false;
	return addr < run->addr_end;
}

static bool advance(struct run *run, uint64_t delta)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(delta, run->cie->code_align, &bytes) ||
	    bytes > run->addr_end - run->row_start)
		bytes = run->addr_end - run->row_start;
	return end_row(run, run->row_start + bytes);
}

static void set_offset_factored(struct run *run, int64_t factored)
{
	if (run->now.reg != REG_EXPRESSION &&
	    __builtin_mul_overflow(factored, run->cie->data_align, &run->now.offset))
		run->now.reg = REG_EXPRESSION;
}

/* Where register @reg is saved: if it is rbp, @factored words of the CIE's from the CFA. */
static void save_register(struct run *run, uint64_t reg, int64_t factored)
{
	int64_t offset;
	if (reg != REG_RBP)
		return;
	run->now.bp = PUGMARK_BP_UNKNOWN;
	if (__builtin_mul_overflow(factored, run->cie->data_align, &offset) || offset >= 0 ||
	    offset % 8 || -offset / 8 >= PUGMARK_BP_UNKNOWN)
		return;
	run->now.bp = (uint8_t)(-offset / 8);
}

/* Notes that register @reg is saved by a rule that is not followed (or, with PUGMARK_BP_KEPT, not
 * saved at all). */
static void note_register(struct run *run, uint64_t reg, uint8_t bp)
{
	if (reg == REG_RBP)
		run->now.bp = bp;
	if (reg == REG_RSP && bp == PUGMARK_BP_KEPT)
		run->now.has_sp = false;
}

/* The caller's rsp is what an expression computes: followed if that is a register plus a number. */
static void take_sp_expression(struct run *run, struct elf_cursor *c)
{
	uint64_t left = elf_read_uleb(c);
	uint64_t behind = elf_cursor_left(c) < left ? 0 : elf_cursor_left(c) - left;
	uint8_t op = left ? elf_read_u8(c) : 0;
	run->now.has_sp = true;
	run->now.sp_reg = REG_EXPRESSION;
	if (op < DW_OP_breg0 || op > DW_OP_breg31) {
		elf_skip(c, left - !!left);
		return;
	}
	run->now.sp_offset = elf_read_sleb(c);
	if (elf_cursor_left(c) == behind)
		run->now.sp_reg = op - DW_OP_breg0;
	else
		elf_skip(c, elf_cursor_left(c) - behind);
}

/* Executes one instruction about where a register is saved. Returns false where @op is unknown. */
static bool change_register(struct run *run, struct elf_cursor *c, uint8_t op)
{
	uint64_t reg;
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save:
		return true;
	case DW_CFA_offset_extended:
		reg = elf_read_uleb(c);
		save_register(run, reg, (int64_t)elf_read_uleb(c));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = elf_read_uleb(c);
		save_register(run, reg, elf_read_sleb(c));
		return true;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_val_offset_sf: /* an SLEB128 is as long as the ULEB128 of the same bytes */
		note_register(run, elf_read_uleb(c), PUGMARK_BP_UNKNOWN);
		elf_read_uleb(c);
		return true;
	case DW_CFA_restore_extended: /* no CIE saves rbp */
	case DW_CFA_same_value:
		note_register(run, elf_read_uleb(c), PUGMARK_BP_KEPT);
		return true;
	case DW_CFA_GNU_args_size:
		elf_read_uleb(c);
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		reg = elf_read_uleb(c);
		note_register(run, reg, PUGMARK_BP_UNKNOWN);
		if (op == DW_CFA_val_expression && reg == REG_RSP)
			take_sp_expression(run, c);
		else
			elf_skip(c, elf_read_uleb(c));
		return true;
	}
	return false;
}

/* Executes one instruction that changes the rule. Returns false where it does not, or is damaged.
 */
static bool change_rule(struct run *run, struct elf_cursor *c, uint8_t op)
{
	struct rule *now = &run->now;
	switch (op) {
	case DW_CFA_remember_state:
		if (run->n_remembered == MAX_REMEMBERED)
			return false;
		run->remembered[run->n_remembered++] = *now;
		return true;
	case DW_CFA_restore_state:
		if (!run->n_remembered)
			return false;
		*now = run->remembered[--run->n_remembered];
		run->stated = true;
		return true;
	case DW_CFA_def_cfa:
		now->reg = elf_read_uleb(c);
		now->offset = (int64_t)elf_read_uleb(c);
		run->stated = true;
		return true;
	case DW_CFA_def_cfa_sf:
		now->reg = elf_read_uleb(c);
		set_offset_factored(run, elf_read_sleb(c));
		return true;
	case DW_CFA_def_cfa_register: {
		uint64_t reg = elf_read_uleb(c);
		if (now->reg != REG_EXPRESSION)
			now->reg = reg;
		return true;
	}
	case DW_CFA_def_cfa_offset:
		now->offset = (int64_t)elf_read_uleb(c);
		run->stated = true;
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_offset_factored(run, elf_read_sleb(c));
		return true;
	case DW_CFA_def_cfa_expression:
		elf_skip(c, elf_read_uleb(c));
		now->reg = REG_EXPRESSION;
		return true;
	case DW_CFA_undefined: {
		/* A frame that nobody returns to (_start): its rule is for show, since such code
		 * realigns the stack without saying so. */
		uint64_t reg = elf_read_uleb(c);
		if (reg == REG_RETURN)
			now->reg = REG_EXPRESSION;
		note_register(run, reg, PUGMARK_BP_UNKNOWN);
		return true;
	}
	}
	return change_register(run, c, op);
}

/* Runs @c to its end or to that of the code. */
static void run_program(struct run *run, struct elf_cursor *c)
{
	while (elf_cursor_left(c)) {
		bool ok = true, more = true;
		uint8_t op = elf_read_u8(c);
		uint64_t addr;
		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			more = advance(run, op & 0x3f);
			break;
		case DW_CFA_offset:
			save_register(run, op & 0x3f, (int64_t)elf_read_uleb(c));
			break;
		case DW_CFA_restore:
			note_register(run, op & 0x3f, PUGMARK_BP_KEPT);
			break;
		default:
			switch (op) {
			case DW_CFA_set_loc:
				addr = elf_read_pointer(c, run->cie->fde_encoding, 0, 0);
				ok = addr >= run->row_start && addr <= run->addr_end;
				more = !ok || end_row(run, addr);
				break;
			case DW_CFA_advance_loc1:
				more = advance(run, elf_read_fixed(c, 1));
				break;
			case DW_CFA_advance_loc2:
				more = advance(run, elf_read_fixed(c, 2));
				break;
			case DW_CFA_advance_loc4:
				more = advance(run, elf_read_fixed(c, 4));
				break;
			default:
				ok = change_rule(run, c, op);
			}
		}
		if (!ok || c->bad) {
			run->now.reg = REG_EXPRESSION;
			return;
		}
		if (!more)
			return;
	}
}

void elf_cfa_of_cie(struct elf_cie *cie)
{
	struct run run = {.cie = cie, .now.reg = REG_EXPRESSION};
	struct elf_cursor c = elf_cursor_new(cie->program, cie->program_end - cie->program, 0);
	run_program(&run, &c);
	cie->cfa_reg = run.now.reg;
	cie->cfa_offset = run.now.offset;
}

static void run_fde(const struct elf_image *image, uint32_t index, struct run *run)
{
	const struct elf_cfa_program *program = &image->programs[index];
	const struct elf_cie *cie = &image->cies[program->cie];
	uint64_t off = program->start - elf_bytes(image, image->eh_frame, 1);
	struct elf_cursor c = elf_cursor_new(program->start, program->end - program->start,
					     image->eh_frame + off);
	run->cie = cie;
	run->now = (struct rule){.reg = cie->cfa_reg, .offset = cie->cfa_offset};
	run->row_start = program->addr;
	run->addr_end = program->addr_end;
	run_program(run, &c);
	end_row(run, program->addr_end);
}

uint32_t elf_image_cfa_rows(const struct elf_image *image, uint32_t index, struct elf_cfa_row *rows,
			    uint32_t max)
{
	if (index - image->n_programs < image->n_go_funcs)
		return elf_go_rows(image, index - image->n_programs, rows, max);
	if (index >= image->n_programs)
		return 0;
	struct run run = {.rows = rows, .max_rows = max};
	run_fde(image, index, &run);
	return run.n_rows;
}
