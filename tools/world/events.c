/* SPDX-License-Identifier: Apache-2.0 */
/* See events.h. */
#include "events.h"

#include <stdio.h>

LOG_TOPIC("world");

static const struct {
	enum log_level level;
	const char *text;
} how[EVENTS_KINDS] = {
	[WORLD_CAME] = { LOG_LEVEL_INFO, "connected" },  [WORLD_LEFT] = { LOG_LEVEL_INFO, "disconnected" },
	[WORLD_REFUSED] = { LOG_LEVEL_WARN, "refused" }, [WORLD_LATE] = { LOG_LEVEL_WARN, "late" },
	[WORLD_IN_TIME] = { LOG_LEVEL_INFO, "in time" }, [WORLD_PAUSED] = { LOG_LEVEL_INFO, "paused" }
};

void events_init(struct events *e, struct input_log *input_log)
{
	e->input_log = input_log;
	for (unsigned i = 0; i < EVENTS_KINDS; i++)
		e->limits[i] = (struct log_limit)EVENTS_LIMIT;
}

void events_take(struct events *e, enum world_event what, uint32_t connection, const char *name, const char *sentence,
		 int64_t now_mono_ns)
{
	char text[400];
	uint64_t held;

	if (!log_limit_pass(&e->limits[what], now_mono_ns, &held))
		return;
	if (held)
		snprintf(text, sizeof(text), "%s (%llu more like it before)", sentence, (unsigned long long)held);
	else
		snprintf(text, sizeof(text), "%s", sentence);
	if (e->input_log)
		input_log_event(e->input_log, what, connection, name, text);
	log_at(how[what].level, "client %u %s: %s: %s", connection, *name ? name : "(no name)", how[what].text, text);
}
