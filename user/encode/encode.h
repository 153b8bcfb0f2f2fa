/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode.h: `pugmark encode`: what is selected of a trace, how that is encoded, and the formats
 * that write it. A selection turns a call tree into sequences, a graph or tables; an encoding
 * compresses sequences; a format writes the result, as it comes where that is possible. */
#ifndef USER_ENCODE_H
#define USER_ENCODE_H

#include "offline/base/vec.h"
#include "offline/encode/encode_dag.h"
#include "offline/encode/encode_filter.h"
#include "offline/encode/encode_fsa.h"
#include "offline/encode/encode_rle.h"
#include "offline/encode/encode_sequitur.h"
#include "user/cli/outbuf.h"
#include "user/cli/progress.h"
#include "user/plan/handles.h"
#include "user/view/trace/trace_view.h"

enum encode_selection {
	SELECT_STRINGS, /* a balanced string per thread */
	SELECT_FACE,	/* the calls on a class or module, per thread */
	SELECT_OBJECT,	/* the calls on each object */
	SELECT_DAG,
	SELECT_CHAINS,	  /* chains of N functions: a table */
	SELECT_INTERVALS, /* N spans of the time: a table */
	SELECT_CALLEES,	  /* what each function called: a sequence per call of it */
	N_SELECTIONS
};

enum encode_encoding {
	ENCODE_PLAIN,
	ENCODE_RLE,
	ENCODE_GRAMMAR,
	ENCODE_GRAMMAR_RLE,
	ENCODE_BALANCED,
	ENCODE_FSA,
	N_ENCODINGS
};

extern const char *const encode_selection_names[N_SELECTIONS];
extern const char *const encode_encoding_names[N_ENCODINGS];

struct encode;

/* A sequence, while it is read and after. */
struct encode_sequence {
	struct tree_place place;
	char group[24];	   /* the thread's name, numbers in it as * */
	const char *title; /* of its automaton; NULL: the group */
	uint64_t object;   /* where title is set: of which it is */
	enum tree_edge ends;
	bool open;
	uint64_t symbols;
	/* Of objects and handles: when its first and its last call began, and whether that one
	 * ended the object. */
	struct tree_time first, last;
	bool closed;
	/* Where several are open at the same time: its symbols, until it ends, and where each is
	 * to be told when the calls began. */
	VEC(uint32_t) held;
	VEC(struct tree_time) times;
	uint32_t automaton, in_grammar; /* as the encoding needs it */
	struct fsa_cursor cursor;
};

/* Who gets the sequences in place of an encoding, as they come. */
struct encode_tap {
	void *ctx;
	int (*put)(void *ctx, uint32_t index, const uint32_t *symbols, size_t n);
	int (*end)(void *ctx, uint32_t index, enum tree_edge why);
};

struct encode_format {
	const char *name;
	const char *filter; /* a command that the output goes through, or NULL */
	void (*begin)(struct encode *e);
	bool tells_calls; /* when each call of an object's plain sequence began */
	/* Sequences as they come: for ENCODE_PLAIN and ENCODE_RLE. @count 0: many. */
	void (*sequence)(struct encode *e, const struct encode_sequence *s);
	void (*items)(struct encode *e, const uint32_t *symbols, size_t n, uint64_t count);
	void (*sequence_end)(struct encode *e, const struct encode_sequence *s);
	/* Of automata, grammars and graphs; or NULL, and then the two below. */
	const struct encode_parts *parts;
	void (*automaton)(struct encode *e, const char *name, const struct fsa *fsa);
	void (*dag)(struct encode *e, const struct dag *dag);
	void (*end)(struct encode *e);
};

/* What a format says of the parts of an automaton, a grammar or a graph; encode_write.c goes over
 * them. Where item() and callee() are called with another index than 0, they separate as well. What
 * begins or ends a whole may be NULL: nothing is said there. */
struct encode_parts {
	void (*automaton)(struct encode *e, const char *name, const struct fsa *fsa);
	void (*state)(struct encode *e, const struct fsa *fsa, uint32_t state);
	/* The arc at @index of those that leave the state. */
	void (*arc)(struct encode *e, uint32_t index, const struct fsa_arc *arc);
	void (*state_end)(struct encode *e, const struct fsa *fsa, uint32_t state);
	void (*automaton_end)(struct encode *e);
	/* The item at @index of a list, @count times in a row (0: many): a rule, or a symbol. */
	void (*item)(struct encode *e, uint32_t index, uint32_t symbol, uint64_t count);
	/* The callee at @index of a list of the graph. */
	void (*callee)(struct encode *e, uint32_t index, uint32_t node, uint64_t count);
	void (*sequences)(struct encode *e, bool begin); /* all of a graph */
	/* Nodes, in the order of their numbers or (backwards) the last first. */
	void (*nodes)(struct encode *e, const struct dag *dag, bool begin);
	void (*node)(struct encode *e, uint32_t index, const struct dag_node *node);
	void (*node_end)(struct encode *e, const struct dag_node *node);
	void (*rules)(struct encode *e, bool begin);
	void (*rule)(struct encode *e, uint32_t index);
	void (*rule_end)(struct encode *e);
	bool backwards; /* rules and nodes: those that use others come first */
};
extern const struct encode_format encode_text, encode_json, encode_xml, encode_dot, encode_svg,
	encode_packed;

struct encode {
	struct trace_view view;
	struct outbuf *out;
	const struct encode_format *format;
	enum encode_selection selection;
	enum encode_encoding encoding;
	uint32_t k; /* longest run that is counted; tail length of automata; a table's N */
	struct patterns face;
	struct handle handle; /* --handle: its rows are what face matches */
	bool merge;	      /* all threads in one sequence */
	uint32_t top;	      /* nodes in a picture of a graph */
	bool show_times;      /* of nodes, and of the sequences of objects */
	bool show_stats;      /* to stderr: memory, speed */

	struct symbols *symbols;
	bool shares_symbols;		 /* they are somebody else's */
	const struct tree_sink *instead; /* of the selection: who gets the calls */
	const struct encode_tap *tap;	 /* of the encoding: who gets the sequences */
	const struct encode_lane *lane;	 /* where lanes are read: whose event is handled */
	struct symbol_map *map;
	struct packed *packed; /* read in place of a recording */
	int pack_err;	       /* of encode_packed */
	struct tree_walk *walk;
	struct filter *filter;
	struct progress progress;
	uint64_t told; /* to progress */
	/* What was read. */
	uint64_t events, gaps, passed;
	uint64_t calls_of_none; /* SELECT_OBJECT: calls whose object is not known */

	/* What the selection and the encoding gather. */
	struct encode_tables *tables;
	struct encode_objects *objects;
	uint32_t merged; /* the sequence of all threads, + 1 */
	struct dag *dag;
	struct sequitur *sequitur;
	struct fsa_builder *fsa;
	struct rle rle;
	VEC(struct encode_sequence) sequences;
	VEC(uint32_t) closed;	  /* the ones of them that are written, and can be used again */
	VEC(uint32_t) automata;	  /* per name: the function's automaton + 1, or 0 */
	VEC(const char *) titles; /* per automaton */
	VEC(struct fsa_cursor) frames; /* SELECT_CALLEES: of what is open */
	VEC(struct dag_item) runs;     /* SELECT_DAG: the symbols of its grammar */

	/* Of the format. */
	unsigned column, indent;
	bool opened; /* the next word follows without a space */
	bool stuck;  /* and on the same line */
	bool comma;
	uint32_t drawn; /* automata */
	bool begun;
};

/* Reads the recording, which is open, into the selection: 0, or -errno with @diag filled (-ENODATA:
 * the selection keeps nothing). */
int encode_read(struct encode *e, struct pugmark_diag *diag);
/* Reads it and writes the whole. The same errors. */
int encode_run(struct encode *e, struct pugmark_diag *diag);
void encode_deinit(struct encode *e);

/* ---- encode_sequences.c: the encodings of sequences ---- */

int encode_sequences_init(struct encode *e);
/* "worker-12" and "worker-3" are both "worker-*". */
void encode_group(const char *thread, char group[24]);
/* @title: what the automaton of an object is called; else NULL. Of sequences without a title only
 * one is open at a time. */
int encode_sequence_begin(struct encode *e, const struct tree_place *place, const char *title,
			  uint32_t *index);
int encode_sequence_put(struct encode *e, uint32_t index, const uint32_t *symbols, size_t n);
/* The same of one call of an object's sequence, which keeps when it began. */
int encode_sequence_call(struct encode *e, uint32_t index, const struct tree_call *call);
int encode_sequence_end(struct encode *e, uint32_t index, enum tree_edge why);
int encode_sequences_finish(struct encode *e);
/* The grammar so far in the form that was asked for. */
int encode_grammar(struct encode *e, struct grammar **out);
/* Hands the automata to the format, by name. */
int encode_automata(struct encode *e);

/* ---- encode_write.c: automata, grammars and graphs, part by part ---- */

/* The format begins, unless it has. */
void encode_begin(struct encode *e);
void encode_write_automaton(struct encode *e, const char *name, const struct fsa *fsa);
/* Those of e->sequences as they are in @g, and its rules. */
void encode_write_grammar(struct encode *e, const struct grammar *g);
/* The graph. @g: NULL; or its callees are the sequences of @g, node by node, then those of the
 * roots, and a symbol there is an index of e->runs. */
void encode_write_graph(struct encode *e, const struct dag *dag, const struct grammar *g);

/* ---- encode_packed.c: a packed graph in place of a recording ---- */

/* Whether @path is no directory but a file. */
bool encode_is_packed(const char *path);
/* As encode_read(). */
int encode_packed_read(struct encode *e, struct pugmark_diag *diag);

/* ---- encode_selections.c: what is made of the tree ---- */

/* Sets up the selection; @sink is what the filter is to hand on to. */
int encode_selection_init(struct encode *e, struct tree_sink *sink);
int encode_selection_finish(struct encode *e);

static inline bool encode_is_table(const struct encode *e)
{
	return e->selection == SELECT_CHAINS || e->selection == SELECT_INTERVALS;
}

/* ---- encode_pipe.c: from events to what the selection keeps ---- */

/* A walk and a filter by the view's rules that tell @sink. 0, -ENOMEM. */
int encode_pipe_new(struct encode *e, const struct tree_sink *sink, struct filter **filter,
		    struct tree_walk **walk);

/* ---- encode_words.c ---- */

/* Whether it is said when the calls of @s began. */
static inline bool encode_tells_times(const struct encode *e, const struct encode_sequence *s)
{
	return e->selection == SELECT_OBJECT && e->show_times && s->symbols;
}
/* @ns after the start of the recording. */
static inline uint64_t encode_since_start(const struct encode *e, uint64_t ns)
{
	return ns > e->view.start_ns ? ns - e->view.start_ns : 0;
}

/* How long the name of the class is that @name, demangled, is a method of; 0: of none. */
size_t encode_class_length(const char *name);
/* The words for why a sequence begins or ends there. */
const char *encode_edge(enum tree_edge edge);
/* A closing bracket as text. */
const char *encode_token(uint32_t symbol);
/* A symbol: a closing bracket, or how it was entered and its name, in @form. */
void encode_symbol(struct outbuf *out, const struct symbols *symbols, uint32_t symbol,
		   enum printable_form form);
/* What stands before a name: "", or how it was entered. */
const char *encode_how(uint32_t symbol);

#endif
