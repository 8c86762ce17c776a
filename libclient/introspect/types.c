/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the words that cross interfaces, and the text of errors. Thread: any; no state of its own. */
#include <sim/client.h>
#include <sim/types.h>

#include <stddef.h>

#include "err.h"

const char *sim_reason_name(enum sim_reason reason)
{
	switch (reason) {
#define X(id, num, name, text) \
	case SIM_REASON_##id: \
		return name;
		SIM_REASONS(X)
#undef X
	case SIM_REASON_COUNT:
		break;
	}
	return "?";
}

const char *sim_reason_text(enum sim_reason reason)
{
	switch (reason) {
#define X(id, num, name, text) \
	case SIM_REASON_##id: \
		return text;
		SIM_REASONS(X)
#undef X
	case SIM_REASON_COUNT:
		break;
	}
	return "?";
}

const char *sim_time_source_name(enum sim_time_source source)
{
	switch (source) {
#define X(id, num, name) \
	case SIM_SOURCE_##id: \
		return name;
		SIM_TIME_SOURCES(X)
#undef X
	case SIM_SOURCE_COUNT:
		break;
	}
	return "?";
}

const char *sim_bridge_status_name(enum sim_bridge_status status)
{
	switch (status) {
#define X(id, num, name) \
	case SIM_BRIDGE_##id: \
		return name;
		SIM_BRIDGE_STATUSES(X)
#undef X
	case SIM_BRIDGE_STATUS_COUNT:
		break;
	}
	return "?";
}

const char *sim_strerror(int err)
{
	return err_text(err);
}

const char *sim_why(void)
{
	return err_why();
}

const char *sim_version(void)
{
	return SIM_VERSION;
}
