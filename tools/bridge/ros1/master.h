/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's side of the master: a thread, "ros1-master", that registers what is wanted, looks every second whether the master still
 * knows it, and registers all again with one that was restarted. Thread: any, but for what says otherwise.
 */
#ifndef MASTER_H
#define MASTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "net.h"

struct sim_bridge;

enum master_kind { MASTER_PUBLISHES, MASTER_SUBSCRIBES, MASTER_SERVES };

struct master_name { /* a topic or service that is registered, or is to be */
	struct master_name *next;
	char *name, *type; /* of a service the type is not used */
	enum master_kind kind;
	unsigned wanted;
	bool registered;
};

struct master {
	pthread_mutex_t lock; /* a leaf: guards what follows, but for what is the thread's */
	pthread_cond_t changed;
	char uri[NET_TEXT_MAX];
	struct master_name *names;
	bool on, stop;
	bool left; /* switched off since the thread last looked: registration starts again, even if it is on again */
	char shut_down[128]; /* why, "": it is not */
	char more[200];      /* of the sentence that says that we are connected */
	bool use_sim_time;   /* is to be set in the parameter server */
	/* constant */
	pthread_t thread;
	bool running;
	int stop_fd; /* readable: calls end */
	struct {
		bool contact; /* it has answered since we are on */
		bool lost;    /* it does not now */
		int64_t check_mono_ns, pause_dur_ns;
	} thr;
};

int master_open(struct sim_bridge *b);
/* What is registered is taken back, if the master answers within a second. */
void master_close(struct sim_bridge *b);

void master_connect(struct sim_bridge *b, const char *uri);
void master_disconnect(struct sim_bridge *b);
/* By the master, because another node has our name, or by a user. Returns at once. */
void master_shut_down(struct sim_bridge *b, const char *why);

/*
 * A topic of ours, a topic that comes in, whose publishers go to subscription_publishers(), or a service of ours; it is counted.
 * -ENOMEM.
 */
int master_want(struct sim_bridge *b, enum master_kind kind, const char *name, const char *type);
void master_unwant(struct sim_bridge *b, enum master_kind kind, const char *name);

/* What the sentence that `simctl bridge info` shows has more, while it is connected. */
void master_report(struct sim_bridge *b, const char *more);

void master_uri(struct sim_bridge *b, char ret[NET_TEXT_MAX]);

#endif
