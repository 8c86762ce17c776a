/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which datagrams have arrived. Each side notes what it has received and reports it in each datagram that it sends: the
 * newest, and which of the 256 before it. The other side learns of each datagram that it has sent, once, whether it has
 * arrived or is lost, and how long the round trip takes. Nothing is retransmitted here. A datagram reported as arrived
 * has arrived; one reported as lost may still come. Thread: the owner's.
 */
#ifndef WORLD_ACK_H
#define WORLD_ACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACK_BEFORE     256u
#define ACK_BYTES      (8u + ACK_BEFORE / 8 + 4u)
#define ACK_LOST_AFTER 64u /* a datagram so far behind the newest one that has arrived counts as lost */
#define ACK_LOST_DUR_NS \
	INT64_C(1000000000) /* a datagram unanswered for so long counts as lost, while no round trip is known */
#define ACK_SLACK_DUR_NS  INT64_C(100000000) /* added to three round trips once they are known */
#define ACK_IN_FLIGHT_MAX 2048u

/* ---- received datagrams ---- */

struct ack_in {
	uint64_t newest; /* 0: none */
	int64_t newest_mono_ns;
	uint64_t before[ACK_BEFORE / 64]; /* bit i: newest - 1 - i */
};

void ack_received(struct ack_in *a, uint64_t sequence, int64_t now_mono_ns);
void ack_write(const struct ack_in *a, int64_t now_mono_ns, uint8_t out[ACK_BYTES]);

/* ---- sent datagrams ---- */

struct ack_sent {
	int64_t sent_mono_ns;
	uint64_t first; /* the owner's: its content, count items from first */
	uint32_t count;
	bool decided;
};

/* Called once for each datagram. Must not call functions of the same ack_out. */
typedef void (*ack_decided)(void *user, const struct ack_sent *sent, bool arrived);

struct ack_out {
	struct ack_sent *ring;        /* owned; sequence & (size - 1) */
	uint32_t size;                /* a power of two, or 0 */
	uint64_t first, oldest, next; /* sequences: all before oldest are decided */
	ack_decided decided;
	void *user;
	int64_t rtt_dur_ns[8]; /* the latest round trips */
	uint32_t rtt_n;        /* how many were measured so far */
	int64_t smooth_dur_ns;
};

/* first: sequence of the first datagram, not 0. */
void ack_out_init(struct ack_out *o, uint64_t first, ack_decided decided, void *user);
void ack_out_finish(struct ack_out *o); /* reports nothing */
/* Makes room for n more, at most ACK_IN_FLIGHT_MAX / 2; if all is taken the oldest count as lost. -ENOMEM. */
int ack_out_reserve(struct ack_out *o, uint32_t n) __attribute__((warn_unused_result));
/* Records that the next sequence goes out; there must be room. */
void ack_out_sent(struct ack_out *o, uint64_t first, uint32_t count, int64_t now_mono_ns);
/* Reads the other side's ack_write(). -EBADMSG: it acknowledges what was not sent; all of it is ignored. */
int ack_out_read(struct ack_out *o, const uint8_t in[ACK_BYTES], int64_t now_mono_ns)
	__attribute__((warn_unused_result));
/* Counts the oldest one in flight as lost. False: none is in flight. */
bool ack_out_drop(struct ack_out *o);
/*
 * Counts as lost what has been in flight for too long; returns when to call it next, INT64_MAX: nothing is in flight.
 */
int64_t ack_out_turn(struct ack_out *o, int64_t now_mono_ns);
/* The least of the latest eight; INT64_MAX: none is known yet. */
int64_t ack_rtt_least_dur_ns(const struct ack_out *o);

#endif
