/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by service.c (which services exist) and service_call.c (requests and replies). */
#ifndef SERVICE_H
#define SERVICE_H

#include "halves.h"
#include "ros2.h"
#include "rpc.h"
#include "rtps_identity.h"

struct ros2_service {
	struct sim_bridge *bridge;
	const struct sim_service_type *type; /* owned by the host, valid until the service is removed */
	const struct sim_type *response;     /* our own reference: answers may arrive after the removal */
	char name[TOPIC_NAME_MAX + 1];       /* ROS name */
	char simd[SIM_CHANNEL_MAX + 1];      /* name in the host */
	struct ros2_param_node *params;      /* node whose parameters it serves; NULL: a service of the host */
	uint8_t param_call;                  /* enum param_call, if params is set */
	unsigned refs;                       /* one for the bridge's list, one for each open request */
	dds_entity_t request_topic, response_topic, writer;
	_Atomic dds_entity_t reader; /* 0: the service has been removed */
	struct ros2_halves types;    /* its ROS types */
	struct ddsi_sertype *response_sertype;
	char id[100];  /* "serviceid=...;" */
	uint8_t *body; /* body of the request being read */
	_Atomic uint64_t dropped;
	bool serves_fastrtps;
	dds_guid_t writer_guid, reader_guid; /* used only if serves_fastrtps */
	/* guarded by replies.lock */
	unsigned n_open, n_waiting; /* requests that the host has, and requests that wait for their turn */
	int64_t pause_mono_ns;      /* no request before this time: the provider was busy */
	bool calling, gone;
	/* used by "ros2-replies" alone */
	int64_t write_pause_mono_ns; /* no reply before this time: a reader lags, and other services get their turn */
	uint64_t n_written, n_again; /* replies written; of these, sent again */
	unsigned n_unacked;          /* replies written since all were last acknowledged */
	int64_t batch_mono_ns;       /* time of that acknowledgement */
	int64_t ack_mono_ns;         /* until when to wait for acknowledgements; 0: not waiting */
	int64_t lag_mono_ns;         /* until when not to wait for acknowledgements */
};

/* A request: it waits for its turn, is with the host, then waits for its reply to be written. */
struct ros2_request {
	struct ros2_request *next; /* next in a queue of sim_bridge::replies */
	struct ros2_service *service;
	struct rpc_id id;
	bool of_fastrtps; /* if set, `to` identifies the request, else `id` */
	bool to_reader;   /* to.guid is the client's reader of replies, else the writer of the request */
	struct rtps_id to;
	dds_instance_handle_t asker; /* writer that the request came from */
	int64_t until_mono_ns;       /* until when it may wait: for its turn, then for the readers of its reply */
	uint64_t number;             /* service::n_written when its reply was written */
	int64_t sent_mono_ns;        /* time of the reply's last write */
	unsigned tries;              /* how often the reply was sent again */
	bool others;                 /* replies to other clients were among those written next */
	bool in_doubt;               /* the client may have lost the reply */
	/* the client has made another request since then; that request shows that it has the reply */
	bool asked_since, taken;
	void *request; /* body of the host's request type, aligned to 64 */
	size_t request_size;
	void *body; /* body of the response, aligned to 64; out points into it */
	struct iov_buf out;
};

/*
 * Returns the ROS name: simd's name, or its automatic form if ROS does not allow it and the rig does not have strict
 * names. -EINVAL with the reason in why.
 */
int service_ros_name(const struct sim_bridge *b, const char *simd, char ret[TOPIC_NAME_MAX + 1], char *why,
		     size_t size);

/*
 * Creates a service for a node's parameters. type: such as "rcl_interfaces/srv/ListParameters". Free with
 * service_close(), then service_unref().
 */
int service_create_param(struct ros2_param_node *n, const char *name, const char *type, uint8_t call,
			 struct ros2_service **ret);
/* Stops taking requests; those already taken are still answered. */
void service_close(struct ros2_service *s);

void service_ref(struct ros2_service *s);
void service_unref(struct ros2_service *s);

/* Listeners of the reader and the writer; arg is the service. */
void service_on_data(dds_entity_t reader, void *arg);
void service_on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg);

/* For a service that was removed: when this returns, its type is no longer in use, and waiting requests are refused. */
void service_calls_end(struct ros2_service *s);

/*
 * Called when a request about parameters has its reply in q->out or, if result is negative, is refused. Thread: its
 * node's.
 */
void service_answered(struct ros2_request *q, int result, const char *why);

/*
 * For services about parameters (param_node.c): keep() reads the client's identity and keeps the request, take() hands
 * it to its node's thread, which calls service_answered(); refuse() writes a refusal as the reply.
 */
int ros2_params_keep(struct ros2_request *q, const struct endpoint_sample *sample);
void ros2_params_take(struct ros2_request *q);
int ros2_params_refuse(struct ros2_request *q, const char *why);

int service_calls_open(struct sim_bridge *b);
/* Writes the replies that are waiting, then stops the thread. */
void service_calls_close(struct sim_bridge *b);

#endif
