/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the command `record`, its channels and its services. */
#ifndef SIMCTL_RECORD_H
#define SIMCTL_RECORD_H

#include "record/recording.h"
#include "record_match.h"
#include "simctl.h"

/* ---- record_channels.c. Thread: main ---- */

struct record_channels;

struct record_channels_options {
	struct sim_client *client;   /* borrowed */
	struct recording *recording; /* borrowed */
	struct record_match match;
	size_t backlog_bytes; /* limit of what is received but not recorded yet, see record_backlog.h; 0: the default */
	void (*say)(void *arg, const char *sentence);
	void *arg;
};

int record_channels_create(const struct record_channels_options *o, struct record_channels **ret);
void record_channels_destroy(struct record_channels *all); /* NULL-safe */
/*
 * Subscribes to the wanted channels that exist and have no subscriber yet. If subscribing fails, the channel is
 * left out, reported once, and retried at the next call, unless its type cannot be written in this encoding. Errors:
 * those of the call to simd.
 */
int record_channels_look(struct record_channels *all);
/*
 * Starts a thread that receives into the backlog while main writes; without it record_channels_drain() receives too.
 * -EAGAIN, -ENOMEM.
 */
int record_channels_start(struct record_channels *all);
void record_channels_stop(struct record_channels *all);
/* Moves arrived messages into the backlog; returns how many. Thread: any. */
unsigned record_channels_receive(struct record_channels *all);
/* Receives, then records all that is in the backlog by then. Returns how many messages were received. */
unsigned record_channels_catch_up(struct record_channels *all);
/*
 * Records messages of the backlog in the order of their publishing, each with the time of its publishing; returns how
 * many. A latched message that was published before the recorder began gets the time at which the recorder began.
 */
unsigned record_channels_drain(struct record_channels *all);
unsigned record_channels_count(const struct record_channels *all); /* number of channels subscribed to */
/* The i-th pattern of match.include and .types that has matched no wanted channel so far; NULL: no more. */
const char *record_channels_unmatched(const struct record_channels *all, unsigned i, bool *ret_is_type);
/*
 * Messages that arrived after simd's clock history no longer covered their publishing: they have the history's oldest
 * time.
 */
uint64_t record_channels_undated(const struct record_channels *all);

/* ---- record_services.c ---- */

#define RECORD_SERVICES 5
#define RECORD_TEXT     (RECORDING_PATH_SIZE + 1000)

enum record_order { RECORD_NONE, RECORD_PAUSE, RECORD_RESUME, RECORD_TOGGLE, RECORD_DUMP, RECORD_SPLIT };

struct record_services;

/*
 * Offers /NAME/dump and the other services. main carries out each request after recording what was published before it;
 * the caller of the service waits for that. Returns 0, or a negative errno with the reason in sim_why(): then no
 * service is offered.
 */
int record_services_create(struct sim_client *c, const char *name, struct record_services **ret);
/* Waiting callers get -ECANCELED. NULL-safe. Thread: main. */
void record_services_destroy(struct record_services *s);
/* The pending request; answer it before the next call. Thread: main. */
enum record_order record_services_order(struct record_services *s);
void record_services_answer(struct record_services *s, int result, const char *text);

#endif
