/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rates.h: how often functions were called a second, from several recordings of which each may have
 * traced some functions only: shares in turn (record --rotate), shares of hosts (record --share).
 * A function counts for the time in which a recording had it, and for no other.
 *
 * The interval holds the rate with 95 % if what was seen is like what was not. It is the wider of
 * two: of a Poisson process, as if calls came independently; and of how much the recordings differ.
 * It begins at the least and ends at the most calls that there can have been: what is not known of
 * the edges of a recording's time, and what it has lost, make it wider.
 */
#ifndef USER_VIEW_RATES_H
#define USER_VIEW_RATES_H

#include "user/cli/outbuf.h"
#include "user/view/trace/trace_view.h"

struct rate {
	char *name;	/* demangled; heap; NULL: never called */
	uint64_t calls; /* seen */
	/* Calls, with the same share of them added as of all events were lost; and between which
	 * numbers they lie: from those seen that certainly were within the time to those seen,
	 * hidden at its edges, and twice what was added for lost events. */
	double told, least, most;
	double on_s;	/* while it was traced, over all recordings */
	double squares; /* the sum of told² / seconds */
	uint32_t n;	/* recordings that had it */
	double mean;	/* calls a second */
	double low, high;
};

/* Functions of one file. */
struct rates_module {
	char *name;
	uint8_t build_id[32];
	uint32_t build_id_len;
	struct rate *funcs; /* by their number in its plans */
	uint32_t n_funcs;
};

/* Zeroed to begin with. */
struct rates {
	struct rates_module *modules;
	uint32_t n_modules, n_recordings;
	double seconds; /* of all recordings */
	uint64_t gaps;
	uint32_t shares; /* functions were split into so many; 0: they were not */
	uint64_t seen;	 /* a bit for each share that some recording is of */
	bool not_whole;
	uint32_t n_lossy; /* recordings that have lost events */
};

/* Whether @dir holds recordings and is none. */
bool rates_is_folder(const char *dir);
/* Adds all recordings below it. 0, or -errno with @diag filled. */
int rates_read(const char *dir, struct rates *out, struct pugmark_diag *diag);
/* At most @top functions, the most frequent first; 0: all. 0 or -ENOMEM. */
int rates_show(const struct rates *rates, bool json, uint32_t top, struct outbuf *out);
void rates_deinit(struct rates *rates);

/* The mean and the interval of @calls in @on_s seconds of @n recordings. */
void rate_settle(struct rate *rate);

#endif
