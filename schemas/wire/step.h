/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on the SEQPACKET socket that JoinStep hands to a participant of lock-step.
 *
 *   simd                         participant
 *   TURN (number, sim_ns)  ->                        its rank is on
 *                          <-    DONE (number, kept) it has acknowledged
 *   RELEASE (number)       ->                        only after kept > 0: all of its rank have acknowledged
 *                          <-    RELEASED (number)   what it had kept back is published
 *
 * Where TURN names several (`with`), DONE goes into the participant's wire_stepper of the dispatch page first, and only who then
 * finds all of them done there sends it: two may do so at once, and a client without data plane always does.
 *
 * A participant that waits in the library and not on the descriptor sends PAGE. From its next TURN on, which has STEP_ON_PAGE,
 * simd tells it of turns in the wire_turn of the layout page alone: one store and one wake for all of a rank. All else goes as
 * packets still. PACKETS ends that; the turn that was sent to it and that it has not acknowledged follows as a packet.
 *
 * Who finds that it is the last of a round behind which nothing is left to do (WIRE_TURN_ANSWERS) answers the driver in the wire_grant
 * instead of sending DONE, unless somebody keeps messages back or it has published for dispatch.
 *
 * Participants of a rank that has several (STEP_SHARED) keep back what they publish in their turn, so that none of
 * them sees the other's; simd releases them one after the other. Leaving is closing the socket.
 */
#ifndef WIRE_STEP_H
#define WIRE_STEP_H

#include <stdint.h>

enum step_op {
	STEP_TURN = 1,
	STEP_DONE = 2,
	STEP_RELEASE = 3,
	STEP_RELEASED = 4,
	STEP_DROPPED = 5, /* simd -> participant: it was late and is out; the socket closes */
	STEP_PAGE = 6,    /* participant -> simd: tell it of turns on the page */
	STEP_PACKETS = 7, /* participant -> simd: in packets again */
};

enum step_flag {
	STEP_SHARED = 1u << 0,  /* TURN: others of the same rank have their turn at the same time */
	STEP_ON_PAGE = 1u << 1, /* TURN: the next ones are on the page */
};

struct step_packet {
	uint32_t op;
	uint32_t flags;            /* enum step_flag */
	uint64_t number;           /* of the step, from 1 */
	int64_t sim_ns;            /* TURN: simulated time */
	int64_t dur_ns;            /* TURN: by how much it has moved */
	uint32_t kept;             /* DONE: messages kept back */
	uint32_t clock_generation; /* TURN */
	uint64_t with;     /* TURN: bit n: the participant with the wire_stepper n runs its step now; 0: send DONE */
	uint32_t stepper;  /* TURN: which is its own */
	uint32_t turn_seq; /* TURN: wire_turn::seq as it was sent: what has come since is still to be looked at */
};

_Static_assert(sizeof(struct step_packet) == 56, "step packets are wire ABI");

#endif
