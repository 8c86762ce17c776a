/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client: one connection of this process to simd. Everything else in this library belongs to a client.
 *
 * The library runs one thread per client, "sim-io": it reads the control socket, runs completion callbacks, and
 * recovers after simd or the data plane was restarted: it registers publishers, subscribers, tokens and the driver
 * lease again under the handles that the program already holds. With SIM_CLIENT_NO_THREAD there is no such thread: the
 * program polls sim_client_fd() and calls sim_process(), and callbacks run inside that.
 *
 * Thread:  a client may be used from any thread, a publisher or subscriber by one thread at a time (a second thread
 *          gets -EBUSY). Destroy handles before their client.
 * Fork:    a forked child cannot use the handles (-EPERM), but may connect for itself; posix_spawn and exec are fine.
 * Number:  at most 11 clients of a process may use the data plane at the same time (15 with
 *          GLIBC_TUNABLES=glibc.rtld.nns=16 in its environment). A client that disconnects frees its place. Each
 *          restart of the data plane uses up the places of the clients that are connected then.
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
 * Each struct of options, here and in the other headers, states its own size, so that later versions can add members. A
 * program built with older headers is served as if it had set the new members to 0. A program built with newer headers
 * is served if it leaves at 0 the members that this library does not know; otherwise the call returns -E2BIG.
 */
struct sim_client_options {
	size_t size;      /* sizeof(struct sim_client_options) of the caller */
	const char *name; /* 1..40 characters of [A-Za-z0-9_.-], shown by simctl; need not be unique; borrows */
	/*
	 * simd's control socket; NULL: $SIMD_SOCKET, else the first that exists of /run/simd/control and
	 * $XDG_RUNTIME_DIR/simd/control (/tmp/simd-UID/control without that variable)
	 */
	const char *socket;
	unsigned flags; /* enum sim_client_flag */
	int timeout_ms; /* bound on the connect; 0: 5000 */
};

enum sim_client_state {
	SIM_CLIENT_CONNECTED = 0,
	SIM_CLIENT_RECONNECTING = 1, /* disconnected from simd; the library retries with back-off (10 ms .. 1 s) */
	SIM_CLIENT_REATTACHING = 2,  /* the data plane was restarted; handles return -ESTALE for a moment */
	SIM_CLIENT_FAILED = 3, /* for good (attachments used up, access refused): sim_client_why() says what to do */
};

/*
 * Connects to simd and attaches to the data plane. Blocks up to timeout_ms.
 * Returns: 0; -ENOENT simd does not run (no socket there), -ENOTSOCK the path is not a socket, -ECONNREFUSED no process
 * listens on the socket, -EACCES this user is not in simd's group (any of the user's groups will do): sim_why() has the
 * remedy, -EPROTO simd speaks another version, -ETIMEDOUT, -EINVAL name; errors of the data plane, which sim_why()
 * explains. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_connect(const struct sim_client_options *o, struct sim_client **ret);

/*
 * Waits until every message of this client that was accepted before the call (sim_try_queue() and its copies) has
 * completed, delivered or not, and its callback has returned. Messages accepted during the call are not waited for.
 * Call it before sim_disconnect(), which does not wait. Without a sim-io thread callbacks run in here, as in
 * sim_process().
 *
 * timeout_dur_ns  wall time; 0: only check; negative: for ever
 * Thread:  any, but not in a callback.
 * Returns: 0; -ETIMEDOUT messages are still outstanding; -ENOTCONN disconnected from simd, before or during the call:
 * what simd had not completed has ended as SIM_REASON_LOST; -EDEADLK in a callback, or in lock-step in the caller's own
 * turn or by the driver: nothing completes before that ends; -EPERM after a fork; -EINVAL c is NULL. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_flush(struct sim_client *c, int64_t timeout_dur_ns);

/*
 * Reports that this client has made its publishers and subscribers: if a rig names the client in wait_for
 * (simd.json(5)), time need not wait for it any longer. sim_step_join() reports this too. The library repeats the
 * report after a reconnect.
 *
 * Thread:  any, but not in a callback.
 * Returns: 0, also while simd is away; -EPERM after a fork; -EINVAL c is NULL; else simd's error. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_client_ready(struct sim_client *c);

/*
 * Closes the connection. Before it returns, every outstanding completion runs with ok == false (SIM_REASON_LOST),
 * although simd still delivers what it has accepted; call sim_flush() first to wait for that. NULL is fine. Not from a
 * callback.
 */
SIM_API void sim_disconnect(struct sim_client *c);

SIM_API enum sim_client_state sim_client_state(const struct sim_client *c);
/* The reason for FAILED or RECONNECTING; a static string, or owned by c. */
SIM_API const char *sim_client_why(const struct sim_client *c);

/*
 * Writes the full name of a channel or service, as simd forms it: a name without a leading slash gets the rig's prefix.
 * size: bytes at ret; SIM_CHANNEL_MAX + 1 is enough.
 * Returns: 0; -EINVAL no name, or simd does not accept it; -ENAMETOOLONG too long with its prefix; -ENOTCONN
 * disconnected from simd; -ENOBUFS ret is too small.
 */
SIM_API SIM_MUST_CHECK int sim_channel_full_name(struct sim_client *c, const char *channel, char *ret, size_t size);

/* Descriptor that is readable when sim_process() has work; poll only. Valid until sim_disconnect(). */
SIM_API int sim_client_fd(const struct sim_client *c);
/*
 * Does pending work without blocking: control messages, completions, reconnects. Returns how many callbacks ran, or
 * -EBUSY when the client has its own thread.
 */
SIM_API int sim_process(struct sim_client *c);

/* Calls a control method with JSON parameters; returns its reply as JSON, free() it. Blocks up to 5 s. For tools. */
SIM_API SIM_MUST_CHECK int sim_call(struct sim_client *c, const char *method, const char *params_json, char **ret_json);
/*
 * The same with a limit in wall time; wall_timeout_dur_ns < 0: no limit. After a timeout simd still carries out the
 * call.
 */
SIM_API SIM_MUST_CHECK int sim_call_within(struct sim_client *c, const char *method, const char *params_json,
					   int64_t wall_timeout_dur_ns, char **ret_json);

SIM_API const char *sim_version(void); /* of the library linked at run time */

#ifdef __cplusplus
}
#endif
#endif
