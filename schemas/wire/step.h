/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on the SEQPACKET socket that JoinStep hands to a participant of lock-step.
 *
 *   simd                         participant
 *   TURN (number, sim_ns)  ->                        the turn of its rank begins
 *                          <-    DONE (number, kept) it has acknowledged
 *   RELEASE (number)       ->                        only after kept > 0: all of its rank have acknowledged
 *                          <-    RELEASED (number)   what it had kept back is published
 *
 * If several participants share a TURN (`with`), DONE is first written to the participant's wire_stepper of the
 * dispatch page, and only a participant that then finds all of them done sends it: two may do so at once, and a client
 * without data plane always does.
 *
 * A participant that waits in the library, not on the descriptor, sends PAGE. From its next TURN on, which has
 * STEP_ON_PAGE, simd announces its turns only in the wire_turn of the layout page: one store and one wake for a whole
 * rank. Everything else still goes as packets. PACKETS ends that; a turn that was announced to it and that it has not
 * acknowledged follows as a packet.
 *
 * If nothing is left to do after a round (WIRE_TURN_ANSWERS), its last participant answers the driver in the wire_grant
 * instead of sending DONE, unless a participant keeps messages back or it has published for dispatch itself.
 *
 * Participants of a rank that has several (STEP_SHARED) keep back what they publish in their turn, so that none of them
 * sees another's messages; simd releases them one after the other. A participant leaves by closing the socket.
 */
#ifndef WIRE_STEP_H
#define WIRE_STEP_H

#include <stdint.h>

enum step_op {
	STEP_TURN = 1,
	STEP_DONE = 2,
	STEP_RELEASE = 3,
	STEP_RELEASED = 4,
	STEP_DROPPED = 5, /* simd -> participant: it was late and was dropped; the socket closes */
	STEP_PAGE = 6,    /* participant -> simd: announce turns on the page */
	STEP_PACKETS = 7, /* participant -> simd: as packets again */
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
	int64_t dur_ns;            /* TURN: how far time has moved */
	uint32_t kept;             /* DONE: messages kept back */
	uint32_t clock_generation; /* TURN */
	uint64_t with;             /* TURN: bit n: the participant with wire_stepper n runs this turn; 0: send DONE */
	uint32_t stepper;          /* TURN: its own wire_stepper */
	uint32_t turn_seq;         /* TURN: wire_turn::seq when it was sent: later changes are still to be read */
};

_Static_assert(sizeof(struct step_packet) == 56, "step packets are wire ABI");

#endif
