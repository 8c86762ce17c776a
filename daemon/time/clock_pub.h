/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink that publishes ticks into the data plane: one slot with a sim/Clock per tick, latched for late subscribers,
 * and counted like any publisher's. Each generation of the data plane needs a new one:
 *
 *     clock_thread_set_sink(t, NULL); clock_pub_destroy(old);
 *     clock_pub_create(&o, &p, &sink); clock_thread_set_sink(t, &sink);
 *
 * Thread: created and destroyed by the owner, used by the clock thread.
 */
#ifndef TIME_CLOCK_PUB_H
#define TIME_CLOCK_PUB_H

#include "ipc.h"
#include "clock_thread.h"
#include "wire/pages.h"

struct clock_pub;

struct clock_pub_options {
	struct ipc *ipc;     /* borrowed until destroy */
	const char *channel; /* full name; borrowed */
	uint32_t channel_id, publisher_id, iox_generation;
	/*
	 * borrowed until destroy; the row in simd's own counter page, with publisher_id set by the owner; may be NULL
	 */
	struct wire_counters *row;
	/* number of the last message in the previous generation: numbering continues after it; 0: none */
	uint64_t sequence;
};

/* Errors: those of ipc_pub_create(). */
int clock_pub_create(const struct clock_pub_options *o, struct clock_pub **ret, struct clock_sink *ret_sink);
void clock_pub_destroy(struct clock_pub *p); /* to be called after another sink was set; NULL is fine */
uint64_t clock_pub_sequence(const struct clock_pub *p);

#endif
