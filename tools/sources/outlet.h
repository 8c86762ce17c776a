/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel that a source publishes, with counters of its messages. If no bridge carries the channel, its messages go
 * only to local subscribers; otherwise they are queued for dispatch. Thread: main; completions on the library's thread,
 * which only counts them.
 */
#ifndef SOURCES_OUTLET_H
#define SOURCES_OUTLET_H

#include <stdatomic.h>
#include <stdint.h>

#include <sim/publisher.h>

struct outlet {
	const char *name;
	struct sim_publisher *pub;
	uint64_t published;    /* accepted by the library, or given to local subscribers */
	uint64_t refused;      /* refused by the library: paused, no slot, no simd */
	_Atomic uint64_t done; /* completions: taken by every bridge */
	_Atomic uint64_t failed;
};

/*
 * Publish a message that was filled in place; size: its bytes, 0: it did not fit. Takes ownership of the slot. token:
 * exclusive; NULL: none. Errors: -EMSGSIZE, those of sim_publish_local() and sim_try_queue().
 */
int outlet_send(struct outlet *o, struct sim_slot *slot, size_t size, struct sim_token *token);
/* Count a message; r: 0, or the error why there is none. The first refusal is logged, unless its cause is temporary. */
void outlet_count(struct outlet *o, int r);
void outlet_report(const struct outlet *o); /* logs the counters */

/* The text of the library's last error; without one, that of r. */
const char *source_why(int r);

#endif
