/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct simd: the daemon's state, all of it. Nothing is global, so a test can make two, in virtual time,
 * over the in-memory data plane. Every object of the registry knows this; who makes it is registry.h.
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

/* What the registry needs of the process around it; a scenario test passes its own. NULL members: see there. */
struct simd_ops {
	/*
	 * Descriptor that becomes readable when the process has exited that connected this socket then. -ESRCH: it has;
	 * -EOPNOTSUPP, or NULL: there is none, and the hang-up counts as that.
	 */
	int (*peer_exit_fd)(void *user, int sock, int64_t connected_mono_ns);
	/* The Shutdown method was called. NULL: refused. */
	void (*shutdown)(void *user);
	/*
	 * End a bridge's process that is of no use any more: now, or when it does not do so by itself.
	 * NULL or false: it is not ours, left alone.
	 */
	bool (*bridge_kill)(void *user, const char *name, const char *why, bool now);
	/*
	 * May this process attach as that bridge? 0, or -EPERM with a sentence: simd starts the bridge, and it is neither the process
	 * that simd has started for it nor a child of that. NULL: it may.
	 */
	int (*bridge_may)(void *user, const char *name, pid_t pid);
	/* RestartBridge. NULL: refused. */
	int (*bridge_restart)(void *user, const char *name);
	/* How often was it started again. NULL: 0. */
	uint32_t (*bridge_restarts)(void *user, const char *name);
	/* Why it is not started again; NULL, of either: it is not given up. */
	const char *(*bridge_permanent)(void *user, const char *name);
	/* RestartProcess. NULL: refused. */
	int (*process_restart)(void *user, const char *name);
	/* Processes that are not started again: a new JSON array of {"name","why"}. NULL: none. */
	json_t *(*given_up)(void *user);
	/* Which rig a process that we started belongs to; NULL: unknown. */
	const char *(*process_rig)(void *user, pid_t pid);
	/* The name of that process in its rig. NULL, also of the op: unknown. */
	const char *(*process_name)(void *user, pid_t pid);
	/*
	 * Free the ports and slots of a process that has exited. old: they went with an earlier generation, only its files are left.
	 * reaper_freed() follows. NULL: the registry does it by itself, and may block on RouDi.
	 */
	void (*free_app)(void *user, const char *app, bool old);
	/* Whether that process has attached under that name, which we did not give it: an earlier simd did. NULL: yes. */
	bool (*has_name)(void *user, pid_t pid, const char *runtime_name);
	/* Look in a while for what the dead have left in the data plane without a notification. NULL: ignored. */
	void (*sweep)(void *user);
	/* Whether a thread of the process stands still: stopped, or traced. NULL: none does. */
	bool (*process_stopped)(void *user, pid_t pid);
	/* Sessions or bridges have changed: what must be known after a crash of simd. NULL: ignored. */
	void (*sessions_changed)(void *user);
	/* A client has moved to the present generation of the data plane. NULL: ignored. */
	void (*client_attached)(void *user);
	/* A bridge of an earlier simd holds nothing of it any more. NULL: ignored. */
	void (*bridge_idle)(void *user, uint32_t id);
	/* A port could not be made although RouDi should run: check it. NULL: ignored. */
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
	const char *plane;              /* of the data plane: plane.h */
	const char *const *plugin_dirs; /* of the options, while simd_create() runs */
	uint64_t id;
	char id_text[17];
	int64_t start_mono_ns;
	bool stopping;
	struct log_limit limit; /* of lines that a client can cause as often as it likes */

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

	struct list channels; /* channel::link, in the order of their making */
	struct channel *by_id[WIRE_CHANNELS_MAX];
	uint32_t n_channels, n_publishers, n_subscribers, n_simd_subs;
	uint32_t next_publisher, next_subscriber;
	size_t type_bytes; /* text of their definitions */
	const struct channel_events *channel_events;
	/* Before a client subscribes, and after it has left (comes: false). NULL: ignored. */
	void (*subscribers_changed)(struct simd *s, const struct channel *ch, bool comes);

	struct list tokens; /* token::link (token.c) */
	uint32_t n_tokens;
	uint64_t token_used[BITMAP_WORDS(WIRE_TOKENS_MAX)];

	struct list bridges; /* bridge::link */
	uint32_t n_bridges;
	void (*bridge_changed)(struct simd *s); /* one has another status. NULL: ignored */

	struct services *services;

	struct list listeners; /* event_listener::link */

	struct wire_layout_page *layout_page;
	struct wire_dispatch_page *dispatch_page;
	int layout_page_fd, dispatch_page_fd;

	struct {
		struct ipc *ipc; /* NULL while there is no generation */
		uint32_t generation;
		bool ready;
		struct list old;             /* old_generation::link (dataplane.c) */
		struct old_generation *over; /* what the present one becomes: no memory is needed to end it */
		int roudi_pid;               /* 0: none */
		bool roudi_owned, roudi_robust;
	} dataplane;

	struct exec_timer rate_timer;
	struct exec_timer renew_timer; /* renew.c */
	struct shards *shards;         /* shards.c */
	struct pool *pool;             /* whose threads serve them; NULL: somebody else does */
	struct timekeeper *time;
	struct journal *journal;
};

#endif
