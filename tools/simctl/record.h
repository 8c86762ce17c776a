/* SPDX-License-Identifier: Apache-2.0 */
/* What the command `record`, its channels and its services share. */
#ifndef SIMCTL_RECORD_H
#define SIMCTL_RECORD_H

#include "record/recording.h"
#include "record_match.h"
#include "simctl.h"

/* ---- record_channels.c. Thread: main ---- */

struct record_channels;

struct record_channels_options {
	struct sim_client *client;   /* keeps */
	struct recording *recording; /* keeps */
	struct record_match match;
	size_t backlog_bytes; /* of what is received and not recorded yet, record_backlog.h; 0: its default */
	void (*say)(void *arg, const char *sentence);
	void *arg;
};

int record_channels_create(const struct record_channels_options *o, struct record_channels **ret);
void record_channels_destroy(struct record_channels *all); /* NULL is fine */
/*
 * Subscribe to what is there and wanted, and is not subscribed to yet. What cannot be is left out, said in one sentence, and tried again, unless its
 * type has no form in the encoding. Errors: of the call to simd.
 */
int record_channels_look(struct record_channels *all);
/* A thread that receives from here on, into the backlog, while main writes; without it record_channels_drain() does. -EAGAIN, -ENOMEM. */
int record_channels_start(struct record_channels *all);
void record_channels_stop(struct record_channels *all);
/* What has arrived goes into the backlog; how many messages. Thread: any. */
unsigned record_channels_receive(struct record_channels *all);
/* Receive, and record all that is in the backlog then. How many were received. */
unsigned record_channels_catch_up(struct record_channels *all);
/*
 * Record what has arrived, in the order of its publishing, and with that time; how many messages. What was published before the recorder
 * began (it is latched) has the time at which that began.
 */
unsigned record_channels_drain(struct record_channels *all);
unsigned record_channels_count(const struct record_channels *all); /* subscribed to */
/* The i-th of those patterns of match.include and .types that no channel which is wanted has matched so far; NULL: there are no more. */
const char *record_channels_unmatched(const struct record_channels *all, unsigned i, bool *ret_is_type);
/* Messages that came so late that simd did not remember its clock at their publishing: they have the oldest time that it did. */
uint64_t record_channels_undated(const struct record_channels *all);

/* ---- record_services.c ---- */

#define RECORD_SERVICES 5
#define RECORD_TEXT     (RECORDING_PATH_SIZE + 1000)

enum record_order { RECORD_NONE, RECORD_PAUSE, RECORD_RESUME, RECORD_TOGGLE, RECORD_DUMP, RECORD_SPLIT };

struct record_services;

/*
 * Offer /NAME/dump and so on. What they are asked for main does, when it has recorded what was published before; they wait for that.
 * 0, or a negative errno: none is offered then, with a sentence in sim_why().
 */
int record_services_create(struct sim_client *c, const char *name, struct record_services **ret);
/* Who waits gets -ECANCELED. NULL is fine. Thread: main. */
void record_services_destroy(struct record_services *s);
/* What was asked for; answer it before the next call. Thread: main. */
enum record_order record_services_order(struct record_services *s);
void record_services_answer(struct record_services *s, int result, const char *text);

#endif
