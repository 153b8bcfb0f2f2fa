/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* state.h: the parser's state, and how it moves over one node of the grammar. Which node, and why,
 * is for the folders that stand on this one. Private to offline/recover. */
#ifndef OFFLINE_RECOVER_STATE_H
#define OFFLINE_RECOVER_STATE_H

#include "offline/recover/parser.h"

#define PARSER_MODULES_MAX 64 /* as many as can be recorded */
#define ORIGINS_BITS 11
#define ORIGINS (1u << ORIGINS_BITS)
#define MOVES_BITS 12
#define MOVES (1u << MOVES_BITS)

/* Where the thread is.
 * AT_DECISION  in the innermost frame, before one of the plan's decisions
 * AT_CALL      in a call of the innermost frame whose callee is not known: the next event says
 *		whether it entered traced code again
 * OUTSIDE      in code that is not traced, which no call of ours led to: the next event is the
 *		entry of a thread's first function
 * LOST         not known, since a gap: the next event says it */
enum position { AT_DECISION, AT_CALL, OUTSIDE, LOST };

/* What made a frame, and lies between it and the frame that it came out of: a call of that one,
 * behind which that goes on once the frame has ended; or an interruption, and where to go on stands
 * in its record.
 * BELOW_CALL      a call
 * BELOW_CALLBACK  code that is not traced, during a call: in that call
 * BELOW_HANDLER   a signal, or a cause that is not known: where that frame was interrupted
 * BELOW_ROOT      code that is not traced: OUTSIDE
 * BELOW_SWITCH    the same, on a stack that it is the first frame of: OUTSIDE
 * BELOW_GAP       not known, a gap hides it: LOST */
enum boundary { BELOW_CALL, BELOW_CALLBACK, BELOW_HANDLER, BELOW_ROOT, BELOW_SWITCH, BELOW_GAP };

/* One open activation. The stack's first is the outermost, its last the innermost: the words "top"
 * and "BELOW" in names are of the array, whose last element is its top. */
struct frame {
	uint32_t func;
	uint32_t node;	    /* the call in progress, of all but the innermost frame, and AT_CALL; of
			       the innermost else the last call that was passed since its last
			       event; 0: none */
	uint64_t cfa;	    /* 0: not known */
	uint64_t ret;	    /* run-time return address; 0: not known */
	uint64_t call_cfa;  /* AT_CALL: the CFA of what was called, where the call's event told */
	uint64_t called_ns; /* AT_CALL, until it is reported: when it was made, where an event of
			       its own instruction has told it exactly, and
			       nothing has come between; else 0 */
	uint32_t decision;  /* where to go on: for the innermost frame, or after a handler */
	uint16_t module;
	uint8_t boundary;    /* enum boundary; not BELOW_CALL: it has a record in `interruptions` */
	bool announced;	     /* AT_CALL: the call has been reported already */
	bool foreign_target; /* AT_CALL: its target was read, and is in another module */
	bool gone;	     /* AT_CALL: it has jumped out of the module and is a frame no more */
	uint8_t back_module; /* of back */
	bool doubtful; /* it or a frame further out was made by a call of which the plan says that
			  nothing tells its end, or where its callee's frame lies */
	uint32_t back; /* AT_CALL: the function, plus one, that code which is not traced has
			  called last during this call; 0: none */
};

/* How well the place is known that a signal finds a thread at.
 * UNSETTLED      not
 * SETTLED        to the last silent call
 * SETTLED_AHEAD  as well; but the innermost frame has been reported, its call is still to come */
enum settled { UNSETTLED, SETTLED, SETTLED_AHEAD };

/* What a signal has interrupted. */
struct interrupted {
	uint8_t settled;	 /* enum settled */
	bool foreign;		 /* the handler is not traced */
	uint64_t sp, ip;	 /* that it has found; 0: not known */
	uint64_t alt, alt_bytes; /* the stack that it runs on, if another */
	uint64_t since_ns;	 /* the last event before it */
};

/* One for each open frame that no call has made, in the order of the stack. A handler's frame, of
 * one that is not traced, is the first of what that has called. */
struct interruption {
	uint32_t frame;	  /* its index */
	uint8_t kind;	  /* enum boundary, as the frame has it */
	uint8_t position; /* enum position: where the thread goes on once the frame has ended */
	bool ends; /* BELOW_GAP: the frame further out then ends before anything shows, or else what
		      it does shows */
	union {
		struct interrupted handler; /* BELOW_HANDLER */
		uint8_t hidden;		    /* BELOW_GAP: why what made it is not known (enum
					       pugmark_trace_cause) */
	};
};

/* What lay on a stack from the frame of a call's callee on outwards, when code that is not traced
 * called back out of that call: words as a snapshot has them. */
#define HELD_WORDS_MAX 1024
struct held_words {
	uint64_t addr;	  /* of at[0]: the callee's CFA */
	uint32_t context; /* the number of the stack */
	uint32_t n;
	uint64_t at[];
};

/* A stack that the thread has left: what of the parser is that stack's, kept as it was. */
struct context {
	struct frame *stack;
	struct interruption *interruptions;
	uint32_t n, cap, gone;
	uint32_t n_interruptions, cap_interruptions, n_handlers;
	uint32_t id;
	uint8_t position, gap_cause;
	uint64_t low, high; /* of the frames' CFAs that are known; 0: none is */
	uint64_t bottom;    /* CFA of its first function's frame, where that has returned; or 0 */
	uint64_t goroutine; /* Go: the number of that whose stack it is; 0: not known */
	bool aside;	    /* its memory holds other frames meanwhile (explain/put_aside.c) */
	bool untold;	    /* aside: of its frames no event has told that they are of this stack */
	bool several;	    /* aside: stands for two or more that nothing tells apart */
	uint64_t callee_cfa;	 /* aside: of what its innermost frame has called; 0: not known */
	struct held_words *held; /* aside: what its memory held; heap, or NULL */
	/* aside: one of these words, by which it differs from the line that was kept before; addr
	 * 0: none is known. And the frame that any callback of the line lies inside of: its CFA, 0:
	 * not known, its return address, and whether its function may jump away. */
	uint64_t mark_addr, mark, around_cfa, around_ret;
	bool around_jumps;
};

/* Cache: return address to call node. Cleared when a module moves. */
struct origin {
	uint64_t ret; /* 0: the slot is free */
	uint32_t node;
	uint16_t module; /* of the event */
	uint16_t from;	 /* of the node */
};

/* Cache: a decision and a site to the one entry of the decision's table that has the site. Where
 * the table has several it is not kept. */
struct move {
	struct first_entry entry; /* its alt PUGMARK_NONE: there is none of its site */
	uint32_t decision;	  /* PUGMARK_NONE: the slot is free */
	uint32_t empty;		  /* of the table, as parser_alternative() gives it */
	uint32_t module;
};

/* What is noted on the way, by questions too: none of it is of the trace's state. */
struct notes {
	bool doubted; /* the plan names a place where this event may fit two alternatives, and it
			 was met: no shortcut is kept of it */
	bool failed;  /* memory is out */
	struct settling *settling; /* heap, or NULL: the last answer of settle_ask() */
	/* Cache of bottom.c: where the first function of a stack returned to last, and what is
	 * next there. Cleared when a module moves. */
	uint64_t bottom_ret;
	uint32_t bottom_decision;
};

/* The last event, if that was a witness's. */
struct hit {
	uint64_t cfa;	 /* as the event has it */
	uint32_t site;	 /* PUGMARK_NONE: another event was last */
	uint32_t module; /* of the site */
};

struct parser {
	struct parse_tables *const *tables;
	const struct pugmark_plan *const *plans;
	uint32_t n_modules;
	uint64_t bias[PARSER_MODULES_MAX]; /* of modules: run-time address minus ELF address */
	uint64_t bias_known;		   /* a bit each: the module is where bias says */
	struct origin *origins;		   /* ORIGINS of them, by a hash of ret */
	struct move *moves;		   /* MOVES of them, by a hash of decision and site */
	struct shortcuts *shortcuts;	   /* of shortcut.c */
	uint32_t lowest;		   /* fewest frames since a shortcut was begun */
	struct pugmark_trace_event *out;   /* what the last event decided */
	uint32_t n_out, cap_out;
	struct frame *stack;
	uint32_t n, cap;
	uint32_t gone; /* how many of the n frames are */
	struct interruption *interruptions;
	uint32_t n_interruptions, cap_interruptions;
	uint32_t n_handlers;	  /* how many of them are BELOW_HANDLER */
	struct context *contexts; /* heap: the stacks that the thread has left, the last one last */
	uint32_t n_contexts, cap_contexts;
	uint32_t n_aside;	 /* how many of them are aside */
	struct held_words *seen; /* heap: at the last callback that the stack explains; or NULL */
	uint32_t context;	 /* the number of that which it is on; 0: the one it began on */
	uint32_t last_context;	 /* the highest number given */
	uint64_t context_ret;	 /* where the first function of one returns to; 0: not known */
	uint64_t bottom;	 /* of the current one, as in struct context */
	uint64_t goroutine;	 /* the same; not known behind a gap */
	struct frame ended; /* the outermost frame that has ended last on it; ret 0: none has */
	struct pugmark_trace_event
		held; /* the entry of a handler, until it is known to have happened */
	uint64_t held_sp, held_ip;
	bool holds;
	struct interrupted foreign; /* the last one by a handler that is not traced, which has no
				       frame as long as it calls nothing of ours; sp 0: none */
	bool caught;		    /* the last event was of that signal */
	uint8_t position;
	uint8_t gap_cause;  /* LOST: why */
	uint8_t lost_cause; /* of the events that were lost: while recording, or with the file */
	uint64_t from_ns, last_ns; /* what is inferred happened after from_ns */
	uint64_t since_ns, now_ns; /* the event was between these */
	uint64_t lost, gaps;
	struct pugmark_trace_was lost_was; /* lost: where it was before */
	uint16_t lost_module;		   /* of lost_was */
	uint64_t attach_cfa,
		attach_ret; /* right after PUGMARK_EVENT_ATTACH: of the next event's frame; or
			       0 */
	uint8_t attach_boundary;
	bool attach_waits; /* a signal's handler came before an event of that frame, which is to
			      come when what is open above the first attach_n frames has ended */
	bool attach_in_handler;
	uint32_t attach_n;
	struct hit last_hit;
	bool paused; /* what is probed is being changed: a gap is due */
	bool begun;  /* it has had a witness event */
	bool placed; /* the last event was EVENT_SIGNAL, and the thread was brought to its place */
	bool unplaced; /* the last event was that of a thread that ends, and no way leads to its
			  place */
	bool unsure;   /* a plan names places where an event may fit two alternatives */
	struct notes own_notes;
	struct notes *notes; /* own_notes; in a view those of the parser that is viewed */
};

/* The event that is being explained; for the entry of a function, with the call that led there. */
struct lookahead {
	const struct pugmark_witness_event *e;
	uint32_t entered; /* the function whose entry it is, or PUGMARK_NONE */
	uint32_t origin;  /* the call node that led there, or PUGMARK_NONE */
	uint16_t from;	  /* the module of that node: it need not be the event's */
	bool foreign;	  /* not by returning to our code: through a module that is not traced */
	bool own_cfa;	  /* the event's CFA is that of the frame of the event */
	bool jumped_back; /* by another module's last jump: nothing else leads to the event */
	uint64_t cfa; /* of the frame that the origin made, right inside of its own: for what came
			 through another module, that module's frame; 0: not known */
	uint64_t ret; /* where that frame returns to; 0: not known */
};

/* Whether an entry from outside is in the place of frame @f: at its CFA, and it returns to where @f
 * does. So it is if @f ends by a jump there; or if @f has returned, and what called it has called
 * again from the same place: the plan is chosen so that no function can end in silence by either
 * way (jumps_differ_from_return() in offline/choose/conflict_first.c). */
static inline bool lookahead_takes_place(const struct lookahead *la, const struct frame *f)
{
	return la->foreign && la->own_cfa && f->cfa && f->cfa == pugmark_event_cfa(la->e) &&
	       f->ret && f->ret == pugmark_event_ret(la->e);
}

static inline const struct pugmark_plan_node *node_at(const struct parser *p, uint16_t module,
						      uint32_t node)
{
	return &p->plans[module]->nodes[node];
}

/* Where @module is loaded: false: not known. */
static inline bool module_bias(const struct parser *p, uint16_t module, uint64_t *bias)
{
	*bias = p->bias[module];
	return p->bias_known >> module & 1;
}

/* Whether the copy of the stack that the event brings begins with the word right below the stack
 * pointer. */
static inline bool parser_copies_below(const struct parser *p,
				       const struct pugmark_witness_event *e)
{
	return e->kind == PUGMARK_EVENT_WITNESS && e->stack &&
	       p->plans[e->module]->sites[e->site].capture & PUGMARK_CAPTURE_BELOW;
}

/* Where the stack begins that the event brings. */
static inline uint64_t parser_stack_begin(const struct parser *p,
					  const struct pugmark_witness_event *e)
{
	return e->stack_addr + (parser_copies_below(p, e) ? 8 : 0);
}

/* Whether the plan says that what comes after the call in @f may as well be of what it called. */
static inline bool parser_unsure_call(const struct parser *p, const struct frame *f)
{
	const bool *unsure = p->tables[f->module]->unsure_call;
	return unsure && unsure[f->node];
}

/* Go: whether the event is of another goroutine than that whose stack the current one is. */
static inline bool parser_is_another(const struct parser *p, const struct pugmark_witness_event *e)
{
	return e->goroutine && p->goroutine && e->goroutine != p->goroutine;
}

/* The table of @decision of @module; NULL where memory is out. */
static inline const struct decision_table *table_at(const struct parser *p, uint16_t module,
						    uint32_t decision)
{
	const struct decision_table *t = parse_tables_at(p->tables[module], decision);
	p->notes->failed |= !t;
	return t;
}

/* Whether nothing tells the way from @decision of @module on: the plan says so, or the way leads
 * into a callee whose frame lies where nothing tells. */
static inline bool parser_unsure_decision(const struct parser *p, uint16_t module,
					  uint32_t decision)
{
	if (!p->tables[module]->unsure_decision || decision == PUGMARK_NONE)
		return false;
	const struct decision_table *t = table_at(p, module, decision);
	return !t || t->unsure;
}

/* Where the call @n of @module returns to in memory; 0: not known. */
static inline uint64_t return_address(const struct parser *p, uint16_t module,
				      const struct pugmark_plan_node *n)
{
	uint64_t bias;
	return module_bias(p, module, &bias) ? bias + n->addr + n->call_len : 0;
}

/* Forgets where all modules are loaded. */
void parser_forget_biases(struct parser *parser);

static inline struct frame *parser_top(struct parser *p)
{
	return &p->stack[p->n - 1];
}

/* The same for questions, which take the state as it is. */
static inline const struct frame *parser_top_of(const struct parser *p)
{
	return &p->stack[p->n - 1];
}

/* ---- of open_frames.c ---- */

/* Room for more frames, or records; false where memory is out. */
bool parser_grow_stack(struct parser *parser);
bool parser_grow_interruptions(struct parser *parser);
/* Notes whether an event that fits in the innermost frame may as well come after a call that a
 * frame further out is in. */
void parser_note_doubt(struct parser *parser);

/* Opens @frame on top, which a call has made, and returns the innermost frame. Where memory is out
 * that is the one that was innermost before: there is one, since every stack has room for its first
 * frame. Inlined, so that what is passed by value is written to its place at once: a copy would
 * wait for the stores to what it copies. */
static inline __attribute__((always_inline)) struct frame *parser_push(struct parser *p,
								       struct frame frame)
{
	if (p->n < p->cap || parser_grow_stack(p))
		p->stack[p->n++] = frame;
	if (p->unsure)
		parser_note_doubt(p);
	return parser_top(p);
}

/* Adds the record of the frame that is about to be opened: @boundary, not BELOW_CALL, BELOW_GAP
 * because of @hidden. Returns whether there is memory for it. */
bool parser_interrupt(struct parser *parser, uint8_t boundary, uint8_t hidden);
/* Opens @frame on top, with the record of what has made it: @boundary, BELOW_GAP because of
 * @hidden; or BELOW_CALL. Returns whether there is memory for that. */
bool parser_push_on(struct parser *parser, struct frame frame, uint8_t boundary, uint8_t hidden);
/* The record of frame @i, which is not BELOW_CALL. */
const struct interruption *parser_interruption_at(const struct parser *parser, uint32_t i);
/* That of the innermost handler, or NULL. */
struct interruption *parser_handler(const struct parser *parser);
/* Forgets the frames inside of the first @n, and reports nothing. */
void parser_drop_frames(struct parser *parser, uint32_t n);

/* ---- of emit.c ---- */

/* Room for @n more events to report; false where memory is out. */
bool parser_grow_out(struct parser *parser, uint32_t n);
/* The place of @n more events; NULL where memory is out. The caller counts them. */
static inline struct pugmark_trace_event *parser_reserve(struct parser *p, uint32_t n)
{
	return p->cap_out - p->n_out >= n || parser_grow_out(p, n) ? p->out + p->n_out : NULL;
}

/* Reports an event that is complete. */
void parser_emit(struct parser *parser, const struct pugmark_trace_event *event);
void parser_emit_frame(struct parser *parser, uint8_t kind, uint8_t cause, const struct frame *f);
/* Function of @f was entered, and returns to @outside (0: not known). */
void parser_emit_entry(struct parser *parser, uint8_t cause, const struct frame *f,
		       uint64_t outside);
/* The call @n of @module has led to @callee of module @to; PUGMARK_NONE: out of the traced ones. */
void parser_emit_call(struct parser *parser, uint16_t module, const struct pugmark_plan_node *n,
		      uint16_t to, uint32_t callee);
/* The block that @n shows. */
void parser_emit_block(struct parser *parser, uint16_t module, const struct pugmark_plan_node *n);
/* What the event's site read for those who look at the trace. */
void parser_emit_values(struct parser *parser, const struct pugmark_plan_site *site,
			const struct pugmark_witness_event *event);
/* Events are lost from here on: notes where the thread was, for the gap. */
void parser_note_lost(struct parser *parser);
/* With where the thread was, if that is known. */
void parser_emit_gap(struct parser *parser, uint8_t cause);
/* The same of code at ELF address @addr of @module. */
void parser_emit_gap_at(struct parser *parser, uint8_t cause, uint16_t module, uint64_t addr);
/* The same where @event, of a witness, fits nothing: with where it is as well. */
void parser_emit_misfit(struct parser *parser, uint8_t cause,
			const struct pugmark_witness_event *event);

/* ---- of move.c ---- */

/* Where frame @i goes on once those inside of it have ended (enum position), and in *@decision
 * before which decision. */
uint8_t parser_position_below(const struct parser *parser, uint32_t i, uint32_t *decision);
/* Reports a gap because of @cause: the next event is taken as it is. */
void parser_lose(struct parser *parser, uint8_t cause);
/* Reports the call in progress, if it has not been. */
void parser_announce(struct parser *parser);
/* The innermost frame has ended: goes on in the one outside of it. */
void parser_pop(struct parser *parser);
/* The call in progress of the innermost frame, which is AT_CALL, came back in silence. */
void parser_leave_call(struct parser *parser);
/* Goes over @node of the innermost frame's decision, into its callee, where it has one; in silence
 * (@event NULL), or by the event of it or behind it. */
void parser_pass(struct parser *parser, uint32_t node, const struct pugmark_witness_event *event);
/* The event is of @node of the innermost frame. */
void parser_take_event(struct parser *parser, uint32_t node,
		       const struct pugmark_witness_event *event);
/* Opens the entered function on top of @boundary, reported as an entry because of @cause. */
void parser_enter(struct parser *parser, const struct lookahead *la, uint8_t boundary,
		  uint8_t cause);
/* The call in progress of the innermost frame has led to @func of @module, of which no witness has
 * told yet: by itself, or through what is not traced. */
void parser_call_into(struct parser *parser, uint16_t module, uint32_t func);
/* Whether the jump @n of @module can be one of the entered function itself: it names none, or that
 * one; in another module, by its import's name. */
bool parser_may_jump_to(const struct parser *parser, uint16_t module,
			const struct pugmark_plan_node *n, const struct lookahead *la);
/* The event came through the call that the innermost frame is in. */
void parser_enter_by_call(struct parser *parser, const struct lookahead *la);
/* Where the innermost frame is AT_CALL, that call has led to the run-time address @at. If that is
 * code of a traced file that is of no known function, tells the call, and that as a gap. */
void parser_note_unknown_code(struct parser *parser, uint64_t at);

/* ---- of context.c ---- */

/* The current stack as a context; its arrays stay the parser's. */
struct context context_current(const struct parser *parser);
/* Makes @context the current one: its arrays are the parser's then. */
void context_make_current(struct parser *parser, const struct context *context);
/* The parser as it would be if @context were the current one: to ask of, as long as @parser does
 * not change; it owns nothing. */
struct parser context_view(const struct parser *parser, const struct context *context);
void context_free(struct context *context);
/* A copy on the heap, or NULL where memory is out. */
struct held_words *held_words_copy(const struct held_words *from);
/* Room for the first frames of a new context, see parser_push(). False where memory is out. */
bool context_give_room(struct parser *parser, struct context *context);
/* Takes kept context @i out of those that are kept. */
struct context context_take(struct parser *parser, uint32_t i);
/* Keeps @left for later, or frees it where memory is out. */
void context_keep(struct parser *parser, struct context *left);
/* A stack is used again from @cfa, its first frame's, on: what was left on it is no more. */
void context_drop_overwritten(struct parser *parser, uint64_t cfa);
/* What was left is no more. */
void parser_forget_contexts(struct parser *parser);
/* Gives @parser, a copy of @from, stacks of its own. 0 or -ENOMEM. */
int parser_copy_contexts(struct parser *parser, const struct parser *from);

/* ---- of shortcut.c ---- */

/* What the parser was before it did what may be kept as a shortcut. */
struct shortcut_start {
	struct frame frame; /* the innermost, AT_DECISION */
	uint32_t n, n_out, gone;
	uint64_t from_ns;
};

struct shortcuts *parser_shortcuts_new(void);
/* They hold as long as all modules stay where they are. */
void parser_forget_shortcuts(struct parser *parser);
/* The innermost frame is AT_DECISION, or AT_CALL of a call that has come back: goes on to the event
 * as it was done from there before, as parser_find() would say, where no handler is open. The
 * event's module is one; its site may be none of that: no shortcut leads there then. */
bool parser_shortcut(struct parser *parser, const struct pugmark_witness_event *event);
/* The same, where parser_alternative() has said that the event is of the innermost frame. */
bool parser_shortcut_here(struct parser *parser, const struct pugmark_witness_event *event);
/* The same in silence, up to the end of the frame, which is the caller's to take off. */
bool parser_shortcut_to_end(struct parser *parser);
struct shortcut_start parser_shortcut_start(struct parser *parser);
/* Keeps what was done since @start up to the event, which parser_alternative() has found there. */
void parser_keep_to_event(struct parser *parser, const struct shortcut_start *start,
			  const struct lookahead *la);
/* Keeps what was done in silence since @start, until the frame was taken off. */
void parser_keep_end(struct parser *parser, const struct shortcut_start *start);
/* Keeps that the innermost frame, which is AT_DECISION, ends in silence before the event, as
 * parser_find() said. */
void parser_keep_past(struct parser *parser, const struct lookahead *la);

/* ---- of address.c ---- */

/* A call of a traced module that returns to run-time address @ret: its node, and in *@module the
 * module; PUGMARK_NONE where there is none. @first is looked at before the others. */
uint32_t parser_call_before(const struct parser *parser, uint16_t first, uint64_t ret,
			    uint16_t *module);
/* The same, or one of a function that is not traced (PUGMARK_NODE_KIND_OPAQUE). */
uint32_t parser_return_to(const struct parser *parser, uint16_t first, uint64_t ret,
			  uint16_t *module);
/* The function of a traced module at run-time address @addr, and in *@module the module, where that
 * of *@module is looked at first; or PUGMARK_NONE. */
uint32_t parser_function_at(const struct parser *parser, uint64_t addr, uint16_t *module);
/* Whether the run-time address @addr is in code of a traced file that is in no function which is
 * known; then in *@module and *@addr_elf where that is. */
bool parser_in_unknown_code(const struct parser *parser, uint64_t addr, uint16_t *module,
			    uint64_t *addr_elf);

/* Where a thread is: the plan's point of its instruction pointer. */
struct place {
	uint16_t module;
	uint32_t func,
		next; /* as in struct pugmark_plan_point; func NONE: in code that is not traced */
	uint64_t cfa; /* of the function's frame; 0: not known */
};

/* Where run-time address @ip is. Returns false where it is in a module that has no points. */
bool parser_place_at(const struct parser *parser, uint64_t sp, uint64_t ip, uint64_t bp,
		     struct place *at);
/* Whether that is the entry of a function which shows when it is entered, before it has. */
bool parser_is_entry(const struct parser *parser, const struct place *at);

/* The decision that holds where @node is next in @func: the thread has come there by one of those
 * that lead to it, and the one that has all of their alternatives tells these apart as well.
 * PUGMARK_NONE: there is none such. */
uint32_t parser_decision_before(const struct pugmark_plan *plan, uint32_t func, uint32_t node);

#endif
