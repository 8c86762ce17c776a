/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of bytes to one peer: dialled, or adopted from an accepted descriptor. It reads into its own buffer, reports
 * when there is room to write, and ends with a reason when the peer closes, stalls or cannot be reached.
 *
 *	stream_dial() -> opened() -> take(), room() ... -> ended()        stream_adopt(): the same; opened() only with TLS
 *
 * The owner keeps what waits for the peer (outbox.h): stream_write() takes only what the socket takes, and room()
 * follows. Only a small answer may wait in the stream itself: stream_send().
 *
 * Thread: the exec's. Callbacks come from the loop, never from inside a call by the owner; none follows ended().
 * Errors: negative errnos; only ended() has a sentence.
 */
#ifndef LOOP_STREAM_H
#define LOOP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "address.h"
#include "exec.h"

#define STREAM_WHY_MAX 256u

struct lookup;
struct stream;

struct stream_ops {
	void (*opened)(void *arg); /* the stream is connected; with TLS, the peer's identity is known */
	/*
	 * Offers received bytes, from the first unused one. Returns how many are used; the rest is offered again with
	 * the bytes that follow. If the buffer is full, some have to be used. Negative: the stream ends with that errno
	 * and the reason in why.
	 */
	ssize_t (*take)(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX]);
	void (*room)(void *arg); /* stream_write() accepts bytes again; NULL: not reported */
	/* The stream is closed; only stream_destroy() may follow. error 0: the owner has ended it. why borrows. */
	void (*ended)(void *arg, int error, const char *why);
};

struct stream_options {
	const struct stream_ops *ops;
	void *arg;
	size_t buffer;         /* most bytes received but not used; allocated as they arrive */
	int64_t dial_dur_ns;   /* time limit to connect, over all addresses of the host; 0: none */
	int64_t stall_dur_ns;  /* the stream ends when the peer accepts no written byte for so long; 0: never */
	struct lookup *lookup; /* resolver for names, kept while dialling; NULL: stream_dial() blocks */
	/* silence after which TCP keepalive probes the peer's machine, every 2 s, five times; 0: after hours */
	unsigned silent_s;
	/* received bytes are acknowledged at once: for a peer that writes a message in pieces and waits between them */
	bool quick_ack;
};

/*
 * Copies the options. -ENOENT, with why: the name is unknown (with `lookup` set, ended() reports that instead); errors
 * of lookup_start(), with why; -ENOMEM without. Otherwise opened() or ended() follows.
 */
int stream_dial(struct exec *x, const struct address *a, const struct stream_options *o, struct stream **ret,
		char why[STREAM_WHY_MAX]);
/* Takes fd, which must be non-blocking, even on failure. -ENOMEM, or errors of exec_io_add(). */
int stream_adopt(struct exec *x, int fd, const struct stream_options *o, struct stream **ret);

/*
 * Writes what the socket takes and returns those bytes; if not all, room() follows. -ENOTCONN or the socket's errno:
 * ended() follows.
 */
ssize_t stream_write(struct stream *s, const struct iovec *iov, unsigned n);
/*
 * Sends all of it, before later writes: what the socket does not take is copied. 0; 1: some waits, and room() follows;
 * -ENOMEM: a part may be sent, so the stream ends, and ended() follows; or as above.
 */
int stream_send(struct stream *s, const void *data, size_t len);
/* Whether some of what was written or sent is not out yet; then room() follows. */
bool stream_waits(const struct stream *s);
/* Change stall_dur_ns from now on. */
void stream_hurry(struct stream *s, int64_t stall_dur_ns);
/* The stream ends with -ETIMEDOUT unless another deadline is set within dur_ns; 0: no deadline. */
void stream_deadline(struct stream *s, int64_t dur_ns);
/* Stops calling take(); or resumes it from the loop, starting with the unused bytes. */
void stream_pause(struct stream *s, bool on);
/* Gives the stream another owner, also inside take(): bytes unused there are offered to the new owner. */
void stream_hand(struct stream *s, const struct stream_ops *ops, void *arg);
/*
 * Whether the peer has neither closed the connection nor sent anything, as far as the socket knows: to check a
 * connection that was unused for a while.
 */
bool stream_quiet(const struct stream *s);
/*
 * What was sent still goes out, nothing more is written, and received bytes are discarded: when the peer has closed as
 * well, or after linger_dur_ns, ended() reports 0. Closing a socket with unread bytes at once would discard what the
 * peer has not read.
 */
void stream_end(struct stream *s, int64_t linger_dur_ns);
/* Closes the stream; ended() is not called. NULL is fine. Not inside a callback other than ended(). */
void stream_destroy(struct stream *s);

#endif
