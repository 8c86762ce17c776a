/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publisher as the read-back sees it: sim_loan(), sim_unloan() and sim_why() of this test program, over memory of its own. One at a time.
 * Thread: the test's.
 */
#ifndef UNIT_READBACK_SLOTS_H
#define UNIT_READBACK_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/publisher.h>

struct slots {
	unsigned out; /* loans */
	size_t max_body;
	uint32_t generation;
	int error; /* of the next loans; 0: none */
	int64_t now_sim_ns;
	struct sim_slot *slot[8];
	bool owned[8];  /* of slot[]: not of an arena */
	uint8_t *arena; /* loans lie there, slots_arena() apart; NULL: anywhere */
};

/* Bytes of an arena, and of one loan in it. */
size_t slots_arena(const struct slots *s, size_t *ret_one);
struct sim_publisher *slots_publisher(struct slots *s);
/* As when the publisher is destroyed: loans go back. */
void slots_finish(struct slots *s);

#endif
