// SPDX-License-Identifier: LGPL-2.1-or-later
/* voice.c: see voice.h. */
#include "user/record/write/voice.h"

#include "user/cli/command.h"

#include <stdio.h>
#include <stdlib.h>

void voice_say(const struct voice *v, const char *what, const char *text)
{
	command_say(stderr, "pugmark: ", v->options->output, ": ");
	command_say(stderr, what, text, "\n");
}

void voice_note(const struct voice *v, const char *text)
{
	collector_note(v->collector, text);
	if (!v->options->quiet)
		voice_say(v, "", text);
}

void voice_note_words(const struct voice *v, char *words)
{
	if (words)
		voice_note(v, words);
	free(words);
}
