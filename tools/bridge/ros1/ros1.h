/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_ros1: one ROS 1 node, with its XML-RPC server, a TCPROS port and the code that keeps it registered with
 * the master. All of it exists from create() to destroy(), on one loop; publish() is called on the host's threads.
 *
 * Lock order: a publication's, then that of a subscriber's outbox, then the pool's; `services.lock` is a leaf.
 */
#ifndef ROS1_H
#define ROS1_H

#include <pthread.h>
#include <stdatomic.h>

#include <sim/bridge.h>

#include "exec.h"
#include "list.h"
#include "log_limit.h"
#include "lookup.h"
#include "master.h"
#include "message.h"
#include "names.h"
#include "remote.h"
#include "service.h"
#include "subscription.h"
#include "topics.h"

struct listener;
struct publication;
struct xmlrpc_doc;
struct xmlrpc_writer;

struct ros1_topic {           /* an outgoing topic */
	struct topic_out out; /* first member */
	struct publication *publication;
	bool registered;
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct topics common;
	struct names names;
	char address[ROS1_TEXT_MAX]; /* address given to other nodes */
	char uri[ROS1_TEXT_MAX + 32];
	char rpc_uri[ROS1_TEXT_MAX + 32]; /* "rosrpc://...", for services */
	char mark[24];                    /* identifies this simd in our headers */
	unsigned tcpros_port;
	long queue;
	_Atomic int status;
	struct message_pool pool;
	/* limits of log lines: that any peer can cause; about peers connecting and disconnecting */
	struct log_limit strangers, peers;
	struct exec *x; /* the loop, on the thread "ros1-io"; the members below are used only there, except for posts */
	/* Look-ups of host names, separate so that a name that takes long delays only its own kind. */
	struct lookup *master_names, *service_names, *publisher_names;
	pthread_t thread;
	bool running;
	struct listener *slave, *tcpros;
	bool off; /* disconnected, or shut down: no peer is served */
	struct publication *publications;
	struct list greeting, askers; /* subscribers whose header has not arrived; callers of the slave API */
	unsigned n_connections;       /* in total so far */
	struct exec_post holds;       /* posted when messages are held; */
	struct exec_timer release;    /* then limits how long */
	/* posted when there is something to report: dropped messages, refused peers, services; */
	struct exec_post news;
	struct exec_timer report; /* then reports it */
	int64_t report_mono_ns;   /* earliest time of the next report; 0: none so far */
	struct services services;
	unsigned n_refused; /* number of refused peers */
	char refused[100];  /* the last one, and the reason */
	struct master master;
	struct links links;
	struct sim_time sim_time;
	struct remotes remotes;
	_Atomic uint64_t converted, skipped;
};

/* Logs with a limit, for lines that any peer on the network can cause. Thread: the loop's. */
#define log_within(b, limit, level, fmt, ...) \
	do { \
		uint64_t held_; \
		if (log_limit_pass((limit), exec_now((b)->x), &held_)) { \
			if (held_) \
				log_at(b, level, fmt " (%llu more like it before)", ##__VA_ARGS__, \
				       (unsigned long long)held_); \
			else \
				log_at(b, level, fmt, ##__VA_ARGS__); \
		} \
	} while (0)
#define log_stranger(b, level, ...) log_within(b, &(b)->strangers, level, __VA_ARGS__)
#define log_peer(b, ...)            log_within(b, &(b)->peers, 2, __VA_ARGS__)
/* For text from a peer: replaces bytes other than printable ASCII by '?'. */
void log_printable(char *text);

/*
 * node.c: the node's name and addresses, from the options, ROS_IP, ROS_HOSTNAME and ROS_MASTER_URI. node_read_options()
 * uses only the options. Errors are logged.
 */
int node_read_options(struct sim_bridge *b);
int node_open(struct sim_bridge *b);
/* A struct topics::resolve; used for services, too. */
int node_resolve(void *bridge, const char *name, char ret[TOPIC_NAME_MAX + 1], char *why, size_t why_size);
void node_close(struct sim_bridge *b);
/* Logs, counts and reports that a peer was refused, with the reason. Thread: the loop's. */
__attribute__((format(printf, 2, 3))) void node_refuses(struct sim_bridge *b, const char *fmt, ...);
/* The text that `simctl bridge info` shows has changed. Thread: any. */
void node_has_news(struct sim_bridge *b);
/* Ends all connections; no peer is served until `off` is reset. Thread: the loop's. */
void node_end_connections(struct sim_bridge *b);
/* The URI of the master: the connection string, else ROS_MASTER_URI, else the default. -EINVAL, logged. */
int node_master_uri(const struct sim_bridge_host *host, const char *connection, char ret[ROS1_TEXT_MAX]);

/* topic.c: an outgoing topic of `common`; writing a channel. */
int ros1_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size);
void ros1_topic_close(void *bridge, struct topic_out *t);
int ros1_channel_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		       struct sim_task *task);

/*
 * slave.c: slave_came() is a listener_options::came, for the XML-RPC port, slave_ops are for its streams.
 * slave_answer(): for tests and fuzzers.
 */
extern const struct stream_ops slave_ops;
void *slave_came(void *bridge, struct stream *s, const char *from);
void askers_end(struct sim_bridge *b);
void slave_answer(struct sim_bridge *b, const struct xmlrpc_doc *d, struct xmlrpc_writer *w);

#endif
