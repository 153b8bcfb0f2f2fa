/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* voice.h: what a recorder has to say while it records: on stderr, under the recording's name, and
 * as notes in the recording. */
#ifndef USER_VOICE_H
#define USER_VOICE_H

#include "user/record/write/collector.h"

struct voice {
	const struct recorder_options *options; /* borrowed */
	struct collector *collector;		/* borrowed; NULL until there is a recording */
};

/* On stderr: the recording's name, @what, @text. */
void voice_say(const struct voice *voice, const char *what, const char *text);
/* Says what has come and what cannot be done about it: in the recording, and on stderr unless that
 * is to be quiet. */
void voice_note(const struct voice *voice, const char *text);
/* The same for text on the heap, which is freed; NULL: there is nothing to say. */
void voice_note_words(const struct voice *voice, char *words);

#endif
