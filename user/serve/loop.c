// SPDX-License-Identifier: LGPL-2.1-or-later
/* loop.c: see serve.h. One thread, one poll(); a connection is one request and its answer. */
#include "user/serve/serve.h"

#include "offline/base/clock.h"
#include "user/sandbox/confine.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ANSWER_PROGRESS: bytes within ANSWER_SECONDS. */
enum { ANSWER_HEAD_MAX = 1024, ANSWER_PROGRESS = 1 << 16 };

struct connection {
	int fd; /* -1: free */
	uint64_t until_ns;
	size_t n; /* of ->in */
	char in[REQUEST_HEAD_MAX];
	char head[ANSWER_HEAD_MAX];
	size_t head_bytes, body_bytes, sent; /* head_bytes 0: the request is to come */
	size_t due;			     /* when so much is sent, ->until_ns is put off */
	const void *body;
	uint8_t *own_body; /* heap, or NULL */
};

struct server {
	const struct request_rules *rules;
	const struct served *served;
	struct connection at[SERVE_CONNECTIONS];
};

static volatile sig_atomic_t stopped;
static sigset_t waiting; /* for ppoll(): what ends it is let in there, and blocked elsewhere */

static void stop(int signal_nr)
{
	(void)signal_nr;
	stopped = 1;
}

static void hang_up(struct connection *c)
{
	close(c->fd);
	free(c->own_body);
	c->own_body = NULL;
	c->fd = -1;
}

static const char *status_text(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Internal Server Error";
	}
}

static void set_answer(struct connection *c, int status, const char *type, const void *body,
		       size_t n)
{
	c->until_ns = clock_now_ns() + ANSWER_SECONDS * 1000000000ull;
	c->body = body;
	c->body_bytes = n;
	c->sent = 0;
	c->due = ANSWER_PROGRESS;
	c->head_bytes = (size_t)snprintf(
		c->head, sizeof(c->head),
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: "
		"nosniff\r\n"
		"Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
		"Content-Security-Policy: frame-ancestors 'none'\r\n%s\r\n",
		status, status_text(status), type, n, status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

static int answer_range(struct server *s, struct connection *c, const struct request *request)
{
	size_t n;
	if (ranges_get(s->served->ranges, request->from_ns, request->to_ns, request->width,
		       &c->own_body, &n))
		return 500;
	set_answer(c, 200, "application/octet-stream", c->own_body, n);
	return 200;
}

static void answer(struct server *s, struct connection *c, size_t head_bytes)
{
	struct request request = {0};
	confine_time_anew(ANSWER_PROCESSOR_SECONDS);
	int status = head_bytes ? request_read(c->in, head_bytes, s->rules, &request) : 400;
	if (status == 200 && request.what == REQUEST_PAGE)
		set_answer(c, 200, "text/html; charset=utf-8", s->served->page,
			   s->served->page_bytes);
	else if (status == 200)
		status = answer_range(s, c, &request);
	if (status != 200)
		set_answer(c, status, "text/plain", status_text(status),
			   strlen(status_text(status)));
	if (request.head_only)
		c->body_bytes = 0;
}

static void receive(struct server *s, struct connection *c)
{
	ssize_t n = recv(c->fd, c->in + c->n, sizeof(c->in) - c->n, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->n += (size_t)n;
	size_t head_bytes = request_head_length(c->in, c->n);
	if (head_bytes || c->n == sizeof(c->in))
		answer(s, c, head_bytes);
}

static void send_more(struct connection *c)
{
	bool in_head = c->sent < c->head_bytes;
	size_t at = in_head ? c->sent : c->sent - c->head_bytes;
	const char *from = in_head ? c->head : c->body;
	size_t bytes = (in_head ? c->head_bytes : c->body_bytes) - at;
	ssize_t n = bytes ? send(c->fd, from + at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		hang_up(c);
		return;
	}
	c->sent += (size_t)n;
	if (c->sent >= c->due) {
		c->due = c->sent + ANSWER_PROGRESS;
		c->until_ns = clock_now_ns() + ANSWER_SECONDS * 1000000000ull;
	}
	if (c->sent == c->head_bytes + c->body_bytes)
		hang_up(c);
}

static void take_connection(struct server *s, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	for (unsigned i = 0; i < SERVE_CONNECTIONS; i++) {
		struct connection *c = &s->at[i];
		if (c->fd >= 0)
			continue;
		c->fd = fd;
		c->n = c->head_bytes = 0;
		c->until_ns = clock_now_ns() + REQUEST_SECONDS * 1000000000ull;
		return;
	}
	close(fd);
}

/* What is waited for: entry i of @polled is connection i, the last one is the listener, which waits
 * while there is no room. Connections that took too long are closed. */
static void fill(struct server *s, int listener, struct pollfd *polled)
{
	uint64_t now_ns = clock_now_ns();
	bool room = false;
	for (unsigned i = 0; i < SERVE_CONNECTIONS; i++) {
		struct connection *c = &s->at[i];
		if (c->fd >= 0 && now_ns > c->until_ns)
			hang_up(c);
		room |= c->fd < 0;
		polled[i] =
			(struct pollfd){.fd = c->fd, .events = c->head_bytes ? POLLOUT : POLLIN};
	}
	polled[SERVE_CONNECTIONS] = (struct pollfd){.fd = room ? listener : -1, .events = POLLIN};
}

static int serve(struct server *s, int listener, const sigset_t *mask)
{
	struct pollfd polled[SERVE_CONNECTIONS + 1];
	const struct timespec second = {.tv_sec = 1};
	while (!stopped) {
		fill(s, listener, polled);
		int n = ppoll(polled, SERVE_CONNECTIONS + 1, &second, mask);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		for (unsigned i = 0; i < SERVE_CONNECTIONS; i++)
			if (polled[i].fd >= 0 && polled[i].revents) {
				if (s->at[i].head_bytes)
					send_more(&s->at[i]);
				else
					receive(s, &s->at[i]);
			}
		if (polled[SERVE_CONNECTIONS].revents)
			take_connection(s, listener);
	}
	return 0;
}

void serve_catch_end(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction action = {.sa_handler = stop};
	sigset_t blocked;
	sigemptyset(&blocked);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		sigaddset(&blocked, ends[i]);
		sigaction(ends[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, &waiting);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigdelset(&waiting, ends[i]);
}

int serve_loop(int listener, const struct request_rules *rules, const struct served *served,
	       struct pugmark_diag *diag)
{
	struct server *s = calloc(1, sizeof(*s));
	if (!s)
		return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	s->rules = rules;
	s->served = served;
	for (unsigned i = 0; i < SERVE_CONNECTIONS; i++)
		s->at[i].fd = -1;
	int err = serve(s, listener, &waiting);
	for (unsigned i = 0; i < SERVE_CONNECTIONS; i++)
		if (s->at[i].fd >= 0)
			hang_up(&s->at[i]);
	free(s);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "cannot wait: %s",
				      strerror(-err))
		   : 0;
}
