/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running bridge: the plug-in's instance, its topics, its lanes, its totals.
 *
 * Threads: main owns the instance (create, connect, flush, destroy). Every lane has one thread
 * ("lane.N") that receives, publishes and answers; "clock" publishes /clock. host->topics is guarded by topics_lock;
 * totals are atomics. Lock order: topics_lock, then whatever the plug-in locks.
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
#define HOST_CALLS_MAX   32 /* unanswered calls of services: as many as simd takes of a client */

struct host_topic { /* one announced channel */
	struct sim_bridge_channel ch;
	size_t max_body;
	struct sim_bridge_topic *topic; /* NULL: the plug-in does not carry it */
	char *name, *options;
	char far_name[HOST_TEXT_MAX], far_type[HOST_TEXT_MAX]; /* what it is over there */
	char remark[101];                                      /* of the plug-in, since */
	char why[HOST_WHY_MAX];                                /* it is not carried */
	int result;                                            /* of the last open() */
	_Atomic bool slow; /* its last message took longer than an answer may wait; any lane's */
};

struct host_inbound {                /* one channel the plug-in may publish into */
	char *name;                  /* as the plug-in calls it */
	struct sim_publisher *pub;   /* made when it is offered, or at its first message */
	const struct sim_type *type; /* keeps */
	bool offered, listened;
	bool from_afar;  /* its messages come from another machine, and go to the other bridges too: */
	bool to_bridges; /* if there are any that are connected; as main saw it last */
};

struct host_clock { /* /clock on its way out; clock.c */
	bool running;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic uint64_t sent, skipped, failed;
	struct { /* its thread's */
		struct sim_bridge_channel ch;
		struct sim_bridge_topic *topic;                        /* NULL: the plug-in does not take it */
		char far_name[HOST_TEXT_MAX], far_type[HOST_TEXT_MAX]; /* what it is over there */
		unsigned replays;                                      /* host_link::replays when it was opened */
		struct sim_subscriber *sub;
		struct log_limit limit;
		bool named; /* by the rig, not just by "*" */
	} clk;
};

struct host_connection {          /* the far side; connection.c */
	pthread_mutex_t lock;     /* one connect() or disconnect() at a time */
	char *wanted;             /* what simd wants, NULL: none; guarded by lock */
	bool closed;              /* no more connect(); guarded by lock */
	_Atomic bool lost;        /* since the plug-in reported it, until all is open again */
	_Atomic unsigned replays; /* how often that was */
	struct {                  /* main's */
		int64_t due_mono_ns, pause_dur_ns, up_mono_ns; /* due 0: not lost */
	} re;
};

struct host_gate;

struct host_service {                        /* service.c */
	pthread_mutex_t watch_lock;          /* starting and stopping, one at a time */
	struct sim_service_watcher *watcher; /* guarded by watch_lock */
	struct host_gate *gate;
	struct list known; /* host_known::link; the watcher's, then the one's who stops it */
	pthread_mutex_t served_lock;
	struct list served; /* host_served::link, of the far side; guarded by served_lock */
};

struct host_time_driver { /* driving time with a clock of the far side; time_driver.c. One thread of the plug-in's at a time */
	struct sim_driver *driver; /* NULL: not ours */
	int refused;               /* the last error that was logged; 0: it drives */
	bool driving;
	int64_t retry_mono_ns;  /* the lease is another's: not before */
	struct log_limit limit; /* of what the far side can cause as often as it likes */
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
	json_t *option_texts; /* what was no text, as text, so that it can be borrowed; guarded by options_lock */

	pthread_mutex_t topics_lock;
	struct host_topic *topics[HOST_TOPICS_MAX]; /* open hash by channel id; guarded by topics_lock */

	pthread_mutex_t lanes_lock;
	struct list lanes; /* host_lane::link; guarded by lanes_lock */
	unsigned next_lane;
	struct sim_lane *lane0; /* for status reports; guarded by lanes_lock */

	pthread_mutex_t
		opening_lock; /* one channel is opened at a time; before inbound_lock, which is not held for that */
	pthread_mutex_t inbound_lock;
	struct host_inbound inbound[HOST_INBOUND_MAX]; /* guarded by inbound_lock */
	unsigned n_inbound;
	struct log_limit inbound_limit; /* guarded by inbound_lock */

	struct host_order order; /* of what lanes write in lock-step */
	struct host_clock clock;
	struct host_connection connection;
	struct host_service service;
	struct host_time_driver time_driver;

	_Atomic uint64_t sent, failed, dropped, bytes;
	_Atomic int status;     /* enum sim_bridge_status, as last reported */
	char detail[256];       /* guarded by lanes_lock */
	char other_clocks[221]; /* a line each; guarded by lanes_lock */
	char complaint[768];    /* the plug-in's last error, as it logged it; guarded by lanes_lock */
	struct {                /* open() of a channel: what it logs is why it refuses; guarded by lanes_lock */
		bool on;
		pthread_t thread;
		char why[HOST_WHY_MAX];
	} opening;
	int wake_fd;       /* eventfd: main has something to do */
	_Atomic bool gone; /* simd hung up */
};

/* What takes a ctx is what the plug-in calls, and the host: the members of struct sim_bridge_host say what it does. */

/* ---- host.c: create, destroy, and what the plug-in calls ---- */
int host_create(struct sim_client *client, const char *plugin_dir, json_t *config, struct host **ret);
void host_destroy(struct host *h);
void host_report(struct host *h); /* status and totals to simd */
void host_flush(struct host *h);
void host_flush_timed(struct host *h); /* the second's: nothing in lock-step, where simd says when */
void host_wake(struct host *h);        /* main: something is to be done */

/* ---- check.c: --check. 0, or -EINVAL: something was found, and printed ---- */
int host_check(const char *plugin_dir);

/* ---- connection.c: the connection ---- */
void host_connection_init(struct host *h);
void host_connection_finish(struct host *h);
void host_connect(struct host *h, const char *connection);
void host_disconnect(struct host *h);
/* Disconnect for good: the bridge ends. A lane may be about to connect it: nothing comes of that. */
void host_connection_close(struct host *h);
/* After a loss: connect again when it is time, open all again when it is back. Returns when to come again, from now. */
int64_t host_connection_step(struct host *h, int64_t now_mono_ns);
enum sim_bridge_status host_connection_status(const struct host *h); /* as simd is to see it */

/* ---- topics.c ---- */
/* Text of a CHANNEL packet, and the lane to answer it on (NULL: none). Logs what it refuses. */
void host_topic_announce(struct host *h, struct sim_lane *lane, const char *json);
void host_topic_remark(void *ctx, uint32_t channel_id, const char *text);
size_t host_topic_max_body(void *ctx, const struct sim_bridge_channel *ch);
void host_topic_named(void *ctx, const struct sim_bridge_channel *ch, const char *name, const char *type);
struct host_topic *host_topic_find(struct host *h, uint32_t channel_id);
/* Whether the plug-in carries a channel of that full name. */
bool host_topic_carried(struct host *h, const char *name);
/* Close all and open them again. No lane may be inside publish(). */
void host_topics_replay(struct host *h);
void host_topics_close(struct host *h);

/* ---- lanes.c ---- */
int host_lane_start(struct host *h, struct sim_lane *lane, bool first);
/* The orderly end: simd is notified that no more is wanted, and what it has sent is published and answered while that can be done. */
void host_lanes_drain(struct host *h);
void host_lanes_join(struct host *h); /* their threads; what is pending may still be answered */
/* Free the further lanes that have ended; one with a pending task later. Thread: main. */
void host_lanes_reap(struct host *h);
void host_lanes_free(struct host *h); /* after the plug-in is destroyed: it answers no more */

/* ---- clock.c ---- */
/* Once, if the rig lists it and the plug-in carries it. Thread: that of connect(). */
void host_clock_start(struct host *h);
void host_clock_stop(struct host *h); /* waits for a publish() that runs */

/* ---- service.c ---- */
int host_service_init(struct host *h);
/* Beside connect() and disconnect(): in between the plug-in is notified of services and may call them. */
void host_service_start(struct host *h);
void host_service_stop(struct host *h); /* again is fine; lock: watch_lock, then the plug-in's */
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
/* To simd, of what does not go through dispatch: a channel that comes in, or /clock. channel: its full name. Blocks until simd answers. */
void host_name_topic(struct host *h, const char *channel, bool inbound, const char *name, const char *type);
void host_inbound_named(void *ctx, const char *channel, const char *name, const char *type);
/* Tell the plug-in for whom somebody has begun, or ceased, to listen. Thread: main. True: look again soon. */
bool host_inbound_watch(struct host *h);
/* The plug-in has a new connection: it is notified again of who listens. */
void host_inbound_replay(struct host *h);
void host_inbound_finish(struct host *h);

#endif
