/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_ros2: one DDS participant, one node, a writer for each channel, a reader for each topic that comes in. All of it
 * lives from create() to destroy(); publish() comes from the host's threads.
 */
#ifndef ROS2_H
#define ROS2_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <dds/dds.h>

#include <sim/bridge.h>

#include "dds_errno.h"
#include "endpoint.h"
#include "graph_read.h"
#include "large.h"
#include "learn.h"
#include "limit.h"
#include "remote.h"
#include "sockets.h"
#include "topics.h"
#include "waiter.h"

#define ROS2_SERVICES_MAX         64u
#define ROS2_PARAM_NODES_MAX      64u   /* nodes with parameters, our own among them */
#define ROS2_REPLIES_MAX          1024u /* that wait for those who asked; and requests that wait for their turn */
#define ROS2_REPLIES_BYTES_MAX    (16u << 20)
#define ROS2_PEERS_MAX            256u /* participants of others whose nodes are known */
#define ROS2_MISSED_MAX           32u  /* publishers of another type than is read */
#define ROS2_UNHEARD_MAX          32u  /* participants on networks, where we are on loopback alone */
#define ROS2_UNHEARD_TEXT         60u
#define ROS2_STATUS_TEXT          200u /* simd keeps so many bytes of a status' sentence */
#define ROS2_CLOCK_PUBLISHERS_MAX 32u  /* other publishers of /clock */
#define ROS2_PREFIX               12u  /* of a GUID, which all entities of a participant have */
#define ROS2_GID_TEXT             64u  /* a GUID as `ros2 topic info -v` prints it */
#define ROS2_WHO_MAX              (GRAPH_NODE_MAX + ROS2_GID_TEXT + 4u)
#define ROS2_HEARD_MAX            8u        /* publishers of a topic whose hash was looked at */
#define ROS2_MAX_BLOCK_DUR_NS     100000000 /* in QoS; a keep-last writer does not wait for slow readers */

struct ros2_qos {
	bool reliable, transient_local;
	int32_t depth;
};

/* A topic on its way out: a writer that one channel's messages go to. */
struct ros2_topic {
	struct topic_out out; /* first */
	struct sim_bridge *bridge;
	dds_entity_t topic, writer;
	struct large_writer large;
	_Atomic int readers;
	_Atomic uint32_t refused; /* policies that a reader asked more of: a bit for each, logged once */
};

struct ros2_inbound {       /* a topic that comes in while somebody listens to its channel */
	struct topic_in in; /* first */
	struct sim_bridge *bridge;
	struct ros2_qos qos;
	dds_entity_t topic, reader; /* 0: nobody listens; the reader is guarded by bridge->lock */
	_Atomic uint32_t refused;   /* as of ros2_topic */
	bool open;                  /* the rig leaves its type to its publishers */
	bool wanted;                /* somebody listens; guarded by bridge->listening */
	struct {
		dds_instance_handle_t writer; /* 0: none */
		bool other;                   /* it sends another definition, and is not heard */
	} heard[ROS2_HEARD_MAX];              /* of an open one; the reader's thread's */
	unsigned n_heard;
};

struct ros2_peer { /* a participant of somebody else */
	dds_instance_handle_t writer;
	struct graph_info info;
};

struct ros2_graph {
	dds_entity_t writer, reader;
	struct waiter waiter;
	const char *distro;  /* the option ros_distro; NULL: auto */
	unsigned deflt;      /* form while nobody is heard: GRAPH_GID_... */
	int64_t wait_dur_ns; /* for somebody to be heard */
	unsigned form;       /* what we write; 0: nothing yet. Written by the thread, under sim_bridge::lock */
	struct {             /* the thread's */
		struct ros2_peer peers[ROS2_PEERS_MAX];
		unsigned n_peers;
		bool mixed, odd_logged;
		struct limit lines;
	} thr;
};

struct ros2_clock_publisher {
	dds_instance_handle_t instance;
	dds_guid_t guid, participant;
	dds_time_t due; /* it is reported then, even without a name */
	bool reported;
};

struct ros2_clock_publishers { /* who else publishes /clock; but for `ours` the graph's thread's */
	dds_entity_t publications;
	struct ros2_clock_publisher one[ROS2_CLOCK_PUBLISHERS_MAX];
	unsigned n;
	bool changed; /* not reported to simd yet */
	struct limit lines;
	_Atomic int ours; /* topics of that name that we have */
};

struct ros2_unheard { /* unheard.c; the graph's thread's */
	int fd;       /* -1: we are not on loopback alone */
	struct {
		uint8_t prefix[ROS2_PREFIX]; /* of its GUID */
		unsigned interface;          /* on which it has announced itself */
		dds_time_t first, last;
	} one[ROS2_UNHEARD_MAX];
	unsigned n;
	char on[ROS2_UNHEARD_TEXT]; /* "eth0, wlan0"; "": there are none */
};

struct ros2_missed { /* what does not take part; but for `lock` and `told` the graph's thread's */
	struct {
		dds_instance_handle_t instance;
		const char *topic; /* borrows, of ros2_inbound or, a service, of topics_call */
		bool service;
		char type[96];
	} one[ROS2_MISSED_MAX];
	unsigned n;
	bool full; /* and there were more */
	dds_entity_t participants;
	unsigned secured; /* of them, with DDS Security */
	int domain;       /* that is in use on this machine, while nobody is in ours; -1: none */
	dds_time_t due;   /* the next look at domains */
	struct limit lines;
	pthread_mutex_t lock; /* one status after the other; before the host's own */
	char told[ROS2_STATUS_TEXT];
};

struct ros2_sim_time { /* time from the graph's /clock */
	bool on;
	dds_entity_t reader;
	struct waiter waiter;
	struct {                                /* the thread's */
		dds_instance_handle_t followed; /* the writer; 0: none */
		char gid[ROS2_GID_TEXT];
		unsigned n; /* writers that could be followed */
		bool driving;
		uint64_t dropped;
		struct limit lines;
	} thr;
};

struct ddsi_domaingv;
struct ros2_service;
struct ros2_request;
struct rtps_identity;

struct ros2_param_node;
struct ros_text;

struct ros2_params { /* params.c */
	pthread_mutex_t lock;
	struct ros_text *made;                               /* the type of that topic */
	dds_entity_t events;                                 /* the writer of /parameter_events; 0: there is none yet */
	struct ros2_param_node *nodes[ROS2_PARAM_NODES_MAX]; /* our own first; guarded and changed as services */
	unsigned n;
};

struct ros2_queue {
	struct ros2_request *first, *last;
	unsigned n;
	size_t bytes;
};

struct ros2_replies { /* service_call.c */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct ros2_queue waiting, ready; /* requests for their turn; replies to be written */
	struct ros2_queue sent;           /* replies that their clients may have lost */
	struct ros2_request *writing;     /* a reply; NULL: none */
	unsigned news;                    /* so many times something has changed */
	bool stop, running;
	pthread_t thread;
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct sockets_log cyclone_log;
	struct topics common;
	dds_entity_t domain, participant;
	struct ddsi_domaingv *inside; /* NULL: this Cyclone is not known */
	uint32_t domain_id;
	bool localhost;            /* this machine only */
	bool machine;              /* and all of it; else what uses loopback alone */
	dds_entity_t participants; /* reads who takes part, to know our own */
	struct ros2_graph graph;
	struct ros2_clock_publishers clock_publishers;
	struct ros2_missed missed;
	struct ros2_unheard unheard;
	struct learn learn;
	struct ros2_remotes remotes;
	pthread_mutex_t listening; /* readers of topics that come in begin and end; before lock */
	char node[64], node_namespace[64];
	_Atomic int status;
	pthread_mutex_t lock; /* guards topics, services, their numbers, and the order of graph samples */
	struct ros2_topic *topics[TOPICS_MAX];
	unsigned n_topics;
	struct ros2_inbound inbound[TOPICS_IN_MAX]; /* set before the first message, then unchanged */
	unsigned n_inbound;
	struct ros2_sim_time sim_time;
	char mark[32]; /* "simd=...;" in the USER_DATA of all participants of this simd; "": it is not known */
	struct ros2_service
		*services[ROS2_SERVICES_MAX]; /* guarded by lock; changed by the host's thread for services alone */
	unsigned n_services;
	uint32_t n_service_ids; /* so far */
	struct ros2_replies replies;
	struct ros2_params params;
	struct large large;
	struct rtps_identity *identity; /* NULL: no service yet, or it is unavailable */
	bool no_identity;
	_Atomic uint64_t converted, skipped; /* messages; skipped: nobody listened */
};

/* domain.c: domain and participant from the bridge's options and the environment. 0 or negative errno, logged. */
int ros2_domain_open(struct sim_bridge *b);

/*
 * graph.c: who we are, for `ros2 node list`, in the form that the others have. The caller holds b->lock for ros2_graph_publish(),
 * which does nothing while that form is unknown. A poke of the waiter makes it look again.
 */
int ros2_graph_open(struct sim_bridge *b);
void ros2_graph_publish(struct sim_bridge *b);
/* A node of that participant, "": none is known. Thread: the graph's. */
const char *ros2_graph_node_of(const struct sim_bridge *b, const dds_guid_t *participant);

/*
 * clock_publishers.c: other publishers of /clock. look(): returns when it wants to be called again, from now. Thread: the
 * graph's.
 */
int ros2_clock_publishers_open(struct sim_bridge *b, dds_entity_t set);
int64_t ros2_clock_publishers_look(struct sim_bridge *b);

/*
 * missed.c: what does not take part. open(): before the graph's thread runs; add(): a publication that comes, drop(): one that is
 * gone. look(): returns when it wants to be called again, from now; what it has to say becomes the status' sentence.
 * Thread: the graph's; ros2_report_status(): the host's.
 */
int ros2_missed_open(struct sim_bridge *b);
void ros2_missed_add(struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, dds_instance_handle_t instance);
/* What a service that is called is served as instead, NULL: as the rig says, or not at all. */
const char *ros2_missed_service(const struct sim_bridge *b, const char *name);
void ros2_missed_drop(struct sim_bridge *b, dds_instance_handle_t instance);
int64_t ros2_missed_look(struct sim_bridge *b);
void ros2_report_status(struct sim_bridge *b, enum sim_bridge_status status);

/*
 * unheard.c: participants of our domain and this machine on its networks, where we are on loopback alone. open(): before the graph's thread
 * runs, close(): after it. found(): this one has been discovered, so it is heard. look(): each few seconds, after found() of all.
 * Thread: the graph's.
 */
void ros2_unheard_open(struct sim_bridge *b);
void ros2_unheard_close(struct ros2_unheard *u);
void ros2_unheard_found(struct ros2_unheard *u, const dds_guid_t *participant);
void ros2_unheard_look(struct sim_bridge *b);

/* peer.c; forget(): those that are gone, of whom a reader keeps what it has read. */
#define ROS2_GONE \
	(DDS_ANY_SAMPLE_STATE | DDS_ANY_VIEW_STATE | DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE | \
	 DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE)
void ros2_peers_forget(struct sim_bridge *b);
void ros2_print_gid(const dds_guid_t *g, char ret[ROS2_GID_TEXT]);
/* Whether it is of a bridge of this simd, or nothing is known of it. */
bool ros2_is_ours(struct sim_bridge *b, dds_instance_handle_t participant);
/* Whether it is known to be of a bridge of any simd. */
bool ros2_is_bridge(struct sim_bridge *b, dds_instance_handle_t participant);

/*
 * topic.c: one topic; open() and close() are those of struct topics, -EBUSY: it has said itself why it is not carried. And all of a
 * channel: each has its try at writing, and the first failure is the answer.
 */
int ros2_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size);
void ros2_topic_close(void *bridge, struct topic_out *out);
int ros2_topic_write(struct sim_bridge *b, struct ros2_topic *t, const struct map_message *in);
int ros2_channel_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void ros2_channel_close(struct sim_bridge *b, struct sim_bridge_topic *t);
int ros2_channel_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		       struct sim_task *task); /* the task is the caller's */

/*
 * inbound.c: what the option "subscribe" asks for. open() reads it, listen() is called by the host when
 * somebody wants the messages of a channel, or nobody any more. close() waits for a message that is being read.
 */
int ros2_inbound_open(struct sim_bridge *b);
void ros2_inbound_listen(struct sim_bridge *b, const char *channel, int on);
void ros2_inbound_close(struct sim_bridge *b);
/* The type of a topic that waited is known: its channel is offered, and read where somebody listens to it already. Thread: the graph's. */
void ros2_inbound_learnt(struct sim_bridge *b, struct ros2_inbound *in);

/*
 * service.c: services for the far side. ros2_service() is called by the host when one is available, or (type NULL) removed; close()
 * writes the replies that wait.
 */
int ros2_services_open(struct sim_bridge *b);
void ros2_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void ros2_services_close(struct sim_bridge *b);
/*
 * Once for a bridge, by its first service: the domain is known from a topic on. What rmw_fastrtps cannot have, rmw_cyclonedds
 * still has: b->identity stays NULL then, and a warning says why.
 */
void ros2_identity_open(struct sim_bridge *b, const struct ddsi_sertype *type);
dds_entity_t ros2_service_reader(const struct ros2_service *s);
dds_entity_t ros2_service_writer(const struct ros2_service *s);

/*
 * params.c: the parameters of simd's nodes, and of ours, which are the bridge's options. service(): as ros2_service(); false: it is
 * about something else. close(): before the services'.
 */
int ros2_params_open(struct sim_bridge *b, const struct sim_bridge_option *options);
bool ros2_params_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void ros2_params_close(struct sim_bridge *b);

/*
 * sim_time.c: the option "use_sim_time". open() begins to look for publishers of /clock; time is driven while the bridge is
 * connected: a poke of the waiter says that this has changed. Its close waits for a round of lock-step that is open.
 */
int ros2_sim_time_open(struct sim_bridge *b);

/* qos.c */
/* The QoS in the rig, else the default. */
struct ros2_qos ros2_qos_of(const struct topic_options *w, struct ros2_qos deflt);
/* The QoS of an endpoint, with the USER_DATA that each of ours has. returns: dds_delete_qos(); NULL: no memory. */
dds_qos_t *ros2_qos_create(const struct ros2_qos *q, const char *hash);
/* The same of a client's two endpoints, which say that they belong together, as those of rmw_cyclonedds: number: which of our clients. */
dds_qos_t *ros2_qos_client(const struct sim_bridge *b, int64_t number, const char *hash);
/* What USER_DATA has behind "typehash=" or another such key, up to the next ';'; "": it does not have it. Too long a value is cut. */
void ros2_qos_user_data(const dds_qos_t *qos, const char *key, char *ret, size_t size);
/* A peer asks for more than is offered: logged once for each policy. topic: as ROS calls it. hint: what to do. */
void ros2_qos_refused(struct sim_bridge *b, _Atomic uint32_t *logged, const char *topic, uint32_t policy,
		      const char *hint);

#endif
