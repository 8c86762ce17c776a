/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: each of the host's is a ROS 1 service, which other nodes call over TCPROS, one request at a time on each
 * connection. A provider accepts a limited number of requests at a time; others wait here for their turn.
 *
 * Thread: services are added and removed on the host's; everything else is on the loop, except answers, which the host
 * delivers on a thread of its own and which are passed on under services.lock, a leaf.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include <pthread.h>

#include <sim/bridge.h>

#include "exec.h"
#include "names.h"
#include "tcpros.h"

#include "ros/ros_text.h"

#define SERVICES_MAX        64u
#define SERVICE_REQUEST_MAX SIM_SERVICE_BODY_MAX /* bytes of a request on the wire */

struct sim_bridge;

/* A service in ROS 1: as ROS defines it, or with our fields. */
struct service_type {
	const struct ros_type *request, *response;
	struct ros_text *made[2]; /* owns them if they had to be made */
	char name[SIM_TYPE_NAME_MAX + 16], md5[ROS_TEXT_MD5];
};

/*
 * -EINVAL it has other fields in ROS, -ENOTSUP, -ENOMEM, with the reason in why. Call service_type_finish() also after
 * an error.
 */
int service_type_init(struct service_type *t, const struct sim_service_type *sim, char *why, size_t why_size);
void service_type_finish(struct service_type *t);

struct ros1_service {
	struct ros1_service *next; /* services::all */
	struct sim_bridge *bridge;
	unsigned refs;                      /* of the list, each caller and each call */
	const struct sim_service_type *sim; /* the host's; valid until the service is removed */
	const struct sim_type *response;    /* our own reference: answers may come later than that */
	struct service_type type;
	char own[SIM_CHANNEL_MAX + 1]; /* name in simd */
	char name[NAMES_LEN + 1];      /* name in ROS */
	unsigned n_open;               /* requests pending at the host */
	struct call *waiting;          /* queued requests, in order */
	int64_t pause_mono_ns;         /* the provider was busy: no request before */
	bool gone;
	uint64_t calls, bytes_in, bytes_out;
};

struct call {
	struct call *next; /* in ros1_service::waiting or services::answered */
	struct ros1_service *service;
	struct caller *caller; /* NULL: disconnected */
	void *request;         /* a body of the host's type, aligned to 64 */
	size_t size;
	int64_t until_mono_ns; /* deadline for its turn */
	int result;
	uint8_t *out; /* the encoded answer; free with free() */
	size_t out_len;
};

struct services {
	struct ros1_service *all; /* used by the loop, as are the members below */
	struct caller *callers;
	unsigned n, n_callers;
	void *body;                          /* buffer for the request being read */
	struct exec_post turn;               /* for answers, and the next turn */
	struct exec_timer due;               /* when the next queued call gets its turn */
	uint64_t calls, bytes_in, bytes_out; /* totals of services that were removed */
	pthread_mutex_t lock;                /* guards: */
	struct call *answered, **answered_end;
};

int services_init(struct sim_bridge *b);    /* 0 or -ENOMEM */
void services_finish(struct sim_bridge *b); /* call after the loop has ended */
/* The host has added the service or, with type NULL, removed it. Thread: the host's. */
void services_notify(struct sim_bridge *b, const char *name, const struct sim_service_type *type);

/* ---- for the loop ---- */

struct ros1_service *service_find(struct sim_bridge *b, const char *name);
void service_unref(struct ros1_service *s);

/*
 * Handles a complete request: passes it on, or queues it. Errors, with the reason in why: -EBADMSG and others
 * malformed, -EBUSY, -ENOMEM. Otherwise caller_answer() follows, never from inside.
 */
int service_call(struct ros1_service *s, struct caller *c, const uint8_t *data, size_t len, struct call **ret,
		 char *why, size_t why_size);

struct stream;
/*
 * caller.c: takes over a connection whose header asks for a service, with its stream. False: too many callers; the
 * connection stays with the caller of this function.
 */
bool caller_take_over(struct sim_bridge *b, struct stream *s, const char *peer, const struct tcpros_header *h);
void caller_end(struct caller *c);
/* Sends the answer to its request; borrows out. NULL: no memory. */
void caller_answer(struct caller *c, const uint8_t *out, size_t len);
/* The service was removed: closes each of its callers once it has its pending answer. */
void callers_end(struct sim_bridge *b, const struct ros1_service *s);
/* Encodes an error answer; free with free(). NULL: no memory. */
uint8_t *caller_refusal(const char *why, size_t *ret_len);

#endif
