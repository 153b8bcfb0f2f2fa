/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_notes.h: lines to gdb's user of what the protocol has no word for: bytes that are not known,
 * what is assumed, how far a long move has come. Nothing is said again that was just said: of
 * memory since the last move, of registers while the same are assumed; gdb_monitor.h tells the
 * rest. */
#ifndef USER_VALUES_GDB_NOTES_H
#define USER_VALUES_GDB_NOTES_H

#include "user/values/gdb/gdb_history.h"

enum { GDB_NOTED = 64 };

struct gdb_piece {
	uint64_t addr, len;
};

/* All zeros but the descriptor: nothing is said yet. */
struct gdb_notes {
	int out;			   /* descriptor */
	struct gdb_piece noted[GDB_NOTED]; /* since the last move */
	size_t n_noted;
	bool told_assumed;     /* of memory, since the last move */
	char assumed[128];     /* registers that were, when it was told last */
	double began, tell_at; /* seconds: of a move, and when the next line of progress is due */
};

/* A line for each run of unknown bytes; they are zeros from now on. */
void gdb_notes_unknown(struct gdb_notes *notes, uint64_t addr, uint64_t len, uint8_t *bytes,
		       const uint8_t *quality);
/* A line for the first assumed memory since a move. */
void gdb_notes_assumed(struct gdb_notes *notes, uint64_t addr, uint64_t len,
		       const uint8_t *quality);
/* A line for the assumed registers of @run, which may be NULL. */
void gdb_notes_registers(struct gdb_notes *notes, struct value_run *run);
/* A line for whoever has asked that memory or a register be changed. */
void gdb_notes_unchanged(const struct gdb_notes *notes);
/* After a move: memory is said again, what is assumed of it not behind a single step. */
void gdb_notes_moved(struct gdb_notes *notes, bool by_a_step);
/* A move begins: from now on lines come, every three seconds, of how far @history has looked. */
void gdb_notes_progress(struct gdb_notes *notes, struct gdb_history *history);

#endif
