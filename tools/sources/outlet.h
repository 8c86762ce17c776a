/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel that a source publishes, and what became of its messages. One that no bridge carries goes to local subscribers only; else
 * it is queued for dispatch. Thread: main; completions on the library's, they only count.
 */
#ifndef SOURCES_OUTLET_H
#define SOURCES_OUTLET_H

#include <stdatomic.h>
#include <stdint.h>

#include <sim/publisher.h>

struct outlet {
	const char *name;
	struct sim_publisher *pub;
	uint64_t published;    /* accepted, or given to local subscribers */
	uint64_t refused;      /* by the library: paused, no slot, no simd */
	_Atomic uint64_t done; /* completions: every bridge took it */
	_Atomic uint64_t failed;
};

/*
 * End a message that was filled in place: `size` bytes of it, 0: it did not fit. Takes the slot. token: exclusive, NULL: none.
 * Errors: -EMSGSIZE, those of sim_publish_local(), sim_try_queue().
 */
int outlet_send(struct outlet *o, struct sim_slot *slot, size_t size, struct sim_token *token);
/* Count it, r: 0, or why there was no message. The first refusal is logged, unless it is one that passes. */
void outlet_count(struct outlet *o, int r);
void outlet_report(const struct outlet *o); /* the counters to the log */

/* The sentence for an error of the library. */
const char *source_why(int r);

#endif
