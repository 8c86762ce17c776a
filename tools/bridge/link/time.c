/* SPDX-License-Identifier: Apache-2.0 */
/* See link_time.h. The options, the DDS topic and its reading, and the "link-gather" thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "link_time.h"

#define DEPTH       256        /* messages for a slow host; lost ones are repeated */
#define LOOK_DUR_NS 1000000000 /* if nothing is due earlier */
#define TURN_DUR_NS 200000000  /* after so long a waiting thread checks whether it must end */

/* ---- options ---- */

int link_time_check(struct link_time *t)
{
	static const char *const roles[] = { "off", "give", "follow", NULL };
	static const char *const yes[] = { "false", "true", NULL };
	static const char *const lates[] = { "wait", "warn", "drop", NULL };
	const struct sim_bridge_host *h = t->b->host;
	int role = bridge_option_word(h, "time", roles, "off, give or follow");
	int lockstep = bridge_option_word(h, "lockstep", yes, "true or false");
	int late = bridge_option_word(h, "late", lates, "wait, warn or drop");
	int r = bridge_option_number(h, "lookahead", 0, (long)STEP_LOOKAHEAD_MAX, "steps", &t->lookahead);

	if (r == 0)
		r = bridge_option_number(h, "deadline_ms", 10, 600000, "ms", &t->deadline_ms);
	if (role < 0 || lockstep < 0 || late < 0)
		return -EINVAL;
	t->role = (enum link_role)role;
	t->lockstep = lockstep;
	t->late = (enum step_late)late;
	t->from = bridge_option(h, "time_host");
	if (r == 0 && *t->from && (!manifest_host_ok(t->from) || t->role == LINK_TIME_GIVE)) {
		log_error(
			t->b,
			"options.time_host: \"%.60s\" is not the name of another machine, or this one gives time itself",
			t->from);
		r = -EINVAL;
	}
	return r;
}

/* ---- messages ---- */

void link_time_send(void *ctx, const struct time_msg *m)
{
	struct link_time *t = ctx;
	uint8_t small[TIME_MSG_SMALL_MAX], *bytes = small;
	size_t size = time_msg_write(m, small, sizeof(small));
	int r = size ? 0 : -EINVAL;

	if (m->kind == TIME_JOIN) /* messages of the first step may arrive before WELCOME */
		link_exchange_expect(t->b, true);
	t->large = size > sizeof(small);
	if (t->large) {
		bytes = malloc(size);
		r = bytes && time_msg_write(m, bytes, size) == size ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = link_write(t->b, t->writer, ++t->sequence, bytes, size);
	if (r < 0 && limit_allows(&t->lines))
		log_warn(t->b, "time: a message (%s) is not sent, and will be repeated: %s", time_msg_name(m->kind),
			 strerror(-r));
	if (bytes != small)
		free(bytes);
}

/*
 * With keys: whether the writer has the keys of the host that the message is from. Results are cached; handles are
 * never reused.
 */
static bool is_of_its_host(struct link_time *t, dds_instance_handle_t writer, const struct time_msg *m)
{
	const char *name = m->kind == TIME_CLAIM ? m->claim.name : m->kind == TIME_JOIN ? m->join.name : NULL;
	char host[SECURE_NAME_SIZE];

	if (name && link_hash(name) != m->from)
		return false;
	for (unsigned i = 0; i < LINK_WRITERS; i++)
		if (t->writers[i].handle == writer)
			return t->writers[i].id == m->from;
	if (!secure_writer(t->reader, writer, host))
		return false;
	t->writers[t->next_writer] = (struct link_time_writer){ writer, link_hash(host) };
	t->next_writer = (t->next_writer + 1) % LINK_WRITERS;
	return link_hash(host) == m->from;
}

static void take(void *arg, struct blob_in *in, dds_instance_handle_t writer)
{
	static struct step_export room[STEP_ALL_EXPORTS_MAX]; /* there is one link per process; guarded by its lock */
	struct link_time *t = arg;
	struct time_msg m;
	int r = in->r;

	if (r == 0)
		r = time_msg_read(in->body, in->head.body_size, room, &m);
	if (r == 0 && t->b->keyed && !is_of_its_host(t, writer, &m))
		r = -EKEYREJECTED;
	if (r < 0) {
		if (limit_allows(&t->lines))
			log_warn(t->b, "time: a message of another machine is ignored: %s",
				 in->why              ? in->why
				 : r == -EKEYREJECTED ? "its sender does not have the keys of the machine it names"
				 : r == -EPROTO       ? "its link is of another version"
						      : strerror(-r));
		return;
	}
	if (t->role == LINK_TIME_GIVE)
		link_give_got(t, mono_now_ns(), &m);
	else
		link_follow_got(t, mono_now_ns(), &m);
}

static int64_t due_mono_ns(const struct link_time *t)
{
	return t->role == LINK_TIME_GIVE ? link_give_due(t) : link_follow_due(t);
}

void link_time_due(struct link_time *t)
{
	if (due_mono_ns(t) < t->due_mono_ns)
		waiter_poke(&t->waiter);
}

/* Reads what has arrived and does what is due. Caller holds link_time::lock. */
static void look(struct link_time *t)
{
	blob_take(t->reader, take, t);
	if (t->role == LINK_TIME_GIVE)
		link_give_tick(t, mono_now_ns());
	else
		link_follow_tick(t, mono_now_ns());
}

/*
 * Called on Cyclone's receive thread, which must not block. A step needs three of these messages, and waking another
 * thread for each would take as long as the network, so they are processed here. If the lock is taken, link-time
 * processes them instead; also with large messages, because writing one may wait for acknowledgements, which only the
 * receive thread can process.
 */
static void on_data(dds_entity_t reader, void *arg)
{
	struct link_time *t = arg;

	(void)reader;
	if (pthread_mutex_trylock(&t->lock) != 0) {
		waiter_poke(&t->waiter);
		return;
	}
	if (!t->reads || t->large) {
		waiter_poke(&t->waiter);
	} else {
		look(t);
		link_time_due(t);
	}
	pthread_mutex_unlock(&t->lock);
}

static void *time_main(void *arg)
{
	struct link_time *t = arg;
	int64_t due = 0;

	while (!atomic_load(&t->stop)) {
		int64_t wait_dur_ns = due - mono_now_ns();

		if (wait_dur_ns > 0)
			waiter_wait(&t->waiter, wait_dur_ns < LOOK_DUR_NS ? wait_dur_ns : LOOK_DUR_NS);
		pthread_mutex_lock(&t->lock);
		t->large = false;
		t->reads = true;
		look(t);
		link_exchange_again(t->b);
		t->due_mono_ns = due = due_mono_ns(t);
		pthread_mutex_unlock(&t->lock);
	}
	return NULL;
}

/* ---- the client of this simd ---- */

bool link_time_connect(struct link_time *t, const char *suffix)
{
	char name[41];
	const struct sim_bridge_host *h = t->b->host;
	struct sim_client_options o = { .size = sizeof(o),
					.name = name,
					.socket = SIM_BRIDGE_HOST_HAS(h, socket) ? h->socket : NULL,
					.flags = SIM_CLIENT_SOURCE };
	struct sim_client *c;

	if (t->client)
		return true;
	snprintf(name, sizeof(name), "%.30s-%s", SIM_BRIDGE_HOST_HAS(h, bridge) ? h->bridge : "link", suffix);
	if (sim_connect(&o, &c) < 0) {
		if (limit_allows(&t->lines))
			log_warn(t->b, "time: %s", sim_why());
		return false;
	}
	pthread_mutex_lock(&t->lock);
	t->client = c;
	pthread_mutex_unlock(&t->lock);
	return true;
}

struct time_state link_time_page(const struct sim_clock_page *p, uint32_t *ret_futex)
{
	struct time_state s = { 0 };
	struct sim_clock_sample now = { 0 };

	*ret_futex = SIM_LOAD_(&p->futex, __ATOMIC_ACQUIRE);
	if (sim_clock_read(p, &now) < 0)
		return s;
	s.sim_ns = now.sim_ns;
	s.mono_ns = now.rate_e6 ? now.mono_ns : mono_now_ns();
	s.rate_e6 = now.rate_e6;
	s.scale_e6 = SIM_LOAD_(&p->scale_e6, __ATOMIC_RELAXED);
	s.clock_generation = now.clock_generation;
	s.flags = (now.flags & SIM_CLOCK_PAUSED ? (uint32_t)TIME_IS_PAUSED : 0) |
		  (now.flags & SIM_CLOCK_STEPPING ? (uint32_t)TIME_IS_STEPPING : 0) |
		  (now.flags & SIM_CLOCK_STARTED ? (uint32_t)TIME_HAS_STARTED : 0) |
		  (now.flags & SIM_CLOCK_NO_DRIVER ? (uint32_t)TIME_HAS_NO_DRIVER : 0);
	return s;
}

/* ---- link-gather: the last turn of a step ---- */

static void hold_turn(struct link_time *t, const struct sim_step_turn *turn)
{
	uint64_t number = 0, settle, through;
	bool held;

	pthread_mutex_lock(&t->lock);
	held = t->role == LINK_TIME_GIVE ? link_give_turn(t, turn, &number) : link_follow_turn(t, &number);
	link_time_due(t);
	while (held && t->over < number && !atomic_load(&t->stop))
		pthread_cond_wait(&t->changed, &t->lock);
	settle = held ? t->settle : 0;
	through = t->through;
	pthread_mutex_unlock(&t->lock);
	link_exchange_through(t->b, through);
	if (settle)
		link_exchange_settle(t->b, settle, t->deadline_ms * INT64_C(1000000), &t->stop);
}

/*
 * May be called on the receive thread: kept messages are therefore freed by link-gather, because their lock is held
 * while messages are sent.
 */
void link_time_committed(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n)
{
	struct link_time *t = ctx;
	uint64_t behind = 1 + (t->role == LINK_TIME_GIVE ? (uint64_t)t->lookahead : t->ahead);

	link_exchange_need(t->b, t->id, number, exports, n);
	/* a host that answers a step has ended the one before and dispatched its messages */
	t->through = number > behind ? number - behind : 0;
}

static void *gather_main(void *arg)
{
	struct link_time *t = arg;

	while (!atomic_load(&t->stop)) {
		struct sim_step_turn turn;
		int r;

		link_exchange_prepare(t->b, t->client);
		r = sim_step_wait(t->step, TURN_DUR_NS, &turn);

		if (r == 0) {
			hold_turn(t, &turn);
			r = sim_step_done(t->step);
		} else if (r == -ECONNABORTED) {
			log_warn(t->b,
				 "time: this simd has dropped the link from its steps (step.late): it joins again");
			sim_step_leave(t->step);
			t->step = NULL;
			r = sim_step_join(t->client, SIM_STEP_RANK_MAX, &t->step);
		}
		if (r == -ENOTCONN || !t->step)
			nanosleep(&(struct timespec){ .tv_nsec = TURN_DUR_NS }, NULL);
		if (!t->step && sim_step_join(t->client, SIM_STEP_RANK_MAX, &t->step) < 0)
			t->step = NULL;
	}
	return NULL;
}

int link_gather_start(struct link_time *t)
{
	int r;

	if (t->gather_runs)
		return 0;
	r = sim_step_join(t->client, SIM_STEP_RANK_MAX, &t->step);
	if (r < 0) {
		log_warn(t->b, "time: steps do not wait for other machines: %s", sim_why());
		return r;
	}
	r = -pthread_create(&t->gather, NULL, gather_main, t);
	t->gather_runs = r == 0;
	if (t->gather_runs)
		pthread_setname_np(t->gather, "link-gather");
	return r;
}

/* ---- open and close ---- */

static int open_topic(struct link_time *t)
{
	const struct blob_place texts = { .taken_max = TIME_MSG_MAX };
	const struct link_qos q = { .reliable = true, .depth = DEPTH };
	dds_listener_t *l = dds_create_listener(t);

	t->topic = blob_topic_create(t->b->participant, "simd/time", "simd/time", &texts);
	if (t->topic < 0) {
		dds_delete_listener(l);
		return dds_errno(t->topic);
	}
	dds_lset_data_available(l, on_data);
	t->writer = link_writer(t->b, t->topic, &q, NULL);
	t->reader = link_reader(t->b, t->topic, &q, l);
	if (t->writer < 0 || t->reader < 0) {
		log_error(t->b, "simd/time: no DDS endpoint: %s",
			  dds_strretcode(t->writer < 0 ? t->writer : t->reader));
		return dds_errno(t->writer < 0 ? t->writer : t->reader);
	}
	return waiter_open(&t->waiter, t->b->participant, 0);
}

int link_time_open(struct link_time *t)
{
	pthread_condattr_t attr;
	int r = link_time_check(t);

	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (r < 0 || t->role == LINK_TIME_OFF)
		return r;
	t->id = link_hash(t->b->name);
	if (getrandom(&t->life, sizeof(t->life), 0) != (ssize_t)sizeof(t->life))
		return -EIO;
	t->life |= 1;
	r = open_topic(t);
	if (r == 0)
		r = t->role == LINK_TIME_GIVE ? link_give_open(t) : link_follow_open(t);
	return r < 0 ? r : waiter_start(&t->waiter, "link-time", time_main, t);
}

static void join_thread(pthread_t thread, bool *runs)
{
	if (*runs)
		pthread_join(thread, NULL);
	*runs = false;
}

void link_time_close(struct link_time *t)
{
	atomic_store(&t->stop, true);
	pthread_mutex_lock(&t->lock);
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	waiter_close(&t->waiter);
	join_thread(t->clock, &t->clock_runs);
	join_thread(t->drive, &t->drive_runs);
	join_thread(t->gather, &t->gather_runs);
	if (t->reader > 0)
		dds_delete(t->reader); /* waits until the listener has returned */
	link_give_close(t);
	link_follow_close(t);
	sim_step_leave(t->step);
	link_exchange_stop(t->b);
	sim_disconnect(t->client);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
}
