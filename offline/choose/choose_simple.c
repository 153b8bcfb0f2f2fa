// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_simple.c: the choice of modes `full` and `branch` for one function, which look at its
 * call-site graph alone. */
#include "offline/choose/choose_modes.h"

void choose_full(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (ch->marks[b] || !(block->flags & PROG_REACHED))
			continue;
		if ((block->call != CALL_NONE || block->flags & PROG_RET) &&
		    prog_probeable(&block->last))
			ch->marks[b] = block->flags & PROG_TO_UNKNOWN ? MARK_TARGET : MARK_LAST;
		/* a tail jump that is a jcc shows by its direction */
		for (uint32_t i = 0; i < block->n_succ && block->flags & PROG_BRANCH; i++)
			if (ch->prog->blocks[prog_succs(ch->prog, b)[i]].flags & PROG_VIRTUAL)
				ch->marks[b] = MARK_BRANCH;
	}
}

/* Marks every alternative of a decision between several. */
static void mark_targets(struct conflicts *ch, struct decision d)
{
	conflict_alternatives(ch, d, &ch->alts);
	for (uint32_t i = 0; i < ch->alts.n && ch->alts.n > 1; i++) {
		uint32_t b = ch->alts.at[i];
		if (b == NODE_EXIT || ch->marks[b])
			continue;
		if (prog_probeable(&ch->prog->blocks[b].last))
			ch->marks[b] = MARK_LAST;
		else if (ch->prog->blocks[b].flags & PROG_VIRTUAL)
			for (uint32_t p = ch->pred_at[b]; p < ch->pred_at[b + 1]; p++)
				if (ch->prog->blocks[ch->preds[p]].flags & PROG_BRANCH)
					ch->marks[ch->preds[p]] = MARK_BRANCH;
	}
}

void choose_branch(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks)
		return;
	mark_targets(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		if ((ch->prog->blocks[b].flags & PROG_REACHED) && conflict_is_node(ch, b))
			mark_targets(ch, (struct decision){func, b, WAY_ALL});
	/* Loops without a way out are no decision, yet each round must show. */
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		if (ch->prog->blocks[b].call != CALL_NONE && !conflict_progress_holds(ch, b) &&
		    prog_probeable(&ch->prog->blocks[b].last))
			ch->marks[b] = MARK_LAST;
}
