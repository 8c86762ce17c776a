/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configured bridges: which channels each carries, which process stands for it now, what state it reports.
 * The lanes and deliveries are dispatch's; the process is supervise's.
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
	uint32_t id;                            /* dispatch's number */
	const char *name, *plugin, *connection; /* of the configuration */
	char *own_connection; /* what connection is since bridge_set_connection(); NULL: the configuration's */
	char *plugin_path;    /* where the plug-in was found; NULL: as configured */
	json_t *converters;   /* paths of its converter plug-ins, or their names as configured */
	const struct rig *rig;
	struct conf_view view;
	bool external;          /* start: external */
	bool links;             /* it connects machines: what other bridges bring in goes there too */
	struct log_limit limit; /* of what it reports */
	enum sim_bridge_status status;
	char detail[BRIDGE_DETAIL_MAX];
	struct list carried;                  /* carried::link: what it has reported of its channels */
	char other_clocks[BRIDGE_CLOCKS_MAX]; /* of its far side: a line each */

	struct client *cl; /* its session; NULL: none */
	pid_t pid;         /* of the process that has it; 0: none. Outlives the session until that has exited */
	int exit_fd;
	struct exec_io exit_io;
};

int bridge_create_all(struct simd *s);
void bridge_destroy_all(struct simd *s);
/* Resolve bare names of plug-ins and converters against directories, NULL ends. */
int bridge_find_plugins(struct simd *s, const char *const *dirs);
/*
 * The same of a bridge of a configuration that is only looked at: -ENOENT and others, with a sentence. ret_path: mem_free(),
 * untouched where the name is a path itself.
 */
int bridge_find_plugin(const char *rig, struct conf_view v, const char *const *dirs, char **ret_path);
int bridge_find_converter(const char *rig, struct conf_view v, size_t i, const char *const *dirs, char **ret_path);

struct bridge *bridge_find(struct simd *s, const char *name);
/* What its next process connects to, until simd ends. -EINVAL too long; -ENOMEM. With a sentence. */
int bridge_set_connection(struct bridge *b, const char *connection);
/* It lists the channel and has not refused it. */
bool bridge_carries(const struct bridge *b, const struct channel *ch);
/* Names of the bridges that carry it: a new JSON array. */
json_t *bridge_names_of(const struct channel *ch);
/* What a bridge, or all of them, have reported of channels: a new JSON array of carried_json(). */
json_t *bridge_topics(const struct bridge *b);
json_t *bridge_topics_of(const struct channel *ch);
/*
 * The bridge of this session says what a channel is over there that does not go through dispatch: one that it brings in, or /clock. Texts are cut.
 * -EPERM it is no bridge; -EINVAL no full name; -ENOSPC too many. With a sentence, but -ENOMEM.
 */
int bridge_name_topic(const struct client *cl, const char *channel, bool inbound, const char *name, const char *type);
/* Whether its rig lets it offer this service to the other side. */
bool bridge_serves(const struct bridge *b, const char *service);
/* Tells dispatch which bridges carry a channel that has just been opened. */
extern const struct channel_events bridge_channel_events;

/*
 * -ENOENT no such bridge, -EBUSY a living process has it, -EPERM simd starts it, and this is not the process that it has started.
 * ret_fd: lane 0, caller closes.
 */
int bridge_attach(struct client *cl, const char *name, struct bridge **ret, int *ret_fd);
/* Its session has ended. */
void bridge_detach(struct bridge *b);
/* It is about to be started again: a process that could not attach now loses it. */
void bridge_evict(struct bridge *b);
/* Answer of AttachBridge. */
json_t *bridge_config(const struct bridge *b);

/* Fill in what dispatch reports of bridges; the user is struct simd. */
void bridge_dispatch_events(struct dispatch_events *ev);

#endif
