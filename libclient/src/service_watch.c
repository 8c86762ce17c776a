/* SPDX-License-Identifier: Apache-2.0 */
/* The list of services, and its watchers; see service.h. */
#include "service.h"

#include <sim/introspect.h>

#include <errno.h>
#include <string.h>

#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "session.h"
#include "value.h"

struct sim_service_watcher {
	struct list link; /* services::watchers */
	struct sim_client *c;
	sim_service_watch_fn fn;
	void *user;
	bool fresh; /* not notified of the present services yet */
	bool dead;
	uint64_t notified; /* number of its last notification */
};

/* ---- types ---- */

static void own_type_free(struct own_type *t)
{
	if (!t)
		return;
	sim_type_unref(t->type.request);
	sim_type_unref(t->type.response);
	mem_free(t);
}

static int half(const json_t *o, const char *key, const struct sim_type **ret)
{
	json_t *j;
	int r = jsonx_object(o, key, &j);

	return r < 0 ? r : type_from_value(j, ret);
}

static int read_type(const json_t *params, struct own_type *t)
{
	json_t *service;
	const char *name;
	int r = jsonx_object(params, "service", &service);

	if (r == 0)
		r = jsonx_string(service, "type", SIM_TYPE_NAME_MAX, &name);
	if (r == 0)
		r = half(params, "request", &t->type.request);
	if (r == 0)
		r = half(params, "response", &t->type.response);
	if (r < 0)
		return err_prefix(r, "simd's answer to GetService");
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->type.abi = SIM_TYPE_ABI;
	t->type.size = sizeof(t->type);
	t->type.name = t->name;
	t->type.comment = t->type.request->comment;
	return 0;
}

static int get_type(struct sim_client *c, const char *name, struct own_type **ret)
{
	struct own_type *t = MEM_NEW(struct own_type);
	struct varlink_msg m;
	json_t *params;
	int r;

	if (!t)
		return err_nomem();
	r = client_call(c, "GetService", json_pack("{ss}", "name", name), &m, &params);
	if (r == 0) {
		r = read_type(params, t);
		varlink_msg_finish(&m);
	}
	if (r < 0) {
		own_type_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

int sim_service_type_of(struct sim_client *c, const char *name, const struct sim_service_type **ret)
{
	struct own_type *t;
	int r = client_guard(c);

	if (r == 0 && (!name || !ret))
		r = err_set(-EINVAL, "sim_service_type_of: no name, or the output pointer is NULL");
	if (r == 0)
		r = get_type(c, name, &t);
	if (r < 0)
		return r;
	*ret = &t->type;
	return 0;
}

void sim_service_type_unref(const struct sim_service_type *type)
{
	if (type)
		own_type_free(container_of((struct sim_service_type *)(uintptr_t)type, struct own_type, type));
}

/* ---- notifying ---- */

/* Notifies one watcher after the other, as each may be destroyed meanwhile. Called and returns with lock held. */
static int notify(struct sim_client *c, const struct known *k, const struct sim_service_type *type, bool fresh_only)
{
	struct services *ss = c->services;
	static _Atomic uint64_t numbers;
	uint64_t number = atomic_fetch_add(&numbers, 1) + 1;
	struct sim_service_watcher *w;
	int n = 0;

	for (;;) {
		struct sim_service_watcher *next = NULL;

		list_for_each(w, &ss->watchers, link) {
			if (!next && w->notified < number && (!fresh_only || w->fresh))
				next = w;
		}
		if (!next || ss->stop)
			return n;
		next->notified = number;
		running_begin(&ss->running, next, &c->lock);
		next->fn(next->user, k->name, type);
		running_end(&ss->running, &c->lock, &c->changed);
		if (next->dead)
			mem_free(next);
		n++;
	}
}

static void known_free(struct known *k)
{
	list_remove(&k->link);
	own_type_free(k->type);
	mem_free(k);
}

static struct known *find(struct services *ss, const char *name)
{
	struct known *k;

	list_for_each(k, &ss->known, link)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

static int forget(struct sim_client *c, struct known *k)
{
	int n;

	pthread_mutex_lock(&c->lock);
	n = notify(c, k, NULL, false);
	pthread_mutex_unlock(&c->lock);
	known_free(k);
	return n;
}

static int learn(struct sim_client *c, const char *name, const char *hashes)
{
	struct own_type *t;
	struct known *k;
	int n;

	if (get_type(c, name, &t) < 0)
		return 0; /* it is already withdrawn: another look follows */
	k = MEM_NEW(struct known);
	if (!k) {
		own_type_free(t);
		return 0;
	}
	k->type = t;
	k->seen = true;
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->hashes, sizeof(k->hashes), "%s", hashes);
	list_append(&c->services->known, &k->link);
	pthread_mutex_lock(&c->lock);
	n = notify(c, k, &k->type->type, false);
	pthread_mutex_unlock(&c->lock);
	return n;
}

static int look_at(struct sim_client *c, const json_t *service)
{
	const char *name, *request, *response;
	char hashes[40];
	struct known *k;
	int n = 0;

	if (jsonx_string(service, "name", SIM_CHANNEL_MAX, &name) < 0 ||
	    jsonx_string(service, "request_hash", 16, &request) < 0 ||
	    jsonx_string(service, "response_hash", 16, &response) < 0)
		return 0;
	snprintf(hashes, sizeof(hashes), "%s %s", request, response);
	k = find(c->services, name);
	if (k && strcmp(k->hashes, hashes) == 0) {
		k->seen = true;
		return 0;
	}
	if (k)
		n = forget(c, k);
	return n + learn(c, name, hashes);
}

/* Notifies new watchers of the services already known. */
static int greet(struct sim_client *c)
{
	struct services *ss = c->services;
	struct sim_service_watcher *w;
	struct known *k;
	int n = 0;

	list_for_each(k, &ss->known, link) {
		pthread_mutex_lock(&c->lock);
		n += notify(c, k, &k->type->type, true);
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_lock(&c->lock);
	list_for_each(w, &ss->watchers, link)
		w->fresh = false;
	pthread_mutex_unlock(&c->lock);
	return n;
}

int watchers_look(struct sim_client *c)
{
	struct services *ss = c->services;
	json_t *params, *list, *item;
	struct known *k, *tmp;
	struct varlink_msg m;
	int n;
	size_t i;

	n = greet(c);
	if (client_call(c, "ListServices", NULL, &m, &params) < 0)
		return n; /* listed after the next connect */
	list = json_object_get(params, "services");
	list_for_each(k, &ss->known, link)
		k->seen = false;
	json_array_foreach(list, i, item)
		n += look_at(c, item);
	list_for_each_safe(k, tmp, &ss->known, link)
		if (!k->seen)
			n += forget(c, k);
	varlink_msg_finish(&m);
	return n;
}

void watchers_finish(struct services *ss)
{
	struct known *k, *tmp;

	list_for_each_safe(k, tmp, &ss->known, link)
		known_free(k);
}

int sim_service_watch(struct sim_client *c, sim_service_watch_fn fn, void *user, struct sim_service_watcher **ret)
{
	struct sim_service_watcher *w;
	int r = client_guard(c);

	if (r == 0 && (!fn || !ret))
		r = err_set(-EINVAL, "sim_service_watch: no callback, or the output pointer is NULL");
	if (r == 0)
		r = services_need(c);
	if (r < 0)
		return r;
	w = MEM_NEW(struct sim_service_watcher);
	if (!w)
		return err_nomem();
	*w = (struct sim_service_watcher){ .c = c, .fn = fn, .user = user, .fresh = true };
	pthread_mutex_lock(&c->lock);
	list_append(&c->services->watchers, &w->link);
	c->services->look = true;
	services_wake(c);
	pthread_mutex_unlock(&c->lock);
	*ret = w;
	return 0;
}

void sim_service_watcher_destroy(struct sim_service_watcher *w)
{
	struct sim_client *c;
	bool mine;

	if (!w || !client_alive(w->c))
		return;
	c = w->c;
	pthread_mutex_lock(&c->lock);
	list_remove(&w->link);
	mine = running_settle(&c->services->running, w, &c->lock, &c->changed);
	if (mine)
		w->dead = true; /* freed when its callback returns */
	pthread_mutex_unlock(&c->lock);
	if (!mine)
		mem_free(w);
}
