/* SPDX-License-Identifier: Apache-2.0 */
/* A peer on the control socket whose calls and offers are made by the test; it records everything that it receives. */
#ifndef SCENARIO_SERVICE_ACTOR_H
#define SCENARIO_SERVICE_ACTOR_H

#include "unit/control/peer.h"

#define TAGS_MAX    256
#define REPLIES_MAX 256
#define HELD_MAX    64

struct actor {
	struct desk *d;
	int fd; /* -1: it has vanished */
	struct varlink *v;
	bool cut_off; /* simd has closed the connection */

	unsigned n_replies; /* replies to calls without a tag, in the order of the calls */
	int reply[REPLIES_MAX];
	json_t *last; /* parameters of the last one; owned */

	unsigned answers[TAGS_MAX]; /* to tagged calls: how many each has got */
	int answer[TAGS_MAX];
	int64_t echo[TAGS_MAX]; /* "n" of the response */

	unsigned n_held; /* requests that it has been given and has not answered */
	struct {
		int64_t id, n;
	} held[HELD_MAX];
	unsigned requests, told; /* received so far: requests, "services" events */
};

/* Connects. name: also sends Hello and opens an Events stream; NULL: neither. */
void actor_open(struct desk *d, struct actor *a, const char *name);
void actor_vanish(struct actor *a); /* its connection closes; again is fine */
void actor_finish(struct actor *a);

/* Queue a call; params: JSON text. Nothing is waited for. */
void actor_post(struct actor *a, const char *method, const char *params);
/* Read the received messages. */
void actor_read(struct actor *a);
/* Post, and run until its reply is there: its result. */
int actor_ask(struct actor *a, const char *method, const char *params);

/* A service of type t/S. */
int actor_offer(struct actor *a, const char *name, int queue, int deadline_ms);
void actor_call(struct actor *a, const char *name, int tag, int n); /* tag -1: plain */
void actor_answer(struct actor *a, int r);                          /* the oldest that it holds */
void actor_answer_id(struct actor *a, int64_t id, int r, int64_t n);

#endif
