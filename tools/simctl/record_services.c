/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's services: each passes an order to main and waits, one at a time. See record.h. Thread: handlers on
 * sim-service, the rest on main.
 */
#include "record.h"

#include "mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include <sim/srv/Trigger.h>

struct record_services {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum record_order order; /* guarded by lock, like the following fields; RECORD_NONE: answered */
	int result;
	char text[RECORD_TEXT];
	bool closed;
	struct sim_service *offered[RECORD_SERVICES];
};

static int ask(struct record_services *s, struct sim_request *req, enum record_order order)
{
	struct sim_TriggerResponse *a;
	struct sim_builder b;
	bool done;

	pthread_mutex_lock(&s->lock);
	s->order = order;
	while (s->order != RECORD_NONE && !s->closed)
		pthread_cond_wait(&s->changed, &s->lock);
	done = s->order == RECORD_NONE;
	s->order = RECORD_NONE;
	if (done) {
		a = sim_TriggerResponse_init(req->response, req->response_capacity, &b);
		a->success = s->result == 0;
		(void)!sim_TriggerResponse_message_set(&b, s->text);
		req->response_size = sim_builder_size(&b);
	}
	pthread_mutex_unlock(&s->lock);
	return done ? 0 : -ECANCELED;
}

static int on_pause(void *user, struct sim_request *req)
{
	return ask(user, req, RECORD_PAUSE);
}

static int on_resume(void *user, struct sim_request *req)
{
	return ask(user, req, RECORD_RESUME);
}

static int on_toggle(void *user, struct sim_request *req)
{
	return ask(user, req, RECORD_TOGGLE);
}

static int on_dump(void *user, struct sim_request *req)
{
	return ask(user, req, RECORD_DUMP);
}

static int on_split(void *user, struct sim_request *req)
{
	return ask(user, req, RECORD_SPLIT);
}

enum record_order record_services_order(struct record_services *s)
{
	enum record_order order;

	if (!s)
		return RECORD_NONE;
	pthread_mutex_lock(&s->lock);
	order = s->order;
	pthread_mutex_unlock(&s->lock);
	return order;
}

void record_services_answer(struct record_services *s, int result, const char *text)
{
	pthread_mutex_lock(&s->lock);
	s->result = result;
	snprintf(s->text, sizeof(s->text), "%s", text);
	s->order = RECORD_NONE;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static const struct {
	const char *name;
	sim_service_fn fn;
} services[RECORD_SERVICES] = {
	{ "pause", on_pause }, { "resume", on_resume }, { "toggle_paused", on_toggle },
	{ "dump", on_dump },   { "split", on_split },
};

int record_services_create(struct sim_client *c, const char *name, struct record_services **ret)
{
	const struct sim_service_options o = { .size = sizeof(o), .deadline_dur_ns = INT64_C(60000000000) };
	struct record_services *s = MEM_NEW(struct record_services);
	char path[SIM_CHANNEL_MAX + 2];
	int r = 0;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	for (int i = 0; r == 0 && i < RECORD_SERVICES; i++) {
		snprintf(path, sizeof(path), "/%.60s/%s", name, services[i].name);
		r = sim_service_offer(c, path, &sim_Trigger_service, &o, services[i].fn, s, &s->offered[i]);
	}
	if (r < 0) {
		record_services_destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

void record_services_destroy(struct record_services *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->closed = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (int i = 0; i < RECORD_SERVICES; i++)
		sim_service_destroy(s->offered[i]);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}
