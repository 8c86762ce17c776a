/* SPDX-License-Identifier: Apache-2.0 */
/* Inside service.c (which services there are) and service_call.c (what is asked and answered). */
#ifndef SERVICE_H
#define SERVICE_H

#include "halves.h"
#include "ros2.h"
#include "rpc.h"
#include "rtps_identity.h"

struct ros2_service {
	struct sim_bridge *bridge;
	const struct sim_service_type *type; /* the host's, until the service is removed */
	const struct sim_type *response;     /* our own reference: answers may come later */
	char name[TOPIC_NAME_MAX + 1];       /* as ROS has it */
	char simd[SIM_CHANNEL_MAX + 1];      /* as the host does */
	struct ros2_param_node *params;      /* asked about its parameters; NULL: a service of the host */
	uint8_t param_call;                  /* of those: enum param_call */
	unsigned refs;                       /* one of the bridge's list, one of each request that is open */
	dds_entity_t request_topic, response_topic, writer;
	_Atomic dds_entity_t reader; /* 0: the service was removed */
	struct ros2_halves types;    /* theirs */
	struct ddsi_sertype *response_sertype;
	char id[100];  /* "serviceid=...;" */
	uint8_t *body; /* of the request that is being read */
	_Atomic uint64_t dropped;
	bool serves_fastrtps;
	dds_guid_t writer_guid, reader_guid; /* where it serves them */
	/* guarded by replies.lock */
	unsigned n_open, n_waiting; /* requests with the host, and such as wait for their turn */
	int64_t pause_mono_ns;      /* its provider has had enough: none before then */
	bool calling, gone;
	/* of "ros2-replies" */
	int64_t write_pause_mono_ns; /* a reader lags, so that others have their turn */
	uint64_t n_written, n_again; /* replies; of them, such as were written before */
	unsigned n_unacked;          /* replies written since all were acknowledged */
	int64_t batch_mono_ns;       /* since when */
	int64_t ack_mono_ns;         /* until when that is waited for; 0: not now */
	int64_t lag_mono_ns;         /* until when it is not */
};

/* A request that waits for its turn, is with the host, then its reply. */
struct ros2_request {
	struct ros2_request *next; /* of a queue of sim_bridge::replies */
	struct ros2_service *service;
	struct rpc_id id;
	bool of_fastrtps; /* then not id, but: */
	bool to_reader;   /* to.guid is the reader's that waits, else the writer's that asked */
	struct rtps_id to;
	dds_instance_handle_t asker; /* the writer that it came from */
	int64_t until_mono_ns;       /* for its turn, then its reply for those who read */
	uint64_t number;             /* of its reply: service::n_written */
	int64_t sent_mono_ns;        /* when that was written last */
	unsigned tries;              /* so many times again */
	bool others;                 /* other clients are among those that were answered next */
	bool in_doubt;               /* its reply may be lost */
	bool asked_since, taken;     /* its client has asked for something else since; because it has the reply */
	void *request;               /* of the host's request type, aligned to 64 */
	size_t request_size;
	void *body; /* of the response, aligned to 64; out points into it */
	struct iov_buf out;
};

/* The automatic form of what is no name in ROS, unless the rig has strict names. -EINVAL with a sentence. */
int service_ros_name(const struct sim_bridge *b, const char *simd, char ret[TOPIC_NAME_MAX + 1], char *why,
		     size_t size);

/* One of those of a node's parameters. type: "rcl_interfaces/srv/ListParameters". returns: service_close(), then service_unref(). */
int service_create_param(struct ros2_param_node *n, const char *name, const char *type, uint8_t call,
			 struct ros2_service **ret);
/* Nothing is asked any more; what was asked is still answered. */
void service_close(struct ros2_service *s);

void service_ref(struct ros2_service *s);
void service_unref(struct ros2_service *s);

/* Listeners of the reader and the writer; arg is the service. */
void service_on_data(dds_entity_t reader, void *arg);
void service_on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg);

/* The service was removed: its type is not used any more when this returns, and requests that wait are refused. */
void service_calls_end(struct ros2_service *s);

/* A request about parameters has its reply in q->out, or, result below 0, is refused. Thread: its node's. */
void service_answered(struct ros2_request *q, int result, const char *why);

/*
 * Of a service about parameters (param_node.c): keep() reads who asks and keeps the request, take() hands it to its node's thread,
 * which calls service_answered(); refuse() writes a reply that says so.
 */
int ros2_params_keep(struct ros2_request *q, const struct endpoint_sample *sample);
void ros2_params_take(struct ros2_request *q);
int ros2_params_refuse(struct ros2_request *q, const char *why);

int service_calls_open(struct sim_bridge *b);
/* Writes the replies that wait. */
void service_calls_close(struct sim_bridge *b);

#endif
