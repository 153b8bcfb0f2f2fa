/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose_entry.h: where the witness stands that tells of an entry from anywhere. Private to the
 * choice. */
#ifndef OFFLINE_CHOOSE_ENTRY_H
#define OFFLINE_CHOOSE_ENTRY_H

#include "offline/chooser.h"

/* Puts the witness of @func's entry further down if that is cheaper, and takes away the marks that
 * this passes. Every other mark stays. Returns whether it did. */
bool choose_entry(struct chooser *ch, uint32_t func);

#endif
