/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which datagrams have arrived. One side notes what it has received and says so in each datagram that it sends: the newest, and which of the 256 before
 * it. The other side learns of each that it has sent, once, whether it has arrived or is lost, and how long the round trip takes. Nothing is
 * sent again here. What is reported as arrived has been; what is reported as lost may come yet. Thread: the owner's.
 */
#ifndef WORLD_ACK_H
#define WORLD_ACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACK_BEFORE     256u
#define ACK_BYTES      (8u + ACK_BEFORE / 8 + 4u)
#define ACK_LOST_AFTER 64u /* so far behind the newest that has arrived, it is lost */
#define ACK_LOST_DUR_NS \
	INT64_C(1000000000) /* unanswered for so long, it is lost; this is before a round trip is known */
#define ACK_SLACK_DUR_NS  INT64_C(100000000) /* and this is added to three round trips then */
#define ACK_IN_FLIGHT_MAX 2048u

/* ---- what has been received ---- */

struct ack_in {
	uint64_t newest; /* 0: none */
	int64_t newest_mono_ns;
	uint64_t before[ACK_BEFORE / 64]; /* bit i: newest - 1 - i */
};

void ack_received(struct ack_in *a, uint64_t sequence, int64_t now_mono_ns);
void ack_write(const struct ack_in *a, int64_t now_mono_ns, uint8_t out[ACK_BYTES]);

/* ---- what has been sent ---- */

struct ack_sent {
	int64_t sent_mono_ns;
	uint64_t first; /* the owner's: what was in it, count from first */
	uint32_t count;
	bool decided;
};

/* Of each datagram once. Calls nothing of its ack_out. */
typedef void (*ack_decided)(void *user, const struct ack_sent *sent, bool arrived);

struct ack_out {
	struct ack_sent *ring;        /* owned; sequence & (size - 1) */
	uint32_t size;                /* a power of two, or 0 */
	uint64_t first, oldest, next; /* sequences: all before oldest are decided */
	ack_decided decided;
	void *user;
	int64_t rtt_dur_ns[8]; /* the newest round trips */
	uint32_t rtt_n;        /* of them, ever */
	int64_t smooth_dur_ns;
};

/* first: sequence of what is sent first, not 0. */
void ack_out_init(struct ack_out *o, uint64_t first, ack_decided decided, void *user);
void ack_out_finish(struct ack_out *o); /* decides nothing */
/* Room for n more, at most ACK_IN_FLIGHT_MAX / 2; where all is taken the oldest count as lost. -ENOMEM. */
int ack_out_reserve(struct ack_out *o, uint32_t n) __attribute__((warn_unused_result));
/* The next sequence goes out, for which there is room. */
void ack_out_sent(struct ack_out *o, uint64_t first, uint32_t count, int64_t now_mono_ns);
/* What ack_write() wrote at the other side. -EBADMSG: it says that what was not sent has arrived; nothing of it counts. */
int ack_out_read(struct ack_out *o, const uint8_t in[ACK_BYTES], int64_t now_mono_ns)
	__attribute__((warn_unused_result));
/* Counts the oldest one in flight as lost. False: there is none. */
bool ack_out_drop(struct ack_out *o);
/* Counts as lost what has been in flight for too long; returns when the next one will have been, INT64_MAX: none. */
int64_t ack_out_turn(struct ack_out *o, int64_t now_mono_ns);
/* Of the newest eight the least; INT64_MAX: none is known yet. */
int64_t ack_rtt_least_dur_ns(const struct ack_out *o);

#endif
