/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* leaving.h: by which calls control may leave the traced modules: those of imports, indirect ones,
 * and those of functions that end in a tail jump that may. */
#ifndef OFFLINE_CAPTURE_LEAVING_H
#define OFFLINE_CAPTURE_LEAVING_H

#include "offline/capture/places.h"

struct leaving;

int leaving_new(const struct pugmark_model *model, const struct places_options *options,
		struct leaving **out);
void leaving_free(struct leaving *leaving);
/* Whether something is to be captured of what @site calls or jumps to. Then: its row (NULL: none),
 * its name ("": not known), enum capture_place_flag, and whether it may read a clock of the vDSO: a
 * function that a name leads to outside, unless its row says that it does not. */
bool leaving_by(const struct leaving *leaving, const struct pugmark_site *site,
		const struct import_row **row, const char **import, uint8_t *flags, bool *clock);

#endif
