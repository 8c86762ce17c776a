/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's connection to the master: registers what is wanted; checks every second whether the master still knows the
 * node, and registers everything again after a restart of the master. One call at a time. Thread: the loop's, unless
 * stated otherwise.
 */
#ifndef MASTER_H
#define MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "exec.h"
#include "names.h"

struct ask;
struct sim_bridge;
struct xmlrpc_value;

enum master_kind { MASTER_PUBLISHES, MASTER_SUBSCRIBES, MASTER_SERVES };

struct master_name { /* a topic or service that is registered, or wanted */
	struct master_name *next;
	char *name, *type; /* type is unused for a service */
	enum master_kind kind;
	unsigned wanted;
	bool registered;
	/*
	 * a subscription got a further subscriber after it was registered, who needs the publishers from a new
	 * registration
	 */
	bool again;
};

struct master {
	char uri[ROS1_TEXT_MAX];
	char next_uri[ROS1_TEXT_MAX]; /* URI to use once names are unregistered at the previous master */
	struct master_name *names;
	bool on, stop;
	bool left;           /* it was switched off since the last turn: unregister first, even if it is on again */
	char shut_down[128]; /* reason; "": not shut down */
	char more[200];      /* appended to the status text while connected */
	bool use_sim_time;   /* set /use_sim_time in the parameter server; constant */
	struct exec_post turn;
	struct exec_timer due;
	struct ask *ask; /* the pending call; NULL: none */
	/* Handles the answer; value: from the answer, NULL: none. Returns how long to wait before the next turn. */
	int64_t (*then)(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why);
	struct master_name *name; /* the name that the call is about */
	bool contact;             /* the master has answered since we are on */
	bool lost;                /* the master does not answer at present */
	int64_t check_mono_ns, pause_dur_ns;
	int64_t farewell_mono_ns; /* deadline for unregistering; 0: not unregistering */
};

void master_open(struct sim_bridge *b);
/* Unregisters everything, if the master answers within a second; then calls exec_quit(). */
void master_stop(struct sim_bridge *b);
void master_close(struct sim_bridge *b);

/* Thread: any, also for the next four. */
void master_connect(struct sim_bridge *b, const char *uri);
void master_disconnect(struct sim_bridge *b);

/*
 * Registers a topic of ours, a subscription, whose publishers are passed to subscription_publishers(), or a service of
 * ours; reference-counted. -ENOMEM.
 */
int master_want(struct sim_bridge *b, enum master_kind kind, const char *name, const char *type);
void master_unwant(struct sim_bridge *b, enum master_kind kind, const char *name);

/* Shutdown by the master, because another node has our name, or by a user. */
void master_shut_down(struct sim_bridge *b, const char *why);
/* Sets the text that `simctl bridge info` shows in addition, while connected. */
void master_report(struct sim_bridge *b, const char *more);

#endif
