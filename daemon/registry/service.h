/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: a client offers one under a name, others send requests, and each request is answered exactly once: by the
 * provider's response or error, or by simd when the deadline passes (-ETIMEDOUT), the provider disconnects (-EPIPE),
 * too many wait (-EBUSY), there is no such service (-ENOENT), or simd shuts down (-ECANCELED). Bodies are JSON objects
 * that simd forwards without reading them; the hashes of both types ensure that both sides agree on them.
 *
 *   waiting --(the provider is free: event "request")--> running --(AnswerService)--> answered
 *      \------------------ deadline, provider disconnected, shutdown ---------------/
 *
 * A provider has one request at a time per service, until it has answered, however late: an answer after
 * the deadline is counted and dropped, and only then the next request is sent. Answers are handed out from the loop,
 * never from inside the call that caused them, so no caller is entered twice.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_SERVICE_H
#define REGISTRY_SERVICE_H

#include "list.h"

#include <jansson.h>
#include <stdint.h>

struct client;
struct event_listener;
struct service;
struct simd;

#define SERVICE_BODY_MAX    (64 * 1024)       /* JSON text of one request or response */
#define SERVICE_TYPE_MAX    (64 * 1024)       /* JSON text of the definition of one type */
#define SERVICE_HELD_MAX    (8 * 1024 * 1024) /* bytes of all requests that wait or run */
#define SERVICE_QUEUE_MAX   256               /* requests of one service that may wait */
#define SERVICE_QUEUE       16
#define SERVICE_CALLER_MAX  32 /* unanswered requests of one connection */
#define SERVICE_DEADLINE_MS 5000
#define SERVICE_TIME_MAX_MS 3600000
#define SERVICE_WHY_MAX     300

/* A caller: a connection. Zeroed: has never called. */
struct service_caller {
	struct list requests; /* request::in_caller */
	uint32_t n;
};

/* r negative: why is set; otherwise response, borrowed. */
typedef void (*service_answer_fn)(void *arg, int64_t tag, int r, const char *why, json_t *response);

struct service_offer {
	struct client *cl;
	struct event_listener *sink; /* of its connection: requests are sent there */
	const char *name, *type;
	const json_t *request, *response; /* definitions: {"name", "hash", ...} */
	uint32_t queue, deadline_ms;
};

struct service_call {
	struct service_caller *caller;
	const struct client *cl; /* NULL: a connection without a session */
	const char *name;
	const char *type, *request_hash, *response_hash; /* NULL: any */
	const json_t *request;
	uint32_t timeout_ms; /* 0: the service's own deadline */
	int64_t tag;
	service_answer_fn fn;
	void *arg;
};

/* Makes simd::services. */
int service_all_create(struct simd *s);
/* All callers must have disconnected. */
void service_all_destroy(struct simd *s);
/* simd shuts down: answers all open requests with -ECANCELED and accepts no new ones. */
void service_all_close(struct simd *s);

/* -EEXIST, with the present provider in err_why(); -EINVAL; -E2BIG: a definition; -EMFILE. */
int service_offer(struct simd *s, const struct service_offer *o, struct service **ret);
int service_withdraw(struct client *cl, uint32_t id); /* -ENOENT */
void service_client_disconnected(struct client *cl);

/* 0: fn is called later, once, unless the caller disconnects first. Negative: fn is not called. */
int service_call(struct simd *s, const struct service_call *call);
/* The caller gets no more answers: its waiting requests are dropped; a running one continues. */
void service_caller_disconnected(struct service_caller *caller);

/* The provider's answer: r negative with why, else response. An answer to no open request is counted and ignored. */
int service_answer(struct client *cl, int64_t request_id, int r, const char *why, json_t *response);

/* Name as the client writes it. -ENOENT: no such service; -EACCES: the client may not see it. */
int service_find(struct simd *s, const struct client *cl, const char *name, struct service **ret);
uint32_t service_id(const struct service *sv);
const char *service_name(const struct service *sv);
/* Definitions of both halves, new references. */
json_t *service_types_json(const struct service *sv);
/* All services that this client may see, as an array. */
json_t *service_all_json(const struct simd *s, const struct client *cl);

#endif
