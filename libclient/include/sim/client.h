/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client: one connection of this process to simd. Everything else in this library hangs off it.
 *
 * The library keeps one thread of its own, "sim-io": it reads the control socket, runs completion
 * callbacks, and brings the client back when simd or the data plane was restarted: publishers,
 * subscribers, tokens and the driver lease are registered again under the handles the program
 * already holds. With SIM_CLIENT_NO_THREAD there is no such thread: the program polls
 * sim_client_fd() and calls sim_process(), and callbacks run inside that.
 *
 * Thread:  a client may be used from any thread. A publisher or subscriber is used by one thread at
 *          a time (a second one inside gets -EBUSY). Destroy handles before their client.
 * Fork:    a forked child cannot use the handles (-EPERM), and may connect for itself; posix_spawn or exec are fine.
 * Number:  any, one after the other. 11 clients of a process at a time that use the data plane (15 with
 *          GLIBC_TUNABLES=glibc.rtld.nns=16 in its environment), of which each restart of the data plane uses up those there are.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_client;

enum sim_client_flag {
	SIM_CLIENT_NO_THREAD = 1u << 0,   /* no sim-io thread: the program calls sim_process() */
	SIM_CLIENT_NO_DATA = 1u << 1,     /* control only (no data plane is attached): for tools */
	SIM_CLIENT_NO_PREFAULT = 1u << 2, /* do not map slots before they are used: the first messages are slower */
	SIM_CLIENT_BRIDGE = 1u << 3,      /* simbridge: `name` is the bridge's name in the rig; see sim/lane.h */
	SIM_CLIENT_SOURCE = 1u << 4,      /* shown as a source: a process that drives or feeds simd */
};

/*
 * Each struct of options, here and in the other headers, says its own size, so that later versions can have more members. A program
 * that was built with older headers is served as if it had set the new ones to 0. One with newer headers is served where it leaves
 * at 0 what this library does not have; else -E2BIG.
 */
struct sim_client_options {
	size_t size;      /* sizeof(struct sim_client_options) of the caller */
	const char *name; /* 1..40 characters of [A-Za-z0-9_.-], shown by simctl; need not be unique; borrows */
	/* simd's control socket; NULL: $SIMD_SOCKET, else the first there is of /run/simd/control, $XDG_RUNTIME_DIR/simd/control */
	const char *socket;
	unsigned flags; /* enum sim_client_flag */
	int timeout_ms; /* bound on the connect; 0: 5000 */
};

enum sim_client_state {
	SIM_CLIENT_CONNECTED = 0,
	SIM_CLIENT_RECONNECTING = 1, /* disconnected from simd; the library tries again with back-off (10 ms .. 1 s) */
	SIM_CLIENT_REATTACHING = 2,  /* the data plane was restarted; handles answer -ESTALE for a moment */
	SIM_CLIENT_FAILED =
		3, /* for good (attachments used up, access refused): sim_client_why() explains what to do */
};

/*
 * Connect and attach. Blocks up to timeout_ms.
 * Returns: 0; -ENOENT no simd (no socket there), -ENOTSOCK something else is there, -ECONNREFUSED nobody listens on it, -EACCES this
 *          user is not in simd's group, which may be any of the user's groups: sim_why() has the remedy,
 *          -EPROTO simd speaks another version, -ETIMEDOUT, -EINVAL name; data-plane errors as in
 *          sim_why(). Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_connect(const struct sim_client_options *o, struct sim_client **ret);

/*
 * Wait until every message of this client that was accepted (sim_try_queue() and its copies) before the call has completed,
 * well or badly, and its callback has returned; messages that are accepted meanwhile are not waited for. Best before
 * sim_disconnect(), which waits for nobody. Without sim-io thread callbacks run in here, as in sim_process().
 *
 * timeout_dur_ns  of wall time; 0: only look; negative: for ever
 * Thread:  any but in a callback.
 * Returns: 0; -ETIMEDOUT some are outstanding still; -ENOTCONN disconnected from simd, now or meanwhile: what it had not completed
 *          has ended as SIM_REASON_LOST; -EDEADLK in a callback, or in lock-step in the caller's own turn or by
 *          the driver: nothing completes before that ends; -EPERM after a fork; -EINVAL no client. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_flush(struct sim_client *c, int64_t timeout_dur_ns);

/*
 * Say that this client has made its publishers and subscribers: where a rig names it in wait_for (simd.json(5)), time need not wait
 * for it any longer. sim_step_join() says so too. The library repeats it when simd was away.
 *
 * Thread:  any but in a callback.
 * Returns: 0, also while simd is away; -EPERM after a fork; -EINVAL no client; else simd's error. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_client_ready(struct sim_client *c);

/* Close: every outstanding completion runs with false (SIM_REASON_LOST) before it returns, though simd still delivers what
 * it has accepted: sim_flush() first waits for that. NULL is fine. Not from a callback. */
SIM_API void sim_disconnect(struct sim_client *c);

SIM_API enum sim_client_state sim_client_state(const struct sim_client *c);
/* Sentence for FAILED and RECONNECTING; static or owned by c. */
SIM_API const char *sim_client_why(const struct sim_client *c);

/*
 * The full name of a channel or service, as simd makes it: the rig's prefix before one without a leading slash. size: room at ret,
 * SIM_CHANNEL_MAX + 1 is enough.
 * Returns: 0; -EINVAL no name, or not one that simd takes; -ENAMETOOLONG with its prefix; -ENOTCONN disconnected from simd; -ENOBUFS size.
 */
SIM_API SIM_MUST_CHECK int sim_channel_full_name(struct sim_client *c, const char *channel, char *ret, size_t size);

/* Descriptor that is readable when sim_process() has work; poll only. Valid until sim_disconnect(). */
SIM_API int sim_client_fd(const struct sim_client *c);
/*
 * Do pending work without blocking: control messages, completions, reconnects. Returns how many
 * callbacks ran, or -EBUSY when the client has its own thread.
 */
SIM_API int sim_process(struct sim_client *c);

/* Call a control method with JSON parameters; returns its reply as JSON (free with free()). Blocks up to 5 s. For tools. */
SIM_API SIM_MUST_CHECK int sim_call(struct sim_client *c, const char *method, const char *params_json, char **ret_json);
/* The same, up to wall_timeout_dur_ns, < 0: for as long as it takes. What has timed out is done all the same. */
SIM_API SIM_MUST_CHECK int sim_call_within(struct sim_client *c, const char *method, const char *params_json,
					   int64_t wall_timeout_dur_ns, char **ret_json);

SIM_API const char *sim_version(void); /* of the library linked at run time */

#ifdef __cplusplus
}
#endif
#endif
