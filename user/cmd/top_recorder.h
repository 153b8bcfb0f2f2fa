/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* top_recorder.h: the recording that `pugmark top` looks at, made by a process of its own. */
#ifndef USER_CMD_TOP_RECORDER_H
#define USER_CMD_TOP_RECORDER_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct top_recorder {
	pid_t pid; /* 0: it has been waited for */
	int status;
	char *folder; /* heap: of files of its own, gone at the end */
	char *dir;    /* heap: the recording */
	char *said;   /* heap: the file of what it says */
	bool kept;    /* the recording stays */
};

/* Starts `pugmark record` with the @n words (options, and what is recorded), and waits until there
 * is a recording: in the folder @output, or NULL: in one that is removed at the end. @screen: the
 * terminal is not for the program. Returns 0; -ECANCELED: it has ended before, and has said why; or
 * -errno with @diag filled. top_recorder_free() either way. */
int top_recorder_start(struct top_recorder *recorder, char **words, int n, char *output,
		       bool screen, struct pugmark_diag *diag);
/* Whether it has ended, with recorder->status. */
bool top_recorder_ended(struct top_recorder *recorder);
/* Ends the recording, as SIGINT does, and waits until all probes are gone. */
void top_recorder_stop(struct top_recorder *recorder);
/* How much room the recording takes on the disk. */
uint64_t top_recorder_bytes(const struct top_recorder *recorder);
/* Prints what it has said to stderr. */
void top_recorder_tell(const struct top_recorder *recorder);
void top_recorder_free(struct top_recorder *recorder);

#endif
