/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The safe input: when a vehicle's commands stop, because the connection is lost or the peer is silent, the input that
 * the rig names is published repeatedly until a command arrives. Nothing is published before the first command. Runs in
 * its own thread, which exists only if the rig names a safe input.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cyber.h"

#define LOOK_MS      20
#define AGAIN_DUR_NS INT64_C(100000000)

/* ---- options ---- */

static const struct {
	const char *name;
	size_t at;
	uint32_t present;
} fields[] = {
#define F(name, bit) \
	{ \
#name, offsetof(struct sim_VehicleControl, name), SIM_VEHICLE_CONTROL_HAS_##bit \
	}
	F(acceleration, ACCELERATION),
	F(braking, BRAKING),
	F(velocity, VELOCITY),
	F(steer_target, STEER_TARGET),
	F(target_acceleration, TARGET_ACCELERATION),
	F(steer_angle, STEER_ANGLE),
#undef F
};

static int read_field(const char *key, json_t *v, struct sim_VehicleControl *c, char *why, size_t size)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		float value = (float)json_number_value(v);

		if (strcmp(key, fields[i].name) != 0)
			continue;
		if (!json_is_number(v) || !isfinite(value)) {
			snprintf(why, size, "\"safe_input\": \"%s\" must be a number", key);
			return -EINVAL;
		}
		memcpy((char *)c + fields[i].at, &value, sizeof(value));
		c->present |= fields[i].present;
		return 0;
	}
	snprintf(why, size,
		 "\"safe_input\": there is no \"%.40s\": acceleration, braking, velocity, target_acceleration, steer_target, "
		 "steer_angle",
		 key);
	return -EINVAL;
}

int cyber_safe_read(json_t *safe, json_t *timeout_ms, struct cyber_safe *ret, char *why, size_t size)
{
	json_int_t ms = json_integer_value(timeout_ms);
	const char *key;
	json_t *v;
	int r = 0;

	if (!safe && !timeout_ms)
		return 0;
	if (!json_is_object(safe) || !json_object_size(safe) || ms < 1 || ms > 60000) {
		snprintf(
			why, size,
			"\"control_timeout_ms\" (a whole number from 1 to 60000) and \"safe_input\" (an object) go together");
		return -EINVAL;
	}
	json_object_foreach(safe, key, v)
		r = r < 0 ? r : read_field(key, v, &ret->body, why, size);
	ret->timeout_dur_ns = ms * INT64_C(1000000);
	return r;
}

/* ---- the thread ---- */

void cyber_safe_heard(struct cyber_in *in)
{
	if (in->safe.timeout_dur_ns)
		atomic_store(&in->safe.heard_sim_ns, in->bridge->host->now(in->bridge->host->ctx));
}

static void act(struct cyber_in *in, int64_t now_sim_ns)
{
	const struct sim_bridge_host *h = in->bridge->host;
	struct cyber_safe *s = &in->safe;

	if (!s->acting)
		log_warn(in->bridge, "%s: no command for %lld ms of simulated time: %s gets the rig's safe input",
			 in->name, (long long)(s->timeout_dur_ns / 1000000), in->channel);
	s->acting = true;
	s->acted_sim_ns = now_sim_ns;
	(void)h->publish(h->ctx, in->channel, cyber_in_sim(in), &s->body, sizeof(s->body));
}

static void look_at(struct cyber_in *in)
{
	int64_t now = in->bridge->host->now(in->bridge->host->ctx), heard = atomic_load(&in->safe.heard_sim_ns);
	struct cyber_safe *s = &in->safe;

	if (!s->timeout_dur_ns || heard == INT64_MIN)
		return;
	if (now < heard) /* simulated time was set back */
		(void)atomic_compare_exchange_strong(&s->heard_sim_ns, &heard, now);
	else if (now - heard <= s->timeout_dur_ns && s->acting)
		log_info(in->bridge, "%s: commands come again", in->name);
	if (now - heard <= s->timeout_dur_ns)
		s->acting = false;
	else if (!s->acting || now - s->acted_sim_ns >= AGAIN_DUR_NS || now < s->acted_sim_ns)
		act(in, now);
}

static void *safe_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct pollfd p = { .fd = b->safe_stop, .events = POLLIN };

	while (poll(&p, 1, LOOK_MS) <= 0)
		for (unsigned i = 0; i < b->n_in; i++)
			look_at(&b->in[i]);
	return NULL;
}

int cyber_safe_start(struct sim_bridge *b)
{
	bool any = false;
	int r;

	for (unsigned i = 0; i < b->n_in; i++) {
		atomic_store(&b->in[i].safe.heard_sim_ns, INT64_MIN);
		any |= b->in[i].safe.timeout_dur_ns > 0;
	}
	if (!any)
		return 0;
	b->safe_stop = eventfd(0, EFD_CLOEXEC);
	if (b->safe_stop < 0)
		return -errno;
	r = -pthread_create(&b->safe_thread, NULL, safe_main, b);
	b->safe_runs = r == 0;
	if (b->safe_runs)
		pthread_setname_np(b->safe_thread, "cyber-safe");
	else
		close(b->safe_stop);
	return r;
}

void cyber_safe_stop(struct sim_bridge *b)
{
	uint64_t one = 1;

	if (!b->safe_runs)
		return;
	(void)!write(b->safe_stop, &one, sizeof(one));
	pthread_join(b->safe_thread, NULL);
	close(b->safe_stop);
	b->safe_runs = false;
}
