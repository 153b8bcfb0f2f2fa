// SPDX-License-Identifier: LGPL-2.1-or-later
/* gather.c: pieces of memory that one call writes (writev(), sendmsg()). What they hold is read as
 * the call begins. */
#include "offline/dep/build_impl.h"
#include "offline/dep/reads.h"

#include <sys/socket.h>
#include <sys/uio.h>

enum { PIECE_PART = 4096, BYTES_MAX = 1 << 26 };

static void take_piece(struct dep_build *b, struct dep_pending *p, uint64_t at, uint64_t len)
{
	char part[PIECE_PART];
	dep_note_bytes(b, &p->copied, at, len);
	for (uint64_t n; len && !b->no_memory; at += n, len -= n) {
		n = len < PIECE_PART ? len : PIECE_PART;
		p->text.known &= !value_memory_read(b->memory, at, part, n, NULL);
		dep_render_plain(&p->text, part, n);
	}
}

void dep_gather(struct dep_build *b, struct dep_pending *p, uint64_t at, uint64_t n)
{
	struct iovec piece;
	uint64_t bytes = 0;
	p->text.known = true;
	for (uint64_t i = 0; i < n && i < UIO_MAXIOV && p->text.known; i++) {
		if (value_memory_read(b->memory, at + i * sizeof(piece), &piece, sizeof(piece),
				      NULL) ||
		    piece.iov_len > BYTES_MAX - bytes) {
			p->text.known = false;
			return;
		}
		bytes += piece.iov_len;
		dep_note_reads(b, &p->reads, at + i * sizeof(piece), sizeof(piece));
		take_piece(b, p, (uint64_t)piece.iov_base, piece.iov_len);
	}
}

void dep_gather_message(struct dep_build *b, struct dep_pending *p, uint64_t at)
{
	struct msghdr message;
	if (!value_memory_read(b->memory, at, &message, sizeof(message), NULL))
		dep_gather(b, p, (uint64_t)message.msg_iov, message.msg_iovlen);
}
