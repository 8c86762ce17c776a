/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configured bridges: the channels that each carries, the process that runs it, the state that it reports. dispatch/
 * has its lanes and deliveries, supervise/ its process.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_BRIDGE_H
#define REGISTRY_BRIDGE_H

#include "conf.h"
#include "exec.h"
#include "list.h"
#include "log.h"

#include <jansson.h>
#include <sim/types.h>
#include <stdbool.h>
#include <stdint.h>

struct channel;
struct channel_events;
struct client;
struct dispatch_events;
struct rig;
struct simd;

#define BRIDGE_DETAIL_MAX 200
#define BRIDGE_CLOCKS_MAX 256
#define BRIDGE_TOPIC_MAX  256

struct bridge {
	struct list link; /* simd::bridges */
	struct simd *s;
	uint32_t id;                            /* its number in dispatch */
	const char *name, *plugin, *connection; /* from the configuration */
	char *own_connection; /* connection set by bridge_set_connection(); NULL: the configured one */
	char *plugin_path;    /* path of the plug-in that was found; NULL: as configured */
	json_t *converters;   /* paths of its converter plug-ins, or their names as configured */
	const struct rig *rig;
	struct conf_view view;
	bool external;          /* start: external */
	bool links;             /* it connects machines: messages from other bridges go there too */
	struct log_limit limit; /* rate limit of its log lines */
	enum sim_bridge_status status;
	char detail[BRIDGE_DETAIL_MAX];
	struct list carried;                  /* carried::link: what it has reported of its channels */
	char other_clocks[BRIDGE_CLOCKS_MAX]; /* clocks on its far side, one per line */

	struct client *cl; /* its session; NULL: none */
	pid_t pid;         /* of its process; 0: none. Kept after the session has ended, until the process has exited */
	int exit_fd;
	struct exec_io exit_io;
};

int bridge_create_all(struct simd *s);
void bridge_destroy_all(struct simd *s);
/* Finds bare names of plug-ins and converters in dirs (ended by NULL). */
int bridge_find_plugins(struct simd *s, const char *const *dirs);
/*
 * Does the same for a bridge of a configuration that is only checked. -ENOENT and others, with err_why() set. ret_path:
 * mem_free(); untouched if the name is a path.
 */
int bridge_find_plugin(const char *rig, struct conf_view v, const char *const *dirs, char **ret_path);
int bridge_find_converter(const char *rig, struct conf_view v, size_t i, const char *const *dirs, char **ret_path);

struct bridge *bridge_find(struct simd *s, const char *name);
/* Sets the connection of the bridge's next process, until simd ends. -EINVAL: too long; -ENOMEM; with err_why() set. */
int bridge_set_connection(struct bridge *b, const char *connection);
/* Whether the bridge lists the channel and has not refused it. */
bool bridge_carries(const struct bridge *b, const struct channel *ch);
/* Names of the bridges that carry the channel: a new JSON array. */
json_t *bridge_names_of(const struct channel *ch);
/*
 * What a bridge has reported of its channels, or what all bridges have reported of one: a new JSON array of
 * carried_json().
 */
json_t *bridge_topics(const struct bridge *b);
json_t *bridge_topics_of(const struct channel *ch);
/*
 * The bridge of this session reports the topic of a channel that does not go through dispatch: an inbound channel, or
 * /clock. Long texts are truncated. -EPERM: cl is not a bridge; -EINVAL: not a full name; -ENOSPC: too many topics;
 * -ENOMEM. Except for -ENOMEM, err_why() is set.
 */
int bridge_name_topic(const struct client *cl, const char *channel, bool inbound, const char *name, const char *type);
/* Whether its rig allows it to offer this service to the other side. */
bool bridge_serves(const struct bridge *b, const char *service);
/* Tells dispatch which bridges carry a channel that has just been opened. */
extern const struct channel_events bridge_channel_events;

/*
 * Attaches the client as bridge `name`. -ENOENT: no such bridge; -EBUSY: a living process has it; -EPERM: simd starts
 * the bridge, and did not start this process for it. ret_fd: lane 0; the caller closes it.
 */
int bridge_attach(struct client *cl, const char *name, struct bridge **ret, int *ret_fd);
/* The bridge's session has ended. */
void bridge_detach(struct bridge *b);
/*
 * To be called before the bridge is restarted: detaches its present process if that would not be allowed to attach now.
 */
void bridge_evict(struct bridge *b);
/* The answer of AttachBridge. */
json_t *bridge_config(const struct bridge *b);

/* Sets the handlers of dispatch's events about bridges; their user is struct simd. */
void bridge_dispatch_events(struct dispatch_events *ev);

#endif
