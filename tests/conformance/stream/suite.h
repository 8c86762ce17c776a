/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite of stream.h and listener.h, stamped on what may lie under a stream: a port, a path, TLS and the virtual network. Two
 * streams of one thread, in virtual time; what differs is in the fixture, never in a test.
 */
#ifndef STREAM_SUITE_H
#define STREAM_SUITE_H

#include "listener.h"

struct suite {
	const char *host; /* where it listens, and is dialled; NULL: a path, which is connected to by hand and adopted */
	int64_t step_dur_ns; /* of virtual time from one look to the next, where something is awaited; 0: bytes need none */
	/* Around each test; may be NULL. */
	void (*begin)(struct exec *x);
	void (*end)(void);
	/* Of the stream that was dialled, of the one that has come. NULL: bytes are plain. */
	void (*protect)(struct stream *s, bool server);
};

extern const struct suite suite;

/* An end of the connection, as its owner has it. */
struct end {
	struct stream *s;
	size_t n;   /* bytes that came, in order of pattern() */
	size_t use; /* so many bytes at a time; 0: all that there are */
	bool shy;   /* pauses itself in take() */
	bool vain;  /* destroys itself in ended() */
	int n_opened, n_room, n_ended, error;
	char why[STREAM_WHY_MAX];
};

extern struct exec *suite_x;
extern struct end suite_near, suite_far; /* who has dialled, who was dialled */

int suite_set_up(void **state);    /* a listener, nobody has come */
int suite_connected(void **state); /* and somebody has */
int suite_tear_down(void **state);
/* As much as it takes of what comes next, at most `most` bytes; returns where that ends. */
size_t suite_say(const struct end *e, size_t from, size_t most);
/* The near end dials, without waiting; where it listens, or another port. */
void suite_dial(void);
void suite_dial_at(unsigned port);
unsigned suite_port(void);
void suite_run(int64_t dur_ns);

/* Until cond holds: time goes on as far as bytes need it. */
#define UNTIL(cond) \
	do { \
		for (int i_ = 0; suite.step_dur_ns && i_ < 1000000 && !(cond); i_++) \
			suite_run(suite.step_dur_ns); \
		AWAIT((suite_run(0), (cond))); \
	} while (0)

#endif
