// SPDX-License-Identifier: LGPL-2.1-or-later
/* unpack_lanes.c: tasks whose instructions are patched: the events in their lanes, and where a
 * thread is that was found in a trampoline. */
#include "user/record/write/unpack_impl.h"
#include "user/patch/lanes.h"
#include "user/patch/where.h"
#include "user/stack/attach_stack.h"

void unpack_count_probed(struct unpacker *u, uint32_t module, uint32_t site)
{
	const struct lanes_image *image = lanes_image(u->lanes, u->task->area);
	enum patch_reason reason = image->modules[module].placing.n > site
					   ? image->modules[module].placing.places[site].reason
					   : PATCH_UNKNOWN;

	atomic_fetch_add(&u->totals->probed[reason], 1);
}

/* What the task is patched by. It may not have told an event of that yet. */
static const struct lanes_image *image_of(const struct unpacker *u, int32_t pid, uint64_t time_ns,
					  uint64_t ip)
{
	const struct lanes_image *image = u->lanes ? lanes_image(u->lanes, u->task->area) : NULL;

	for (uint32_t i = 1; u->lanes && !image && (image = lanes_image(u->lanes, i)); i++) {
		if (patch_is_code(image->area, ip) ||
		    (pid && image->area->pid == pid && time_ns >= image->area->record->patched_ns))
			return image;
		image = NULL;
	}
	return image;
}

void unpack_leave_at_start(const struct unpacker *u, pid_t pid, struct stack_copy *copy)
{
	const struct lanes_image *image = image_of(u, pid, 0, copy->ip);
	struct patch_thread thread = {copy->ip, copy->regs[7], copy->words, copy->addr,
				      copy->n_words};

	if (!image || !patch_where(image->area, image->modules, &thread))
		return;
	copy->ip = thread.ip;
	copy->regs[7] = thread.sp;
}

void unpack_leave_trampoline(const struct unpacker *u, int32_t pid, uint64_t time_ns, uint64_t *ip,
			     uint64_t *sp, struct pugmark_witness_event *e)
{
	const struct lanes_image *image = image_of(u, pid, time_ns, *ip);
	struct patch_thread thread = {*ip, *sp, NULL, 0, 0};

	if (e && e->stack) {
		thread.words = e->stack;
		thread.addr = e->stack_addr;
		thread.n_words = e->stack_words;
	}
	if (!image || !patch_where(image->area, image->modules, &thread))
		return;
	*ip = thread.ip;
	*sp = thread.sp;
	uint64_t below = (thread.sp - thread.addr) / 8;
	if (thread.words && thread.sp > thread.addr && below < thread.n_words) {
		e->stack += below;
		e->stack_addr += 8 * below;
		e->stack_words -= below;
	}
}

/* What a record of a lane is read by. */
struct lane_reading {
	struct unpacker *u;
	const struct generation *generation;
	const struct lanes_image *image;
	uint64_t end_ns; /* when the lane had come up to where it is read to */
};

/* A patched instruction's event. */
static void unpack_lane_record(void *ctx, uint64_t pos, uint32_t head, uint64_t frame, uint64_t ret,
			       uint64_t target)
{
	struct lane_reading *r = ctx;
	const struct generation *g = r->generation;
	uint32_t site = head & PATCH_HEAD_SITE, slot = generation_slot(g, site);
	struct unpacker *u = r->u;
	struct task *t = u->task;

	unpack_waits(u, pos, r->end_ns);
	if (site >= r->image->n_sites || site < g->first_site[slot] ||
	    site - g->first_site[slot] >= g->modules[slot].n_sites)
		return;
	if (!(t->known >> (g->first + slot) & 1))
		unpack_base(u, g, slot, r->image->bases[slot]);
	struct pugmark_witness_event e = {
		.kind = PUGMARK_EVENT_WITNESS,
		.module = g->first + slot,
		.site = site - g->first_site[slot],
		.arm.witness.cfa = frame + r->image->frame_add[site],
		.arm.witness.ret = ret,
		.arm.witness.val = head & PATCH_HEAD_TARGET  ? target
				   : head & PATCH_HEAD_TAKEN ? 1
							     : 0,
		.flags = (head & PATCH_HEAD_RET ? PUGMARK_EVENT_HAS_RET : 0) |
			 (head & PATCH_HEAD_TARGET ? PUGMARK_EVENT_HAS_TARGET : 0),
	};
	unpack_untimed(u, &e, r->end_ns);
}

/* The lane's stamps are told by another clock than what was noted of it: they are not later than
 * that. */
static void unpack_stamp(void *ctx, uint64_t pos, uint64_t time_ns)
{
	struct lane_reading *r = ctx;

	unpack_waits(r->u, pos, r->end_ns);
	uint64_t most_ns = unpack_next_wait(r->u->task, r->end_ns);
	unpack_bound(r->u, time_ns < most_ns ? time_ns : most_ns);
}

void unpack_lane(struct unpacker *u, const struct generation *g, const struct batch_record *r,
		 uint64_t time_ns)
{
	uint32_t lane = r->head & HEAD_SITE_MASK;
	struct task *t = u->task;
	struct lane_reading reading = {u, g, u->lanes ? lanes_image(u->lanes, r->dt_ns) : NULL,
				       time_ns};
	struct lanes_sink sink = {&reading, unpack_lane_record, unpack_stamp};
	uint64_t lost = 0;

	if (!reading.image)
		return;
	if (t->area != r->dt_ns || t->lane != lane)
		t->lane_pos = t->lane_lost = 0;
	t->area = r->dt_ns;
	t->lane = lane;
	if (r->head >> HEAD_RECORD_SHIFT == RECORD_LANE) {
		unpack_fail(u, lanes_take(u->lanes, t->area, lane, t->lane_pos, r->value, &sink,
					  &lost));
		unpack_waits(u, r->value, time_ns);
		unpack_bound(u, time_ns);
		unpack_lost(u, lost);
	}
	t->lane_pos = r->value;
}

void unpack_lane_lost(struct unpacker *u, const struct batch_record *r, bool first)
{
	struct task *t = u->task;

	if (!first && r->value > t->lane_lost)
		unpack_lost(u, r->value - t->lane_lost);
	t->lane_lost = r->value;
}

void unpack_lane_end(struct unpacker *u, int32_t tid, uint64_t time_ns)
{
	const struct generation *g = generations_last(&u->generations);
	struct batch_record r;
	uint32_t area, lane;
	uint64_t pos, lost;

	if (!u->lanes || !g || !lanes_end(u->lanes, tid, &area, &lane, &pos, &lost))
		return;
	r = (struct batch_record){.head = (uint32_t)RECORD_LANE << HEAD_RECORD_SHIFT | lane,
				  .dt_ns = area};
	r.value = pos;
	unpack_lane(u, g, &r, time_ns);
	r.value = lost;
	unpack_lane_lost(u, &r, false);
}
