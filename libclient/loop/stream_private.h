/* SPDX-License-Identifier: Apache-2.0 */
/* What a listener does to the streams of its peers, and what TLS puts between a stream and its socket. Nobody else includes this. */
#ifndef STREAM_PRIVATE_H
#define STREAM_PRIVATE_H

#include "stream.h"

/* left(peer) is called once, when the connection is closed. limit: bytes that may wait to be used; 0: the buffer. */
void stream_seat(struct stream *s, void (*left)(void *peer), void *peer, size_t limit);
void *stream_peer(const struct stream *s);
/* ended() follows; why NULL: that of the errno. */
void stream_give_up(struct stream *s, int error, const char *why);

/* It is open; it has bytes of the peer that were not received; it has bytes for it that the socket did not take. */
enum filter_has { FILTER_OPEN = 1, FILTER_UNREAD = 2, FILTER_UNSENT = 4 };

struct stream_filter {
	const struct stream_filter_ops *ops;
};

/* errno EPROTO of the first two: err_why() says why. */
struct stream_filter_ops {
	/* As recv(), also of what is unread; what has to be said before it is open goes out. */
	ssize_t (*recv)(struct stream_filter *f, int fd, void *to, size_t size);
	/* As sendmsg(): nothing is taken before all that was unsent is out. n may be 0. */
	ssize_t (*send)(struct stream_filter *f, int fd, const struct iovec *iov, unsigned n);
	unsigned (*has)(const struct stream_filter *f);
	/* The peer is told that nothing follows. */
	void (*close)(struct stream_filter *f, int fd);
	void (*destroy)(struct stream_filter *f);
};

/* Takes f. Of a stream that is dialled, or was adopted just now; opened() comes when f is open. */
void stream_put_filter(struct stream *s, struct stream_filter *f);
/* NULL: none. */
struct stream_filter *stream_filter(const struct stream *s);

#endif
