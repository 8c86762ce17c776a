/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that cross interfaces: reasons, time sources, bridge states. X-macros keep each name, number and text together.
 * The numbers are ABI: append only.
 */
#ifndef SIM_TYPES_H
#define SIM_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SIM_API        __attribute__((visibility("default")))
#define SIM_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SIM_API
#define SIM_MUST_CHECK
#endif

/* clang-format off */
/* Why a message was refused, or completed with ok == false. Each publisher counts each reason. */
#define SIM_REASONS(X) \
	X(NONE,         0, "none",         "delivered") \
	X(PAUSED,       1, "paused",       "simulated time is paused") \
	X(TOKEN,        2, "token",        "the exclusive token is in use") \
	X(NO_CREDIT,    3, "no-credit",    "the channel's window is full") \
	X(TIMEOUT,      4, "timeout",      "no credit within dispatch.wait_ms") \
	X(NO_BRIDGE,    5, "no-bridge",    "no bridge carries the channel") \
	X(DISCONNECTED, 6, "disconnected", "the bridge is not connected") \
	X(BRIDGE_BUSY,  7, "bridge-busy",  "the bridge's queue is full") \
	X(FAILED,       8, "failed",       "the bridge could not convert or send it") \
	X(DEADLINE,     9, "deadline",     "the bridge did not answer in time") \
	X(BRIDGE_DIED, 10, "bridge-died",  "the bridge process ended while it had the message") \
	X(SHUTDOWN,    11, "shutdown",     "simd is shutting down") \
	X(RESTART,     12, "restart",      "the data plane was restarted") \
	X(LOST,        13, "lost",         "the connection to simd was lost") \
	X(POOL,        14, "pool",         "no free slot of that size") \
	X(INVALID,     15, "invalid",      "the slot failed simd's checks") \
	X(BRIDGE_SLOW, 16, "bridge-slow",  "the bridge has fallen behind and missed it") \
	X(MISSING,     17, "missing",      "it was published, and simd never found it")

enum sim_reason {
#define X(id, num, name, text) SIM_REASON_##id = num,
	SIM_REASONS(X)
#undef X
	SIM_REASON_COUNT = 18
};

#define SIM_TIME_SOURCES(X) \
	X(UNITY,      0, "unity") \
	X(SS2,        1, "ss2") \
	X(SYSTEM,     2, "system") \
	X(SIMULATION, 3, "simulation") \
	X(ROS2,       4, "ros2") \
	X(PLUGIN,     5, "plugin") \
	X(LINK,       6, "link")

enum sim_time_source {
#define X(id, num, name) SIM_SOURCE_##id = num,
	SIM_TIME_SOURCES(X)
#undef X
	SIM_SOURCE_COUNT = 7
};

/* States of a bridge, as in SVL's IBridgeInstance.Status. */
#define SIM_BRIDGE_STATUSES(X) \
	X(DISCONNECTED,              0, "disconnected") \
	X(UNEXPECTEDLY_DISCONNECTED, 1, "unexpectedly-disconnected") \
	X(CONNECTING,                2, "connecting") \
	X(CONNECTED,                 3, "connected") \
	X(DISCONNECTING,             4, "disconnecting")

enum sim_bridge_status {
#define X(id, num, name) SIM_BRIDGE_##id = num,
	SIM_BRIDGE_STATUSES(X)
#undef X
	SIM_BRIDGE_STATUS_COUNT = 5
};

/* clang-format on */

/* Names as in JSON and on screens; "?" for an unknown number. Static strings. */
SIM_API const char *sim_reason_name(enum sim_reason reason);
SIM_API const char *sim_reason_text(enum sim_reason reason);
SIM_API const char *sim_time_source_name(enum sim_time_source source);
SIM_API const char *sim_bridge_status_name(enum sim_bridge_status status);

/*
 * sim_strerror(): the text of a negative errno, as this library uses it. sim_why(): a sentence about the calling
 * thread's last failed call: what failed, where, and what to do; "" if no call has failed. Valid until the thread's
 * next call into the library.
 */
SIM_API const char *sim_strerror(int err);
SIM_API const char *sim_why(void);

#ifdef __cplusplus
}
#endif
#endif
