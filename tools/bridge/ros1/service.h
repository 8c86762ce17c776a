/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: each of the host's is one of ROS 1, which others call over TCPROS, one request after the other on a connection. A provider
 * takes some requests at a time; others wait for their turn here.
 *
 * Thread: services come and go on the host's; all else is the loop's, but for the answers, which the host brings on a thread of
 * its own and which are handed over under services.lock, a leaf.
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
#define SERVICE_REQUEST_MAX SIM_SERVICE_BODY_MAX /* bytes of it on its way */

struct sim_bridge;

/* What a service is in ROS 1: as ROS defines it, or with our fields. */
struct service_type {
	const struct ros_type *request, *response;
	struct ros_text *made[2]; /* those two, where they had to be made */
	char name[SIM_TYPE_NAME_MAX + 16], md5[ROS_TEXT_MD5];
};

/* `why` gets a sentence: -EINVAL it has other fields in ROS, -ENOTSUP, -ENOMEM. service_type_finish() also then. */
int service_type_init(struct service_type *t, const struct sim_service_type *sim, char *why, size_t why_size);
void service_type_finish(struct service_type *t);

struct ros1_service {
	struct ros1_service *next; /* services::all */
	struct sim_bridge *bridge;
	unsigned refs;                      /* the list's, that of each caller and each call */
	const struct sim_service_type *sim; /* the host's, until the service is removed */
	const struct sim_type *response;    /* our own reference: answers may come later */
	struct service_type type;
	char own[SIM_CHANNEL_MAX + 1]; /* the host's name of it */
	char name[NAMES_LEN + 1];      /* in ROS */
	unsigned n_open;               /* calls that the host has */
	struct call *waiting;          /* for their turn, in order */
	int64_t pause_mono_ns;         /* its provider has had enough: none before then */
	bool gone;
	uint64_t calls, bytes_in, bytes_out;
};

struct call {
	struct call *next; /* ros1_service::waiting or services::answered */
	struct ros1_service *service;
	struct caller *caller; /* NULL: it has hung up */
	void *request;         /* of the host's type, aligned to 64 */
	size_t size;
	int64_t until_mono_ns; /* for its turn */
	int result;
	uint8_t *out; /* the answer as it is sent: malloc() */
	size_t out_len;
};

struct services {
	struct ros1_service *all; /* the loop's, as what follows */
	struct caller *callers;
	unsigned n, n_callers;
	void *body;                          /* of the request that is being read */
	struct exec_post turn;               /* answers, and turns */
	struct exec_timer due;               /* the next turn */
	uint64_t calls, bytes_in, bytes_out; /* of services that are no more */
	pthread_mutex_t lock;                /* guards: */
	struct call *answered, **answered_end;
};

int services_init(struct sim_bridge *b);    /* 0 or -ENOMEM */
void services_finish(struct sim_bridge *b); /* when the loop has ended */
/* The host has it or, type NULL, has it no more. Thread: the host's. */
void services_notify(struct sim_bridge *b, const char *name, const struct sim_service_type *type);

/* ---- the loop's ---- */

struct ros1_service *service_find(struct sim_bridge *b, const char *name);
void service_unref(struct ros1_service *s);

/*
 * A request that is whole: it is asked, or waits. Errors, with a sentence in why: -EBADMSG and others it does not hold, -EBUSY, -ENOMEM.
 * Else caller_answer() follows, never from inside.
 */
int service_call(struct ros1_service *s, struct caller *c, const uint8_t *data, size_t len, struct call **ret,
		 char *why, size_t why_size);

struct stream;
/*
 * caller.c: a connection that has asked for a service in its header, and its stream with it. False: there are too many, and it is
 * whose it was.
 */
bool caller_take_over(struct sim_bridge *b, struct stream *s, const char *peer, const struct tcpros_header *h);
void caller_end(struct caller *c);
/* The answer to its request, as it is sent: borrows out. NULL: no memory. */
void caller_answer(struct caller *c, const uint8_t *out, size_t len);
/* Its service is no more: it is closed when it has the answer that it waits for. */
void callers_end(struct sim_bridge *b, const struct ros1_service *s);
/* ok 0: an error. returns: malloc(), NULL: no memory. */
uint8_t *caller_refusal(const char *why, size_t *ret_len);

#endif
