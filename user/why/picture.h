/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* picture.h: the lines of a slice as a graph: what was made where, and who read it. */
#ifndef USER_WHY_PICTURE_H
#define USER_WHY_PICTURE_H

#include "user/why/criterion.h"
#include "user/why/graph.h"

struct why_picture {
	const char *title;
	const struct why_line *lines; /* what is drawn, the first at the top */
	size_t n;
	size_t left_out; /* lines of the slice that are not among them */
	const struct why_graph *graph;
};

/* For Graphviz. */
void why_picture_dot(FILE *out, const struct why_picture *picture);
/* A picture that stands by itself. */
void why_picture_svg(FILE *out, const struct why_picture *picture);
/* A page with that picture, which asks for nothing else. */
void why_picture_html(FILE *out, const struct why_picture *picture);

#endif
