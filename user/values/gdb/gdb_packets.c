// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_packets.c: framing, checksums and escapes of packets (gdb's manual, appendix E). */
#include "user/values/gdb/gdb_packets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int get_byte(struct gdb_packets *p)
{
	if (p->at == p->have) {
		ssize_t n = read(p->in, p->buffer, sizeof(p->buffer));
		if (n <= 0)
			return -1;
		p->at = 0;
		p->have = n;
	}
	return p->buffer[p->at++];
}

static int send_all(struct gdb_packets *p, const char *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = write(p->out, bytes + done, n - done);
		if (k < 0)
			return -errno;
		done += k;
	}
	return 0;
}

bool gdb_packets_receive(struct gdb_packets *p)
{
	for (;;) {
		int c = get_byte(p);
		if (c < 0)
			return false;
		if (c != '$')
			continue; /* acknowledgements, and an interrupt: nothing runs meanwhile */
		size_t n = 0;
		while ((c = get_byte(p)) >= 0 && c != '#')
			if (n < sizeof(p->text) - 1)
				p->text[n++] = c;
		if (c < 0 || get_byte(p) < 0 || get_byte(p) < 0)
			return false;
		p->text[n] = 0;
		return !send_all(p, "+", 1);
	}
}

void gdb_packets_put(struct gdb_packets *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(p->reply + p->n_reply, sizeof(p->reply) - p->n_reply, format, args);
	va_end(args);
	p->n_reply += n;
	if (p->n_reply >= sizeof(p->reply))
		p->n_reply = sizeof(p->reply) - 1;
}

int gdb_packets_flush(struct gdb_packets *p)
{
	uint8_t sum = 0;
	char end[4];
	for (size_t i = 0; i < p->n_reply; i++)
		sum += (uint8_t)p->reply[i];
	int err = send_all(p, "$", 1);
	err = err ? err : send_all(p, p->reply, p->n_reply);
	snprintf(end, sizeof(end), "#%02x", sum);
	p->n_reply = 0;
	return err ? err : send_all(p, end, 3);
}

void gdb_packets_put_bytes(struct gdb_packets *p, const void *bytes, size_t n, bool known)
{
	for (size_t i = 0; i < n; i++)
		if (known)
			gdb_packets_put(p, "%02x", ((const uint8_t *)bytes)[i]);
		else
			gdb_packets_put(p, "xx");
}

void gdb_packets_put_output(struct gdb_packets *p, const char *text, size_t len)
{
	for (; len > GDB_READ_MAX; text += GDB_READ_MAX, len -= GDB_READ_MAX) {
		gdb_packets_put(p, "O");
		gdb_packets_put_bytes(p, text, GDB_READ_MAX, true);
		if (gdb_packets_flush(p))
			return; /* gdb is gone: the reply cannot be sent either */
	}
	gdb_packets_put_bytes(p, text, len, true);
}

void gdb_packets_text(const char *hex, char *out, size_t room)
{
	unsigned byte;
	size_t n = 0;

	while (n + 1 < room && hex[2 * n] && hex[2 * n + 1] &&
	       sscanf(hex + 2 * n, "%2x", &byte) == 1)
		out[n++] = (char)byte;
	out[n] = '\0';
}

void gdb_packets_put_part(struct gdb_packets *p, const char *text, size_t size, const char *window)
{
	uint64_t off = 0, len = 0;
	sscanf(window, "%" SCNx64 ",%" SCNx64, &off, &len);
	if (off >= size) {
		gdb_packets_put(p, "l");
		return;
	}
	size_t n = size - off < len ? size - off : len;
	gdb_packets_put(p, off + n == size ? "l" : "m");
	for (size_t i = 0; i < n; i++) {
		char c = text[off + i];
		if (strchr("#$}*", c) && p->n_reply < sizeof(p->reply) - 2) { /* NUL as well */
			if (c) {
				p->reply[p->n_reply++] = '}';
				c ^= 0x20;
			}
		}
		if (p->n_reply < sizeof(p->reply) - 1)
			p->reply[p->n_reply++] = c;
	}
}

void gdb_packets_wait(struct gdb_packets *p)
{
	int c;
	while ((c = get_byte(p)) >= 0 && c != '+')
		continue;
}
