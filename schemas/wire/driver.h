/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on the SEQPACKET socket that AcquireDriver hands to the one client that drives time. The driver asks for an
 * advance and waits for the grant: simd answers when time may move (not while paused) and never grants more than a step
 * has left. Until the driver asks again, a pause does not refuse any of its messages.
 *
 * A driver that waits on the wire_grant of the dispatch page sets DRIVER_ON_PAGE in its ADVANCE. If nothing is left to
 * do at the end of its round, the last participant grants it there (WIRE_TURN_ANSWERS), and simd learns of it from the
 * next request, which names that round. simd itself always answers with a packet; its answer to a round that was
 * already granted is ignored.
 */
#ifndef WIRE_DRIVER_H
#define WIRE_DRIVER_H

#include <stdint.h>

enum driver_op {
	DRIVER_ADVANCE = 1, /* driver -> simd: dur_ns: how far to advance */
	DRIVER_GRANT = 2,   /* simd -> driver: dur_ns granted; sim_ns = time now */
	DRIVER_LOST = 3,    /* simd -> driver: the lease has ended (source switched); the socket closes */
	DRIVER_SET = 4,  /* driver -> simd: sim_ns is the time now: a jump if it goes back; allowed by SIM_SOURCE_SET */
	DRIVER_JUMP = 5, /* driver -> simd: as DRIVER_SET, but always a jump: time does not continue from before */
	DRIVER_RELEASE = 6, /* driver -> simd: releases the lease; no answer, the socket closes */
	DRIVER_FOLLOW = 7,  /* driver -> simd, a driver_follow_packet: the state of the clock that `link` follows */
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
	/* GRANT: the round that has ended, 0: none; in requests: the last round that was granted to the driver */
	uint64_t number;
	uint32_t flags; /* enum driver_flag */
	uint32_t reserved;
};

_Static_assert(sizeof(struct driver_packet) == 48, "driver packets are wire ABI");

enum driver_follow_flag {
	DRIVER_FOLLOW_JUMP = 1u << 0,   /* time does not continue from the last report */
	DRIVER_FOLLOW_PAUSED = 1u << 1, /* the followed clock is paused */
	/* lock-step: time moves by DRIVER_ADVANCE; this reports pause, scale and jumps */
	DRIVER_FOLLOW_STEPS = 1u << 2,
	DRIVER_FOLLOW_LOST = 1u << 3, /* the followed clock is lost: time stands */
};

/* Also answered by a GRANT. */
struct driver_follow_packet {
	uint32_t op;
	uint32_t flags;       /* enum driver_follow_flag */
	int64_t sim_ns;       /* simulated time ... */
	int64_t mono_ns;      /* ... at this moment of CLOCK_MONOTONIC here */
	int64_t rate_e6;      /* and from there on, millionths; 0: stopped */
	int64_t scale_e6;     /* the requested scale, kept in a pause */
	int64_t error_dur_ns; /* error bound of sim_ns */
	uint64_t number;      /* as in driver_packet */
};

_Static_assert(sizeof(struct driver_follow_packet) == 56, "driver packets are wire ABI");

#endif
