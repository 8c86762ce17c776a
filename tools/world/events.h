/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator reads of a world's clients: in the log, and in the input log where there is one. A client that comes and goes as fast as it can fills
 * neither: of each kind 20 lines in a second, and the next one says how many were held back.
 * Thread: that of the ticks.
 */
#ifndef WORLD_EVENTS_H
#define WORLD_EVENTS_H

#include "input_log.h"
#include "log.h"
#include "world.h"

#define EVENTS_KINDS (WORLD_PAUSED + 1)
#define EVENTS_LIMIT LOG_LIMIT(INT64_C(1000000000), 20)

struct events {
	struct input_log *input_log; /* NULL: there is none. Kept */
	struct log_limit limits[EVENTS_KINDS];
};

void events_init(struct events *e, struct input_log *input_log);
/* A sentence as of world_event_fn. */
void events_take(struct events *e, enum world_event what, uint32_t connection, const char *name, const char *sentence,
		 int64_t now_mono_ns);

#endif
