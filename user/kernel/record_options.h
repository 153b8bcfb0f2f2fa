/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_options.h: what a recording is asked for: which modules with which sites, whose events,
 * and where to. Filled by the command, read by everything that takes part in recording; borrowed
 * for as long as the recording lasts. */
#ifndef USER_RECORD_OPTIONS_H
#define USER_RECORD_OPTIONS_H

#include <pugmark/plan.h>

#include <sys/types.h>

struct arg_types;
struct capture_plan;

struct recorder_module {
	const char *path; /* the file to probe, possibly /proc/PID/exe or map_files/... */
	const char *name; /* what it is called; NULL: path */
	/* Written into the recording. NULL: only the sites are known, and listed in meta.json. */
	const struct pugmark_plan *plan;
	const struct pugmark_plan_site *sites;
	uint32_t n_sites;
	/* What is known of the arguments that sites read, and the same as it is written into the
	 * recording; NULL: nothing. */
	const struct arg_types *arg_types;
	const char *arg_types_json;
	uint8_t build_id[32];
	uint32_t build_id_len;
	uint32_t goid_at; /* Go: where runtime.g has its number; 0: not known, or it is not Go's */
};

/* A function that is not traced any more. */
struct taken_out {
	const char *path; /* of its module */
	const char *name; /* the module's */
	uint64_t addr;
};

/* Why what is probed changes. */
struct replan_request {
	const struct taken_out *out; /* all functions that are out by now */
	uint32_t n_out;
	bool more_out;	   /* more than were */
	const pid_t *pids; /* processes that have mapped what may be asked for */
	uint32_t n_pids;
	const bool *cancelled; /* becomes true when nobody waits for it any more */
};

enum carrier_kind { CARRIER_PROBE, CARRIER_PATCH, CARRIER_MIXED, CARRIER_AUTO };

/* When events are brought to the form that they have in the recording: as they come, or while the
 * machine has nothing else to do, and the rest at the end. By the carrier: later where instructions
 * are patched. */
enum live_coding { CODING_BY_CARRIER, CODING_NOW, CODING_LATER };

#define RECORDER_NOTES 5

struct recorder_options {
	const struct recorder_module *modules;
	uint32_t n_modules; /* at most 64 */
	/* Who is recorded: a command (NULL-terminated), or running processes, or everybody. */
	char *const *argv;
	const char *user; /* whom the command runs as: a name or a number; NULL: this user */
	/* Open files of the programs that libraries were planned for; the first 64 count. */
	const int *program_fds;
	uint32_t n_program_fds;
	const pid_t *pids;
	const char *const *pid_programs; /* n_pids files: what they run; NULL: not checked */
	uint32_t n_pids;
	bool all;
	const char *program;	  /* all: the file that they run */
	const char *program_name; /* and where it was */
	const pid_t *running;	  /* what ran already: pids, or with @all those that were found */
	uint32_t n_running;
	const bool *not_all_loaded; /* that had loaded more than was planned with; NULL: none had */
	/* all: only what is in this cgroup (v2) or one below it; NULL: anywhere */
	const char *cgroup;
	const char *pid_namespace; /* all: only what is in this one: a process in it, or a path */
	bool no_follow;		   /* leave forked children alone */

	/* How events are carried. Before recording begins CARRIER_AUTO has become another.
	 * CARRIER_MIXED: for tests, a half of the witnesses, by the seed.
	 */
	enum carrier_kind carrier;
	uint32_t carrier_seed;
	bool carrier_poison; /* tests: registers that are not live do not survive */
	bool on_full_wait; /* a patched process waits when its lanes are full; else events are lost
			    */
	enum live_coding coding;
	uint32_t lane_bytes; /* of a patched process, in all; 0: 64 MiB */

	const char *output;    /* the directory, made anew; one that is there becomes OUTPUT.old */
	uint32_t time_unit_ns; /* 0: no times */
	uint32_t ring_bytes;   /* 0: 16 MiB; a power of two of at least 4096 */
	uint64_t max_memory_bytes; /* the recording ends where its recorder has more; 0: never */
	uint64_t duration_ns;	   /* 0: until it ends by itself or by SIGINT or SIGTERM */
	bool quiet;		   /* no progress, whatever stderr is */
	double max_overhead;	   /* in percent, not to be exceeded; 0: any */
	bool forecast;		   /* say at first what it costs; */
	double refuse_above;	   /* and end where that is more, in times as long; 0: never */
	const char *notes[RECORDER_NOTES]; /* to be said in the recording, or NULL */
	/* The functions of share @share of @n_shares are traced, and no others; 0: it is no share.
	 */
	uint32_t share, n_shares;
	int go_fd;    /* planned ahead: waits for a byte of it before anything is placed; 0: no */
	int begun_fd; /* gets a byte when the probes are in place, and is closed; 0: nobody waits */
	/* Room to take in modules that are loaded later, and whether the file that is mapped by
	 * this path is one. */
	bool later;
	/* PUGMARK_READS_OUT: which arguments of a function of this name are read through when it
	 * has returned, a bit for each, from the first. */
	uint8_t (*outs)(const void *ctx, const char *function);
	const void *outs_ctx;
	bool (*wants)(void *ctx, const char *file);
	/* Plans anew. It fills modules and n_modules of @changed, which live as long as those
	 * before: the same modules in the same places, with new ones behind them. *@news: what is
	 * to be noted (the caller frees; NULL: nothing). Returns 0, -EALREADY where nothing
	 * changes, -ENODATA where nothing is left, or -errno. */
	int (*replan)(void *ctx, const struct replan_request *request,
		      struct recorder_options *changed, char **news, struct pugmark_diag *diag);
	/* The name of a file of the modules that was written to since it was planned, or that
	 * somebody waits to write to; NULL: none. @at_end: nothing is recorded any more. Then, when
	 * no probe is on it: he may. */
	const char *(*changed)(void *ctx, bool at_end);
	void (*release)(void *ctx);
	/* All is written and placed, and replan() is not called: what plans hold for it may go. */
	void (*planned)(void *ctx);
	void *replan_ctx;
	/* Level values: what to capture besides, of the same modules in the same order; NULL:
	 * nothing.
	 */
	const struct capture_plan *captures;
	uint32_t check_every;	     /* behind so many calls out a hash of registers is kept */
	bool stubs;		     /* system calls are noted by the process, where it can */
	bool one_processor;	     /* its threads share one, and losing it is noted */
	bool thin;		     /* entries that are never from outside are watched no longer */
	uint32_t capture_ring_bytes; /* a power of two */
	const char *no_memory;	     /* a glob of mappings whose memory is not kept; NULL: none */
	const char *const *redact;   /* descriptors and globs of paths whose content is not kept */
	uint32_t n_redact;
	uint32_t debug_stall_ms; /* tests of loss: the consumer sleeps so long after the first data
				  */
};

#endif
