// SPDX-License-Identifier: LGPL-2.1-or-later
/* load.c: a load for servers whose requests and replies are single known texts:
 *
 *   load PORT CONNECTIONS REQUESTS REQUEST REPLY
 *
 * Sends REQUEST (\r and \n as escapes) so many times over each of the connections to 127.0.0.1, one
 * under way at a time on each, and expects REPLY. Prints how many replies were right, and how many
 * requests failed. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 256 };

static size_t unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (from[0] == '\\' && (from[1] == 'r' || from[1] == 'n'))
			*to++ = *++from == 'r' ? '\r' : '\n';
		else
			*to++ = *from;
	}
	*to = '\0';
	return (size_t)(to - text);
}

static int connect_to(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror("load: connect");
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	struct pollfd polls[MAX_CONNECTIONS];
	size_t got[MAX_CONNECTIONS] = {0};
	long left[MAX_CONNECTIONS];
	if (argc != 6)
		return 2;
	int n = atoi(argv[2]), open = n;
	char *request = argv[4], *reply = argv[5];
	size_t request_len = unescape(request), reply_len = unescape(reply);
	long right = 0, failed = 0;
	if (n < 1 || n > MAX_CONNECTIONS || !reply_len)
		return 2;
	for (int i = 0; i < n; i++) {
		polls[i] = (struct pollfd){.fd = connect_to(atoi(argv[1])), .events = POLLIN};
		left[i] = atol(argv[3]);
		if (write(polls[i].fd, request, request_len) != (ssize_t)request_len)
			failed++;
	}
	while (open && poll(polls, (nfds_t)n, 10000) > 0) {
		for (int i = 0; i < n; i++) {
			char bytes[4096];
			if (polls[i].fd < 0 || !polls[i].revents)
				continue;
			size_t room = reply_len - got[i];
			ssize_t len = read(polls[i].fd, bytes,
					   room < sizeof(bytes) ? room : sizeof(bytes));
			bool good = len > 0 && !memcmp(bytes, reply + got[i], (size_t)len);
			if (good && (got[i] += (size_t)len) < reply_len)
				continue;
			got[i] = 0;
			right += good;
			failed += !good;
			if (good && --left[i] &&
			    write(polls[i].fd, request, request_len) == (ssize_t)request_len)
				continue;
			failed += good && left[i] ? left[i] : 0;
			close(polls[i].fd);
			polls[i].fd = -1;
			open--;
		}
	}
	printf("%ld right, %ld failed\n", right, failed + open);
	return failed + open > 0;
}
