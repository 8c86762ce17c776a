/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: request and response. A program offers a service under a name (same rules as for channels, the rig's prefix
 * included); any process can send it requests; bridges offer it to the far side. Requests go through simd, not through
 * shared memory: services are for commands and queries, not for data.
 *
 * Each request gets exactly one answer, whatever process dies: the response; the negative errno that the handler
 * returned; -ETIMEDOUT at the deadline; -EPIPE its provider disconnected; -EBUSY too many requests are waiting; -ENOENT
 * no such service; -EMEDIUMTYPE the service has another type; -ENOTCONN disconnected from simd; -ECANCELED simd shuts
 * down, or the client disconnects; -EBADMSG the response is malformed.
 *
 * After a restart of simd the library offers the services again under the handles that the program holds.
 *
 * Thread:  calls from any thread. Handlers, answers and watchers run one at a time on the client's thread
 *          "sim-service", which the first of them starts; with SIM_CLIENT_NO_THREAD inside sim_process(). They may call
 *          anything here but sim_disconnect(); a call that waits (sim_service_call) for a service of the same client
 *          times out.
 * Errors:  negative errno; sim_why() then holds one sentence.
 */
#ifndef SIM_SERVICE_H
#define SIM_SERVICE_H

#include <sim/client.h>
#include <sim/message.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_SERVICE_BODY_MAX (64u * 1024) /* bytes of a request or response, both as a body and as JSON in transit */

struct sim_service;
struct sim_service_watcher;

/* ---- offering ---- */

/* One request, as the handler receives it. All of it is valid until the handler returns. */
struct sim_request {
	const char *service;      /* full name */
	const void *body;         /* of the request type, checked; aligned to 64 */
	size_t size;              /* bytes at body */
	void *response;           /* SIM_SERVICE_BODY_MAX zeroed bytes, aligned to 64: for T_init() */
	size_t response_capacity; /* SIM_SERVICE_BODY_MAX */
	size_t response_size;     /* to be set if the response has arrays or strings: sim_builder_size() */
	char why[200];            /* on error: optional reason, one sentence */
};

/* Returns 0: `response` is the answer; or a negative errno, which is then the answer. */
typedef int (*sim_service_fn)(void *user, struct sim_request *req);

struct sim_pending; /* a request that is answered later */

struct sim_service_options {
	size_t size;             /* sizeof(struct sim_service_options) of the caller */
	uint32_t queue;          /* requests that may wait while one is handled, 1..256; 0: 16 */
	int64_t deadline_dur_ns; /* wall time from the request on, waiting included: 1 ms .. 1 h; 0: 5 s */
};

/*
 * Offers a service. o NULL: defaults. type is kept until sim_service_destroy().
 * Returns: 0; -EINVAL bad name, type or option; -EEXIST the name is already offered (sim_why() says by which client);
 * -E2BIG a definition is longer than 64 KiB; -EMFILE a limit of simd's; -ENOTCONN; -ENOMEM; -EAGAIN no thread could be
 * started.
 */
SIM_API SIM_MUST_CHECK int sim_service_offer(struct sim_client *c, const char *name,
					     const struct sim_service_type *type, const struct sim_service_options *o,
					     sim_service_fn fn, void *user, struct sim_service **ret);
/*
 * Withdraws the service: the handler is not called again; waits for a handler that runs in another thread. Requests
 * that wait are answered with -EPIPE. May be called in the handler. NULL is fine.
 */
SIM_API void sim_service_destroy(struct sim_service *sv);
/* 0: offered; -ENOTCONN: disconnected from simd; else why the restarted simd refused it (-EEXIST). */
SIM_API int sim_service_state(const struct sim_service *sv);

/*
 * Answers later, for a handler that would have to wait. Call it inside the handler, which then returns; what it returns
 * is ignored. The service gets its next request when this one is answered, or its deadline has passed.
 * Returns: 0 and *ret, for sim_service_answer(); -EINVAL not inside a handler of this client, or called twice; -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_service_defer(struct sim_client *c, struct sim_pending **ret);
/*
 * Answers a deferred request, exactly once, before sim_disconnect(): result 0 and a response, or a negative errno and
 * why (NULL: its usual text). Takes p, also on failure. Thread: any.
 * Returns: 0, also if the caller no longer waits; -EINVAL, -EBADMSG, -EMSGSIZE the response is invalid: the caller gets
 * that errno.
 */
SIM_API int sim_service_answer(struct sim_pending *p, int result, const char *why, const void *response, size_t size);

/* ---- calling ---- */

/*
 * Calls a service and waits for the answer. response: a buffer aligned to 8, or as the type requires. timeout_dur_ns:
 * wall time; 0, or more than the service's own deadline: that deadline.
 * Returns: 0 and *ret_size (may be NULL), or an answer of the list above; -EINVAL the request is malformed; -EMSGSIZE
 * it is longer than 64 KiB; -ENOBUFS the response does not fit into capacity.
 */
SIM_API SIM_MUST_CHECK int sim_service_call(struct sim_client *c, const char *name, const struct sim_service_type *type,
					    const void *request, size_t size, int64_t timeout_dur_ns, void *response,
					    size_t capacity, size_t *ret_size);

/* result 0: response has `size` bytes, borrowed; negative: why is the reason. */
typedef void (*sim_answer_fn)(void *user, int result, const char *why, const void *response, size_t size);

/*
 * Calls a service without waiting. Returns 0: fn runs exactly once, at the latest one second after the timeout or in
 * sim_disconnect(); negative: fn does not run. At most 32 calls may be unanswered; a further one is answered with
 * -EBUSY.
 */
SIM_API SIM_MUST_CHECK int sim_service_call_async(struct sim_client *c, const char *name,
						  const struct sim_service_type *type, const void *request, size_t size,
						  int64_t timeout_dur_ns, sim_answer_fn fn, void *user);

/* ---- listing and watching ---- */

/*
 * Returns a reference to the type that the service has now; release it with sim_service_type_unref(). -ENOENT no such
 * service, -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_service_type_of(struct sim_client *c, const char *name,
					       const struct sim_service_type **ret);
/* only for types from sim_service_type_of(); NULL is fine */
SIM_API void sim_service_type_unref(const struct sim_service_type *type);

/*
 * type NULL: the service is no longer offered; else it is offered, and type is valid until that notification. name: the
 * full name.
 */
typedef void (*sim_service_watch_fn)(void *user, const char *name, const struct sim_service_type *type);

/* Calls fn for all services, present and future; for a bridge those that its rig lets it offer. -ENOMEM, -EAGAIN. */
SIM_API SIM_MUST_CHECK int sim_service_watch(struct sim_client *c, sim_service_watch_fn fn, void *user,
					     struct sim_service_watcher **ret);
/* fn is not called again, not even to report the end of services. May be called in fn. NULL is fine. */
SIM_API void sim_service_watcher_destroy(struct sim_service_watcher *w);

#ifdef __cplusplus
}
#endif
#endif
