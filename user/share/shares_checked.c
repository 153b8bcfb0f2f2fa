// SPDX-License-Identifier: LGPL-2.1-or-later
/* shares_checked.c: see shares_checked.h. The proof itself is offline/prove/share_check.h. */
#include "user/share/shares_checked.h"

#include "offline/base/private_file.h"
#include "offline/prove/share_check.h"
#include "user/share/share_plan.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAULTS_PRINTED = 20, MANIFEST_MAX_BYTES = 1 << 20 };

static int read_one(struct shares_read *s, const char *dir, uint32_t k, struct pugmark_diag *diag)
{
	char *path;
	if (asprintf(&path, "%s/share-%u.pmp", dir, k + 1) < 0)
		return pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	int err = pugmark_plan_open(path, &s->plans[k], diag);
	if (err == -ENOENT)
		err = pugmark_diag_set(diag, -EINVAL, path, PUGMARK_NO_OFFSET,
				       "this share is missing (pugmark plan --shares M -o %s)",
				       dir);
	const struct pugmark_plan *first = s->plans[0], *plan = s->plans[k];
	if (!err && (plan->share != k + 1 || plan->share_set != first->share_set ||
		     plan->n_sites != first->n_sites || !plan->n_shares || plan->n_shares > 64))
		err = pugmark_diag_set(diag, -EINVAL, path, PUGMARK_NO_OFFSET,
				       "not share %u of the set that this folder begins with (make "
				       "the shares again)",
				       k + 1);
	if (!err)
		err = share_plan_check(plan, path, diag);
	free(path);
	return err;
}

int shares_read(const char *dir, struct shares_read *out, struct pugmark_diag *diag)
{
	*out = (struct shares_read){0};
	int err = read_one(out, dir, 0, diag);
	uint32_t most = sizeof(out->plans) / sizeof(*out->plans);
	if (!err && out->plans[0]->n_shares > most)
		err = pugmark_diag_set(diag, -EBADMSG, dir, PUGMARK_NO_OFFSET,
				       "damaged: of more than %u shares", most);
	out->n = err ? 0 : out->plans[0]->n_shares;
	for (uint32_t k = 1; k < out->n && k < most && !err; k++)
		err = read_one(out, dir, k, diag);
	const struct pugmark_plan *first = out->plans[0];
	if (!err) {
		out->sites = malloc((first->n_sites + 1) * sizeof(*out->sites));
		out->members = calloc(first->n_sites + 1, sizeof(*out->members));
		if (!out->sites || !out->members)
			err = pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET,
					       "out of memory");
	}
	if (err) {
		shares_read_deinit(out);
		return err;
	}
	memcpy(out->sites, first->sites, first->n_sites * sizeof(*out->sites));
	for (uint32_t i = 0; i < first->n_sites; i++) {
		out->sites[i].elsewhere = 0;
		for (uint32_t k = 0; k < out->n && k < most; k++)
			out->members[i] |= (uint64_t)!out->plans[k]->sites[i].elsewhere << k;
	}
	out->whole = *first;
	out->whole.sites = out->sites;
	out->whole.share = out->whole.n_shares = 0;
	out->whole.storage = NULL; /* its bytes are those of the share's file */
	return 0;
}

void shares_read_deinit(struct shares_read *s)
{
	for (uint32_t k = 0; k < sizeof(s->plans) / sizeof(*s->plans); k++)
		pugmark_plan_free(s->plans[k]);
	free(s->sites);
	free(s->members);
	*s = (struct shares_read){0};
}

struct printer {
	const struct pugmark_plan *plan;
	struct outbuf *out;
	bool json;
	uint32_t n, untold;
};

static unsigned long long addr_of(const struct pugmark_plan *plan, uint32_t node)
{
	return node && node != PUGMARK_NONE ? plan->nodes[node].addr : 0;
}

static void print_fault(void *ctx, const struct share_fault *f)
{
	static const char *const texts[] = {
		[SHARE_FAULT_UNTOLD] = "no share tells these two ways apart",
		[SHARE_FAULT_NOBODY] = "no share has this probe",
		[SHARE_FAULT_SPECIAL] = "not all shares see what is landed at",
		[SHARE_FAULT_ENTRY] = "share 1 does not see what is entered from anywhere",
	};
	struct printer *p = ctx;
	p->untold += f->kind == SHARE_FAULT_UNTOLD;
	const char *func = p->plan->strings + p->plan->funcs[f->func].name;
	if (p->json) {
		outbuf_text(p->out, p->n++ ? ",{\"function\":\"" : "{\"function\":\"");
		outbuf_json_text(p->out, func);
		outbuf_format(p->out, "\",\"node\":\"%llx\",\"other\":\"%llx\",\"text\":\"%s\"}",
			      addr_of(p->plan, f->node), addr_of(p->plan, f->other),
			      texts[f->kind]);
		return;
	}
	if (p->n++ >= FAULTS_PRINTED)
		return;
	outbuf_text(p->out, "  ");
	outbuf_safe_text(p->out, func);
	outbuf_format(p->out, ": %s: 0x%llx", texts[f->kind], addr_of(p->plan, f->node));
	if (f->kind == SHARE_FAULT_UNTOLD && f->other)
		outbuf_format(p->out, ", 0x%llx", addr_of(p->plan, f->other));
	else if (f->kind == SHARE_FAULT_UNTOLD)
		outbuf_text(p->out, ", the return");
	outbuf_text(p->out, "\n");
}

/* Whether the manifest says itself that there are decisions which nothing can tell. */
static bool says_untold(const char *dir)
{
	struct private_file file = {.bytes = NULL};
	char *path = NULL;
	json_t *manifest = NULL;
	if (asprintf(&path, "%s/manifest.json", dir) >= 0 &&
	    !private_file_open(path, MANIFEST_MAX_BYTES, &file) && file.bytes)
		manifest = json_loadb((const char *)file.bytes, file.len_bytes, 0, NULL);
	bool says = json_integer_value(json_object_get(manifest, "untold")) > 0;
	json_decref(manifest);
	private_file_free(&file);
	free(path);
	return says;
}

int shares_checked(const struct shares_read *s, const char *dir, bool json, struct outbuf *out,
		   struct pugmark_diag *diag)
{
	struct printer p = {.plan = &s->whole, .out = out, .json = json};
	struct share_check_counts counts = {0};
	if (json) {
		outbuf_json(out, "{\"shares\":", dir);
		outbuf_format(out, ",\"n\":%u,\"faults_at\":[", s->n);
	}
	int err = share_check(&s->whole, s->members, s->n, print_fault, &p, &counts);
	if (err)
		return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "cannot check: %s",
					strerror(-err));
	uint64_t faults = counts.faults - (says_untold(dir) ? p.untold : 0);
	if (json) {
		outbuf_format(
			out,
			"],\"faults\":%llu,\"untold\":%u,\"decisions\":%llu,\"together\":%llu,"
			"\"alone\":%llu}\n",
			(unsigned long long)faults, p.untold, (unsigned long long)counts.decisions,
			(unsigned long long)counts.together, (unsigned long long)counts.alone);
		return faults ? -EILSEQ : 0;
	}
	if (p.n > FAULTS_PRINTED)
		outbuf_format(out, "  and %u more\n", p.n - FAULTS_PRINTED);
	outbuf_safe_text(out, dir);
	outbuf_format(out,
		      ": %u shares, %llu decisions, of which %llu are told by several together, "
		      "and %llu by one alone: ",
		      s->n, (unsigned long long)counts.decisions,
		      (unsigned long long)counts.together, (unsigned long long)counts.alone);
	if (faults)
		outbuf_format(out, "%llu faults", (unsigned long long)faults);
	else
		outbuf_text(out, "every run can be put together");
	if (p.untold)
		outbuf_format(out, "%s %u that no share can tell: there a merge may end in a gap",
			      faults ? "," : ", but for", p.untold);
	outbuf_text(out, "\n");
	return faults ? -EILSEQ : 0;
}
