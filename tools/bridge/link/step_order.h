/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a step are dispatched on every host in the order (stamp, channel, host, sequence), wherever they come from. They are
 * published in the order of the last three, which are the same in each run: so subscribers, and the sequence that a message gets
 * here, have the order in which the origin published, as on one machine. simd sorts by the stamp what it dispatches (sim/step.h).
 */
#ifndef LINK_STEP_ORDER_H
#define LINK_STEP_ORDER_H

#include <stdint.h>
#include <string.h>

struct step_key {
	const char *channel;
	uint64_t host;     /* its id, which is of its name */
	uint64_t sequence; /* of what it has exported on the channel */
};

/* As strcmp(). */
static inline int step_order(const struct step_key *a, const struct step_key *b)
{
	int c = strcmp(a->channel, b->channel);

	if (!c)
		c = (a->host > b->host) - (a->host < b->host);
	return c ? c : (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

#endif
