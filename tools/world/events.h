/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs events of a world's clients for the operator, also into the input log, if there is one. Limited to 20 lines a
 * second of each kind, so that clients that connect and leave quickly cannot flood it; the next line says how many were
 * suppressed. Thread: that of the ticks.
 */
#ifndef WORLD_EVENTS_H
#define WORLD_EVENTS_H

#include "input_log.h"
#include "log.h"
#include "world.h"

#define EVENTS_KINDS (WORLD_PAUSED + 1)
#define EVENTS_LIMIT LOG_LIMIT(INT64_C(1000000000), 20)

struct events {
	struct input_log *input_log; /* borrowed; NULL: none */
	struct log_limit limits[EVENTS_KINDS];
};

void events_init(struct events *e, struct input_log *input_log);
/* Logs an event; arguments as for world_event_fn. */
void events_take(struct events *e, enum world_event what, uint32_t connection, const char *name, const char *sentence,
		 int64_t now_mono_ns);

#endif
