/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file_impl.h: what the writer of WET files and the reader share; file_write.c has the format. */
#ifndef OFFLINE_WET_FILE_IMPL_H
#define OFFLINE_WET_FILE_IMPL_H

#include "offline/wet/file/file.h"

#define WET_MAGIC 0x0035544557475550ull /* "PUGWET5" */

struct wet_head {
	uint64_t magic, index, index_len, checksum; /* of all behind the head */
};

/* Of a group's values. */
enum { WET_VALUES_ONE, WET_VALUES_STORED, WET_VALUES_EXECUTED };

/* Different sets of units that are told. */
enum { WET_SETS_MAX = 64 };

/* Of an edge's labels. */
enum {
	WET_LABELS_OWN,
	WET_LABELS_INFERRED,
	WET_LABELS_EXECUTED,
	WET_LABELS_SHARED, /* and on: of which edge */
};

#endif
