/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite of stream.h and listener.h, compiled for each transport of a stream: a port, a path, TLS and the virtual network. Two streams of one thread, in virtual time; what differs is in the fixture, never in a test.
 */
#ifndef STREAM_SUITE_H
#define STREAM_SUITE_H

#include "listener.h"

struct suite {
	/* address of the listener; NULL: a path, to which the suite connects by hand, and adopts the connection */
	const char *host;
	int64_t step_dur_ns; /* virtual time per check while waiting; 0: bytes need no time */
	/* Around each test; may be NULL. */
	void (*begin)(struct exec *x);
	void (*end)(void);
	/* Called for the dialled stream and the accepted one. NULL: bytes are plain. */
	void (*protect)(struct stream *s, bool server);
};

extern const struct suite suite;

/* An end of the connection, as seen by its owner. */
struct end {
	struct stream *s;
	size_t n;   /* bytes received, in order of pattern() */
	size_t use; /* bytes to use at a time; 0: all */
	bool shy;   /* pauses itself in take() */
	bool vain;  /* destroys itself in ended() */
	int n_opened, n_room, n_ended, error;
	char why[STREAM_WHY_MAX];
};

extern struct exec *suite_x;
extern struct end suite_near, suite_far; /* the dialling end, the accepting end */

int suite_set_up(void **state);    /* a listener without a connection */
int suite_connected(void **state); /* with a connection */
int suite_tear_down(void **state);
/* Writes what the stream takes of the following bytes, at most `most`; returns the new position. */
size_t suite_say(const struct end *e, size_t from, size_t most);
/* Makes the near end dial the listener, or another port, without waiting. */
void suite_dial(void);
void suite_dial_at(unsigned port);
unsigned suite_port(void);
void suite_run(int64_t dur_ns);

/* Runs the loop until cond holds; time advances as far as bytes need it. */
#define UNTIL(cond) \
	do { \
		for (int i_ = 0; suite.step_dur_ns && i_ < 1000000 && !(cond); i_++) \
			suite_run(suite.step_dur_ns); \
		AWAIT((suite_run(0), (cond))); \
	} while (0)

#endif
