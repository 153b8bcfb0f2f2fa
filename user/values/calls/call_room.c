// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_room.c: see call_room.h. */
#include "user/values/calls/call_room.h"

#include "user/values/calls/call_layout.h"

#define USER_END 0x7ffffffff000ull
#define MARGIN (64ull << 20) /* left free below what may grow downwards */

/* Where the room above mapping @i ends. */
static uint64_t end_of_room(const struct tracee_map *maps, int n, int i)
{
	if (i + 1 == n || maps[i + 1].start >= USER_END)
		return USER_END;
	return maps[i + 1].start > MARGIN ? maps[i + 1].start - MARGIN : 0;
}

uint64_t call_room_near(const struct tracee_map *maps, int n, uint64_t near, uint64_t bytes)
{
	for (int i = 0; i < n; i++) {
		uint64_t from = maps[i].end + CALL_PAGE, to = end_of_room(maps, n, i);

		if (maps[i].start >= near && from + bytes < near + CALL_ROOM_REACH && to > from &&
		    to - from > bytes + CALL_PAGE)
			return from;
	}
	return 0;
}

uint64_t call_room_most(const struct tracee_map *maps, int n, uint64_t bytes)
{
	uint64_t most = 0, at = 0;

	for (int i = 0; i + 1 < n && maps[i + 1].start < USER_END; i++)
		if (maps[i + 1].start - maps[i].end > most) {
			most = maps[i + 1].start - maps[i].end;
			at = maps[i].end + most / 2;
		}
	return most / 4 > bytes ? at & -(uint64_t)CALL_LANE_BYTES : 0;
}
