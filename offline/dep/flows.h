/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flows.h: what the result of an imported function, and the memory that it writes, depend on: a row
 * a function (flows.def). A function without a row ends a slice: what it reads is not known. */
#ifndef OFFLINE_DEP_FLOWS_H
#define OFFLINE_DEP_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

enum dep_flow_kind {
	FLOW_LOOK,   /* result and outputs depend on all that it looks at */
	FLOW_COPY,   /* bytes at argument @to are those at argument @from, each with its producer */
	FLOW_APPEND, /* the same, behind the string at @to */
	FLOW_FILL,   /* @len bytes at argument @to depend on the arguments of @regs */
	FLOW_MAKE,   /* the result is a string that is a copy of that at argument @from */
	FLOW_MOVE,   /* realloc(): the result has what was at argument @from */
	FLOW_BLOCK,  /* the result is a fresh block of @len bytes */
	FLOW_GIVE,   /* a block is given back */
	FLOW_PRINT, /* the text of a format (argument @from) goes to a stream, or to argument @to */
	FLOW_SCAN,  /* what the format in argument @from asks for is found in what it looks at */
	FLOW_WRITE, /* @len bytes at argument @from go to a stream */
	FLOW_GATHER, /* the bytes that an array of struct iovec at argument @from names, @len of
			them, go to a stream; LEN_NONE: that of a struct msghdr */
	FLOW_PUT,    /* the character in argument @from goes to a stream */
	FLOW_READ,   /* bytes of a stream go to argument @to: as many as @len says */
	FLOW_GET,    /* the result is a byte of a stream */
	FLOW_SEEK,   /* a stream's position is the result, or argument @from */
	FLOW_BACK,   /* the stream stands one byte before */
	FLOW_OPEN,   /* the result is a new descriptor, or a stream with one */
};

/* How long a piece of memory is. */
enum dep_len {
	LEN_NONE,
	LEN_ARG0,
	LEN_ARG1,
	LEN_ARG2,
	LEN_ARG3,
	LEN_STRING,	   /* to the zero byte, with it */
	LEN_STRING_ARG2,   /* the same, at most argument 2 */
	LEN_PRODUCT01,	   /* arguments 0 and 1 */
	LEN_PRODUCT12,	   /* arguments 1 and 2 */
	LEN_RESULT,	   /* the result, where it is positive */
	LEN_RESULT_ARG1,   /* result times argument 1 */
	LEN_REGEX,	   /* of a regex_t */
	LEN_RESULT_STRING, /* of the string that is the result; 0 if there is none */
};

/* Which stream. */
enum dep_to {
	TO_MEMORY,
	TO_FD0,	   /* the descriptor in argument 0 */
	TO_STDOUT, /* descriptor 1 */
	TO_STDIN,
	TO_FILE0, /* the FILE that an argument points to */
	TO_FILE1,
	TO_FILE2,
	TO_FILE3,
};

struct dep_piece {
	uint8_t arg, len; /* enum dep_len */
};

struct dep_flow {
	const char *name;
	uint8_t kind;	  /* enum dep_flow_kind */
	uint8_t regs;	  /* general arguments that count, a bit each */
	uint8_t vecs;	  /* vector arguments */
	uint8_t to, from; /* arguments */
	uint8_t len;	  /* enum dep_len */
	uint8_t stream;	  /* enum dep_to */
	int8_t list;	  /* of FLOW_PRINT: the argument that is a va_list; -1 none */
	struct dep_piece look[2];
};

/* The row of @name; NULL: there is none. */
const struct dep_flow *dep_flow_find(const char *name);

#endif
