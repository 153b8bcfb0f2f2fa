/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock_image.h: the kernel's image of clock functions (vDSO), which all processes have alike: its
 * functions, and its code as it runs at another address. */
#ifndef USER_CLOCK_IMAGE_H
#define USER_CLOCK_IMAGE_H

#include "offline/capture/clock_area.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_image {
	const uint8_t *bytes; /* of this process' own; never freed */
	size_t len;
	uint32_t text, text_end;	     /* offsets of its code */
	uint32_t functions[CLOCK_FUNCTIONS]; /* offsets, by number; 0: it has none */
};

/* False: this process has none, or one that is not understood. */
bool clock_image_own(struct clock_image *out);
/* Writes the image to @out, as it runs at the address @at in a process that has it at @base as
 * well: what it reads outside of itself is read through @base. False: it cannot be moved there. */
bool clock_image_move(const struct clock_image *image, uint64_t base, uint64_t at, uint8_t *out);

#endif
