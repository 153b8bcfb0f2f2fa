/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* arg_types.h: what DWARF says of the arguments of functions (record --args-of): which register
 * each is in, what is to be read through it, and how it is printed. As JSON it is a file of a
 * recording: docs/recording-format.md. */
#ifndef USER_FILE_ARG_TYPES_H
#define USER_FILE_ARG_TYPES_H

#include "user/cli/outbuf.h"

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

enum {
	ARG_REGISTERS = 6,   /* rdi, rsi, rdx, rcx, r8, r9 */
	ARG_READS_MAX = 6,   /* of a call: what is read through its arguments */
	ARG_TEXT_BYTES = 32, /* of a text, at most */
	ARG_FIELDS_MAX = 4,  /* of a struct: its first ones */
	ARG_WORDS_MAX = 1 + ARG_READS_MAX * ARG_TEXT_BYTES / 8,
};

enum arg_kind {
	ARG_UNREAD, /* in no register that is read, or of a type that is not printed */
	ARG_INT,
	ARG_UNSIGNED,
	ARG_BOOL,
	ARG_CHAR,
	ARG_ENUM,
	ARG_REAL, /* fields alone */
	ARG_POINTER,
	ARG_TEXT,   /* a pointer to characters */
	ARG_CHARS,  /* characters in the struct itself: fields alone */
	ARG_STRUCT, /* a pointer to one: arguments alone */
	N_ARG_KINDS
};

/* How the JSON calls them. */
extern const char *const arg_kind_words[N_ARG_KINDS];

struct arg_name {
	const char *name;
	int64_t value;
};

struct arg_type {
	const char *name;
	uint8_t kind;	  /* enum arg_kind */
	uint8_t in;	  /* of arguments: which of the registers */
	uint16_t bytes;	  /* what it takes; ARG_CHARS: at most ARG_TEXT_BYTES of that are read */
	int32_t at;	  /* of fields: where in the struct */
	bool more;	  /* ARG_STRUCT: it has other fields too */
	uint32_t n_names; /* ARG_ENUM */
	struct arg_name *names;
	uint32_t n_fields; /* ARG_STRUCT */
	struct arg_type *fields;
};

struct arg_function {
	const char *name; /* of an import, as it is linked */
	uint64_t addr;	  /* ELF; of an import 0 */
	uint32_t n_args;
	struct arg_type *args;
};

/* Something that is read when the function is called: a number, or a text of at most `bytes`. */
struct arg_read {
	uint8_t in;   /* the register that the address is in, */
	int32_t at;   /* plus so much; */
	bool through; /* the address of the text is what is stored there */
	bool text;
	uint8_t bytes;
};

/* What was read of a call: registers; then a word that has a bit for each of the reads that there
 * was something for, and what these read, each in as many words as it takes. */
struct arg_values {
	uint64_t registers[ARG_REGISTERS], words[ARG_WORDS_MAX];
	uint32_t n_registers, n_words;
};

struct arg_types;

/* Reads the JSON of @len bytes. 0 and what arg_types_free() frees, or -EINVAL, -ENOMEM. */
int arg_types_parse(const char *text, size_t len, struct arg_types **out);
void arg_types_free(struct arg_types *types);
/* NULL: nothing is known of it. Borrowed. */
const struct arg_function *arg_types_function(const struct arg_types *types, uint64_t addr);
const struct arg_function *arg_types_import(const struct arg_types *types, const char *name);
/* What is to be read when @f is called: in @out, of ARG_READS_MAX; returns how many. */
uint32_t arg_function_reads(const struct arg_function *f, struct arg_read *out);
/* Prints the arguments: text as in a call, without parentheses; or a JSON object. Names that the
 * file gave are made printable. */
void arg_function_print(const struct arg_function *f, const struct arg_values *v, bool json,
			struct outbuf *out);

/* Asks DWARF of the file @path, or its separate debug file, for functions at @addrs (sorted) and
 * for those that are imported as @imports, in a sandbox. Returns 0 and the JSON, which the caller
 * frees (NULL: nothing is said), or -errno with @diag filled. */
struct arg_wanted {
	const uint64_t *addrs;
	uint32_t n_addrs;
	const char *const *imports;
	uint32_t n_imports;
};
int arg_types_find(const char *path, const struct arg_wanted *wanted, char **out,
		   struct pugmark_diag *diag);

#endif
