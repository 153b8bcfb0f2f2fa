/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_room.h: where in a process there is room for the stubs and lanes that it gets. */
#ifndef USER_CALL_ROOM_H
#define USER_CALL_ROOM_H

#include "user/patch/process/tracee.h"

#include <stdint.h>

#define CALL_ROOM_REACH (1ull << 30) /* of a jump, and room to spare */

/* Where, of a process that has mapped @maps, @bytes in a row are free, above @near and within reach
 * of it, and of what lies above them so far away that it may grow downwards; 0: nowhere. */
uint64_t call_room_near(const struct tracee_map *maps, int n, uint64_t near, uint64_t bytes);
/* In the middle of the most room that there is, far from what grows, and as lanes are aligned; 0:
 * nowhere. */
uint64_t call_room_most(const struct tracee_map *maps, int n, uint64_t bytes);

#endif
