/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_ros1: one node of ROS 1, with its XML-RPC server, a port of TCPROS and what keeps it registered with the
 * master. All of it lives from create() to destroy(), on one loop; publish() comes from the host's threads.
 *
 * Locks: that of a publication, then that of a subscriber's outbox, then the pool's; `services.lock` is a leaf.
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

struct ros1_topic {           /* on its way out */
	struct topic_out out; /* first */
	struct publication *publication;
	bool registered;
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct topics common;
	struct names names;
	char address[ROS1_TEXT_MAX]; /* what others are told */
	char uri[ROS1_TEXT_MAX + 32];
	char rpc_uri[ROS1_TEXT_MAX + 32]; /* "rosrpc://...", of services */
	char mark[24];                    /* of this simd, in our headers */
	unsigned tcpros_port;
	long queue;
	_Atomic int status;
	struct message_pool pool;
	struct log_limit strangers, peers; /* lines of the log: what anybody can cause, who comes and goes */
	struct exec *x; /* the loop, on the thread "ros1-io"; all that follows is its alone, but for posts */
	/* Of hosts: one that nobody answers for holds up its own kind alone. */
	struct lookup *master_names, *service_names, *publisher_names;
	pthread_t thread;
	bool running;
	struct listener *slave, *tcpros;
	bool off; /* disconnected, or shut down: nobody is served */
	struct publication *publications;
	struct list greeting, askers; /* subscribers whose header has not come yet; callers of the slave API */
	unsigned n_connections;       /* so far */
	struct exec_post holds;       /* messages are held; */
	struct exec_timer release;    /* for so long */
	struct exec_post news;    /* there is something to be reported: what was dropped, who was refused, services; */
	struct exec_timer report; /* then */
	int64_t report_mono_ns;   /* not before then; 0: nothing was */
	struct services services;
	unsigned n_refused; /* peers */
	char refused[100];  /* the last of them, and why */
	struct master master;
	struct links links;
	struct sim_time sim_time;
	struct remotes remotes;
	_Atomic uint64_t converted, skipped;
};

/* What anybody on the network can cause. Thread: the loop's. */
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
/* What a peer says of itself: other bytes than printable ASCII become '?'. */
void log_printable(char *text);

/*
 * node.c: who we are and where we listen, from the options, ROS_IP, ROS_HOSTNAME and ROS_MASTER_URI. read_options() is of the options
 * alone. Errors are logged.
 */
int node_read_options(struct sim_bridge *b);
int node_open(struct sim_bridge *b);
/* struct topics::resolve, of services too. */
int node_resolve(void *bridge, const char *name, char ret[TOPIC_NAME_MAX + 1], char *why, size_t why_size);
void node_close(struct sim_bridge *b);
/* A peer is refused, why: logged, counted and reported. Thread: the loop's. */
__attribute__((format(printf, 2, 3))) void node_refuses(struct sim_bridge *b, const char *fmt, ...);
/* What `simctl bridge info` shows of us has changed. Thread: any. */
void node_has_news(struct sim_bridge *b);
/* Connections end, and nobody is served until `off` is taken back. Thread: the loop's. */
void node_end_connections(struct sim_bridge *b);
/* The master that is meant: the connection string, ROS_MASTER_URI, else the usual one. -EINVAL, with a line in the log. */
int node_master_uri(const struct sim_bridge_host *host, const char *connection, char ret[ROS1_TEXT_MAX]);

/* topic.c: a topic of `common`, and a channel. */
int ros1_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size);
void ros1_topic_close(void *bridge, struct topic_out *t);
int ros1_channel_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		       struct sim_task *task);

/* slave.c: struct listener_options::came, on the port of XML-RPC, and what its streams call. answer(): for tests and fuzzers. */
extern const struct stream_ops slave_ops;
void *slave_came(void *bridge, struct stream *s, const char *from);
void askers_end(struct sim_bridge *b);
void slave_answer(struct sim_bridge *b, const struct xmlrpc_doc *d, struct xmlrpc_writer *w);

#endif
