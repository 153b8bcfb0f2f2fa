/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mapping_calls.h: what a system call did to the mappings of its process. */
#ifndef OFFLINE_CAPTURE_MAPPING_CALLS_H
#define OFFLINE_CAPTURE_MAPPING_CALLS_H

#include "offline/capture/captures.h"

/* Fills map_op and what belongs to it from number, arguments and result. */
void mapping_call(struct capture *c);

#endif
