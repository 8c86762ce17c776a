/* SPDX-License-Identifier: Apache-2.0 */
/* What listener.c and stream_tls.c use of a stream besides stream.h. Private to them. */
#ifndef STREAM_PRIVATE_H
#define STREAM_PRIVATE_H

#include "stream.h"

/* Calls left(peer) once, when the connection is closed. limit: most bytes received but not used; 0: the buffer. */
void stream_seat(struct stream *s, void (*left)(void *peer), void *peer, size_t limit);
void *stream_peer(const struct stream *s);
/* Ends the stream; ended() follows. why NULL: the text of the errno. */
void stream_give_up(struct stream *s, int error, const char *why);

/* State: open; has bytes from the peer that were not received; has bytes for the peer that the socket did not take. */
enum filter_has { FILTER_OPEN = 1, FILTER_UNREAD = 2, FILTER_UNSENT = 4 };

struct stream_filter {
	const struct stream_filter_ops *ops;
};

/* errno EPROTO from recv or send: err_why() has the reason. */
struct stream_filter_ops {
	/* As recv(), including bytes that are already read; sends what the handshake requires first. */
	ssize_t (*recv)(struct stream_filter *f, int fd, void *to, size_t size);
	/* As sendmsg(): takes nothing until all unsent bytes are out. n may be 0. */
	ssize_t (*send)(struct stream_filter *f, int fd, const struct iovec *iov, unsigned n);
	unsigned (*has)(const struct stream_filter *f);
	/* Tells the peer that nothing follows. */
	void (*close)(struct stream_filter *f, int fd);
	void (*destroy)(struct stream_filter *f);
};

/* Takes f. Only for a stream that is dialling or was adopted just now; opened() comes when f is open. */
void stream_put_filter(struct stream *s, struct stream_filter *f);
/* Returns NULL if there is none. */
struct stream_filter *stream_filter(const struct stream *s);

#endif
