/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* top.h: `pugmark top`: what runs now, of a recording that is being made: as a table that is
 * printed once, or on a terminal until its user leaves or the recording ends. */
#ifndef USER_TUI_TOP_H
#define USER_TUI_TOP_H

#include "user/cli/outbuf.h"
#include "user/view/report/live.h"

enum top_order { TOP_TIME, TOP_CALLS, TOP_SLOW, TOP_NAME, N_TOP_ORDERS };
extern const char *const top_order_names[N_TOP_ORDERS];

struct top_row {
	uint32_t id; /* number of the function */
	struct time_bounds p99;
};

struct top {
	struct trace_view *view;
	const char *label; /* what is recorded; NULL: it is called by its folder */
	struct live live;
	struct top_row *rows; /* heap */
	uint32_t n_rows, cap_rows;
	enum top_order order;
	uint32_t most;	   /* rows of the table that is printed; 0: all */
	uint64_t until_ns; /* CLOCK_MONOTONIC: the table is printed then, or when the recording ends
			    */
	/* Nobody else will read the recording: the room of what has been read is given back. */
	bool release;
	int release_fd;
	uint64_t released;
};

enum { TOP_LINE = 1024 };

/* Begins with @view, which was opened growing. 0 or -ENOMEM; top_deinit() either way. */
int top_init(struct top *top, struct trace_view *view);
void top_deinit(struct top *top);
/* Makes the rows of the last look, in their order. 0 or -ENOMEM. */
int top_rows_make(struct top *top);
/* The text of a row, and what stands above all of them: @columns, how wide it may be, 0: anything.
 */
void top_row_text(struct top *top, uint32_t row, unsigned columns, char out[TOP_LINE]);
void top_heading(const struct top *top, unsigned columns, char out[TOP_LINE]);
/* How the recording is: how long, how many threads and events, its gaps. */
void top_title(const struct top *top, char out[TOP_LINE]);
/* What it costs, as far as the recorder has said. */
void top_cost(const struct top *top, char out[TOP_LINE]);

/* Reads until it is top->until_ns or the recorder has ended, and writes the table of all that was
 * recorded. Returns 0 or -errno with @diag filled. */
int top_print(struct top *top, struct outbuf *out, struct pugmark_diag *diag);
/* Writes the table of what has been read. */
int top_table(struct top *top, struct outbuf *out);
/* Gives the room of what has been read back to the disk, where nobody else will read it. */
void top_release(struct top *top);

/* On the terminal. Returns 0, or -errno with @diag filled (-ENOTTY: none of that kind is known). */
int top_screen(struct top *top, struct pugmark_diag *diag);
/* SIGINT, SIGTERM and SIGHUP end it from here on; asked: one of them has come. */
void top_catch_signals(void);
bool top_is_asked(void);

#endif
