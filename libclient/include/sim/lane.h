/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bridge side of dispatch, used by simbridge: attach to simd under the name of a configured
 * bridge, open lanes, receive tasks (slots in place) and answer them. Sensors never need this.
 *
 * Thread: one thread per lane; sim_bridge_session_* from one thread (the one that owns lane 0's control packets).
 */
#ifndef SIM_LANE_H
#define SIM_LANE_H

#include <sim/client.h>
#include <sim/introspect.h>
#include <sim/slot.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_bridge_session;
struct sim_lane;

/* What a lane delivers. */
struct sim_delivery {
	uint64_t id;                /* to be passed to sim_lane_done() */
	struct sim_message message; /* its body in place, held by simd until DONE */
	uint32_t channel_id;
};

/*
 * Lock-step: the place of a delivery in the one order, over all lanes, in which a bridge writes. A delivery is written
 * as soon as its predecessor has been, whether that succeeded or not. predecessor 0: at once, and everything received
 * earlier counts as written.
 * A bridge counts the lanes that it loses, or closes without SIM_LANE_CLOSE. ticket >> SIM_LANE_ROW_SHIFT is that count
 * when simd gave the ticket out; a ticket with a lower count than now does not wait, as its predecessor may never come.
 */
struct sim_lane_ticket {
	uint64_t ticket, predecessor;
};
#define SIM_LANE_ROW_SHIFT 40

enum sim_lane_event {
	SIM_LANE_DELIVER = 1, /* deliveries[0..count) */
	SIM_LANE_CHANNEL = 2, /* text: JSON {"id","name","type","options"} */
	SIM_LANE_OPEN = 3,    /* lane: another lane, owned by the caller */
	SIM_LANE_CLOSE = 4,   /* answer the deliveries received so far, then sim_lane_destroy() */
	SIM_LANE_CONNECT = 5, /* text: connection string */
	SIM_LANE_DISCONNECT = 6,
	SIM_LANE_GONE = 7,  /* disconnected from simd: finish, then wait until the session is back */
	SIM_LANE_FLUSH = 8, /* lock-step: flush buffered output in its order: tickets[0]. count 0: lock-step is over */
};

struct sim_lane_packet {
	enum sim_lane_event event;
	unsigned count;
	struct sim_delivery deliveries[64];
	struct sim_lane *lane;
	char *text; /* NUL-terminated; borrows until the next receive on this lane */
	/*
	 * One for each delivery, borrowed likewise; NULL: not in lock-step. In lock-step a delivery whose slot cannot
	 * be read is handed out too: its body is NULL, and it is already answered.
	 */
	const struct sim_lane_ticket *tickets;
};

/*
 * Attaches as the bridge `name` of the configuration. Blocks up to 5 s. *ret_config_json (free()) is
 * {"name","plugin","connection","options"}.
 * Errors: -ENOENT no such bridge in the rig, -EBUSY another process is attached as this bridge; as sim_connect().
 */
SIM_API SIM_MUST_CHECK int sim_bridge_attach(struct sim_client *c, const char *name, char **ret_config_json,
					     struct sim_bridge_session **ret, struct sim_lane **ret_lane0);
SIM_API void sim_bridge_session_destroy(struct sim_bridge_session *s);

/*
 * Receives the next packet; waits up to timeout_ms (-1: for ever). Returns: 1 a packet, 0 timed out, -EPIPE the lane is
 * closed, -EBADMSG a malformed packet (logged by the caller; the lane is then closed).
 */
SIM_API SIM_MUST_CHECK int sim_lane_recv(struct sim_lane *l, int timeout_ms, struct sim_lane_packet *ret);
SIM_API int sim_lane_fd(const struct sim_lane *l);

struct sim_lane_result {
	uint64_t id;
	int32_t result; /* 0, negative errno, or SIM_LANE_NOT_CARRIED */
	uint32_t service_us;
};
/* The bridge refuses the channel: its delivery counts neither as sent nor as failed. */
#define SIM_LANE_NOT_CARRIED INT32_MIN

/* Answers up to 64 deliveries in one packet. Any thread. */
SIM_API int sim_lane_done(struct sim_lane *l, const struct sim_lane_result *r, unsigned count);
/* Reports status and totals (lane 0). Any thread. */
SIM_API int sim_lane_status(struct sim_lane *lane0, enum sim_bridge_status status, uint64_t sent, uint64_t failed,
			    uint64_t dropped, uint64_t bytes, const char *detail);
/* Set them before the first sim_lane_status(), which sends them. */
enum sim_lane_flag {
	/* producers wait for the bridge while it answers, unless the rig sets otherwise */
	SIM_LANE_KEEPS_DATA = 1u << 0,
};
SIM_API void sim_lane_set_flags(struct sim_lane *lane0, unsigned flags);
/*
 * Reports whether the bridge carries a channel that a SIM_LANE_CHANNEL announced: on that lane, before its deliveries
 * are answered; again, on any lane, when that changes. result 0: carried, as `name` of `type` at the far side (NULL:
 * not known); negative errno: refused, `name` is the reason, and simd sends no more of the channel until 0 is reported.
 * Only if the configuration that sim_bridge_attach() returned has "reports_channels": true. Any thread.
 * Returns: 0, -EINVAL, -EPIPE the lane is closed, -EAGAIN simd does not read it.
 */
SIM_API int sim_lane_carries(struct sim_lane *l, uint32_t channel_id, int result, const char *name, const char *type);
SIM_API void sim_lane_destroy(struct sim_lane *l);

#ifdef __cplusplus
}
#endif
#endif
