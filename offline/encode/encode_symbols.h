/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_symbols.h: what the encoders' strings are made of. A symbol is a number that stands for a
 * function by its name, together with how it was entered, so that strings from two recordings, or
 * from a recording and a saved model, can be compared. Numbers below SYMBOL_FIRST are the closing
 * brackets of balanced strings.
 *
 *   symbol = 4 * (index of the name + 1) + enum symbol_how
 *
 * Names are interned: the table owns them and they live as long as it does. Within a recording two
 * functions never share a name: the second `parse` of a module is `parse#2`, by address, and a name
 * that is used in two modules is `module:name` in all but the first. */
#ifndef OFFLINE_ENCODE_SYMBOLS_H
#define OFFLINE_ENCODE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include <pugmark/trace.h>

enum {
	TOKEN_RETURN = 0, /* ) : it returned */
	TOKEN_UNWIND = 1, /* )! : an exception or longjmp left it */
	TOKEN_CUT = 2,	  /* )? : what became of it is not known: a gap, or the end */
	SYMBOL_FIRST = 4,
	SYMBOL_MAX = 0x3fffffff,
};

enum symbol_how { HOW_CALL, HOW_TAIL, HOW_SIGNAL };

static inline bool symbol_closes(uint32_t symbol)
{
	return symbol < SYMBOL_FIRST;
}

static inline enum symbol_how symbol_how(uint32_t symbol)
{
	return symbol & 3;
}

static inline uint32_t symbol_name_index(uint32_t symbol)
{
	return symbol / 4 - 1;
}

static inline uint32_t symbol_make(uint32_t name_index, enum symbol_how how)
{
	return 4 * (name_index + 1) + how;
}

struct symbols;

/* Returns 0 and an empty table freed with symbols_free(), or -ENOMEM. */
int symbols_new(struct symbols **out);
void symbols_free(struct symbols *symbols);

/* The index of @name, interned if it is new: 0, -ENOMEM, or -E2BIG past 2^28 names. */
int symbols_intern(struct symbols *symbols, const char *name, uint32_t *index);
/* The index of @name if it is known, else UINT32_MAX. */
uint32_t symbols_find(const struct symbols *symbols, const char *name);
/* How many names there are, and the name at an index. */
uint32_t symbols_count(const struct symbols *symbols);
const char *symbols_name(const struct symbols *symbols, uint32_t index);

/* The functions of one recording as symbols of a table. */
struct symbol_map;

/* @trace and @symbols outlive the map, which symbol_map_free() frees. 0 or -ENOMEM. */
int symbol_map_new(const struct pugmark_trace *trace, struct symbols *symbols,
		   struct symbol_map **out);
void symbol_map_free(struct symbol_map *map);

/* The symbol of function @func of @module: 0 and @symbol, or an error of symbols_intern(). */
int symbol_map_func(struct symbol_map *map, uint16_t module, uint32_t func, enum symbol_how how,
		    uint32_t *symbol);
/* The symbol of a function in another module that @module called; @import is its name, a string of
 * @module's plan, "" where not known. */
int symbol_map_import(struct symbol_map *map, uint16_t module, const char *import,
		      enum symbol_how how, uint32_t *symbol);

/* The symbol of code that process @pid has made at run time, from where a call that returns to
 * @addr (a run-time address; 0: none) was made at @time_ns: "[jit] NAME", with a ? where the name
 * is not certain. 0 and @symbol, which is 0 where there is no name; or an error of
 * symbols_intern(). */
int symbol_map_made(struct symbol_map *map, int32_t pid, uint64_t addr, uint64_t time_ns,
		    uint32_t *symbol);

/* What lies behind a name. */
struct symbol_origin {
	const char *import; /* NULL: a function of a traced module; "": an import without a name,
			       or code that was made at run time */
	uint32_t func;	    /* of the module's plan; PUGMARK_NONE: an import, or such code */
	uint16_t module;    /* of the function, or of the first that called the import */
};
/* NULL where the name at @index is not of this recording. */
const struct symbol_origin *symbol_map_origin(const struct symbol_map *map, uint32_t index);

#endif
