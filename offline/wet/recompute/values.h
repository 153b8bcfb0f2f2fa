/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* values.h: values of a WET file that are executed again (again.h): by the timestamp of an
 * execution of a node, in any order. A block at a time is held, so that going on in either
 * direction costs the same; one that was not held is executed first. */
#ifndef OFFLINE_WET_VALUES_H
#define OFFLINE_WET_VALUES_H

#include "offline/wet/file/file.h"

struct wet_values;

/* @file is borrowed until wet_values_free(). 0, -EBADMSG, -ENOTSUP, or -ENOMEM. */
int wet_values_open(const struct wet_file *file, struct wet_values **out);
void wet_values_free(struct wet_values *values);
/* What value @value of the node that has timestamp @time was then. 0, or as above. */
int wet_values_at(struct wet_values *values, uint64_t time, uint32_t value, uint64_t *out);

#endif
