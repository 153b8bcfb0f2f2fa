/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* outputs.h: the words by which a table says which memory a function or a system call may have
 * written, and the rows that they become.
 *
 *   outputs := output { " " output }
 *   output  := { "*" } base ":" length        "*": the address is what lies there
 *   base    := ( "arg0" .. "arg5" | "result" | "@" SYMBOL ) [ "+" NUMBER ]
 *   length  := product [ "+" NUMBER ]         product := factor { "x" factor }, at most two of them
 *            | "string"                       no numbers; factor := NUMBER | "argN" | "result"
 *            | "u32@argN"                     what the 32-bit word at argN says
 *            | "iovec@argN"                   base is an array of so many struct iovec
 *            | "msghdr" | "file"              a struct msghdr, a FILE of glibc, with what they hold
 */
#ifndef OFFLINE_CAPTURE_OUTPUTS_H
#define OFFLINE_CAPTURE_OUTPUTS_H

#include "offline/capture/capture_ring.h"

#include <stdint.h>

struct output_word {
	struct capture_output output;
	char symbol[64]; /* of VALUE_SYMBOL, whose address is not yet known; else "" */
};

/* Reads @text into at most CAPTURE_MAX_OUTPUTS of @out. Returns how many, or -EINVAL with in *@bad
 * where it is wrong. */
int outputs_read(const char *text, struct output_word out[CAPTURE_MAX_OUTPUTS], const char **bad);

#endif
