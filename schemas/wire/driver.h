/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on the SEQPACKET socket that AcquireDriver hands to the one client that drives time. The
 * driver asks for an advance and waits for the grant: simd answers when time may move (not while
 * paused) and never grants more than a step has left. Until it asks again nothing of what it publishes is refused by a pause.
 *
 * A driver that waits on the wire_grant of the dispatch page says so with its ADVANCE (DRIVER_ON_PAGE). If there is nothing to be done
 * at the end of its round, the last participant grants it there (WIRE_TURN_ANSWERS), and simd learns of it from the next request,
 * which names that round. Whatever simd answers is a packet as ever; that of a round which was granted already is of no account.
 */
#ifndef WIRE_DRIVER_H
#define WIRE_DRIVER_H

#include <stdint.h>

enum driver_op {
	DRIVER_ADVANCE = 1, /* driver -> simd: dur_ns asked for */
	DRIVER_GRANT = 2,   /* simd -> driver: dur_ns granted; sim_ns = time now */
	DRIVER_LOST = 3,    /* simd -> driver: the lease has ended (source switched); the socket closes */
	DRIVER_SET =
		4, /* driver -> simd: sim_ns is the time now: a jump when it goes back; where SIM_SOURCE_SET allows it */
	DRIVER_JUMP = 5,    /* driver -> simd: as DRIVER_SET, but always a jump: what was before does not go on */
	DRIVER_RELEASE = 6, /* driver -> simd: the lease ends as it should; no answer, the socket closes */
	DRIVER_FOLLOW = 7,  /* driver -> simd, a driver_follow_packet: how the clock goes that `link` follows */
};

enum driver_flag {
	DRIVER_ON_PAGE = 1u << 0, /* ADVANCE */
};

struct driver_packet {
	uint32_t op;
	int32_t result; /* GRANT: 0 or negative errno */
	int64_t dur_ns;
	int64_t sim_ns;
	int64_t scale_e6; /* GRANT: the requested scale, for pacing */
	uint64_t number;  /* GRANT: of the round that has ended, 0: none has; else of the last that was granted to it */
	uint32_t flags;   /* enum driver_flag */
	uint32_t reserved;
};

_Static_assert(sizeof(struct driver_packet) == 48, "driver packets are wire ABI");

enum driver_follow_flag {
	DRIVER_FOLLOW_JUMP = 1u << 0,   /* time does not go on from what was said before */
	DRIVER_FOLLOW_PAUSED = 1u << 1, /* that clock is paused */
	DRIVER_FOLLOW_STEPS =
		1u << 2, /* lock-step: time moves by DRIVER_ADVANCE; pause, scale and jumps are said here */
	DRIVER_FOLLOW_LOST = 1u << 3, /* that clock is not heard any more: time holds */
};

/* Answered by a GRANT as well. */
struct driver_follow_packet {
	uint32_t op;
	uint32_t flags;       /* enum driver_follow_flag */
	int64_t sim_ns;       /* simulated time ... */
	int64_t mono_ns;      /* ... at this moment of CLOCK_MONOTONIC here */
	int64_t rate_e6;      /* and from there on, millionths; 0: it stands */
	int64_t scale_e6;     /* the requested scale, which is kept in a pause */
	int64_t error_dur_ns; /* sim_ns may be wrong by that, at most */
	uint64_t number;      /* as of a driver_packet */
};

_Static_assert(sizeof(struct driver_follow_packet) == 56, "driver packets are wire ABI");

#endif
