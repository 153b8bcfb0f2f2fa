/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turns.h: shares of a program's functions one after the other, each a recording of its own. A turn
 * is planned while the two before are on. The probes of a turn are in place before those of the
 * turn before go: there is no time in between, and what is on twice meanwhile are different
 * functions.
 */
#ifndef USER_RECORD_TURNS_H
#define USER_RECORD_TURNS_H

#include <pugmark/diag.h>

#include <stdint.h>

/* The status of a turn that has lost events, or has not seen all: its recording says so; and of one
 * whose share has no function, which is left out. */
enum { TURN_LOSSY = 3, TURN_EMPTY = 4 };

/* What a turn begins with. */
struct turn_begin {
	uint32_t share; /* from 1 */
	const char *output;
	int go_fd, begun_fd;
	/* The turns by whose counts functions are split, so many from that number on; 0: none is.
	 * They are a whole round that is over. All turns of a round have the same. */
	uint32_t counted, n_counted;
};

/* The folder of turn @number, from 1: heap; NULL: no memory. */
char *turn_folder(const char *output, uint32_t number);

struct turns {
	const char *output; /* the folder of the recordings, turn-000001 and so on: made here */
	uint32_t shares;
	uint64_t every_ns, duration_ns; /* of a turn; of all of them, 0: until SIGINT or SIGTERM */
	/* Records a turn until SIGTERM, in a process of its own. It plans at once, waits for a byte
	 * from go_fd (at its end: nothing is recorded), and writes one to begun_fd when its probes
	 * are in place. Returns its exit status. */
	int (*record)(void *ctx, const struct turn_begin *begin);
	void *ctx;
};

struct turns_result {
	uint32_t n, lossy; /* turns, and those of them that are lossy */
	uint32_t missed;   /* shares that had none, for want of time */
};

/* Returns 0, or -errno with @diag filled. A turn that fails ends all, and has said why. */
int turns_run(const struct turns *turns, struct turns_result *out, struct pugmark_diag *diag);

#endif
