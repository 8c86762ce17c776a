/* SPDX-License-Identifier: Apache-2.0 */
/* Names of enum values used on interfaces. Thread: any; no state of its own. */
#include <sim/types.h>

#define NAME(id, num, name, ...)  [num] = (name),
#define TEXT(id, num, name, text) [num] = (text),
static const char *const reason_names[] = { SIM_REASONS(NAME) };
static const char *const reason_texts[] = { SIM_REASONS(TEXT) };
static const char *const source_names[] = { SIM_TIME_SOURCES(NAME) };
static const char *const status_names[] = { SIM_BRIDGE_STATUSES(NAME) };
#define LOOK_UP(table, i) \
	((unsigned)(i) < sizeof(table) / sizeof(*(table)) && (table)[(unsigned)(i)] ? (table)[(unsigned)(i)] : "?")

const char *sim_reason_name(enum sim_reason reason)
{
	return LOOK_UP(reason_names, reason);
}

const char *sim_reason_text(enum sim_reason reason)
{
	return LOOK_UP(reason_texts, reason);
}

const char *sim_time_source_name(enum sim_time_source source)
{
	return LOOK_UP(source_names, source);
}

const char *sim_bridge_status_name(enum sim_bridge_status status)
{
	return LOOK_UP(status_names, status);
}
