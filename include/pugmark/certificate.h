/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* certificate.h: what can be relied on in a recording: all of it, or all but these gaps. Each
 * thread is certified on its own, by any thread of the caller, several at a time; the parts are
 * then joined to the certificate of the whole. */
#ifndef PUGMARK_CERTIFICATE_H
#define PUGMARK_CERTIFICATE_H

#include <pugmark/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pugmark_gap {
	uint64_t from_ns, to_ns; /* nothing is known of what ran between these, CLOCK_MONOTONIC */
	uint64_t lost;		 /* events that were lost in it; 0: none, or not known how many */
	uint32_t frames;	 /* open frames that could not be followed any further */
	uint8_t cause;		 /* enum pugmark_trace_cause */
};

struct pugmark_thread_certificate {
	uint64_t events;	  /* recovered calls, tail calls, returns, entries and unwindings */
	uint64_t witness_events;  /* from which they were */
	struct pugmark_gap *gaps; /* in order; heap */
	uint64_t n_gaps;
};

struct pugmark_certificate {
	bool complete; /* there is a thread, no gap, no damage, nothing missing, and the recorder
			  ended well */
	bool closed;   /* the recorder ended well */
	uint64_t events, witness_events, gaps, lost; /* of all threads */
	uint64_t unplaced;	/* recorded or lost events that are in no thread and in no gap */
	uint64_t damaged_bytes; /* of the file of events */
};

/* Called now and then with how many more witness events were read. */
typedef void pugmark_certify_progress(void *ctx, uint64_t witness_events);

/* Recovers the whole of the thread at @task of pugmark_recording_tasks(). @progress may be NULL.
 * Returns 0 and a part that the caller releases with pugmark_thread_certificate_deinit(), or
 * -errno. */
int pugmark_certify_thread(const struct pugmark_trace *trace, uint32_t task,
			   pugmark_certify_progress *progress, void *ctx,
			   struct pugmark_thread_certificate *out);
void pugmark_thread_certificate_deinit(struct pugmark_thread_certificate *part);

/* The whole, from the parts of all threads of the recording, in their order. */
void pugmark_certificate_join(const struct pugmark_trace *trace,
			      const struct pugmark_thread_certificate *parts,
			      struct pugmark_certificate *out);

#ifdef __cplusplus
}
#endif

#endif
