/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends of a datagram connection and a link between them that delays, loses, duplicates and reorders by a seed, in
 * virtual time. Each frame is known by its tag, and every report of an end is checked: a frame arrives at most once and
 * unchanged, an acked frame has arrived, no frame is reported twice. Thread: the test's.
 */
#ifndef TEST_DATAGRAM_PAIR_H
#define TEST_DATAGRAM_PAIR_H

#include "rnd.h"
#include "world/datagram.h"

#define PAIR_TAGS   20000u
#define PAIR_MS     INT64_C(1000000)
#define PAIR_FLIGHT 8192u

struct pair_frame {
	size_t len; /* of the body; at least 8 */
	bool came, acked, lost;
};

struct pair_end {
	struct pair *pair;
	struct datagram *d;
	struct pair_frame sent[PAIR_TAGS]; /* by tag, from 1 */
	uint32_t tags, came, acked, lost, segments, bursts;
	bool full; /* takes no frame */
};

struct pair_flight {
	int64_t at_mono_ns;
	unsigned to;
	size_t len; /* 0: a free place */
	uint8_t data[PACKET_MAX];
};

struct pair {
	struct pair_end end[2]; /* 0 the server, 1 the client */
	struct pair_flight flight[PAIR_FLIGHT];
	struct rnd rnd;
	int64_t now_mono_ns;
	unsigned loss_percent, double_percent;
	uint32_t delay_ms, jitter_ms;
};

/* making_max: of both ends. */
void pair_begin(struct pair *p, uint64_t seed, size_t making_max);
void pair_end(struct pair *p);
/* A frame of len bytes, which the tag decides. What datagram_send() returns. */
int pair_send(struct pair_end *e, size_t len);
/* One millisecond: due packets arrive, and those that either end has to send are sent. */
void pair_step(struct pair *p);
void pair_steps(struct pair *p, unsigned n);
/* Until both ends have heard of each other, over whatever link it is. */
void pair_meet(struct pair *p);

extern const uint8_t pair_keys[2][PACKET_KEY]; /* to the client; to the server */

#endif
