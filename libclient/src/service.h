/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: a client's services, on both sides. One list of work, done by "sim-service" or sim_process(), one item at a
 * time: answers to asynchronous calls, requests to handlers, listing services for watchers.
 *
 * Everything in struct services is guarded by client::lock; the list of offers changes only under client::setup as
 * well, so recovery may walk it. No callback runs with either held.
 */
#ifndef SRC_SERVICE_H
#define SRC_SERVICE_H

#include <sim/service.h>

#include <jansson.h>
#include <pthread.h>

#include "client.h"

#define SERVICE_WHY_MAX 300

struct session;

/* Both halves, owned: for a service type that this program was not built with. */
struct own_type {
	struct sim_service_type type;
	char name[SIM_TYPE_NAME_MAX + 1];
};

struct outgoing {         /* one call */
	struct list link; /* services::calls, then (asynchronous) services::answered */
	int64_t tag, until_mono_ns;
	uint64_t serial; /* session::serial */
	const struct sim_type *response_type;
	sim_answer_fn fn; /* NULL: a thread waits for it */
	void *user;
	bool done;
	int r;
	json_t *response;
	char why[SERVICE_WHY_MAX];
};

struct known {            /* a service that watchers have been notified of */
	struct list link; /* services::known */
	struct own_type *type;
	char hashes[40];
	bool seen;
	char name[SIM_CHANNEL_MAX + 1];
};

struct services {
	struct list offers;   /* sim_service::link */
	struct list incoming; /* incoming::link (service.c) */
	struct list calls;    /* outgoing::link: unanswered */
	struct list answered; /* outgoing::link: callback not run yet */
	struct list watchers; /* sim_service_watcher::link */
	struct list known;    /* known::link; used by the thread that is busy */
	unsigned offering;    /* registrations under way, whose ids are not known yet */
	int64_t next_tag;
	bool look;              /* the list of services may have changed */
	bool busy;              /* a thread works on these lists */
	struct running running; /* the callback's sim_service or sim_service_watcher */

	pthread_cond_t wake; /* with lock */
	pthread_t thread;
	bool started, stop;
	uint8_t *request, *response; /* buffers of the thread that is busy */
	/* the request of the handler that runs, for sim_service_defer() to copy; NULL: none */
	struct sim_pending *handling;
	pthread_t handler; /* its thread */
};

/* Creates c->services and its thread. -ENOMEM, -EAGAIN. */
int services_need(struct sim_client *c);
/* Wakes the thread: there is work. Under lock. */
void services_wake(struct sim_client *c);
/* Whether there is work. Under lock. */
bool services_pending(const struct sim_client *c);
/* Does the work. No lock held. Returns how many callbacks ran. */
int services_run(struct sim_client *c);
/* Stops the thread, answers open requests and calls with -ECANCELED. */
void services_finish(struct sim_client *c);

/* Events "request", "answer", "services". Under lock. */
void services_event(struct sim_client *c, struct session *s, const char *event, const json_t *params);
/* simd refused a tagged call. Under lock. */
void services_refused(struct sim_client *c, int64_t tag, int r, const char *why);
/* A session is over: ends its calls, drops the requests it had received. Under setup. */
void services_lost(struct sim_client *c, struct session *s);
/* Offers everything to a new session. Under setup. */
void services_register(struct sim_client *c, struct session *s);

/*
 * A body as JSON text for the wire; returns: free(). -EBADMSG the body is invalid, or a string has a NUL byte; -ENOMEM.
 */
int services_text(const struct sim_type *t, const void *body, size_t size, char **ret, size_t *ret_len);

/* ---- service_call.c ---- */

void outgoing_event(struct sim_client *c, const json_t *params);
void outgoing_end(struct sim_client *c, struct outgoing *o, int r, const char *why);
/* Ends asynchronous calls past their deadline. Under lock. Returns when the next one is due, INT64_MAX: none. */
int64_t outgoing_expire(struct sim_client *c);
/* Runs the callback and frees the call. No lock held. */
void outgoing_notify(struct sim_client *c, struct outgoing *o);

/* ---- service_watch.c ---- */

/*
 * Asks simd for the list of services and notifies the watchers. No lock held, in the thread that is busy. Returns how
 * many callbacks ran.
 */
int watchers_look(struct sim_client *c);
void watchers_finish(struct services *ss);

#endif
