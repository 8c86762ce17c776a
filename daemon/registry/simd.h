/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct simd: all state of the daemon. Nothing is global, so a test can make two, in virtual time, over the in-memory
 * data plane. Every object of the registry knows it; registry.h makes it.
 *
 * Thread: simd-main, except fields that name another.
 */
#ifndef REGISTRY_SIMD_H
#define REGISTRY_SIMD_H

#include "bitmap.h"
#include "conf.h"
#include "exec.h"
#include "list.h"
#include "log.h"
#include "admission.h"

#include "wire/pages.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct channel;
struct channel_events;
struct ipc;
struct journal;
struct pool;
struct rig;
struct reaper;
struct services;
struct shards;
struct slot_reclaim;
struct timekeeper;

/* What the registry needs from its process; a scenario test passes its own. NULL members: see each. */
struct simd_ops {
	/*
	 * A descriptor that becomes readable when the process has exited that connected this socket at that time.
	 * -ESRCH: it has exited. -EOPNOTSUPP, or NULL: not available; then the closed socket counts as exit.
	 */
	int (*peer_exit_fd)(void *user, int sock, int64_t connected_mono_ns);
	/* The Shutdown method was called. NULL: refused. */
	void (*shutdown)(void *user);
	/*
	 * Ends a bridge's process that is no longer of use: now, or if it does not exit by itself. NULL or false: simd
	 * did not start it, so it is left alone.
	 */
	bool (*bridge_kill)(void *user, const char *name, const char *why, bool now);
	/*
	 * Whether this process may attach as that bridge: 0, or -EPERM with err_why() set: simd starts the bridge, and
	 * this is neither the process that it started for it nor a child of that. NULL: it may.
	 */
	int (*bridge_may)(void *user, const char *name, pid_t pid);
	/* RestartBridge. NULL: refused. */
	int (*bridge_restart)(void *user, const char *name);
	/* How often the bridge was restarted. NULL: 0. */
	uint32_t (*bridge_restarts)(void *user, const char *name);
	/* Why the bridge is not restarted any more. NULL (op or result): it was not given up. */
	const char *(*bridge_permanent)(void *user, const char *name);
	/* RestartProcess. NULL: refused. */
	int (*process_restart)(void *user, const char *name);
	/* Processes that were given up: a new JSON array of {"name","why"}. NULL: none. */
	json_t *(*given_up)(void *user);
	/* The rig of a process that simd started; NULL: unknown. */
	const char *(*process_rig)(void *user, pid_t pid);
	/* The name of that process in its rig. NULL (op or result): unknown. */
	const char *(*process_name)(void *user, pid_t pid);
	/*
	 * Frees the ports and slots of a process that has exited. old: they went with an earlier generation, only its
	 * files are left. reaper_freed() follows. NULL: the registry frees them itself, and may block on RouDi.
	 */
	void (*free_app)(void *user, const char *app, bool old);
	/*
	 * Whether that process has attached under that name, which this simd did not assign: an earlier simd did. NULL:
	 * yes.
	 */
	bool (*has_name)(void *user, pid_t pid, const char *runtime_name);
	/*
	 * Searches the data plane, after a delay, for leftovers of processes whose exit was not reported. NULL:
	 * ignored.
	 */
	void (*sweep)(void *user);
	/* Whether a thread of the process is stopped or traced. NULL: never. */
	bool (*process_stopped)(void *user, pid_t pid);
	/* Sessions or bridges have changed, which the state file must show. NULL: ignored. */
	void (*sessions_changed)(void *user);
	/* A client has moved to the present generation of the data plane. NULL: ignored. */
	void (*client_attached)(void *user);
	/* The bridge holds nothing of an earlier simd any more. NULL: ignored. */
	void (*bridge_idle)(void *user, uint32_t id);
	/* A port could not be made although RouDi should run: check RouDi. NULL: ignored. */
	void (*dataplane_broken)(void *user, const char *why);
	/* Another time source is active: its driver may be started. NULL: ignored. */
	void (*source_changed)(void *user, const char *name);
};

struct simd_limits {
	uint32_t clients, clients_per_user, channels, publishers, subscribers, subscribers_per_channel, tokens,
		services, per_client, per_user_percent;
};

struct simd {
	struct exec *x;
	const struct conf *conf;
	struct conf_view root;
	const struct simd_ops *ops;
	void *user;
	char *runtime_dir;
	const char *plane;              /* directory of the data plane: plane.h */
	const char *const *plugin_dirs; /* of the options; only during registry_create() */
	uint64_t id;
	char id_text[17];
	int64_t start_mono_ns;
	bool stopping;
	struct log_limit limit; /* rate limit of log lines that a client can cause */

	struct simd_limits limits;
	struct pools pools;
	struct rig *rigs;
	unsigned n_rigs, n_shards;

	struct list clients; /* client::link */
	uint32_t n_clients, next_client;
	struct list reapers; /* reaper::link (reaper.c) */
	/* A process is not watched any more. freed: it has exited, and RouDi has freed all its ports. */
	void (*process_over)(struct simd *s, const struct reaper *r, bool freed);
	struct slot_reclaim *slot_reclaim;

	struct list channels; /* channel::link, in the order of creation */
	struct channel *by_id[WIRE_CHANNELS_MAX];
	uint32_t n_channels, n_publishers, n_subscribers, n_simd_subs;
	uint32_t next_publisher, next_subscriber;
	size_t type_bytes; /* bytes of the channels' type definitions */
	const struct channel_events *channel_events;
	/* Called before a client subscribes (comes), and after it has unsubscribed. NULL: ignored. */
	void (*subscribers_changed)(struct simd *s, const struct channel *ch, bool comes);

	struct list tokens; /* token::link (token.c) */
	uint32_t n_tokens;
	uint64_t token_used[BITMAP_WORDS(WIRE_TOKENS_MAX)];

	struct list bridges; /* bridge::link */
	uint32_t n_bridges;
	void (*bridge_changed)(struct simd *s); /* a bridge's status has changed. NULL: ignored */

	struct services *services;

	struct list listeners; /* event_listener::link */

	struct wire_layout_page *layout_page;
	struct wire_dispatch_page *dispatch_page;
	int layout_page_fd, dispatch_page_fd;

	struct {
		struct ipc *ipc; /* NULL: no generation is up */
		uint32_t generation;
		bool ready;
		struct list old; /* old_generation::link (dataplane.c) */
		/* place for the present generation once it has ended: allocated beforehand */
		struct old_generation *over;
		int roudi_pid; /* 0: none */
		bool roudi_owned, roudi_robust;
	} dataplane;

	struct exec_timer rate_timer;
	struct exec_timer renew_timer; /* renew.c */
	struct shards *shards;         /* shards.c */
	struct pool *pool;             /* its threads run the shards; NULL: the test runs them */
	struct timekeeper *time;
	struct journal *journal;
};

#endif
