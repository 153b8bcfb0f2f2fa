// SPDX-License-Identifier: LGPL-2.1-or-later
/* latency.c: asks a server on 127.0.0.1 at a steady rate, over one connection, and prints how long
 * it waited for replies: the median and the 99th percentile, in microseconds. Time is counted from
 * when a request was due: a late one waits as well.
 *
 *   latency PORT RATE SECONDS REQUEST
 *
 * In REQUEST `\r` and `\n` stand for what they stand for in C. A reply is what comes until
 * REQUEST's first reply's length is reached. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void wait_until(uint64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static size_t unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++)
		if (*from == '\\' && (from[1] == 'r' || from[1] == 'n'))
			*to++ = *++from == 'r' ? '\r' : '\n';
		else
			*to++ = *from;
	return (size_t)(to - text);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(atoi(argv[1])),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint64_t step = 1e9 / atof(argv[2]);
	size_t n = atof(argv[2]) * atof(argv[3]), len = unescape(argv[4]);
	uint64_t *took = calloc(n, sizeof(*took));
	static char reply[1 << 20];

	if (!n || !took || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (write(fd, argv[4], len) != (ssize_t)len)
		return 1;
	usleep(200000);
	ssize_t whole = read(fd, reply, sizeof(reply));
	uint64_t due = now_ns() + step;
	for (size_t i = 0; i < n; i++, due += step) {
		wait_until(due);
		if (whole <= 0 || write(fd, argv[4], len) != (ssize_t)len)
			return 1;
		for (ssize_t got = 0, some; got < whole; got += some)
			if ((some = read(fd, reply, sizeof(reply))) <= 0)
				return 1;
		took[i] = now_ns() - due;
	}
	qsort(took, n, sizeof(*took), by_size);
	printf("%.1f %.1f\n", took[n / 2] / 1e3, took[n / 100 * 99] / 1e3);
	return 0;
}
