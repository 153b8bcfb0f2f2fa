/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file.h: a whole execution trace (WET: graph.h) in a file. What there is stands in an index, which
 * is read as a whole; streams are opened one by one, and walked as they are (stored.h). */
#ifndef OFFLINE_WET_FILE_H
#define OFFLINE_WET_FILE_H

#include "offline/base/private_file.h"
#include "offline/wet/file/sizes.h"

#include <pugmark/diag.h>

#include <stdio.h>

/* Where run-time addresses are: whoever writes knows the modules. */
struct wet_places {
	/* Of @ip: the function, or NULL; *@module, *@addr: the module, and its ELF address there.
	 */
	const char *(*at)(void *ctx, uint64_t ip, uint32_t *module, uint64_t *addr);
	const char *(*module)(void *ctx, uint32_t module); /* a file's name, or NULL */
	uint32_t n_modules;
	void *ctx;
};

/* Writes @graph to @out, and says what it takes. @noted: by which values are executed again, or
 * NULL. 0 or -errno. */
int wet_file_write(const struct wet_graph *graph, const struct noted *noted,
		   const struct wet_places *places, bool partial, FILE *out,
		   struct wet_sizes *sizes);

#define WET_NONE UINT32_MAX

struct wet_file_stmt {
	uint64_t addr;
	uint32_t module; /* WET_NONE: addr is a run-time one */
	uint32_t n_results;
	uint32_t node;
};

struct wet_file_group {
	uint32_t width;
	bool executed;	  /* its values are executed again (values.h), and have no streams */
	uint32_t pattern; /* stream; WET_NONE: one tuple in every execution */
	uint32_t uvals;	  /* the first of @width streams */
};

struct wet_file_node {
	const char *function; /* "": not known */
	uint32_t first_stmt, n_stmts;
	uint32_t times; /* stream: of each execution its timestamp, from 1, growing; WET_NONE:
			 * blocks tell them (times.h) */
	uint64_t executions;
	uint32_t first_group, n_groups;
	uint32_t first_value, n_values; /* in @order */
	uint32_t first_next, n_next;	/* in @next: nodes that were executed behind it */
};

struct wet_file_edge {
	uint32_t to, from, operand; /* struct wet_edge */
	bool inferred;		    /* in every execution of its node, from the same one */
	bool executed;		    /* its labels are executed again (depends.h) */
	uint32_t labels; /* stream of executions of the consumer, the next one of the producer;
			    WET_NONE: inferred, or executed */
	uint64_t n;	 /* instances */
};

struct wet_file {
	struct wet_totals totals;
	struct wet_sizes sizes;
	bool partial;
	uint32_t first; /* node of timestamp 1; WET_NONE: there is none */
	const char **modules;
	struct wet_file_stmt *stmts;
	struct wet_file_node *nodes;
	struct wet_file_group *groups;
	struct wet_file_edge *edges;
	uint32_t *order; /* of a node: which of its values stands in each place of its groups */
	uint32_t *next;
	uint32_t n_modules, n_stmts, n_nodes, n_groups, n_edges, n_order, n_next, n_streams;
	struct again_block *again;     /* what values are executed by; none: all are stored */
	uint32_t n_again, again_first; /* the first of their streams: again_put.h */
	uint64_t *code;		       /* addresses of its pages */
	uint32_t n_code;
	uint64_t *ips;		  /* run-time addresses of statements, where there are blocks */
	struct dep_units *behind; /* of nodes: what is new in registers when one is left */
	uint64_t *streams;	  /* n_streams + 1: where each begins */
	const uint8_t *bytes;
	size_t len;
	char *texts;
	struct private_file file; /* of wet_file_open() */
};

/* Reads a file. 0, or -errno with @diag: one that is damaged anywhere, as its checksum says, is
 * refused (-EBADMSG). The caller gives it back with wet_file_close(). */
int wet_file_open(const char *path, struct wet_file **out, struct pugmark_diag *diag);
/* The same of bytes, which stay there. 0, -EBADMSG or -ENOMEM. */
int wet_file_read(const uint8_t *bytes, size_t len, struct wet_file **out);
void wet_file_close(struct wet_file *file);
/* As wet_cursor_open(). */
int wet_file_stream(const struct wet_file *file, uint32_t stream, struct wet_cursor **out);

#endif
