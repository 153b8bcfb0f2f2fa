/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* merged_writer.h: writes the recording that a merge makes (docs/recording-format.md): segments of
 * events, what the first part says of processes, and meta.json. */
#ifndef USER_SHARE_MERGED_WRITER_H
#define USER_SHARE_MERGED_WRITER_H

#include <pugmark/plan.h>
#include <pugmark/recording.h>

struct merged_writer;

/* Begins a recording that is to be @dir, of the whole @plan; @first: the part under share 1, in the
 * directory @first_dir, whose lines of processes it takes over. */
int merged_writer_open(const char *dir, const struct pugmark_plan *plan,
		       const struct pugmark_recording *first, const char *first_dir,
		       struct merged_writer **out, struct pugmark_diag *diag);
/* The events that come are of the task with that number. */
int merged_writer_task(struct merged_writer *w, uint32_t task);
int merged_writer_add(struct merged_writer *w, const struct pugmark_witness_event *event);
/* Something that a reader should be told. */
int merged_writer_note(struct merged_writer *w, const char *text);
/* Ends the recording, which gets its name, and frees the writer; with @abandon nothing stays. */
int merged_writer_close(struct merged_writer *w, uint32_t n_parts, bool abandon,
			struct pugmark_diag *diag);
/* How many decisions one part alone tells. */
void merged_writer_alone(struct merged_writer *writer, uint64_t decisions);
uint64_t merged_writer_events(const struct merged_writer *w);

#endif
