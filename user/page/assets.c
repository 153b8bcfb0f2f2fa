// SPDX-License-Identifier: LGPL-2.1-or-later
/* assets.c: see assets.h. */
#include "user/page/assets.h"

#define ASSET(name, file)                                                                          \
	__asm__(".section .rodata\n.globl " #name "\n.globl " #name "_end\n" #name                 \
		":\n.incbin \"" file "\"\n" #name "_end:\n.byte 0\n.previous\n")

ASSET(page_css, "user/page/app.css");
ASSET(page_body, "user/page/body.html");
ASSET(page_js, "user/page/app.js");
ASSET(page_flame_js, "user/page/flame.js");
ASSET(page_against_js, "user/page/against.js");
ASSET(page_requests_js, "user/page/requests.js");
ASSET(page_tracks_js, "user/page/tracks.js");
ASSET(page_function_js, "user/page/function.js");
