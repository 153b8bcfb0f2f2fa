/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sources.h: what the memory of a replayed task is filled from (value_region.source): zeros
 * (VALUE_SOURCE_ZEROS), nothing that is known, or a file, by its number in the captures; with what
 * stood there at the start (SOURCE_START), or not. */
#ifndef OFFLINE_REPLAY_RECORDS_SOURCES_H
#define OFFLINE_REPLAY_RECORDS_SOURCES_H

#define SOURCE_UNKNOWN 1u
#define SOURCE_FILES 2u
#define SOURCE_START (1u << 31)

#endif
