/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host_channel.h"
#include "place.h"
#include "err.h"
#include "futex.h"
#include "mem.h"
#include "sized.h"
#include "timeutil.h"

#define LOOK_DUR_NS (500 * NS_PER_MS) /* how often to check whether simd still accepts this client */

/* ---- create and destroy ---- */

static int check(const struct sim_host_options *o)
{
	if ((unsigned)o->mode > SIM_RUN_SIMULATION)
		return err_set(-EINVAL, "host: unknown run mode %d", (int)o->mode);
	if (o->flags & ~(unsigned)SIM_HOST_OFFLINE)
		return err_set(-EINVAL, "host: unknown flags %#x", o->flags);
	if ((o->flags & SIM_HOST_OFFLINE) && o->mode != SIM_RUN_SIMULATION)
		return err_set(-EINVAL, "host: without simd there is simulation mode only");
	if ((o->flags & SIM_HOST_OFFLINE) && o->client)
		return err_set(-EINVAL, "host: either a client or no simd");
	if (o->rank > SIM_STEP_RANK_MAX)
		return err_set(-EINVAL, "host: rank %u is out of range, 0 to %u", o->rank, SIM_STEP_RANK_MAX);
	return 0;
}

static int scheduler_create(struct sim_host *h, const char *json)
{
	struct sched_conf *conf;
	int r = sched_conf_read(json, &conf);

	if (r < 0)
		return err_prefix(r, "scheduler");
	if (!host_simulates(h))
		r = sched_create(conf, &h->sched);
	else if (!(h->notes = mem_strdup(sched_conf_notes(conf))))
		r = err_nomem();
	sched_conf_destroy(conf);
	return r;
}

static int connect_simd(struct sim_host *h, const struct sim_host_options *o)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = o->name, .socket = o->socket, .timeout_ms = o->timeout_ms
	};

	if (o->flags & SIM_HOST_OFFLINE)
		return 0;
	h->client = o->client;
	h->own_client = !o->client;
	return o->client ? 0 : sim_connect(&co, &h->client);
}

static void locks_init(struct sim_host *h)
{
	pthread_mutexattr_t recursive;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&h->turn, &recursive);
	pthread_mutexattr_destroy(&recursive);
	pthread_mutex_init(&h->lock, NULL);
}

int sim_host_create(const struct sim_host_options *given, struct sim_host **ret)
{
	struct sim_host_options own;
	const struct sim_host_options *o = &own;
	struct sim_host *h;
	int r = given && ret ? SIZED_TAKE(&own, given, "sim_host_create: the options")
			     : err_set(-EINVAL, "sim_host_create: no options, or the output pointer is NULL");

	if (r == 0)
		r = check(o);
	if (r < 0)
		return r;
	h = MEM_NEW(struct sim_host);
	if (!h)
		return err_nomem();
	h->mode = o->mode;
	h->rank = o->rank;
	snprintf(h->name, sizeof(h->name), "%s", o->name && !o->client ? o->name : "");
	list_init(&h->nodes);
	list_init(&h->channels);
	list_init(&h->timers);
	list_init(&h->places);
	locks_init(h);
	r = scheduler_create(h, o->scheduler);
	if (r == 0)
		r = connect_simd(h, o);
	if (r < 0) {
		sim_host_destroy(h);
		return r;
	}
	*ret = h;
	return 0;
}

void sim_host_destroy(struct sim_host *h)
{
	if (!h)
		return;
	simulate_finish(h);
	if (h->sched)
		sched_stop(h->sched);
	sched_destroy(h->sched);
	if (h->own_client)
		sim_disconnect(h->client);
	places_finish(h);
	pthread_mutex_destroy(&h->turn);
	pthread_mutex_destroy(&h->lock);
	mem_free(h->notes);
	mem_free(h);
}

/* ---- run ---- */

/* Starts the present readers; later ones start to receive by themselves. */
static int start_receiving(struct sim_host *h)
{
	struct host_channel *ch;
	int r = 0;

	pthread_mutex_lock(&h->lock);
	list_for_each(ch, &h->channels, link)
		if (r == 0)
			r = host_channel_start(ch);
	pthread_mutex_unlock(&h->lock);
	return r;
}

static int start(struct sim_host *h)
{
	int r = sched_start(h->sched);

	if (r == 0)
		r = start_receiving(h);
	return r < 0 ? r : sim_client_ready(h->client);
}

int sim_host_start(struct sim_host *h)
{
	int r;

	if (!h)
		return err_set(-EINVAL, "sim_host_start: no host");
	if (atomic_exchange(&h->started, true))
		return err_set(-EBUSY, "this host has been started");
	r = host_simulates(h) ? simulate_start(h) : start(h);
	if (r < 0)
		atomic_store(&h->started, false);
	return r;
}

static void stop(struct sim_host *h)
{
	atomic_store(&h->stop, 1);
	futex_wake_all(&h->stop, FUTEX_PRIVATE_FLAG);
}

void host_fail(struct sim_host *h, int r)
{
	pthread_mutex_lock(&h->lock);
	if (!h->failed) {
		h->failed = r;
		snprintf(h->failure, sizeof(h->failure), "%s", err_why());
	}
	pthread_mutex_unlock(&h->lock);
	stop(h);
}

/* Returns 0 if nothing has failed. */
static int failure(struct sim_host *h)
{
	int r;

	pthread_mutex_lock(&h->lock);
	r = h->failed ? err_set(h->failed, "%s", h->failure) : 0;
	pthread_mutex_unlock(&h->lock);
	return r;
}

static int wait_for_stop(struct sim_host *h)
{
	while (!atomic_load(&h->stop)) {
		if (sim_client_state(h->client) == SIM_CLIENT_FAILED)
			return err_set(-ENOTCONN, "%s", sim_client_why(h->client));
		futex_wait(&h->stop, 0, LOOK_DUR_NS, FUTEX_PRIVATE_FLAG);
	}
	return 0;
}

int sim_host_run(struct sim_host *h)
{
	int r = 0;

	if (!h)
		return err_set(-EINVAL, "sim_host_run: no host");
	if (!atomic_load(&h->started))
		r = sim_host_start(h);
	if (r < 0)
		return r;
	r = host_simulates(h) ? simulate_run(h) : wait_for_stop(h);
	return r < 0 ? r : failure(h);
}

void sim_host_stop(struct sim_host *h)
{
	int before = errno;

	if (!h)
		return;
	stop(h);
	errno = before;
}

/* ---- properties ---- */

void sim_host_notes(const struct sim_host *h, char *ret, size_t size)
{
	if (h->sched)
		sched_notes(h->sched, ret, size);
	else
		snprintf(ret, size, "%s", h->notes);
}

enum sim_run_mode sim_host_mode(const struct sim_host *h)
{
	return h->mode;
}

int64_t sim_host_now(const struct sim_host *h)
{
	return host_simulates(h) ? atomic_load(&h->now_sim_ns) : sim_now(h->client);
}

struct sim_client *sim_host_client(const struct sim_host *h)
{
	return h->client;
}
