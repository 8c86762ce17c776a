/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which messages of one step are dispatched on every host, wherever they come from: time of measurement, channel, host,
 * sequence. The last three are the same in each run. On one host it is that of one machine (sim/step.h).
 */
#ifndef LINK_STEP_ORDER_H
#define LINK_STEP_ORDER_H

#include <stdint.h>
#include <string.h>

struct step_key {
	int64_t stamp_sim_ns;
	const char *channel;
	uint64_t host;     /* its id, which is of its name */
	uint64_t sequence; /* of what it has exported on the channel */
};

/* As strcmp(). */
static inline int step_order(const struct step_key *a, const struct step_key *b)
{
	int c;

	if (a->stamp_sim_ns != b->stamp_sim_ns)
		return a->stamp_sim_ns < b->stamp_sim_ns ? -1 : 1;
	c = strcmp(a->channel, b->channel);
	if (!c)
		c = (a->host > b->host) - (a->host < b->host);
	return c ? c : (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

#endif
