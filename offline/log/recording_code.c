// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_code.c: what processes called the code that they made at run time. The table is in the
 * order in which that was said; where it is asked, an index by address is made of it: sorted by
 * start, with the highest end up to each, so that a walk down from an address knows when to stop.
 */
#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "offline/log/recording_impl.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* So many pieces are looked at for one address: who made the recording may have put them all on one
 * place. */
enum { LOOKED_AT = 4096, NAME_ROOM = 24 /* that malloc() takes beside a name */ };

struct code {
	uint64_t start, end;
	uint64_t since_ns, time_ns; /* it was said between these two */
	const char *name;
	int32_t pid;
	uint32_t said; /* number, from 0 */
};

/* Something that happened to a process. */
struct when {
	int32_t pid;
	uint64_t time_ns;
};

struct recording_code {
	VEC(struct code) said;
	uint64_t bytes;	  /* that these take, with the index */
	bool left_out;	  /* some had no room: */
	uint64_t left_ns; /* they had not been said yet by then */
	VEC(struct when)
	left;			/* of these processes the recorder kept no more than what had been
				   said by then */
	VEC(struct when) execs; /* they come to run other programs; sorted with the index */
	/* The index: under lock. */
	pthread_mutex_t lock;
	struct code *sorted; /* by process and start; NULL: none since something was added */
	uint64_t *reach;     /* the highest end of its process, up to each */
	uint32_t *same;	     /* per piece, as said: the first that has its name */
};

static struct recording_code *table(struct pugmark_recording *rec)
{
	if (!rec->code && (rec->code = calloc(1, sizeof(*rec->code))))
		pthread_mutex_init(&rec->code->lock, NULL);
	return rec->code;
}

static void drop_index(struct recording_code *c)
{
	free(c->sorted);
	free(c->reach);
	free(c->same);
	c->sorted = NULL;
	c->reach = NULL;
	c->same = NULL;
}

void recording_code_free(struct pugmark_recording *rec)
{
	struct recording_code *c = rec->code;
	if (!c)
		return;
	for (uint32_t i = 0; i < c->said.n; i++)
		free((void *)c->said.at[i].name);
	drop_index(c);
	VEC_FREE(&c->said);
	VEC_FREE(&c->left);
	VEC_FREE(&c->execs);
	pthread_mutex_destroy(&c->lock);
	free(c);
	rec->code = NULL;
}

/* There is no room for a piece. */
static int leave_out(struct pugmark_recording *rec, uint64_t since_ns)
{
	struct recording_code *c = rec->code;
	if (!c->left_out)
		recording_add_note(rec, "events: there are more names of code that was made at run "
					"time than fit into memory: some are left out");
	c->left_ns = c->left_out && c->left_ns < since_ns ? c->left_ns : since_ns;
	c->left_out = true;
	return 0;
}

int recording_code_add(struct pugmark_recording *rec, int32_t pid, uint64_t since_ns,
		       uint64_t time_ns, uint64_t start, uint64_t size, const char *name)
{
	struct recording_code *c = table(rec);
	if (!size || size > UINT64_MAX - start)
		return 0;
	uint64_t bytes = 2 * sizeof(*c->said.at) + sizeof(*c->reach) + 2 * sizeof(*c->same) +
			 NAME_ROOM + strlen(name);
	if (c && c->bytes + bytes > recording_table_budget(rec))
		return leave_out(rec, since_ns);
	char *copy = c && VEC_RESERVE(&c->said, 1) ? strdup(name) : NULL;
	if (!copy)
		return -ENOMEM;
	drop_index(c);
	c->bytes += bytes;
	c->said.at[c->said.n] = (struct code){.start = start,
					      .end = start + size,
					      .since_ns = since_ns,
					      .time_ns = time_ns,
					      .name = copy,
					      .pid = pid,
					      .said = c->said.n};
	c->said.n++;
	return 0;
}

/* Adds to @list, which is in the table of @rec. */
#define ADD_WHEN(rec, list, ...)                                                                   \
	(!recording_may_grow(rec, sizeof(struct when)) ? recording_no_room(rec)                    \
	 : VEC_PUSH(list, (struct when)__VA_ARGS__)    ? 0                                         \
						       : -ENOMEM)

int recording_code_left_out(struct pugmark_recording *rec, int32_t pid, uint64_t since_ns)
{
	struct recording_code *c = table(rec);
	return c ? ADD_WHEN(rec, &c->left, {pid, since_ns}) : -ENOMEM;
}

int recording_code_exec(struct pugmark_recording *rec, int32_t pid, uint64_t time_ns)
{
	struct recording_code *c = table(rec);
	if (!c)
		return -ENOMEM;
	drop_index(c);
	return ADD_WHEN(rec, &c->execs, {pid, time_ns});
}

static int by_place(const void *a, const void *b)
{
	const struct code *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->said < y->said ? -1 : x->said > y->said;
}

static int by_time(const void *a, const void *b)
{
	const struct when *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct code *said = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(said[x].name, said[y].name);
	return order ? order : x < y ? -1 : x > y;
}

/* Finds the first piece of each name. @order has room for all. */
static void find_same(const struct recording_code *c, uint32_t *order, uint32_t *same)
{
	for (uint32_t i = 0; i < c->said.n; i++)
		order[i] = i;
	qsort_r(order, c->said.n, sizeof(*order), by_name, c->said.at);
	for (uint32_t i = 0, first = 0; i < c->said.n; i++) {
		if (strcmp(c->said.at[order[i]].name, c->said.at[order[first]].name) != 0)
			first = i;
		same[order[i]] = order[first];
	}
}

/* Under the lock. False: no memory. */
static bool make_index(struct recording_code *c)
{
	if (c->sorted)
		return true;
	uint32_t n = c->said.n;
	struct code *sorted = malloc((n + 1) * sizeof(*sorted));
	uint64_t *reach = malloc((n + 1) * sizeof(*reach));
	uint32_t *same = malloc((n + 1) * sizeof(*same)), *order = malloc((n + 1) * sizeof(*order));
	if (!sorted || !reach || !same || !order) {
		free(sorted);
		free(reach);
		free(same);
		free(order);
		return false;
	}
	find_same(c, order, same);
	free(order);
	memcpy(sorted, c->said.at, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_place);
	if (c->execs.n)
		qsort(c->execs.at, c->execs.n, sizeof(*c->execs.at), by_time);
	for (uint32_t i = 0; i < n; i++) {
		bool first = !i || sorted[i].pid != sorted[i - 1].pid;
		uint64_t before = first ? 0 : reach[i - 1];
		reach[i] = sorted[i].end > before ? sorted[i].end : before;
	}
	c->sorted = sorted;
	c->reach = reach;
	c->same = same;
	return true;
}

/* Whether process @pid came to run another program after @from_ns, and by @to_ns. */
static bool has_exec(const struct recording_code *c, int32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	const struct when *execs = c->execs.at;
	uint32_t n = c->execs.n;
	uint32_t i = SEARCH_FIRST_NOT(0, n, m,
				      execs[m].pid < pid ||
					      (execs[m].pid == pid && execs[m].time_ns <= from_ns));
	return i < n && execs[i].pid == pid && execs[i].time_ns <= to_ns;
}

/* Whether the process ran another program at @time_ns than when it said @code. */
static bool is_of_another(const struct recording_code *c, const struct code *code, uint64_t time_ns)
{
	return code->time_ns < time_ns ? has_exec(c, code->pid, code->time_ns, time_ns)
				       : has_exec(c, code->pid, time_ns, code->time_ns);
}

/* Whether the program before may have said @code. */
static bool is_torn(const struct recording_code *c, const struct code *code)
{
	return code->since_ns && has_exec(c, code->pid, code->since_ns, code->time_ns);
}

/* Whether process @pid may have said something by @time_ns that was left out. */
static bool may_lack(const struct recording_code *c, int32_t pid, uint64_t time_ns)
{
	bool lacks = c->left_out && c->left_ns < time_ns;
	for (uint32_t i = 0; i < c->left.n; i++)
		lacks |= c->left.at[i].pid == pid && c->left.at[i].time_ns < time_ns;
	return lacks;
}

/* What is known of one address at one time. */
struct known {
	const struct code *before; /* said last, for certain before that time */
	const struct code *around; /* the last of those that may have been */
	const struct code *after;  /* the first that was said later */
	bool several;		   /* those that may have been have more than one name */
};

static void take(struct known *k, const struct code *code, uint64_t time_ns)
{
	const struct code **slot = code->time_ns <= time_ns   ? &k->before
				   : code->since_ns < time_ns ? &k->around
							      : &k->after;
	bool first = slot == &k->after;
	if (slot == &k->around && *slot && strcmp((*slot)->name, code->name) != 0)
		k->several = true;
	if (!*slot || (first ? code->said < (*slot)->said : code->said > (*slot)->said))
		*slot = code;
}

bool pugmark_recording_code_at(const struct pugmark_recording *rec, int32_t pid, uint64_t addr,
			       uint64_t time_ns, struct pugmark_recording_code *out)
{
	struct recording_code *c = rec->code;
	struct known k = {0};
	if (!c || !c->said.n)
		return false;
	pthread_mutex_lock(&c->lock);
	bool made = make_index(c);
	pthread_mutex_unlock(&c->lock);
	if (!made)
		return false;
	uint32_t i = SEARCH_FIRST_NOT(
		0, c->said.n, m,
		c->sorted[m].pid < pid || (c->sorted[m].pid == pid && c->sorted[m].start <= addr));
	for (uint32_t looked = 0; i && c->sorted[i - 1].pid == pid && c->reach[i - 1] > addr; i--) {
		const struct code *code = &c->sorted[i - 1];
		if (++looked > LOOKED_AT)
			return false;
		if (code->end > addr && !is_of_another(c, code, time_ns))
			take(&k, code, time_ns);
	}
	const struct code *is = k.around ? k.around : k.before ? k.before : k.after;
	if (!is)
		return false;
	out->name = is->name;
	out->start = is->start;
	out->end = is->end;
	out->number = c->same[is->said];
	/* Not where it may have been one of two, or another program's, or was said only later, or
	 * what was left out may have taken its place. */
	out->certain = is != k.after && !may_lack(c, pid, time_ns) && !k.several &&
		       !is_torn(c, is) &&
		       (!k.around || !k.before || !strcmp(k.around->name, k.before->name));
	return true;
}

const char *pugmark_recording_code_name(const struct pugmark_recording *rec, uint32_t number)
{
	return rec->code->said.at[number].name;
}
