/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock_code.h: the code that functions of the kernel's image jump to, as it goes to CLOCK_CODE of
 * the area (clock_area.h). */
#ifndef USER_CLOCK_CODE_H
#define USER_CLOCK_CODE_H

#include "offline/capture/clock_area.h"

#include <stdint.h>

extern const uint8_t clock_code[], clock_code_end[];
/* Of each function, relative to clock_code: where its code begins; where the address stands of what
 * it calls; and from where to where there is nothing left to do but to return, as the call was
 * noted.
 */
extern const struct clock_code_place {
	uint32_t begin, calls, noted, noted_end;
} clock_code_places[CLOCK_FUNCTIONS];

#endif
