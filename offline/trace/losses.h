/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* losses.h: which gaps are a loss's. Patched instructions count what they lose, and a task tells
 * that behind it (losses_follow of <pugmark/recording.h>): what then fits nothing between there and
 * the loss before it is taken to be its, a gap for each event that was lost, and no more. A gap
 * that no loss follows is the model's. */
#ifndef OFFLINE_TRACE_LOSSES_H
#define OFFLINE_TRACE_LOSSES_H

#include <pugmark/recording.h>
#include <pugmark/trace_event.h>

struct losses;

/* Of the task at @index of @rec (borrowed), whose losses follow. 0 or -errno. */
int losses_new(const struct pugmark_recording *rec, uint32_t index, struct losses **out);
void losses_free(struct losses *losses);
/* The task's next event was taken, and @n trace events were made of it: gaps among them that are a
 * loss's get its cause. Reads ahead, as far as the next loss, where there is such a gap. */
void losses_blame(struct losses *losses, struct pugmark_trace_event *events, uint32_t n);

#endif
