// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_objects.c: what is done with each object, from where it is made to where it is destroyed:
 * a C++ object (the first argument of the functions of its class), or a handle of a C library
 * (where its functions take it or give it out: handles.h). The values that were recorded with a
 * call tell its object. Calls without such a value are in a sequence of their own, one for each
 * thread.
 *
 * Objects are told apart by process and value. A table has those that are alive. */
#include "user/encode/encode_lanes.h"

#include <errno.h>
#include <stdlib.h>

/* What a function does with the object. */
struct role {
	uint8_t arg;  /* it takes it there, from 1; 0: it does not */
	uint8_t outs; /* a bit for each argument through which it gives one out */
	bool known, returns, starts, ends;
};

struct object {
	uint64_t value;
	int32_t pid;	   /* of its process; where threads are read one by one its task */
	uint32_t sequence; /* + 1; 0: the slot is free */
};

struct encode_objects {
	VEC(struct role) roles; /* per name */
	struct object *slots;	/* a hash table, at most half full */
	uint32_t mask, n;
	enum tree_edge after; /* why those that were alive last all ended */
};

int encode_objects_new(struct encode *e)
{
	struct encode_objects *o = e->objects = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->mask = 255;
	o->slots = calloc(o->mask + 1, sizeof(*o->slots));
	return o->slots ? 0 : -ENOMEM;
}

void encode_objects_free(struct encode *e)
{
	if (!e->objects)
		return;
	VEC_FREE(&e->objects->roles);
	free(e->objects->slots);
	free(e->objects);
}

/* ---- the table ---- */

static uint32_t first_slot(const struct encode_objects *o, uint64_t value, int32_t pid)
{
	uint64_t h = (value ^ (uint64_t)(uint32_t)pid << 40) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32) & o->mask;
}

static struct object *find(const struct encode_objects *o, uint64_t value, int32_t pid)
{
	uint32_t i = first_slot(o, value, pid);
	while (o->slots[i].sequence && (o->slots[i].value != value || o->slots[i].pid != pid))
		i = (i + 1) & o->mask;
	return &o->slots[i];
}

static int grow(struct encode_objects *o)
{
	struct encode_objects bigger = {.mask = 2 * o->mask + 1};
	bigger.slots = calloc((size_t)bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i <= o->mask; i++)
		if (o->slots[i].sequence)
			*find(&bigger, o->slots[i].value, o->slots[i].pid) = o->slots[i];
	free(o->slots);
	o->slots = bigger.slots;
	o->mask = bigger.mask;
	return 0;
}

/* Frees the slot; entries behind it that could not have their own place move up. */
static void forget(struct encode_objects *o, struct object *slot)
{
	uint32_t hole = (uint32_t)(slot - o->slots);
	for (uint32_t i = (hole + 1) & o->mask; o->slots[i].sequence; i = (i + 1) & o->mask) {
		uint32_t home = first_slot(o, o->slots[i].value, o->slots[i].pid);
		if (((i - home) & o->mask) < ((i - hole) & o->mask))
			continue;
		o->slots[hole] = o->slots[i];
		hole = i;
	}
	o->slots[hole].sequence = 0;
	o->n--;
}

int encode_objects_end(struct encode *e, enum tree_edge why)
{
	struct encode_objects *o = e->objects;
	int err = 0;
	for (uint32_t i = 0; i < e->sequences.n && !err; i++)
		if (e->sequences.at[i].open)
			err = encode_sequence_end(e, i, why);
	memset(o->slots, 0, ((size_t)o->mask + 1) * sizeof(*o->slots));
	o->n = 0;
	o->after = why;
	return err;
}

/* ---- roles ---- */

/* "a::C<int>::C(int)" makes an object of "a::C<int>", "a::C<int>::~C()" ends one. */
static struct role role_of_method(const char *name)
{
	size_t class_len = encode_class_length(name);
	struct role role = {.arg = 1};
	if (!class_len)
		return role;
	const char *method = name + class_len + 2, *last = name;
	uint32_t depth = 0;
	for (const char *c = name; c + 1 < name + class_len; c++) {
		depth += *c == '<';
		depth -= *c == '>' && depth;
		if (!depth && c[0] == ':' && c[1] == ':')
			last = c + 2;
	}
	size_t n = strcspn(last, "<:(");
	role.ends = *method == '~';
	role.starts = !strncmp(method, last, n) &&
		      (method[n] == '(' || method[n] == '<' || method[n] == '[' || !method[n]);
	return role;
}

static struct role role_of_user(const struct encode *e, const char *name)
{
	struct role role = {0};
	const struct handle *h = &e->handle;
	int i = patterns_match(&e->face, name, NULL);
	if (i >= 0 && (uint32_t)i < h->n_rows)
		role = (struct role){.arg = h->rows[i].arg,
				     .outs = h->rows[i].outs,
				     .returns = h->rows[i].returns,
				     .ends = h->rows[i].ends};
	return role;
}

static int find_role(struct encode *e, uint32_t symbol, struct role *out)
{
	struct encode_objects *o = e->objects;
	uint32_t name = symbol_name_index(symbol);
	while (o->roles.n <= name)
		if (!VEC_PUSH(&o->roles, (struct role){0}))
			return -ENOMEM;
	struct role *role = &o->roles.at[name];
	if (!role->known) {
		const char *text = symbols_name(e->symbols, name);
		*role = e->handle.n_rows ? role_of_user(e, text) : role_of_method(text);
		role->known = true;
	}
	*out = *role;
	return 0;
}

/* ---- calls to their objects ---- */

static struct tree_place place_of(const struct encode_lane *l)
{
	const struct pugmark_recording_task *t = &l->e->view.tasks[l->task];
	return (struct tree_place){
		.task = l->task,
		.tid = t->tid,
		.pid = t->pid,
		.thread = t->comm,
		.event = tree_walk_event_number(l->walk),
	};
}

/* Automata are shared by the objects of a class. */
static int title_of(struct encode *e, uint32_t symbol, const char **out)
{
	const char *name = symbols_name(e->symbols, symbol_name_index(symbol));
	size_t len = encode_class_length(name);
	uint32_t index;
	*out = e->handle.n_rows ? e->handle.name : name;
	if (e->handle.n_rows || !len)
		return 0;
	char *class = strndup(name, len);
	int err = class ? symbols_intern(e->symbols, class, &index) : -ENOMEM;
	free(class);
	if (!err)
		*out = symbols_name(e->symbols, index);
	return err;
}

/* Puts a call that is of no object, or of none that is known, into a sequence of its own. */
static int put_alone(struct encode_lane *l, struct object_call *call)
{
	struct encode *e = l->e;
	int err = 0;
	call->placed = true;
	if (!l->unknown || !e->sequences.at[l->unknown - 1].open) {
		struct tree_place place = place_of(l);
		err = encode_sequence_begin(e, &place, NULL, &l->unknown);
		l->unknown++;
	}
	return err ? err : encode_sequence_call(e, l->unknown - 1, &call->of);
}

/* What a call does to an object's sequence. */
enum effect {
	GOES_ON,
	BEGINS, /* where it is not known yet: a pointer to it may be left as it was */
	RENEWS, /* also where it is: its end was not seen */
};

static int put_call(struct encode_lane *l, struct object_call *call, uint64_t value,
		    enum effect effect, bool ends)
{
	struct encode *e = l->e;
	struct encode_objects *o = e->objects;
	bool by_time = e->view.info->times;
	int32_t pid = by_time ? e->view.tasks[l->task].pid : (int32_t)l->task;
	int err = 2 * o->n >= o->mask ? grow(o) : 0;
	struct object *at = err ? NULL : find(o, value, pid);
	call->placed = true;
	if (!err && effect == RENEWS && at->sequence) {
		err = encode_sequence_end(e, at->sequence - 1, EDGE_THREAD);
		forget(o, at);
		at = find(o, value, pid);
	}
	if (!err && !at->sequence) {
		struct tree_place place = place_of(l);
		const char *title;
		place.why = effect == GOES_ON ? o->after : EDGE_THREAD; /* it was there before */
		uint32_t index;
		err = title_of(e, call->of.symbol, &title);
		if (!err)
			err = encode_sequence_begin(e, &place, title, &index);
		if (err)
			return err;
		e->sequences.at[index].object = value;
		*at = (struct object){value, pid, index + 1};
		o->n++;
	}
	if (!err)
		err = encode_sequence_call(e, at->sequence - 1, &call->of);
	if (!err && ends) {
		e->sequences.at[at->sequence - 1].closed = true;
		err = encode_sequence_end(e, at->sequence - 1, EDGE_THREAD);
		forget(o, at);
	}
	return err;
}

/* No more is told of @call. */
static int put_unknown(struct encode_lane *l, struct object_call *call)
{
	if (!call->of.symbol || call->placed)
		return 0;
	l->e->calls_of_none++;
	return put_alone(l, call);
}

static int object_begin(void *ctx, const struct tree_place *place)
{
	(void)ctx, (void)place;
	return 0;
}

static int object_open(void *ctx, const struct tree_call *call)
{
	struct encode_lane *l = ctx;
	int err = put_unknown(l, &l->ended);
	l->ended.of.symbol = 0;
	l->open = (struct object_call){.of = *call};
	return err;
}

static int object_close(void *ctx, const struct tree_return *ret)
{
	struct encode_lane *l = ctx;
	struct role role = {0};
	int err = find_role(l->e, l->open.of.symbol, &role);
	bool gives = ret->token == TOKEN_RETURN && (role.returns || role.outs);
	l->ended = l->open;
	l->open.of.symbol = 0;
	return err || gives ? err : put_unknown(l, &l->ended);
}

/* Whether @value is the object of a call with that role. */
static bool tells(const struct role *role, const struct tree_value *value)
{
	return value->returned ? role->returns
	       : value->out    ? role->outs >> value->number & 1
			       : value->number + 1 == role->arg;
}

static int object_value(void *ctx, const struct tree_value *value)
{
	struct encode_lane *l = ctx;
	struct encode *e = l->e;
	bool given = value->returned || value->out;
	struct object_call *call = given ? &l->ended : &l->open;
	struct role role;
	uint64_t v = value->value;
	if (!call->of.symbol)
		return 0;
	int err = find_role(e, call->of.symbol, &role);
	if (err || !tells(&role, value))
		return err;
	if (e->handle.n_rows && !handle_valid(&e->handle, &v))
		return call->placed ? 0 : put_alone(l, call);
	enum effect effect = value->returned || role.starts ? RENEWS
			     : value->out		    ? BEGINS
							    : GOES_ON;
	return put_call(l, call, v, effect, role.ends && !given);
}

static int object_end(void *ctx, enum tree_edge why)
{
	struct encode_lane *l = ctx;
	int err = put_unknown(l, &l->ended);
	if (!err)
		err = put_unknown(l, &l->open);
	l->ended.of.symbol = l->open.of.symbol = 0;
	return err || why == EDGE_THREAD ? err : encode_objects_end(l->e, why);
}

const struct tree_sink encode_object_sink = {NULL,	   object_begin, object_open,
					     object_close, object_end,	 object_value};
