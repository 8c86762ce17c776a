/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulation: the turns of lock-step, in one thread.
 *
 * A turn: all messages that have arrived are taken, in the order (stamp, channel, arrival), and handed out one by one;
 * timers that are due between them fire by their time. What the callbacks write is delivered at once, inside the call.
 * Within a channel messages arrive in the order of publishing, and those of equal ranks in the order of their clients'
 * names (sim/step.h), so the whole turn is repeatable.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "host_channel.h"
#include "err.h"
#include "mem.h"
#include "timeutil.h"

#define WAIT_DUR_NS (200 * NS_PER_MS) /* how long a stop may go unnoticed */

struct turn_message {
	int64_t stamp_sim_ns;
	struct host_channel *ch;
	uint32_t arrival;
	struct msg *m; /* referenced */
};

struct turn_messages {
	struct turn_message *at;
	uint32_t n, capacity;
};

/* ---- what has arrived ---- */

static int compare(const void *a, const void *b)
{
	const struct turn_message *x = a, *y = b;
	int by_name;

	if (x->stamp_sim_ns != y->stamp_sim_ns)
		return x->stamp_sim_ns < y->stamp_sim_ns ? -1 : 1;
	by_name = strcmp(x->ch->name, y->ch->name);
	if (by_name)
		return by_name;
	return x->arrival < y->arrival ? -1 : 1;
}

static int append(struct turn_messages *t, struct host_channel *ch, struct msg *m)
{
	if (t->n == t->capacity) {
		uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
		struct turn_message *at = mem_realloc(t->at, capacity * sizeof(*at));

		if (!at)
			return err_nomem();
		t->at = at;
		t->capacity = capacity;
	}
	t->at[t->n] = (struct turn_message){ m->m.header.stamp_sim_ns, ch, t->n, m };
	t->n++;
	return 0;
}

/*
 * Whether the error r of a take is final: no message will ever come again. Else the queue is empty, or simd or the data
 * plane is away.
 */
static bool is_over(int r)
{
	return r != -EAGAIN && r != -ESTALE && r != -ENOBUFS && r != -ENOTCONN;
}

static int collect_of(struct turn_messages *t, struct host_channel *ch)
{
	struct msg *m;
	int r;

	while ((r = intake_take(ch->intake, &m)) == 0) {
		r = append(t, ch, m);
		if (r < 0) {
			msg_unref(m);
			return r;
		}
		ch->refs++; /* until its messages have been handed out */
	}
	return is_over(r) ? host_channel_deaf(ch, r) : 0;
}

/* Callbacks create and destroy readers; none runs in here. */
static int collect(struct sim_host *h)
{
	struct turn_messages *t = h->taken;
	struct host_channel *ch;
	int r = 0;

	t->n = 0;
	pthread_mutex_lock(&h->lock);
	list_for_each(ch, &h->channels, link)
		if (r == 0 && ch->intake)
			r = collect_of(t, ch);
	pthread_mutex_unlock(&h->lock);
	if (t->n)
		qsort(t->at, t->n, sizeof(t->at[0]), compare);
	return r;
}

/* ---- a clock that is driven ---- */

static int clock_ask(struct sim_client *c, bool *ret_wall_runs, char *ret_source, size_t size)
{
	char *reply = NULL;
	json_t *o, *clock;
	int r = sim_call(c, "GetClock", NULL, &reply);

	if (r < 0)
		return r;
	o = json_loads(reply, 0, NULL);
	clock = json_object_get(o, "clock");
	clock = clock ? clock : o;
	*ret_wall_runs =
		json_is_false(json_object_get(clock, "driven")) && json_is_false(json_object_get(clock, "paused"));
	snprintf(ret_source, size, "%s", json_string_value(json_object_get(clock, "source")));
	json_decref(o);
	free(reply);
	return 0;
}

static int refuse_wall_clock(struct sim_host *h)
{
	char source[64];
	bool runs;
	int r = clock_ask(h->client, &runs, source, sizeof(source));

	if (r < 0 || !runs)
		return r;
	return err_set(
		-EOPNOTSUPP,
		"simulation mode: the time source \"%s\" follows the wall clock and runs, so no run would repeat; select one that is "
		"driven (simctl clock source unity), or pause and step it (simctl clock pause)",
		source);
}

/* No turn has come for a while: fails if a running wall-driven source was selected, as then none will come. */
static int still_driven(struct sim_host *h)
{
	struct sim_clock_sample now;
	int r;

	sim_now_sample(h->client, &now);
	if (now.rate_e6 <= 0 || (now.flags & SIM_CLOCK_STALE))
		return 0;
	r = refuse_wall_clock(h);
	return r == -ENOTCONN ? 0 : r;
}

/* ---- a turn ---- */

static void fire_until(struct sim_host *h, int64_t until_sim_ns, int64_t now_sim_ns)
{
	struct sim_node_timer *t;
	int64_t due;

	while ((t = node_timer_due(h, until_sim_ns, &due)))
		node_timer_fire(t, now_sim_ns);
}

static void hand_out_all(struct sim_host *h, int64_t now_sim_ns)
{
	struct turn_messages *t = h->taken;

	for (uint32_t i = 0; i < t->n; i++) {
		struct turn_message *x = &t->at[i];

		/* a message comes before a timer that is due at the same time */
		fire_until(h, (x->stamp_sim_ns < now_sim_ns ? x->stamp_sim_ns : now_sim_ns) - 1, now_sim_ns);
		(void)host_channel_deliver(x->ch, x->m, now_sim_ns);
		host_channel_unref(x->ch);
	}
	t->n = 0;
	fire_until(h, now_sim_ns, now_sim_ns);
}

static int turn(struct sim_host *h, const struct sim_step_turn *t)
{
	int r;

	host_enter(h);
	atomic_store(&h->now_sim_ns, t->now.sim_ns);
	if (t->now.clock_generation != h->clock_generation) {
		h->clock_generation = t->now.clock_generation;
		node_timer_jump(h, t->now.sim_ns);
	}
	r = collect(h);
	hand_out_all(h, t->now.sim_ns);
	host_leave(h);
	return r;
}

int simulate_run(struct sim_host *h)
{
	struct sim_step_turn t;
	int r = 0;

	if (!h->client)
		return err_set(-EOPNOTSUPP, "a host without simd has no turns; move its time with sim_host_advance()");
	while (!atomic_load(&h->stop)) {
		r = sim_step_wait(h->step, WAIT_DUR_NS, &t);
		if (r == -ETIMEDOUT) {
			r = still_driven(h);
			if (r < 0)
				return r;
			continue;
		}
		if (r == 0)
			r = turn(h, &t);
		if (r == 0)
			r = sim_step_done(h->step);
		if (r < 0 && r != -ENOTCONN)
			return r;
		if (r < 0 && sim_client_state(h->client) == SIM_CLIENT_FAILED)
			return err_set(-ENOTCONN, "%s", sim_client_why(h->client));
		if (r < 0) /* simd is away: the library joins again */
			nanosleep(&(struct timespec){ .tv_nsec = 10 * NS_PER_MS }, NULL);
	}
	return 0;
}

/* ---- start and finish ---- */

int simulate_start(struct sim_host *h)
{
	int r;

	h->taken = MEM_NEW(struct turn_messages);
	if (!h->taken)
		return err_nomem();
	if (!h->client)
		return 0;
	r = refuse_wall_clock(h);
	if (r < 0)
		return r;
	atomic_store(&h->now_sim_ns, sim_now(h->client));
	host_enter(h);
	node_timer_restart(h, sim_host_now(h));
	host_leave(h);
	return sim_step_join(h->client, h->rank, &h->step);
}

void simulate_finish(struct sim_host *h)
{
	sim_step_leave(h->step);
	h->step = NULL;
	if (h->taken)
		mem_free(h->taken->at);
	mem_free(h->taken);
	h->taken = NULL;
}

/* ---- without simd ---- */

static void advance(struct sim_host *h, int64_t now_sim_ns)
{
	struct sim_node_timer *t;
	int64_t due;

	host_enter(h);
	while ((t = node_timer_due(h, now_sim_ns, &due))) {
		atomic_store(&h->now_sim_ns, due);
		node_timer_fire(t, due);
	}
	atomic_store(&h->now_sim_ns, now_sim_ns);
	host_leave(h);
}

int sim_host_advance(struct sim_host *h, int64_t now_sim_ns)
{
	if (!h || h->client)
		return err_set(-EINVAL, "sim_host_advance: only of a host without simd (SIM_HOST_OFFLINE)");
	if (now_sim_ns < atomic_load(&h->now_sim_ns))
		return err_set(-EINVAL, "sim_host_advance: time would go back, from %lld to %lld ns",
			       (long long)atomic_load(&h->now_sim_ns), (long long)now_sim_ns);
	advance(h, now_sim_ns);
	return 0;
}
