/* SPDX-License-Identifier: Apache-2.0 */
/* The player's sink into simd: time and publishing. See player_simd.h; channels: player_routes.c. */
#include "player_simd_private.h"

#include "err.h"
#include "mem.h"
#include "timeutil.h"

#include <sim/introspect.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADVANCE_MAX_DUR_NS (3600 * NS_PER_S)
#define AGAIN_DUR_NS       (10 * NS_PER_MS) /* between two tries after a temporary error */
#define STALE_MAX          500              /* limit of such tries, while the data plane restarts */
#define FOLLOW_DUR_NS      (20 * NS_PER_MS) /* reaction time to a pause or a jump of a followed clock */

static void nap(void)
{
	mono_sleep_until(mono_now_ns() + AGAIN_DUR_NS);
}

/* ---- driven time ---- */

static int64_t wall_now(void *ctx)
{
	(void)ctx;
	return mono_now_ns();
}

static int64_t wall_wake(void *ctx, int64_t until_ns)
{
	(void)ctx;
	return until_ns;
}

/* Sets the time. Blocks while time is paused, until the player is stopped. */
static int set(struct player_simd *s, int64_t sim_ns, bool jump)
{
	int r = sim_driver_begin(s->o.driver, sim_ns, jump);

	while (r == 0 && (r = sim_driver_end(s->o.driver, AGAIN_DUR_NS)) == -ETIMEDOUT && !player_simd_stopped(s))
		r = 0;
	return r;
}

static int advance(struct player_simd *s, int64_t dur_ns, int64_t *ret_granted_dur_ns)
{
	int r = sim_driver_begin_advance(s->o.driver, dur_ns);

	while (r == 0 && (r = sim_driver_end_advance(s->o.driver, AGAIN_DUR_NS, ret_granted_dur_ns)) == -ETIMEDOUT &&
	       !player_simd_stopped(s))
		r = 0;
	return r;
}

/*
 * In lock-step a publisher has one window of messages per advance: setting the current time again sends them out. While
 * simd steps the clock, that is refused, and an advance by a nanosecond does the same.
 */
static int drain(struct player_simd *s)
{
	int64_t granted_dur_ns = 0;
	int r = set(s, s->time_ns, false);

	if (r == -EBUSY) {
		r = advance(s, 1, &granted_dur_ns);
		s->time_ns += granted_dur_ns;
	}
	s->unsettled = false;
	return player_simd_stopped(s) ? -ECANCELED : r;
}

/*
 * In lock-step, waits until all that was published at the current time has been received before time moves on, so that
 * receivers see it at that time.
 */
static int settle(struct player_simd *s)
{
	return s->o.lockstep && s->unsettled ? drain(s) : 0;
}

static int drive_jump(void *ctx, int64_t log_ns)
{
	struct player_simd *s = ctx;
	int r = settle(s);

	if (r < 0)
		return r;
	r = set(s, log_ns, true);
	s->time_ns = log_ns;
	return player_simd_stopped(s) ? -ECANCELED : r;
}

static int drive_advance(void *ctx, int64_t from_ns, int64_t log_ns)
{
	struct player_simd *s = ctx;
	int settled = settle(s);

	(void)from_ns;
	if (settled < 0)
		return settled;
	while (s->time_ns < log_ns) {
		int64_t dur_ns = log_ns - s->time_ns, granted_dur_ns;
		int r = advance(s, dur_ns < ADVANCE_MAX_DUR_NS ? dur_ns : ADVANCE_MAX_DUR_NS, &granted_dur_ns);

		if (player_simd_stopped(s))
			return -ECANCELED;
		if (r < 0)
			return r;
		s->time_ns += granted_dur_ns;
	}
	return 0;
}

/* Lets simd begin a pause or a step, which waits for a call of the driver. In lock-step the call would be a step. */
static int drive_idle(void *ctx)
{
	struct player_simd *s = ctx;
	int r = s->o.lockstep ? 0 : set(s, s->time_ns, false);

	return player_simd_stopped(s) ? -ECANCELED : r == -EBUSY ? 0 : r;
}

/* ---- followed time ---- */

/* The followed time without its jumps. */
static int64_t follow_now(void *ctx)
{
	struct player_simd *s = ctx;
	struct sim_clock_sample now;

	sim_now_sample(s->o.client, &now);
	if (now.clock_generation != s->clock_generation) {
		s->follow_offset_ns = s->followed_ns - now.sim_ns;
		s->clock_generation = now.clock_generation;
	}
	if (s->followed_ns < now.sim_ns + s->follow_offset_ns)
		s->followed_ns = now.sim_ns + s->follow_offset_ns;
	return s->followed_ns;
}

static int64_t follow_wake(void *ctx, int64_t until_ns)
{
	struct player_simd *s = ctx;
	int64_t left_ns = until_ns - follow_now(ctx), rate_e6 = sim_clock_page(s->o.client)->rate_e6;

	if (rate_e6 > 0)
		left_ns = (int64_t)((int128)left_ns * SIM_RATE_ONE / rate_e6);
	if (rate_e6 <= 0 || left_ns > FOLLOW_DUR_NS)
		left_ns = rate_e6 < 0 || left_ns > FOLLOW_DUR_NS ? FOLLOW_DUR_NS : NS_PER_MS;
	return mono_now_ns() + left_ns;
}

/* ---- messages ---- */

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct player_simd *s = user;

	(void)reason;
	if (!ok)
		atomic_fetch_add_explicit(&s->failed, 1, memory_order_relaxed);
}

static void unprepare(void *ctx)
{
	struct player_simd *s = ctx;

	if (s->slot)
		(void)sim_unloan(s->slot_of->pub, s->slot);
	s->slot = NULL;
}

/* Decodes into a slot of the channel, with larger slots if needed. */
static int decode(struct player_simd *s, struct route *rt, const struct log_message *m)
{
	for (;;) {
		struct message_in *in = &s->in;
		int r = route_open(s, rt, m->size);

		s->reason = NULL;
		if (r == 0)
			r = sim_loan(rt->out->pub, rt->out->max_body, &s->slot);
		if (r < 0)
			return r;
		s->slot_of = rt->out;
		in->buf = sim_slot_body_mut(s->slot);
		in->room = rt->out->max_body;
		r = codec_in_decode(rt->codec, m, in);
		if (r == 0)
			return sim_slot_set_size(s->slot, in->size);
		unprepare(s);
		if (r == 1) /* nothing in it for that type */
			return -ENOENT;
		if (r != -ENOBUFS) {
			s->reason = codec_in_reason(r);
			return -EBADMSG;
		}
		r = out_grow(rt->out, m->size);
		if (r < 0) {
			s->reason = r == -EMSGSIZE ? codec_in_reason(r) : rt->out->refused_why;
			return r;
		}
	}
}

/* Counts a message that was not played; reports the first one of its channel. */
static void not_played(struct player_simd *s, struct out *o, const char *what, const char *reason)
{
	char why[sizeof(o->left->why)], text[SAY_MAX];

	if (!o->left) {
		snprintf(why, sizeof(why), "%s: %.500s", what, reason);
		snprintf(text, sizeof(text), "%s: %s", o->name, why);
		s->o.say(s->o.ctx, text);
		o->left = left_out_add(s, o->name, why);
	}
	if (o->left)
		o->left->messages++;
}

static void stamp(struct player_simd *s, const struct log_message *m)
{
	struct sim_clock_sample now;

	sim_now_sample(s->o.client, &now);
	s->slot->stamp_sim_ns = s->in.stamp_sim_ns == MESSAGE_IN_NO_STAMP ? m->publish_time_ns : s->in.stamp_sim_ns;
	s->slot->clock_generation = now.clock_generation;
	memcpy(s->slot->frame_id, s->in.frame, sizeof(s->slot->frame_id));
}

/* Takes over the slot. */
static int send(struct player_simd *s, struct out *o)
{
	struct sim_slot *slot = s->slot;
	int r;

	s->slot = NULL;
	if (sim_publisher_bridges(o->pub).total == 0) {
		r = sim_publish_local(o->pub, slot);
		if (r == 0)
			atomic_fetch_add_explicit(&s->local, 1, memory_order_relaxed);
		return r;
	}
	r = sim_try_queue(o->pub, slot, NULL, on_done, s);
	/* on a refusal on_done() is called too */
	if (r < 0)
		atomic_fetch_sub_explicit(&s->failed, 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&s->queued, 1, memory_order_relaxed);
	s->unsettled |= r == 0;
	return r;
}

/* Handles an error: waits after temporary ones. 0: try again. */
static int passes(struct player_simd *s, int r, unsigned *tries)
{
	if (player_simd_stopped(s))
		return -ECANCELED;
	if (r == -EAGAIN && s->o.driver && s->o.lockstep)
		return drain(s);
	if (r != -ECANCELED && ((r != -ESTALE && r != -ENOMEM && r != -EAGAIN) || ++*tries > STALE_MAX))
		return r;
	nap();
	return 0;
}

static int give(struct player_simd *s, struct route *rt, const struct log_message *m)
{
	unsigned tries = 0;

	for (;;) {
		int r = s->slot ? 0 : decode(s, rt, m);

		if (r == 0) {
			stamp(s, m);
			r = send(s, rt->out);
		}
		if (r == 0)
			return 0;
		r = r == -EBADMSG ? r : passes(s, r, &tries);
		if (r < 0)
			return r;
	}
}

static void show(struct player_simd *s, struct route *rt, const struct log_message *m)
{
	_Alignas(64) uint8_t body[SHOWN_MAX];
	char stamp_text[STAMP_FORMAT_MAX], text[SAY_MAX], *json = NULL;
	struct message_in in = { .buf = body, .room = sizeof(body) };

	if (codec_in_decode(rt->codec, m, &in) != 0 ||
	    sim_msg_to_json_alloc(codec_in_type(rt->codec), in.buf, in.size, NULL, &json, NULL) < 0)
		return;
	snprintf(text, sizeof(text), "%s s: %s %.400s", stamp_format(m->log_time_ns, stamp_text), rt->name, json);
	s->o.say(s->o.ctx, text);
	free(json);
}

static void prepare(void *ctx, const struct player_item *item)
{
	struct player_simd *s = ctx;
	struct route *rt = route_of(s, item->input, item->m.channel);

	if (rt && !rt->shown && decode(s, rt, &item->m) < 0)
		unprepare(s); /* tried again, and reported, when it is due */
}

static int publish(void *ctx, const struct player_item *item)
{
	struct player_simd *s = ctx;
	struct route *rt = route_of(s, item->input, item->m.channel);
	int r;

	if (!rt || !rt->codec)
		return 0;
	if (rt->shown) {
		show(s, rt, &item->m);
		return 0;
	}
	r = give(s, rt, &item->m);
	if (r == 0 || r == -ENOENT)
		return 0;
	unprepare(s);
	if (r == -ENOTCONN || r == -EPERM || r == -ECANCELED)
		return r;
	not_played(s, rt->out, r == -EBADMSG ? "a message cannot be read" : "a message was refused",
		   s->reason    ? s->reason
		   : *sim_why() ? sim_why()
				: sim_strerror(r));
	atomic_fetch_add_explicit(r == -EBADMSG ? &s->bad : &s->refused, 1, memory_order_relaxed);
	return 0;
}

static bool arrives(void *ctx, unsigned input, const struct log_message *m)
{
	return route_arrives(ctx, input, m->channel);
}

static bool only_latched(void *ctx, bool only)
{
	return routes_only_latched(ctx, only);
}

static bool latched(void *ctx, unsigned input, const struct log_message *m, uint64_t *ret_key)
{
	return route_is_latched(ctx, input, m, ret_key);
}

static void damaged(void *ctx, unsigned input, const char *why)
{
	struct player_simd *s = ctx;
	char text[SAY_MAX];

	if (s->damages++ >= DAMAGES_SAID)
		return;
	snprintf(text, sizeof(text), "%.300s: %.600s", s->inputs[input].path, why);
	s->o.say(s->o.ctx, text);
}

const struct player_sink player_simd_sink = { .now = wall_now,
					      .wake = wall_wake,
					      .jump = drive_jump,
					      .advance = drive_advance,
					      .idle = drive_idle,
					      .prepare = prepare,
					      .forget = unprepare,
					      .publish = publish,
					      .arrives = arrives,
					      .damaged = damaged,
					      .only_latched = only_latched,
					      .latched = latched };

const struct player_sink player_follow_sink = { .now = follow_now,
						.wake = follow_wake,
						.prepare = prepare,
						.forget = unprepare,
						.publish = publish,
						.arrives = arrives,
						.damaged = damaged,
						.only_latched = only_latched,
						.latched = latched };

/* ---- start and end ---- */

int player_simd_create(const struct player_simd_options *o, struct player_simd **ret)
{
	struct player_simd *s = MEM_NEW(struct player_simd);
	struct sim_clock_sample now;

	if (!s)
		return -ENOMEM;
	s->o = *o;
	list_init(&s->outs);
	list_init(&s->left);
	pthread_mutex_init(&s->lock, NULL);
	sim_now_sample(o->client, &now);
	s->clock_generation = now.clock_generation;
	s->followed_ns = now.sim_ns;
	*ret = s;
	return 0;
}

void player_simd_destroy(struct player_simd *s)
{
	if (!s)
		return;
	unprepare(s);
	routes_finish(s);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

void player_simd_finish(struct player_simd *s)
{
	if (s->o.driver && s->o.lockstep)
		(void)!drain(s); /* returns when all messages are completed */
	else
		(void)!sim_flush(s->o.client, 5 * NS_PER_S);
}

void player_simd_counters(const struct player_simd *s, struct player_simd_counters *ret)
{
	*ret = (struct player_simd_counters){
		.queued = atomic_load(&s->queued),
		.local = atomic_load(&s->local),
		.failed = atomic_load(&s->failed),
		.refused = atomic_load(&s->refused),
		.bad = atomic_load(&s->bad),
		.channels = atomic_load(&s->n_outs),
		.skipped = atomic_load(&s->skipped),
		.given = atomic_load(&s->given),
	};
}

/* The i-th channel whose messages are played without some of their fields. */
static bool left_out_fields(const struct player_simd *s, unsigned i, struct player_simd_left_out *ret)
{
	for (unsigned in = 0; in < s->n; in++)
		for (size_t k = 0; k < s->inputs[in].n; k++) {
			const struct route *rt = s->inputs[in].routes[k];
			const char *note = rt && rt->codec ? codec_in_note(rt->codec) : NULL;

			if (!note || i--)
				continue;
			*ret = (struct player_simd_left_out){ .channel = rt->name, .why = note, .fields = true };
			return true;
		}
	return false;
}

bool player_simd_left_out(const struct player_simd *s, unsigned i, struct player_simd_left_out *ret)
{
	const struct left_out *l;

	list_for_each(l, &s->left, link) {
		if (i--)
			continue;
		*ret = (struct player_simd_left_out){
			.channel = l->channel, .why = l->why, .messages = l->messages, .given = l->given
		};
		return true;
	}
	return left_out_fields(s, i, ret);
}
