/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Events stream: changes that clients must know of at once. A listener that does not read is bounded by its
 * connection's output limit, which then closes the connection. Thread: simd-main.
 */
#ifndef REGISTRY_EVENT_H
#define REGISTRY_EVENT_H

#include "list.h"

#include <jansson.h>
#include <stdint.h>

struct simd;
struct varlink_text;

struct event_listener {
	struct list link; /* simd::listeners */
	/* borrows both; text may be NULL. May remove its own listener, but no other */
	void (*send)(void *arg, json_t *params, const struct varlink_text *text);
	void *arg;
};

void event_listen(struct simd *s, struct event_listener *l);
void event_unlisten(struct event_listener *l); /* A zeroed listener is fine. */

void event_dataplane(struct simd *s);
void event_clock_jump(struct simd *s, int64_t old_sim_ns, int64_t new_sim_ns, uint32_t generation);
/* The number of connected bridges that carry a channel has changed. */
void event_bridges(struct simd *s, const char *channel, uint32_t id);
/* The subscribers of a channel are to be replaced: their queues may be damaged. */
void event_renew(struct simd *s, const char *channel);
/* Some subscribers of a channel are to change the depth of their queues (queues.h). */
void event_queues(struct simd *s, const char *channel);
/* The set of services has changed. */
void event_services(struct simd *s);
void event_shutdown(struct simd *s);
/* The data plane's present state, for a listener that has just connected. New reference. */
json_t *event_dataplane_json(const struct simd *s);

#endif
