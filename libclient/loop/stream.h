/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of bytes to one peer: dialled, or taken over from who has accepted it. It reads into a buffer of its own, says when there is
 * room to write, and ends with a sentence where the peer goes, stalls or cannot be reached.
 *
 *	stream_dial() -> opened() -> take(), room() ... -> ended()        stream_adopt(): the same; opened() only with TLS
 *
 * What waits for the peer is the owner's (outbox.h): stream_write() takes what the socket takes, and room() follows. Only an answer that
 * is small may wait in the stream itself: stream_send().
 *
 * Thread: the exec's. Callbacks come from the loop, never from inside a call of the owner's; after ended() none comes.
 * Errors: negative errnos, without a sentence; ended() has one.
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
	void (*opened)(void *arg); /* a dialled one is connected; one with TLS knows its peer */
	/*
	 * Bytes that have come, from the first that was not used yet: how many are used. What is left is offered again with what comes
	 * next; of a full buffer something has to be used. Negative: the stream ends with that errno, and what stands in why.
	 */
	ssize_t (*take)(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX]);
	void (*room)(void *arg); /* stream_write() takes something again; NULL: nobody wants to know */
	/* It is closed; what is left is stream_destroy(). error 0: the owner has ended it. why borrows. */
	void (*ended)(void *arg, int error, const char *why);
};

struct stream_options {
	const struct stream_ops *ops;
	void *arg;
	size_t buffer;        /* bytes that may wait to be used; memory is taken as they come */
	int64_t dial_dur_ns;  /* to be connected, at any of the host's addresses; 0: as long as it takes */
	int64_t stall_dur_ns; /* the stream ends when the peer takes nothing of what was written for so long; 0: never */
	struct lookup *lookup; /* of names, kept while it dials; NULL: stream_dial() blocks */
	unsigned silent_s; /* then the system asks whether the peer's machine is there, and once in 2 s, five times; 0: after hours */
	bool quick_ack; /* what comes is acknowledged at once: for a peer that writes a message in pieces, and waits between them */
};

/*
 * Copies the options. -ENOENT, with why: the name is not known (with `lookup` set, ended() says so instead); errors of lookup_start(), with
 * why; -ENOMEM without. Else opened() or ended() follows.
 */
int stream_dial(struct exec *x, const struct address *a, const struct stream_options *o, struct stream **ret,
		char why[STREAM_WHY_MAX]);
/* Takes fd, which does not block, also where it fails. -ENOMEM, or errors of exec_io_add(). */
int stream_adopt(struct exec *x, int fd, const struct stream_options *o, struct stream **ret);

/* As far as it is taken: bytes, 0: none, and room() follows. -ENOTCONN or the socket's: ended() follows. */
ssize_t stream_write(struct stream *s, const struct iovec *iov, unsigned n);
/*
 * All of it, before what is written later: what the socket does not take is copied. 0; 1: some waits, and room() follows; -ENOMEM: a part may
 * be out, so it ends, and ended() follows; or as above.
 */
int stream_send(struct stream *s, const void *data, size_t len);
/* Whether some of what was written or sent is not out yet, and room() follows. */
bool stream_waits(const struct stream *s);
/* Change stall_dur_ns from now on. */
void stream_hurry(struct stream *s, int64_t stall_dur_ns);
/* It ends with -ETIMEDOUT unless it is told another deadline within dur_ns; 0: it may take as long as it likes. */
void stream_deadline(struct stream *s, int64_t dur_ns);
/* Nothing more is taken; or again, beginning with what was not used, from the loop. */
void stream_pause(struct stream *s, bool on);
/* Another owner has it from now on, also inside take(): what is not used there is offered to that. */
void stream_hand(struct stream *s, const struct stream_ops *ops, void *arg);
/* Whether the peer has neither closed it nor said anything, as far as the socket knows: for one that was not used for a while. */
bool stream_quiet(const struct stream *s);
/*
 * What was sent still goes out, nothing more is written, and what comes is not looked at: when the peer has closed as well, or after linger_dur_ns, ended() says 0. A
 * socket that is closed with something unread in it throws away what the peer has not read.
 */
void stream_end(struct stream *s, int64_t linger_dur_ns);
/* Closes it; ended() does not come. NULL is fine. Not inside a callback but ended(). */
void stream_destroy(struct stream *s);

#endif
