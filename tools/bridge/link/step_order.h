/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the messages of a step, the same on every host: (stamp, channel, host, sequence). Messages are published
 * in the order of the last three, which do not change from run to run, so subscribers and the sequence that a message
 * gets here follow the order of the publisher, as on one machine. simd sorts by stamp when it dispatches (sim/step.h).
 */
#ifndef LINK_STEP_ORDER_H
#define LINK_STEP_ORDER_H

#include <stdint.h>
#include <string.h>

struct step_key {
	const char *channel;
	uint64_t host;     /* its ID, derived from its name */
	uint64_t sequence; /* number that the exporting host gave it on the channel */
};

/* Compares like strcmp(). */
static inline int step_order(const struct step_key *a, const struct step_key *b)
{
	int c = strcmp(a->channel, b->channel);

	if (!c)
		c = (a->host > b->host) - (a->host < b->host);
	return c ? c : (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

#endif
