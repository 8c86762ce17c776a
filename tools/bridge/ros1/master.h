/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's side of the master: what is wanted is registered; each second it looks whether the master still knows it, and it
 * registers all again with one that was restarted. One call after the other, never two. Thread: the loop's, but for what says otherwise.
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

struct master_name { /* a topic or service that is registered, or is to be */
	struct master_name *next;
	char *name, *type; /* of a service the type is not used */
	enum master_kind kind;
	unsigned wanted;
	bool registered;
	bool again; /* a topic that comes in was wanted when it was registered: who has come to want it knows no publishers */
};

struct master {
	char uri[ROS1_TEXT_MAX];
	char next_uri[ROS1_TEXT_MAX]; /* of the one that is meant, when the one before has had its farewell */
	struct master_name *names;
	bool on, stop;
	bool left;           /* switched off since it last looked: registration starts again, even if it is on again */
	char shut_down[128]; /* why, "": it is not */
	char more[200];      /* of the sentence that says that we are connected */
	bool use_sim_time;   /* is to be set in the parameter server; constant */
	struct exec_post turn;
	struct exec_timer due;
	struct ask *ask; /* the call that is open; NULL: none */
	/* What its answer is for; value: what came with it, NULL: none. Returns how long to wait then. */
	int64_t (*then)(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why);
	struct master_name *name; /* that it is about */
	bool contact;             /* it has answered since we are on */
	bool lost;                /* it does not now */
	int64_t check_mono_ns, pause_dur_ns;
	int64_t farewell_mono_ns; /* all is taken back, until then; 0: it is not */
};

void master_open(struct sim_bridge *b);
/* What is registered is taken back, if the master answers within a second; then exec_quit(). */
void master_stop(struct sim_bridge *b);
void master_close(struct sim_bridge *b);

/* Thread: any, as the next four. */
void master_connect(struct sim_bridge *b, const char *uri);
void master_disconnect(struct sim_bridge *b);

/*
 * A topic of ours, a topic that comes in, whose publishers go to subscription_publishers(), or a service of ours; it is counted.
 * -ENOMEM.
 */
int master_want(struct sim_bridge *b, enum master_kind kind, const char *name, const char *type);
void master_unwant(struct sim_bridge *b, enum master_kind kind, const char *name);

/* By the master, because another node has our name, or by a user. */
void master_shut_down(struct sim_bridge *b, const char *why);
/* What the sentence that `simctl bridge info` shows has more, while it is connected. */
void master_report(struct sim_bridge *b, const char *more);

#endif
