// SPDX-License-Identifier: LGPL-2.1-or-later
/* channels.c KIND: reads N bytes, puts them in another order, and sends them in pieces through a
 * channel of that kind to a child or (KIND ends in +) a thread, which writes them out. Byte k of
 * the output is byte 7 * k % N of the input. Pieces are of 1 to 13 bytes; what is read at once is
 * as well, otherwise cut. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 500 };

static char in[N], mixed[N], got[N];
static int from, to, go[2];
static const char *kind;

static int piece(unsigned *seed, int most)
{
	*seed = *seed * 1103515245 + 12345;
	int n = 1 + (*seed >> 16) % 13;
	return n < most ? n : most;
}

static int is(const char *what)
{
	return !strncmp(kind, what, strlen(what));
}

static void send_all(void)
{
	FILE *f = is("stdio") ? fdopen(to, "w") : NULL;
	unsigned seed = 5;
	for (int at = 0, n; at < N; at += n) {
		n = piece(&seed, N - at);
		struct iovec v[2] = {{mixed + at, n / 2}, {mixed + at + n / 2, n - n / 2}};
		struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
		if (f)
			fwrite(mixed + at, 1, n, f);
		else if (is("vector"))
			writev(to, v, 2);
		else if (is("message"))
			sendmsg(to, &m, 0);
		else if (is("tcp") || is("unix"))
			send(to, mixed + at, n, 0);
		else if (is("place")) /* some of it twice, and other bytes there before */
			pwrite(to, mixed, n, at + 3 < N - n ? at + 3 : at),
				pwrite(to, mixed + at, n, at);
		else
			write(to, mixed + at, n);
	}
	if (f)
		fclose(f);
}

static void get_all(void)
{
	FILE *f = is("stdio") ? fdopen(from, "r") : NULL;
	int at = 0;
	unsigned seed = 77;
	if (is("file"))
		lseek(from, 0, SEEK_SET);
	for (int n = 1; at < N && n > 0; at += n) {
		int want = 1 + piece(&seed, N - at) * 2;
		want = want < N - at ? want : N - at;
		struct iovec v[2] = {{got + at, want / 3}, {got + at + want / 3, want - want / 3}};
		struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
		if (f)
			n = fread(got + at, 1, want, f);
		else if (is("vector"))
			n = readv(from, v, 2);
		else if (is("message"))
			n = recvmsg(from, &m, 0);
		else if (is("tcp") || is("unix"))
			n = recv(from, got + at, want, 0);
		else if (is("place"))
			n = pread(from, got + at, want, at);
		else
			n = read(from, got + at, want);
	}
	write(1, got, at);
}

static void *other(void *arg)
{
	char byte;
	if (is("file") || is("place"))
		read(go[0], &byte, 1);
	get_all();
	return arg;
}

static void connect_to(int family, struct sockaddr *a, socklen_t len)
{
	int server = socket(family, SOCK_STREAM, 0);
	bind(server, a, len);
	listen(server, 1);
	getsockname(server, a, &len);
	to = socket(family, SOCK_STREAM, 0);
	connect(to, a, len);
	from = accept(server, NULL, NULL);
}

static void open_channel(void)
{
	int ends[2] = {0};
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "socket"};
	if (is("file") || is("place")) {
		FILE *f = tmpfile();
		ends[0] = ends[1] = fileno(f);
	} else if (is("pair") || is("message")) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	} else if (!is("tcp") && !is("unix")) {
		pipe(ends);
	}
	from = ends[0];
	to = ends[1];
	if (is("tcp6"))
		connect_to(AF_INET6, (void *)&in6, sizeof(in6));
	else if (is("tcp"))
		connect_to(AF_INET, (void *)&in4, sizeof(in4));
	else if (is("unix"))
		connect_to(AF_UNIX, (void *)&un, sizeof(un));
}

int main(int argc, char **argv)
{
	pthread_t thread;
	kind = argv[1];
	int threads = kind[strlen(kind) - 1] == '+';
	read(0, in, N);
	open_channel();
	pipe(go);
	if (threads) {
		pthread_create(&thread, NULL, other, NULL);
	} else if (!fork()) {
		memset(in, 0, N);
		other(NULL);
		_exit(0);
	}
	for (int k = 0; k < N; k++)
		mixed[k] = in[7 * k % N];
	send_all();
	write(go[1], "", 1);
	if (threads)
		pthread_join(thread, NULL);
	else
		wait(NULL);
	return 0;
}
