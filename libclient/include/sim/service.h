/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: ask, and get an answer. A program offers a service under a name (of the same rules as channels, the rig's
 * prefix included); others, in any process, send it requests; bridges offer it to the outside. Requests go through
 * simd, not through shared memory: services are for switching and asking, not for data.
 *
 * Each request gets exactly one answer, whatever dies: the response; the negative errno that the handler returned;
 * -ETIMEDOUT at the deadline; -EPIPE its provider disconnected; -EBUSY too many wait already; -ENOENT nobody offers it;
 * -EMEDIUMTYPE another type is offered there; -ENOTCONN disconnected from simd; -ECANCELED simd shuts down, or the client
 * disconnects; -EBADMSG the response does not hold.
 *
 * After a restart of simd services are offered again under the handles that the program holds.
 *
 * Thread:  calls from any thread. Handlers, answers and watchers run one at a time on the client's thread "sim-service",
 *          which the first of them starts; with SIM_CLIENT_NO_THREAD inside sim_process(). They may call anything
 *          here but sim_disconnect(); a call that waits (sim_service_call) for a service of the same client times out.
 * Errors:  negative errno; sim_why() then holds one sentence.
 */
#ifndef SIM_SERVICE_H
#define SIM_SERVICE_H

#include <sim/client.h>
#include <sim/message.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_SERVICE_BODY_MAX (64u * 1024) /* bytes of a request or response: as a body, and as JSON on its way */

struct sim_service;
struct sim_service_watcher;

/* ---- offering ---- */

/* One request, as the handler gets it. All of it is valid until the handler returns. */
struct sim_request {
	const char *service;      /* its full name */
	const void *body;         /* of the request type, checked; aligned to 64 */
	size_t size;              /* bytes of it */
	void *response;           /* SIM_SERVICE_BODY_MAX bytes, aligned to 64: T_init() over it; all zero before */
	size_t response_capacity; /* SIM_SERVICE_BODY_MAX */
	size_t response_size;     /* to be set when the response has arrays or strings: sim_builder_size() */
	char why[200];            /* with an error: may give the reason, in one sentence */
};

/* 0: `response` is the answer; a negative errno is the answer otherwise. */
typedef int (*sim_service_fn)(void *user, struct sim_request *req);

struct sim_pending; /* a request that is answered later */

struct sim_service_options {
	size_t size;             /* sizeof(struct sim_service_options) of the caller */
	uint32_t queue;          /* requests that may wait while one is handled, 1..64; 0: 16 */
	int64_t deadline_dur_ns; /* of wall time, from the request on, waiting included: 1 ms .. 1 h; 0: 5 s */
};

/*
 * Offer a service. o: NULL: defaults. type: keeps until destroy.
 * Returns: 0; -EINVAL bad name, type or option; -EEXIST somebody offers that name (sim_why() names it); -E2BIG a
 * definition is longer than 64 KiB; -EMFILE a limit of simd's; -ENOTCONN; -ENOMEM; -EAGAIN no thread could be started.
 */
SIM_API SIM_MUST_CHECK int sim_service_offer(struct sim_client *c, const char *name,
					     const struct sim_service_type *type, const struct sim_service_options *o,
					     sim_service_fn fn, void *user, struct sim_service **ret);
/*
 * Withdraw it: from now on the handler runs no more; waits for one that runs in another thread. Requests that wait are
 * answered with -EPIPE. Also from the handler. NULL is fine.
 */
SIM_API void sim_service_destroy(struct sim_service *sv);
/* 0: it is on offer; -ENOTCONN: disconnected from simd; else why simd did not take it again after its restart (-EEXIST). */
SIM_API int sim_service_state(const struct sim_service *sv);

/*
 * Answer later, for a handler that would have to wait: called inside it, which then returns, whatever it returns, without an answer. The
 * service gets its next request when this one is answered, or its deadline has passed.
 * Returns: 0 and *ret, sim_service_answer(); -EINVAL not inside a handler of this client, or for the second time; -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_service_defer(struct sim_client *c, struct sim_pending **ret);
/*
 * The answer, exactly once, before sim_disconnect(): result 0 and a response, or a negative errno and why (NULL: its usual text). Takes
 * p, also on failure. Thread: any. Returns: 0, also if nobody waits for it any more; -EINVAL, -EBADMSG, -EMSGSIZE the response does not hold:
 * that is the answer then.
 */
SIM_API int sim_service_answer(struct sim_pending *p, int result, const char *why, const void *response, size_t size);

/* ---- calling ---- */

/*
 * Call and wait. response: a buffer aligned to 8 or what the type asks for. timeout_dur_ns of wall time; 0 or more than
 * the service's own deadline: that one.
 * Returns: 0 and *ret_size (may be NULL), or an answer of the list above; -EINVAL the request does not hold;
 * -EMSGSIZE it is longer than 64 KiB; -ENOBUFS the response does not fit into capacity.
 */
SIM_API SIM_MUST_CHECK int sim_service_call(struct sim_client *c, const char *name, const struct sim_service_type *type,
					    const void *request, size_t size, int64_t timeout_dur_ns, void *response,
					    size_t capacity, size_t *ret_size);

/* result 0: response of `size` bytes, borrowed; negative: why. */
typedef void (*sim_answer_fn)(void *user, int result, const char *why, const void *response, size_t size);

/*
 * Call without waiting. 0: fn runs exactly once, at the latest one second after the timeout or in sim_disconnect();
 * negative: it does not run. At most 32 may be unanswered (-EBUSY, as an answer).
 */
SIM_API SIM_MUST_CHECK int sim_service_call_async(struct sim_client *c, const char *name,
						  const struct sim_service_type *type, const void *request, size_t size,
						  int64_t timeout_dur_ns, sim_answer_fn fn, void *user);

/* ---- what there is ---- */

/* The type that a service has now: returns, sim_service_type_unref(). -ENOENT, -ENOTCONN. */
SIM_API SIM_MUST_CHECK int sim_service_type_of(struct sim_client *c, const char *name,
					       const struct sim_service_type **ret);
SIM_API void sim_service_type_unref(const struct sim_service_type *type); /* only for what that returned; NULL is fine */

/* type NULL: no longer offered; else it is offered. Names are full ones. type: valid until that notification. */
typedef void (*sim_service_watch_fn)(void *user, const char *name, const struct sim_service_type *type);

/* Notify of all services, present and future; -ENOMEM, -EAGAIN. Of a bridge: those its rig lets it offer. */
SIM_API SIM_MUST_CHECK int sim_service_watch(struct sim_client *c, sim_service_watch_fn fn, void *user,
					     struct sim_service_watcher **ret);
/* fn runs no more, not even to report that they end. Also from fn. NULL is fine. */
SIM_API void sim_service_watcher_destroy(struct sim_service_watcher *w);

#ifdef __cplusplus
}
#endif
#endif
