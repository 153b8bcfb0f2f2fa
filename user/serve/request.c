// SPDX-License-Identifier: LGPL-2.1-or-later
/* request.c: see request.h. RFC 9112, and of it the strict part: lines end with CR LF, no line is
 * folded, and there is no body. */
#include "user/serve/request.h"

#include <string.h>
#include <strings.h>

struct text {
	const char *at;
	size_t n;
};

size_t request_head_length(const char *bytes, size_t n)
{
	const char *end = memmem(bytes, n, "\r\n\r\n", 4);
	return end ? (size_t)(end - bytes) + 4 : 0;
}

static bool is(struct text t, const char *word)
{
	return t.n == strlen(word) && !memcmp(t.at, word, t.n);
}

static bool is_header(struct text t, const char *name)
{
	return t.n == strlen(name) && !strncasecmp(t.at, name, t.n);
}

/* Takes what stands before @c off @t, and @c; false: there is no @c. */
static bool cut(struct text *t, char c, struct text *out)
{
	const char *at = memchr(t->at, c, t->n);
	if (!at)
		return false;
	*out = (struct text){t->at, (size_t)(at - t->at)};
	t->n -= out->n + 1;
	t->at = at + 1;
	return true;
}

static bool take(struct text *t, const char *prefix)
{
	size_t n = strlen(prefix);
	if (t->n < n || memcmp(t->at, prefix, n))
		return false;
	t->at += n;
	t->n -= n;
	return true;
}

static bool take_number(struct text *t, uint64_t *out)
{
	uint64_t value = 0;
	size_t n = 0;
	for (; n < t->n && t->at[n] >= '0' && t->at[n] <= '9'; n++)
		if (n == 18)
			return false;
		else
			value = value * 10 + (uint64_t)(t->at[n] - '0');
	t->at += n;
	t->n -= n;
	*out = value;
	return n;
}

/* This host with its port, as an address or by the one name that is always its own: a name of a
 * stranger's domain may lead here as well. */
static bool is_this_host(struct text t, uint16_t port)
{
	uint64_t number;
	if (!take(&t, "127.0.0.1") && !take(&t, "localhost") && !take(&t, "[::1]"))
		return false;
	if (!t.n)
		return !port || port == 80;
	return take(&t, ":") && take_number(&t, &number) && !t.n && (!port || number == port);
}

/* Takes as long for any wrong token as for the right one. */
static bool take_token(struct text *t, const char *token)
{
	unsigned differs = 0;
	if (t->n < TOKEN_BYTES)
		return false;
	for (size_t i = 0; i < TOKEN_BYTES; i++)
		differs |= (unsigned char)t->at[i] ^ (unsigned char)token[i];
	t->at += TOKEN_BYTES;
	t->n -= TOKEN_BYTES;
	return !differs;
}

static int read_target(struct text t, const struct request_rules *rules, struct request *out)
{
	uint64_t width;
	if (!take(&t, "/") || !take_token(&t, rules->token))
		return 403;
	if (is(t, "/")) {
		out->what = REQUEST_PAGE;
		return 200;
	}
	if (!take(&t, "/range?"))
		return 404;
	out->what = REQUEST_RANGE;
	if (!take(&t, "from=") || !take_number(&t, &out->from_ns) || !take(&t, "&to=") ||
	    !take_number(&t, &out->to_ns) || !take(&t, "&width=") || !take_number(&t, &width) ||
	    t.n || out->from_ns >= out->to_ns || !width || width > REQUEST_WIDTH_MAX)
		return 400;
	out->width = (uint32_t)width;
	return 200;
}

struct headers {
	struct text host, origin, site;
	unsigned hosts, origins, sites;
	bool body;
};

static bool is_name(struct text t)
{
	for (size_t i = 0; i < t.n; i++)
		if (t.at[i] <= ' ' || t.at[i] > '~')
			return false;
	return t.n;
}

/* One line of the head, without its end. */
static bool read_header(struct text line, struct headers *h)
{
	struct text name;
	if (!cut(&line, ':', &name) || !is_name(name))
		return false;
	for (size_t i = 0; i < line.n; i++)
		if ((unsigned char)line.at[i] < ' ' && line.at[i] != '\t')
			return false;
	while (line.n && (*line.at == ' ' || *line.at == '\t'))
		line.at++, line.n--;
	while (line.n && (line.at[line.n - 1] == ' ' || line.at[line.n - 1] == '\t'))
		line.n--;
	if (is_header(name, "host")) {
		h->host = line;
		h->hosts++;
	} else if (is_header(name, "origin")) {
		h->origin = line;
		h->origins++;
	} else if (is_header(name, "sec-fetch-site")) {
		h->site = line;
		h->sites++;
	} else if (is_header(name, "transfer-encoding") ||
		   (is_header(name, "content-length") && !is(line, "0"))) {
		h->body = true;
	}
	return true;
}

static bool read_headers(struct text rest, struct headers *h)
{
	struct text line;
	while (cut(&rest, '\n', &line)) {
		if (!line.n || line.at[--line.n] != '\r')
			return false;
		if (!line.n)
			return !rest.n;
		if (!read_header(line, h))
			return false;
	}
	return false;
}

static bool is_of_this_site(const struct headers *h, const struct request_rules *rules)
{
	struct text origin = h->origin;
	if (!is_this_host(h->host, rules->port))
		return false;
	if (h->origins && (!take(&origin, "http://") || origin.n != h->host.n ||
			   memcmp(origin.at, h->host.at, origin.n)))
		return false;
	return !h->sites || is(h->site, "same-origin") || is(h->site, "none");
}

int request_read(const char *head, size_t n, const struct request_rules *rules, struct request *out)
{
	struct text rest = {head, n}, line, method, target;
	struct headers headers = {0};
	struct request request = {0};
	if (!cut(&rest, '\n', &line) || !line.n || line.at[--line.n] != '\r' ||
	    !cut(&line, ' ', &method) || !cut(&line, ' ', &target) || !is_name(method) ||
	    !is_name(target) || !(is(line, "HTTP/1.1") || is(line, "HTTP/1.0")))
		return 400;
	if (!read_headers(rest, &headers) || headers.hosts != 1 || headers.origins > 1 ||
	    headers.sites > 1 || headers.body)
		return 400;
	if (!is_of_this_site(&headers, rules))
		return 403;
	request.head_only = is(method, "HEAD");
	if (!request.head_only && !is(method, "GET"))
		return 405;
	int status = read_target(target, rules, &request);
	if (status == 200)
		*out = request;
	return status;
}
