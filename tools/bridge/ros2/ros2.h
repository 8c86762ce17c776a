/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared inside bridge_ros2: one DDS participant, one node, a writer for each channel, a reader for each inbound topic.
 * All of it lives from create() to destroy(); publish() is called on the host's threads.
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
#define ROS2_PARAM_NODES_MAX      64u   /* nodes with parameters, including our own */
#define ROS2_REPLIES_MAX          1024u /* replies that wait for their clients, and requests that wait for their turn */
#define ROS2_REPLIES_BYTES_MAX    (16u << 20)
#define ROS2_PEERS_MAX            256u /* remote participants whose nodes are known */
#define ROS2_MISSED_MAX           32u  /* publishers whose type differs from what is read */
#define ROS2_UNHEARD_MAX          32u  /* participants on networks while we use loopback alone */
#define ROS2_UNHEARD_TEXT         60u
#define ROS2_STATUS_TEXT          200u /* bytes of a status sentence that simd keeps */
#define ROS2_CLOCK_PUBLISHERS_MAX 32u  /* other publishers of /clock */
#define ROS2_PREFIX               12u  /* of a GUID, the same for all entities of a participant */
#define ROS2_GID_TEXT             64u  /* a GUID as `ros2 topic info -v` prints it */
#define ROS2_WHO_MAX              (GRAPH_NODE_MAX + ROS2_GID_TEXT + 4u)
#define ROS2_HEARD_MAX            8u        /* publishers of one topic whose hash is remembered */
#define ROS2_MAX_BLOCK_DUR_NS     100000000 /* in QoS; a keep-last writer does not wait for slow readers */

struct ros2_qos {
	bool reliable, transient_local;
	int32_t depth;
};

/* An outbound topic: a writer for one channel's messages. */
struct ros2_topic {
	struct topic_out out; /* first */
	struct sim_bridge *bridge;
	dds_entity_t topic, writer;
	struct large_writer large;
	_Atomic int readers;
	_Atomic uint32_t refused; /* policies for which a reader asked for more: one bit each, logged once */
};

struct ros2_inbound {       /* an inbound topic, read while its channel has a subscriber */
	struct topic_in in; /* first */
	struct sim_bridge *bridge;
	struct ros2_qos qos;
	dds_entity_t topic, reader; /* 0: no subscriber; the reader is guarded by bridge->lock */
	_Atomic uint32_t refused;   /* as in ros2_topic */
	bool open;                  /* the type is that of its publishers: the rig leaves it open */
	bool wanted;                /* the channel has a subscriber; guarded by bridge->listening */
	struct {
		dds_instance_handle_t writer; /* 0: none */
		bool other;                   /* it sends another definition and is ignored */
	} heard[ROS2_HEARD_MAX];              /* if open; used by the reader's thread alone */
	unsigned n_heard;
};

struct ros2_peer { /* a remote participant */
	dds_instance_handle_t writer;
	struct graph_info info;
};

struct ros2_graph {
	dds_entity_t writer, reader;
	struct waiter waiter;
	const char *distro;  /* the option ros_distro; NULL: auto */
	unsigned deflt;      /* format until another participant is seen: GRAPH_GID_... */
	int64_t wait_dur_ns; /* how long to wait for another participant */
	/* format that we write; 0: nothing yet. Written by the graph's thread, under sim_bridge::lock */
	unsigned form;
	struct { /* used by the graph's thread alone */
		struct ros2_peer peers[ROS2_PEERS_MAX];
		unsigned n_peers;
		bool mixed, odd_logged;
		struct limit lines;
	} thr;
};

struct ros2_clock_publisher {
	dds_instance_handle_t instance;
	dds_guid_t guid, participant;
	dds_time_t due; /* when to report it, even if its node's name is unknown */
	bool reported;
};

struct ros2_clock_publishers { /* other publishers of /clock; all but `ours` are used by the graph's thread alone */
	dds_entity_t publications;
	struct ros2_clock_publisher one[ROS2_CLOCK_PUBLISHERS_MAX];
	unsigned n;
	bool changed; /* not reported to simd yet */
	struct limit lines;
	_Atomic int ours; /* topics of our own with that name */
};

struct ros2_unheard { /* unheard.c; used by the graph's thread alone */
	int fd;       /* -1: we do not use loopback alone */
	struct {
		uint8_t prefix[ROS2_PREFIX]; /* of the participant's GUID */
		unsigned interface;          /* index of the interface where it announced itself */
		dds_time_t first, last;
	} one[ROS2_UNHEARD_MAX];
	unsigned n;
	char on[ROS2_UNHEARD_TEXT]; /* "eth0, wlan0"; "": no such participant */
};

/* participants and publishers that cannot take part; all but `lock` and `told` are used by the graph's thread alone */
struct ros2_missed {
	struct {
		dds_instance_handle_t instance;
		const char *topic; /* borrows the name of the ros2_inbound or, for a service, of the topics_call */
		bool service;
		char type[96];
	} one[ROS2_MISSED_MAX];
	unsigned n;
	bool full; /* more were found than fit */
	dds_entity_t participants;
	unsigned secured; /* participants with DDS Security */
	int domain;       /* another domain in use on this machine, while ours has no other participant; -1: none */
	dds_time_t due;   /* when to look at domains and participants next */
	struct limit lines;
	pthread_mutex_t lock; /* orders reports of the status; taken before the host's own locks */
	char told[ROS2_STATUS_TEXT];
};

struct ros2_sim_time { /* time from the graph's /clock */
	bool on;
	dds_entity_t reader;
	struct waiter waiter;
	struct {                                /* used by "ros2-sim-time" alone */
		dds_instance_handle_t followed; /* the writer that is followed; 0: none */
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
	struct ros_text *made;                               /* type of /parameter_events */
	dds_entity_t events;                                 /* writer of /parameter_events; 0: not created yet */
	struct ros2_param_node *nodes[ROS2_PARAM_NODES_MAX]; /* [0] is our own; guarded and changed as services */
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
	struct ros2_queue waiting, ready; /* requests that wait for their turn; replies to be written */
	struct ros2_queue sent;           /* replies that their clients may have lost */
	struct ros2_request *writing;     /* reply that is being written; NULL: none */
	unsigned news;                    /* number of changes so far */
	bool stop, running;
	pthread_t thread;
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct sockets_log cyclone_log;
	struct topics common;
	dds_entity_t domain, participant;
	struct ddsi_domaingv *inside; /* NULL: this build of Cyclone is not known */
	uint32_t domain_id;
	bool localhost;            /* only this machine takes part */
	bool machine;              /* on all interfaces of this machine, else on loopback alone; only with localhost */
	dds_entity_t participants; /* reader of discovered participants, to recognise our own */
	struct ros2_graph graph;
	struct ros2_clock_publishers clock_publishers;
	struct ros2_missed missed;
	struct ros2_unheard unheard;
	struct learn learn;
	struct ros2_remotes remotes;
	pthread_mutex_t listening; /* held while readers of inbound topics are created and deleted; taken before lock */
	char node[64], node_namespace[64];
	_Atomic int status;
	pthread_mutex_t lock; /* guards topics, services, their counts, and the order of graph samples */
	struct ros2_topic *topics[TOPICS_MAX];
	unsigned n_topics;
	struct ros2_inbound inbound[TOPICS_IN_MAX]; /* filled before the first message, then unchanged */
	unsigned n_inbound;
	struct ros2_sim_time sim_time;
	char mark[32]; /* "simd=...;" in the USER_DATA of all participants of this simd; "": unknown */
	struct ros2_service *services[ROS2_SERVICES_MAX]; /* guarded by lock; only the host's thread changes it */
	unsigned n_services;
	uint32_t n_service_ids; /* service ids used so far */
	struct ros2_replies replies;
	struct ros2_params params;
	struct large large;
	struct rtps_identity *identity; /* NULL: no service yet, or it is unavailable */
	bool no_identity;
	_Atomic uint64_t converted, skipped; /* messages; skipped: no subscriber */
};

/*
 * domain.c: creates domain and participant from the bridge's options and the environment. 0 or negative errno, logged.
 */
int ros2_domain_open(struct sim_bridge *b);

/*
 * graph.c: announces our nodes for `ros2 node list`, in the format that other participants use. The caller of
 * ros2_graph_publish() holds b->lock; it does nothing until the format is chosen. Poke the waiter to make the thread
 * look again.
 */
int ros2_graph_open(struct sim_bridge *b);
void ros2_graph_publish(struct sim_bridge *b);
/* Returns the name of a node of that participant; "": unknown. Thread: the graph's. */
const char *ros2_graph_node_of(const struct sim_bridge *b, const dds_guid_t *participant);

/*
 * clock_publishers.c: other publishers of /clock. look() returns in how many ns it wants to be called again. Thread:
 * the graph's.
 */
int ros2_clock_publishers_open(struct sim_bridge *b, dds_entity_t set);
int64_t ros2_clock_publishers_look(struct sim_bridge *b);

/*
 * missed.c: participants and publishers that cannot take part. open() runs before the graph's thread; add() and drop()
 * are called for a publication that was discovered or has disappeared. look() returns in how many ns it wants to be
 * called again; what it finds goes into the status sentence. Thread: the graph's; ros2_report_status(): the host's.
 */
int ros2_missed_open(struct sim_bridge *b);
void ros2_missed_add(struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, dds_instance_handle_t instance);
/* Returns the other type with which a service that we call is served; NULL: the rig's type, or not served at all. */
const char *ros2_missed_service(const struct sim_bridge *b, const char *name);
void ros2_missed_drop(struct sim_bridge *b, dds_instance_handle_t instance);
int64_t ros2_missed_look(struct sim_bridge *b);
void ros2_report_status(struct sim_bridge *b, enum sim_bridge_status status);

/*
 * unheard.c: participants of our domain on this machine's networks, while we use loopback alone. open() runs before the
 * graph's thread, close() after it. found(): the participant has been discovered, so it takes part. look(): every few
 * seconds, after found() for all. Thread: the graph's.
 */
void ros2_unheard_open(struct sim_bridge *b);
void ros2_unheard_close(struct ros2_unheard *u);
void ros2_unheard_found(struct ros2_unheard *u, const dds_guid_t *participant);
void ros2_unheard_look(struct sim_bridge *b);

/* peer.c; forget(): takes the samples of participants that are gone, which a reader otherwise keeps. */
#define ROS2_GONE \
	(DDS_ANY_SAMPLE_STATE | DDS_ANY_VIEW_STATE | DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE | \
	 DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE)
void ros2_peers_forget(struct sim_bridge *b);
void ros2_print_gid(const dds_guid_t *g, char ret[ROS2_GID_TEXT]);
/* Whether the participant belongs to a bridge of this simd, or is unknown. */
bool ros2_is_ours(struct sim_bridge *b, dds_instance_handle_t participant);
/* Whether the participant is known to belong to a bridge of any simd. */
bool ros2_is_bridge(struct sim_bridge *b, dds_instance_handle_t participant);

/*
 * topic.c: one outbound topic; open() and close() are those of struct topics, and -EBUSY means that the reason was
 * already logged. Then all topics of a channel: write() tries each one and returns the first failure.
 */
int ros2_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size);
void ros2_topic_close(void *bridge, struct topic_out *out);
int ros2_topic_write(struct sim_bridge *b, struct ros2_topic *t, const struct map_message *in);
int ros2_channel_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void ros2_channel_close(struct sim_bridge *b, struct sim_bridge_topic *t);
int ros2_channel_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		       struct sim_task *task); /* owned by the caller */

/*
 * inbound.c: the option "subscribe". open() reads it; the host calls listen() when a channel gets its first subscriber
 * or loses its last. close() waits until a message in progress has been read.
 */
int ros2_inbound_open(struct sim_bridge *b);
void ros2_inbound_listen(struct sim_bridge *b, const char *channel, int on);
void ros2_inbound_close(struct sim_bridge *b);
/*
 * For a topic whose type has become known: offers its channel, and reads the topic if the channel already has a
 * subscriber. Thread: the graph's.
 */
void ros2_inbound_learnt(struct sim_bridge *b, struct ros2_inbound *in);

/*
 * service.c: the host's services in ROS. The host calls ros2_service() when one becomes available or (type NULL) is
 * removed; close() writes the replies that are waiting.
 */
int ros2_services_open(struct sim_bridge *b);
void ros2_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void ros2_services_close(struct sim_bridge *b);
/*
 * Called for each service, effective once per bridge: its type tells the domain. If it fails, b->identity stays NULL, a
 * warning says why, and services work for rmw_cyclonedds but not for rmw_fastrtps.
 */
void ros2_identity_open(struct sim_bridge *b, const struct ddsi_sertype *type);
dds_entity_t ros2_service_reader(const struct ros2_service *s);
dds_entity_t ros2_service_writer(const struct ros2_service *s);

/*
 * params.c: parameters of simd's nodes, and our own node's, which are the bridge's options. service(): as
 * ros2_service(); returns false if the service is not about parameters. close(): before the services'.
 */
int ros2_params_open(struct sim_bridge *b, const struct sim_bridge_option *options);
bool ros2_params_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void ros2_params_close(struct sim_bridge *b);

/*
 * sim_time.c: the option "use_sim_time". open() starts to look for publishers of /clock; they drive the time while the
 * bridge is connected. Poke the waiter when that changes. Closing the waiter waits for an open lock-step round.
 */
int ros2_sim_time_open(struct sim_bridge *b);

/* qos.c */
/* Returns the QoS that the rig gives, else the default. */
struct ros2_qos ros2_qos_of(const struct topic_options *w, struct ros2_qos deflt);
/* Returns an endpoint's QoS, with the USER_DATA of all our endpoints. Free with dds_delete_qos(); NULL: no memory. */
dds_qos_t *ros2_qos_create(const struct ros2_qos *q, const char *hash);
/*
 * Like ros2_qos_create(), for a client's two endpoints: USER_DATA ties them together, as rmw_cyclonedds does. number:
 * unique among our clients.
 */
dds_qos_t *ros2_qos_client(const struct sim_bridge *b, int64_t number, const char *hash);
/*
 * Reads the value of a key such as "typehash=" from USER_DATA, up to the next ';'. "": no such key. Long values are
 * truncated.
 */
void ros2_qos_user_data(const dds_qos_t *qos, const char *key, char *ret, size_t size);
/* Logs that a peer's QoS does not match, once for each policy. topic: its ROS name. hint: what to do. */
void ros2_qos_refused(struct sim_bridge *b, _Atomic uint32_t *logged, const char *topic, uint32_t policy,
		      const char *hint);

#endif
