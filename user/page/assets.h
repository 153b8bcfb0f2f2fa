/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* assets.h: the files of this room that the page carries, as they are in the tree. */
#ifndef USER_PAGE_ASSETS_H
#define USER_PAGE_ASSETS_H

#include <stddef.h>

extern const char page_css[], page_css_end[], page_body[], page_body_end[], page_js[],
	page_js_end[], page_against_js[], page_against_js_end[], page_requests_js[],
	page_requests_js_end[], page_tracks_js[], page_tracks_js_end[], page_flame_js[],
	page_flame_js_end[], page_function_js[], page_function_js_end[];

#endif
