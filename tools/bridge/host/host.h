/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running bridge: the plug-in's instance, its topics, its lanes, its totals.
 *
 * Threads: main owns the instance (create, connect, flush, destroy). Each lane has one thread ("lane.N") that receives,
 * publishes and answers; "clock" publishes /clock. topics_lock guards host->topics; totals are atomics. Lock order:
 * topics_lock, then the plug-in's locks.
 */
#ifndef HOST_H
#define HOST_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include <sim/bridge.h>
#include <sim/client.h>
#include <sim/clock.h>
#include <sim/lane.h>
#include <sim/publisher.h>
#include <sim/service.h>

#include "converter.h"
#include "list.h"
#include "log.h"
#include "order.h"
#include "plugin.h"

#define HOST_TOPICS_MAX  1024
#define HOST_INBOUND_MAX 256
#define HOST_TEXT_MAX    256
#define HOST_WHY_MAX     768
#define HOST_CALLS_MAX   32 /* unanswered service calls; the limit that simd has for a client */

struct host_topic { /* one announced channel */
	struct sim_bridge_channel ch;
	size_t max_body;
	struct sim_bridge_topic *topic; /* NULL: the plug-in does not carry it */
	char *name, *options;
	char far_name[HOST_TEXT_MAX], far_type[HOST_TEXT_MAX]; /* name and type on the far side */
	char remark[101];                                      /* of the plug-in, since open() */
	char why[HOST_WHY_MAX];                                /* why it is not carried */
	int result;                                            /* of the last open() */
	_Atomic bool slow; /* answering its last message took longer than ANSWER_DUR_NS; set by any lane */
};

struct host_inbound {                /* one channel the plug-in may publish into */
	char *name;                  /* as the plug-in calls it */
	struct sim_publisher *pub;   /* advertised when the channel is offered, or at its first message */
	const struct sim_type *type; /* owned by the plug-in */
	bool offered, listened;
	bool from_afar;  /* messages come from another machine; the other bridges get them too */
	bool to_bridges; /* from_afar: another bridge is connected; updated by main */
};

struct host_clock { /* /clock on its way out; clock.c */
	bool running;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic uint64_t sent, skipped, failed;
	struct { /* used by the clock thread only */
		struct sim_bridge_channel ch;
		struct sim_bridge_topic *topic;                        /* NULL: the plug-in does not carry it */
		char far_name[HOST_TEXT_MAX], far_type[HOST_TEXT_MAX]; /* name and type on the far side */
		unsigned replays;                                      /* host_connection::replays at open() */
		struct sim_subscriber *sub;
		struct log_limit limit;
		bool named; /* the rig lists "/clock" itself, not only "*" */
	} clk;
};

struct host_connection {          /* the far side; connection.c */
	pthread_mutex_t lock;     /* serialises connect() and disconnect() */
	char *wanted;             /* the connection that simd asked for; NULL: none; guarded by lock */
	bool closed;              /* no further connect(); guarded by lock */
	_Atomic bool lost;        /* set when the plug-in reports the loss, cleared when all is reopened */
	_Atomic unsigned replays; /* reconnections with everything reopened */
	struct {                  /* used by main only */
		int64_t due_mono_ns, pause_dur_ns, up_mono_ns; /* due_mono_ns 0: not lost */
	} re;
};

struct host_gate;

struct host_service {                        /* service.c */
	pthread_mutex_t watch_lock;          /* serialises start and stop */
	struct sim_service_watcher *watcher; /* guarded by watch_lock */
	struct host_gate *gate;
	struct list known; /* host_known::link; used by the watcher's thread; after its end by the stopping thread */
	pthread_mutex_t served_lock;
	struct list served; /* host_served::link, services of the far side; guarded by served_lock */
};

struct host_time_driver { /* a clock of the far side drives time; time_driver.c. Thread: the plug-in's, one at a time */
	struct sim_driver *driver; /* NULL: this bridge does not hold the lease */
	int refused;               /* the last error that was logged; 0: it drives time */
	bool driving;
	int64_t retry_mono_ns;  /* another client holds the lease: earliest time to ask again */
	struct log_limit limit; /* for messages that the far side can cause at any rate */
};

struct host {
	struct sim_client *client;
	struct plugin *plugin;
	struct converters *converters;
	struct sim_bridge_host services;
	struct sim_bridge *bridge;
	struct sim_bridge_session *session;
	json_t *config; /* the reply of AttachBridge: name, plugin, connection, options, inbound */
	json_t *options;
	pthread_mutex_t options_lock;
	/* options that are not strings, as JSON text, kept so that plug-ins can borrow it; guarded by options_lock */
	json_t *option_texts;

	pthread_mutex_t topics_lock;
	struct host_topic *topics[HOST_TOPICS_MAX]; /* open hash by channel id; guarded by topics_lock */

	pthread_mutex_t lanes_lock;
	struct list lanes; /* host_lane::link; guarded by lanes_lock */
	unsigned next_lane;
	struct sim_lane *lane0; /* for status reports; guarded by lanes_lock */

	pthread_mutex_t opening_lock; /* serialises opening a channel; taken before inbound_lock */
	pthread_mutex_t inbound_lock;
	struct host_inbound inbound[HOST_INBOUND_MAX]; /* guarded by inbound_lock */
	unsigned n_inbound;
	struct log_limit inbound_limit; /* guarded by inbound_lock */

	struct host_order order; /* order in which lanes write in lock-step */
	struct host_clock clock;
	struct host_connection connection;
	struct host_service service;
	struct host_time_driver time_driver;

	_Atomic uint64_t sent, failed, dropped, bytes;
	_Atomic int status;     /* enum sim_bridge_status, as last reported */
	char detail[256];       /* guarded by lanes_lock */
	char other_clocks[221]; /* one per line; guarded by lanes_lock */
	char complaint[768];    /* the last error that the plug-in logged; guarded by lanes_lock */
	/* while open() runs: its last error or warning is the reason of a refusal; guarded by lanes_lock */
	struct {
		bool on;
		pthread_t thread;
		char why[HOST_WHY_MAX];
	} opening;
	int wake_fd;       /* eventfd: wakes main */
	_Atomic bool gone; /* simd hung up */
};

/* Functions that take a ctx implement members of struct sim_bridge_host, which documents them. */

/* ---- host.c: create, destroy, and what the plug-in calls ---- */
int host_create(struct sim_client *client, const char *plugin_dir, json_t *config, struct host **ret);
void host_destroy(struct host *h);
void host_report(struct host *h); /* sends status and totals to simd */
void host_flush(struct host *h);
/* the flush of each second; does nothing in lock-step, where simd asks for flushes */
void host_flush_timed(struct host *h);
void host_wake(struct host *h); /* wakes main */

/* ---- check.c: --check. 0, or -EINVAL: findings were printed ---- */
int host_check(const char *plugin_dir);

/* ---- connection.c: the connection ---- */
void host_connection_init(struct host *h);
void host_connection_finish(struct host *h);
void host_connect(struct host *h, const char *connection);
void host_disconnect(struct host *h);
/* Disconnects for good: the bridge is ending. A later host_connect(), from a lane, does nothing. */
void host_connection_close(struct host *h);
/*
 * After a loss: connects again when that is due, and reopens everything once connected. Returns the time until the next
 * call, in ns.
 */
int64_t host_connection_step(struct host *h, int64_t now_mono_ns);
enum sim_bridge_status host_connection_status(const struct host *h); /* the status to report to simd */

/* ---- topics.c ---- */
/*
 * Opens the channel that the text of a CHANNEL packet describes, and reports the result on `lane` (NULL: not reported).
 * Logs what it refuses.
 */
void host_topic_announce(struct host *h, struct sim_lane *lane, const char *json);
void host_topic_remark(void *ctx, uint32_t channel_id, const char *text);
size_t host_topic_max_body(void *ctx, const struct sim_bridge_channel *ch);
void host_topic_named(void *ctx, const struct sim_bridge_channel *ch, const char *name, const char *type);
struct host_topic *host_topic_find(struct host *h, uint32_t channel_id);
/* Whether the plug-in carries the channel with this full name. */
bool host_topic_carried(struct host *h, const char *name);
/* Closes and reopens all topics. No lane may be inside publish(). */
void host_topics_replay(struct host *h);
void host_topics_close(struct host *h);

/* ---- lanes.c ---- */
int host_lane_start(struct host *h, struct sim_lane *lane, bool first);
/* Orderly shutdown: reports DISCONNECTING to simd, then publishes and answers what is queued, and joins the lanes. */
void host_lanes_drain(struct host *h);
void host_lanes_join(struct host *h); /* joins their threads; pending tasks may still be answered */
/* Frees further lanes that have ended; a lane with a pending task is freed later. Thread: main. */
void host_lanes_reap(struct host *h);
void host_lanes_free(struct host *h); /* call after the plug-in is destroyed, when it can answer no more */

/* ---- clock.c ---- */
/*
 * Starts the clock thread, once, if the rig lists /clock and the plug-in carries it. Thread: the caller of connect().
 */
void host_clock_start(struct host *h);
void host_clock_stop(struct host *h); /* waits for a running publish() */

/* ---- service.c ---- */
int host_service_init(struct host *h);
/*
 * Call after connect(). Until host_service_stop(), called with disconnect(), the plug-in is notified of services and
 * may call them.
 */
void host_service_start(struct host *h);
void host_service_stop(struct host *h); /* may be called again; lock: watch_lock, then the plug-in's */
void host_service_finish(struct host *h);
int host_service_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		      size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user);

int host_service_serve(void *ctx, const char *service, const struct sim_service_type *type, sim_bridge_serve_fn fn,
		       void *user);
int host_service_answer(void *ctx, struct sim_pending *p, int result, const char *why, const void *response,
			size_t size);

/* ---- time_driver.c ---- */
int host_time_driver_set(void *ctx, int64_t sim_ns);
void host_time_driver_finish(struct host *h);

/* ---- inbound.c ---- */
int host_inbound_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size);
int host_inbound_offer(void *ctx, const char *channel, const struct sim_type *type);
int host_inbound_offer_large(void *ctx, const char *channel, const struct sim_type *type, size_t max_body);
int host_inbound_loan(void *ctx, const char *channel, const struct sim_type *type, size_t room, void **ret_body);
int host_inbound_publish_loan(void *ctx, const char *channel, void *body, size_t size, int64_t stamp_sim_ns,
			      const char *frame);
int host_inbound_offer_from(void *ctx, const char *channel, const struct sim_type *type, size_t max_body,
			    const char *from, unsigned flags);
int host_inbound_publish_from(void *ctx, const char *channel, void *body, size_t size,
			      const struct sim_bridge_origin *o);
void host_inbound_withdraw(void *ctx, const char *channel);
void host_inbound_unloan(void *ctx, const char *channel, void *body);
/*
 * Reports to simd the far side's name and type of a channel that does not go through dispatch: one that comes in, or
 * /clock. channel: its full name. Blocks until simd answers.
 */
void host_name_topic(struct host *h, const char *channel, bool inbound, const char *name, const char *type);
void host_inbound_named(void *ctx, const char *channel, const char *name, const char *type);
/*
 * Notifies the plug-in of each offered channel whose first subscriber connected or last one disconnected. Thread: main.
 * Returns true if channels are offered: call again soon.
 */
bool host_inbound_watch(struct host *h);
/* The plug-in has a new connection: makes host_inbound_watch() notify it again. */
void host_inbound_replay(struct host *h);
void host_inbound_finish(struct host *h);

#endif
