/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* show.h: `report --request`: requests and what makes the slow ones slow, as text or as JSON. */
#ifndef USER_REQUEST_SHOW_H
#define USER_REQUEST_SHOW_H

#include "user/cli/outbuf.h"
#include "user/cli/tty.h"
#include "user/request/blame.h"

struct request_show {
	struct trace_view *view;
	const struct requests *requests;
	const struct request_tree *tree;
	const struct request_blame *blame;
	struct outbuf *out;
	struct tty term;
	uint32_t top;	   /* at most so many functions; 0: as the format likes */
	uint32_t slowest;  /* so many single requests; 0: as the format likes */
	bool within, less; /* --when: only what ran in the slow ones; ->less: in the fast ones */
};

/* Each returns 0 or -ENOMEM. */
int request_show_text(struct request_show *show);
int request_show_json(struct request_show *show);
int request_show_single(struct request_show *show, bool json);
int request_show_within(struct request_show *show, bool json);

/* Means as bounds; below 0 is 0. Returns how many bytes. */
unsigned request_put_means(struct outbuf *out, double min_ns, double max_ns);
/* JSON: its name and module. */
void request_put_function(struct request_show *show, uint32_t id);

/* What `report --request` and `--when` do: finds the requests that @text says (spec.h), compares
 * and prints. @limit_ns: see requests_find(). Returns 0, or -errno with @diag filled (-ENODATA: a
 * recording without times). */
int request_report(struct trace_view *view, const char *text, uint64_t limit_ns,
		   struct request_show *show, struct pugmark_diag *diag);

#endif
