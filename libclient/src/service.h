/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: what a client has of services, on both sides. One list of work, done by "sim-service" or sim_process(), one
 * piece at a time: answers to asynchronous calls, requests to handlers, looking at what there is for watchers.
 *
 * Everything in struct services is guarded by client::lock; the list of offers changes under client::setup as well,
 * so recovery may walk it. No callback runs with either held.
 */
#ifndef SRC_SERVICE_H
#define SRC_SERVICE_H

#include <sim/service.h>

#include <jansson.h>
#include <pthread.h>

#include "client.h"

#define SERVICE_WHY_MAX 300

struct session;

/* Both halves, owned: of a service that this program was not built with. */
struct own_type {
	struct sim_service_type type;
	char name[SIM_TYPE_NAME_MAX + 1];
};

struct outgoing {         /* one call */
	struct list link; /* services::calls, then (asynchronous) services::answered */
	int64_t tag, until_mono_ns;
	uint64_t serial; /* session::serial */
	const struct sim_type *response_type;
	sim_answer_fn fn; /* NULL: somebody waits */
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
	struct list answered; /* outgoing::link: its callback is to run */
	struct list watchers; /* sim_service_watcher::link */
	struct list known;    /* known::link; whoever is busy */
	unsigned offering;    /* registrations under way: their numbers are not known yet */
	int64_t next_tag;
	bool look;              /* there may be others than before */
	bool busy;              /* somebody works on these lists */
	struct running running; /* of a sim_service or sim_service_watcher */

	pthread_cond_t wake; /* with lock */
	pthread_t thread;
	bool started, stop;
	uint8_t *request, *response;  /* scratch of whoever is busy */
	struct sim_pending *handling; /* of the handler that runs: what sim_service_defer() copies; NULL: nothing */
	pthread_t handler;            /* its thread */
};

/* Make c->services and its thread. -ENOMEM, -EAGAIN. */
int services_need(struct sim_client *c);
/* There is work. Under lock. */
void services_wake(struct sim_client *c);
/* Some waits to be done. Under lock. */
bool services_pending(const struct sim_client *c);
/* Do it. No lock held. Returns how many callbacks ran. */
int services_run(struct sim_client *c);
/* Stop the thread, answer what is open with -ECANCELED. */
void services_finish(struct sim_client *c);

/* Events "request", "answer", "services". Under lock. */
void services_event(struct sim_client *c, struct session *s, const char *event, const json_t *params);
/* simd refused a tagged call as such. Under lock. */
void services_refused(struct sim_client *c, int64_t tag, int r, const char *why);
/* That session is over: its calls end, what it had received is dropped. Under setup. */
void services_lost(struct sim_client *c, struct session *s);
/* Offer everything to a new session. Under setup. */
void services_register(struct sim_client *c, struct session *s);

/* A body as the JSON text that crosses; returns: free(). -EBADMSG it is no valid one, or holds a NUL byte; -ENOMEM. */
int services_text(const struct sim_type *t, const void *body, size_t size, char **ret, size_t *ret_len);

/* ---- service_call.c ---- */

void outgoing_event(struct sim_client *c, const json_t *params);
void outgoing_end(struct sim_client *c, struct outgoing *o, int r, const char *why);
/* Asynchronous ones whose time is over. Under lock. Returns when the next one is due, INT64_MAX: none. */
int64_t outgoing_expire(struct sim_client *c);
/* Run the callback; frees it. No lock held. */
void outgoing_notify(struct sim_client *c, struct outgoing *o);

/* ---- service_watch.c ---- */

/* Ask simd what there is and notify the watchers. No lock held, by whoever is busy. Returns how many callbacks ran. */
int watchers_look(struct sim_client *c);
void watchers_finish(struct services *ss);

#endif
