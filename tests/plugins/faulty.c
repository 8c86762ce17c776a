/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_faulty: counts the messages it gets, or misbehaves on request. Tests use it to show that a bad bridge affects
 * no other client.
 *
 * It also injects `inject` messages, once there is a subscriber. It registers for every service ("*") without a far
 * side that would use them, and calls the one named `call`, `calls` times, one after the other, with a request that is
 * all zero.
 *
 * Connection string: anything; "refuse" is refused, "away" never connects. Threads: publish() on conversion threads;
 * "late" answers, and injects, from threads of their own.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep(), with -std=c11 too */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../support/wait.h"

#include <sim/bridge.h>
#include <sim/msg/Ultrasonic.h>

#define LATE_MAX   4096
#define PUBLISHERS 64 /* that order tells apart */

enum mode {
	MODE_COUNT,
	MODE_SLOW,
	MODE_FAIL,
	MODE_CRASH,
	MODE_HANG,
	MODE_LATE,
	MODE_TWICE,
	MODE_LOSE,
	MODE_WORK,
	MODE_ORDER,
	MODES
};

static const char *const mode_names[MODES] = { "count", "slow",  "fail", "crash", "hang",
					       "late",  "twice", "lose", "work",  "order" };

struct late { /* tasks answered by the late thread, oldest first */
	struct sim_task *task[LATE_MAX];
	unsigned head, n;
	int stop;
	pthread_mutex_t lock; /* guards all of it */
	pthread_cond_t changed;
	pthread_t thread;
};

struct inject { /* messages injected while there is a subscriber */
	long n, delay_us;
	const char *channel;
	long sent, refused; /* so far; written by the thread, read after it was joined */
	_Atomic int stop;
	int running; /* connect() to destroy(): the host's main thread */
	pthread_t thread;
};

struct newest { /* of each publisher */
	struct {
		uint32_t publisher; /* 0: free */
		uint64_t sequence;
	} of[PUBLISHERS];
	pthread_mutex_t lock; /* guards it */
};

struct call { /* the service that is called, while it is there; on the host's thread for services */
	const char *name;
	long n, answered, failed;
	const struct sim_service_type *type; /* NULL: it is not there */
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	enum mode mode;
	long delay_us; /* slow: per message; late: before the answer */
	long every;    /* misbehave at every n-th message */
	long absent;   /* lose: attempts that fail, of each time; `left` of them are still to come */
	_Atomic long left;
	_Atomic uint64_t count;
	_Atomic int status;
	struct late late;
	struct newest newest;
	struct inject inject;
	struct call call;
};

static const struct sim_bridge_option options[] = {
	{ "mode", "count",
	  "count, slow, fail, crash, hang, late, twice, lose (the connection), work or order (slow, and says what comes out of order)" },
	{ "delay_us", "10000", "slow, order, late and work: how long, in microseconds; work: of processor time" },
	{ "every", "1", "misbehave at every n-th message only" },
	{ "absent", "0", "lose: how many attempts to connect again find nobody" },
	{ "inject", "0", "how many messages to bring in, once somebody listens" },
	{ "inject_us", "1000", "time between them, in microseconds" },
	{ "inject_channel", "/injected", "the channel they go to; of type sim/Ultrasonic" },
	{ "call", "", "a service to call, when it is there" },
	{ "calls", "1", "how often" },
	{ NULL, NULL, NULL },
};

static int faulty_reg(struct sim_bridge_registry *r)
{
	int e = r->add_publisher(r->ctx, "*", "nothing");

	if (e == 0)
		e = r->add_subscriber(r->ctx, "*", "nothing");
	if (e == 0 && SIM_BRIDGE_REG_HAS(r, add_service))
		e = r->add_service(r->ctx, "*", "nothing");
	return e;
}

static struct sim_task *late_next(struct late *l)
{
	struct sim_task *t = NULL;

	pthread_mutex_lock(&l->lock);
	while (!l->n && !l->stop)
		pthread_cond_wait(&l->changed, &l->lock);
	if (l->n) {
		t = l->task[l->head];
		l->head = (l->head + 1) % LATE_MAX;
		l->n--;
	}
	pthread_mutex_unlock(&l->lock);
	return t;
}

static void *late_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct sim_task *t;

	while ((t = late_next(&b->late))) {
		moment_us((unsigned)b->delay_us);
		b->host->complete(b->host->ctx, t, 0);
		if (b->mode == MODE_TWICE)
			b->host->complete(b->host->ctx, t, 0);
	}
	return NULL;
}

static int late_push(struct sim_bridge *b, struct sim_task *task)
{
	struct late *l = &b->late;
	int r = 1;

	pthread_mutex_lock(&l->lock);
	if (l->n == LATE_MAX)
		r = -ENOBUFS;
	else
		l->task[(l->head + l->n++) % LATE_MAX] = task;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return r;
}

static int read_number(const struct sim_bridge_host *host, const char *name, long min, long *ret)
{
	const char *text = host->option(host->ctx, name);
	char *end;
	long v;

	errno = 0;
	v = text ? strtol(text, &end, 10) : -1;
	if (!text || !*text || *end || errno || v < min) {
		host->log(host->ctx, 0, "options.%s: \"%s\" is not a number of at least %ld", name, text ? text : "",
			  min);
		return -EINVAL;
	}
	*ret = v;
	return 0;
}

static int read_mode(const struct sim_bridge_host *host, enum mode *ret)
{
	const char *text = host->option(host->ctx, "mode");

	for (int i = 0; text && i < MODES; i++)
		if (!strcmp(text, mode_names[i])) {
			*ret = (enum mode)i;
			return 0;
		}
	host->log(host->ctx, 0,
		  "options.mode: \"%s\" is not one of count, slow, fail, crash, hang, late, twice, lose, work, order",
		  text ? text : "");
	return -EINVAL;
}

/* ---- bringing messages in ---- */

/* A message refused because time is paused is offered again, until it is accepted. */
static void *inject_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct inject *in = &b->inject;

	while (in->sent < in->n && !atomic_load(&in->stop)) {
		struct sim_Ultrasonic m = { .minimum_distance = (float)in->sent };
		int r = b->host->publish(b->host->ctx, in->channel, &sim_Ultrasonic_type, &m, sizeof(m));

		if (r == 0)
			in->sent++;
		else if (!in->refused++)
			b->host->log(b->host->ctx, 1, "%s: a message was refused: %s", in->channel, strerror(-r));
		moment_us((unsigned)in->delay_us);
	}
	return NULL;
}

static void inject_stop(struct sim_bridge *b)
{
	struct inject *in = &b->inject;

	if (!in->running)
		return;
	atomic_store(&in->stop, 1);
	pthread_join(in->thread, NULL);
	in->running = 0;
	b->host->log(b->host->ctx, 2, "%s: %ld brought in, %ld refused", in->channel, in->sent, in->refused);
}

static void faulty_listen(struct sim_bridge *b, const char *channel, int on)
{
	struct inject *in = &b->inject;

	(void)channel; /* there is but one */
	inject_stop(b);
	atomic_store(&in->stop, 0);
	if (on)
		in->running = pthread_create(&in->thread, NULL, inject_main, b) == 0;
}

static void offer(struct sim_bridge *b)
{
	const struct sim_bridge_host *h = b->host;
	int r = h->offer(h->ctx, b->inject.channel, &sim_Ultrasonic_type);

	if (r < 0 && r != -EALREADY)
		h->log(h->ctx, 1, "%s cannot be offered: %s", b->inject.channel, strerror(-r));
}

/* ---- calling a service ---- */

static void call_next(struct sim_bridge *b);

static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct sim_bridge *b = user;
	const struct sim_bridge_host *h = b->host;
	char *text = NULL;

	b->call.answered++;
	b->call.failed += result < 0;
	if (result < 0)
		h->log(h->ctx, 1, "%s: %s", b->call.name, why);
	else if (b->call.type && sim_msg_to_json_alloc(b->call.type->response, response, size, NULL, &text, NULL) == 0)
		h->log(h->ctx, 2, "%s: %s", b->call.name, text);
	free(text);
	call_next(b);
}

static void call_next(struct sim_bridge *b)
{
	const struct sim_service_type *type = b->call.type;
	void *request;
	int r;

	if (!type || b->call.answered >= b->call.n)
		return;
	request = calloc(1, type->request->fixed_size);
	r = request ? b->host->call(b->host->ctx, b->call.name, type, request, type->request->fixed_size, 0, on_answer,
				    b)
		    : -ENOMEM;
	free(request);
	if (r < 0)
		b->host->log(b->host->ctx, 1, "%s was not called: %s", b->call.name, strerror(-r));
}

static void faulty_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	if (strcmp(name, b->call.name) != 0)
		return;
	b->call.type = type;
	if (SIM_BRIDGE_HOST_HAS(b->host, call))
		call_next(b);
}

/* ---- life ---- */

static int faulty_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r = b ? 0 : -ENOMEM;

	if (r || (r = read_mode(host, &b->mode)) || (r = read_number(host, "delay_us", 0, &b->delay_us)) ||
	    (r = read_number(host, "every", 1, &b->every)) || (r = read_number(host, "absent", 0, &b->absent)) ||
	    (r = read_number(host, "inject", 0, &b->inject.n)) ||
	    (r = read_number(host, "inject_us", 1, &b->inject.delay_us)) ||
	    (r = read_number(host, "calls", 0, &b->call.n)))
		goto err;
	b->call.name = host->option(host->ctx, "call");
	b->inject.channel = host->option(host->ctx, "inject_channel");
	b->host = host;
	pthread_mutex_init(&b->newest.lock, NULL);
	pthread_mutex_init(&b->late.lock, NULL);
	pthread_cond_init(&b->late.changed, NULL);
	r = -pthread_create(&b->late.thread, NULL, late_main, b);
	if (r)
		goto err;
	*ret = b;
	return 0;
err:
	free(b);
	return r;
}

static int faulty_connect(struct sim_bridge *b, const char *connection)
{
	enum sim_bridge_status s = strcmp(connection, "away") ? SIM_BRIDGE_CONNECTED : SIM_BRIDGE_CONNECTING;

	if (!strcmp(connection, "refuse"))
		return -EINVAL;
	if (atomic_load(&b->left) > 0) {
		atomic_fetch_sub(&b->left, 1);
		s = SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED;
	}
	atomic_store(&b->status, (int)s);
	b->host->status(b->host->ctx, s, mode_names[b->mode]);
	if (b->inject.n && s == SIM_BRIDGE_CONNECTED)
		offer(b);
	return 0;
}

static void faulty_disconnect(struct sim_bridge *b)
{
	atomic_store(&b->status, SIM_BRIDGE_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status faulty_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

/* Nothing to keep per channel: the bridge itself stands for all topics. */
static int faulty_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	(void)ch;
	*ret = (struct sim_bridge_topic *)(void *)b;
	return 0;
}

static void faulty_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	(void)b;
	(void)t;
}

/* The far side is gone: the host connects again. */
static int lose(struct sim_bridge *b)
{
	atomic_store(&b->left, b->absent);
	atomic_store(&b->status, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, "lost, as it was told to be");
	return -EPIPE;
}

/* Converts, as it were; then it is its turn to write. */
static void work(const struct sim_bridge *b, struct sim_task *task)
{
	struct timespec now;
	int64_t end_ns = 0, now_ns;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
		end_ns = end_ns ? end_ns : now_ns + b->delay_us * 1000;
	} while (now_ns < end_ns);
	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
}

static void look_at_order(struct sim_bridge *b, const struct sim_slot *s)
{
	struct newest *w = &b->newest;
	uint64_t was;
	int i = 0;

	pthread_mutex_lock(&w->lock);
	while (i < PUBLISHERS - 1 && w->of[i].publisher && w->of[i].publisher != s->publisher_id)
		i++;
	was = w->of[i].sequence;
	w->of[i].publisher = s->publisher_id;
	w->of[i].sequence = s->sequence > was ? s->sequence : was;
	pthread_mutex_unlock(&w->lock);
	if (s->sequence < was)
		b->host->log(b->host->ctx, 1, "publisher %u: %llu comes after %llu", s->publisher_id,
			     (unsigned long long)s->sequence, (unsigned long long)was);
}

static int misbehave(struct sim_bridge *b, const struct sim_slot *s, struct sim_task *task)
{
	switch (b->mode) {
	case MODE_ORDER:
		look_at_order(b, s);
		moment_us((unsigned)b->delay_us);
		return 0;
	case MODE_SLOW:
		moment_us((unsigned)b->delay_us);
		return 0;
	case MODE_FAIL:
		return -EIO;
	case MODE_CRASH:
		raise(SIGKILL);
		return 0;
	case MODE_HANG:
		for (;;)
			pause();
	case MODE_LATE:
	case MODE_TWICE:
		return late_push(b, task);
	case MODE_LOSE:
		return lose(b);
	case MODE_WORK:
		work(b, task);
		return 0;
	case MODE_COUNT:
	case MODES:
		break;
	}
	return 0;
}

static int faulty_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *slot,
			  struct sim_task *task)
{
	uint64_t n;

	(void)t;
	if (!task)
		return 0; /* /clock: it works in every mode */
	n = atomic_fetch_add_explicit(&b->count, 1, memory_order_relaxed) + 1;
	if (b->mode == MODE_COUNT || n % (uint64_t)b->every)
		return 0;
	return misbehave(b, &slot->header, task);
}

static void faulty_destroy(struct sim_bridge *b)
{
	inject_stop(b);
	pthread_mutex_lock(&b->late.lock);
	b->late.stop = 1;
	pthread_cond_signal(&b->late.changed);
	pthread_mutex_unlock(&b->late.lock);
	pthread_join(b->late.thread, NULL);
	pthread_cond_destroy(&b->late.changed);
	pthread_mutex_destroy(&b->late.lock);
	free(b);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "faulty",
		.type = "misbehaves on request",
		.options = options,
		.reg = faulty_reg,
		.create = faulty_create,
		.connect = faulty_connect,
		.disconnect = faulty_disconnect,
		.status = faulty_status,
		.open = faulty_open,
		.close = faulty_close,
		.publish = faulty_publish,
		.destroy = faulty_destroy,
		.listen = faulty_listen,
		.service = faulty_service,
		.flags = SIM_BRIDGE_IN_ORDER,
	};

	return &ops;
}
