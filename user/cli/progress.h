/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* progress.h: one line on the terminal about work that takes long. It appears after half a second,
 * and is gone when the work is done. Where stderr is no terminal but a log, there is a line every
 * ten seconds, of work alone that tells how much of it is done. */
#ifndef USER_PROGRESS_H
#define USER_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *_Atomic what;
	uint64_t total; /* of the same unit as done; 0: not known */
	_Atomic uint64_t done;
	const _Atomic uint32_t *permille; /* of the whole, in memory of whoever works; or NULL */
	bool on, terminal;
	pthread_t ticker;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool end; /* under the lock */
};

/* @what: "reading the recording"; borrowed until progress_end(). @quiet: never shown, as where the
 * output itself goes to the terminal while the work is going on. */
void progress_start(struct progress *progress, const char *what, uint64_t total, bool quiet);
/* Names what is done from here on; the string must outlive the work. */
void progress_phase(struct progress *progress, const char *what);
/* What is done is told there, in thousandths, by another process: any number. It is borrowed until
 * it is NULL again, or the end. */
void progress_by(struct progress *progress, const _Atomic uint32_t *permille);
/* Adds to what is done. Any thread may; cheap, but not for every event. */
void progress_step(struct progress *progress, uint64_t n);
void progress_end(struct progress *progress);

#endif
