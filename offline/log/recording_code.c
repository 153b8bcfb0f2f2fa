// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_code.c: what processes called the code that they made at run time. The table is in the
 * order in which that was said; where it is asked, an index by address is made of it: sorted by
 * start, with the highest end up to each, so that a walk down from an address knows when to stop.
 */
#include "offline/base/search.h"
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

struct exec {
	int32_t pid;
	uint64_t time_ns;
};

struct recording_code {
	struct code *at;
	uint32_t n, cap;
	uint64_t bytes;	    /* that these take, with the index */
	bool left_out;	    /* some had no room: */
	uint64_t left_ns;   /* they had not been said yet by then */
	struct exec *execs; /* of processes that come to run other programs; sorted with the index
			     */
	uint32_t n_execs, cap_execs;
	/* The index: under lock. */
	pthread_mutex_t lock;
	struct code *sorted; /* by process and start; NULL: none since something was added */
	uint64_t *reach;     /* the highest end of its process, up to each */
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
	c->sorted = NULL;
	c->reach = NULL;
}

void recording_code_free(struct pugmark_recording *rec)
{
	struct recording_code *c = rec->code;
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n; i++)
		free((void *)c->at[i].name);
	drop_index(c);
	free(c->at);
	free(c->execs);
	pthread_mutex_destroy(&c->lock);
	free(c);
	rec->code = NULL;
}

/* Room for one more in an array of @cap elements of @size. */
static bool grow(void **at, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return true;
	uint32_t more = *cap ? 2 * *cap : 64;
	void *grown = realloc(*at, more * size);
	if (!grown)
		return false;
	*at = grown;
	*cap = more;
	return true;
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
	uint64_t bytes = 2 * sizeof(*c->at) + sizeof(*c->reach) + NAME_ROOM + strlen(name);
	if (c && c->bytes + bytes > recording_table_budget(rec))
		return leave_out(rec, since_ns);
	char *copy =
		c && grow((void **)&c->at, c->n, &c->cap, sizeof(*c->at)) ? strdup(name) : NULL;
	if (!copy)
		return -ENOMEM;
	drop_index(c);
	c->bytes += bytes;
	c->at[c->n] = (struct code){.start = start,
				    .end = start + size,
				    .since_ns = since_ns,
				    .time_ns = time_ns,
				    .name = copy,
				    .pid = pid,
				    .said = c->n};
	c->n++;
	return 0;
}

int recording_code_exec(struct pugmark_recording *rec, int32_t pid, uint64_t time_ns)
{
	struct recording_code *c = table(rec);
	if (!recording_may_grow(rec, sizeof(*c->execs)))
		return recording_no_room(rec);
	if (!c || !grow((void **)&c->execs, c->n_execs, &c->cap_execs, sizeof(*c->execs)))
		return -ENOMEM;
	drop_index(c);
	c->execs[c->n_execs++] = (struct exec){pid, time_ns};
	return 0;
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
	const struct exec *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Under the lock. False: no memory. */
static bool make_index(struct recording_code *c)
{
	if (c->sorted)
		return true;
	struct code *sorted = malloc((c->n + 1) * sizeof(*sorted));
	uint64_t *reach = malloc((c->n + 1) * sizeof(*reach));
	if (!sorted || !reach) {
		free(sorted);
		free(reach);
		return false;
	}
	if (c->n)
		memcpy(sorted, c->at, c->n * sizeof(*sorted));
	qsort(sorted, c->n, sizeof(*sorted), by_place);
	if (c->n_execs)
		qsort(c->execs, c->n_execs, sizeof(*c->execs), by_time);
	for (uint32_t i = 0; i < c->n; i++) {
		bool first = !i || sorted[i].pid != sorted[i - 1].pid;
		uint64_t before = first ? 0 : reach[i - 1];
		reach[i] = sorted[i].end > before ? sorted[i].end : before;
	}
	c->sorted = sorted;
	c->reach = reach;
	return true;
}

/* Whether process @pid came to run another program after @from_ns, and by @to_ns. */
static bool has_exec(const struct recording_code *c, int32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t i = SEARCH_FIRST_NOT(0, c->n_execs, m,
				      c->execs[m].pid < pid || (c->execs[m].pid == pid &&
								c->execs[m].time_ns <= from_ns));
	return i < c->n_execs && c->execs[i].pid == pid && c->execs[i].time_ns <= to_ns;
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
	if (!c || !c->n)
		return false;
	pthread_mutex_lock(&c->lock);
	bool made = make_index(c);
	pthread_mutex_unlock(&c->lock);
	if (!made)
		return false;
	uint32_t i = SEARCH_FIRST_NOT(
		0, c->n, m,
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
	/* Not where it may have been one of two, or another program's, or was said only later, or
	 * what was left out may have taken its place. */
	out->certain = is != k.after && !(c->left_out && c->left_ns < time_ns) && !k.several &&
		       !is_torn(c, is) &&
		       (!k.around || !k.before || !strcmp(k.around->name, k.before->name));
	return true;
}
