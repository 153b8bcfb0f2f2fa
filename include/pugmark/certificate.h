/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* certificate.h: what can be relied on in a recording: all of it, or all but the gaps listed here.
 * Each thread is certified by itself, by any thread of the caller, several at a time; the parts are
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
	uint16_t module;	 /* of addr */
	uint16_t was_module;	 /* of was */
	uint64_t addr; /* the instruction whose event fits nothing; 0: there is no such event */
	struct pugmark_trace_was was;
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

/* What would have fitted where a gap is: the functions of
 * was_module whose events could have been next, and where these are. */
#define PUGMARK_EXPECTED_MAX 3
struct pugmark_expected {
	uint64_t addr[PUGMARK_EXPECTED_MAX];
	uint32_t func[PUGMARK_EXPECTED_MAX]; /* of the plan of was_module */
	uint32_t n;
	uint32_t more; /* that are not in the list */
	bool any;      /* any event would have fitted */
	bool entry;    /* the entry of any function that may be called from outside would */
	bool end;      /* or the function ends without an event */
};

/* Answers that for the gaps of one trace, by one thread of the caller. Returns 0 and what the
 * caller frees before the trace, or -ENOMEM. */
struct pugmark_expectations;
int pugmark_expectations_new(const struct pugmark_trace *trace, struct pugmark_expectations **out);
void pugmark_expectations_free(struct pugmark_expectations *expectations);
/* All zero where nothing is known to have been next. */
struct pugmark_expected pugmark_expectations_at(struct pugmark_expectations *expectations,
						const struct pugmark_gap *gap);

/* The whole, from the parts of all threads of the recording, in their order. */
void pugmark_certificate_join(const struct pugmark_trace *trace,
			      const struct pugmark_thread_certificate *parts,
			      struct pugmark_certificate *out);

#ifdef __cplusplus
}
#endif

#endif
