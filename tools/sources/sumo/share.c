/* SPDX-License-Identifier: Apache-2.0 */
/* share.h */
#include "share.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/world.h>

#include "log.h"
#include "mem.h"
#include "timeutil.h"

LOG_TOPIC("sumo");

#define WAIT_NS   (100 * NS_PER_MS) /* wall: how often stop() is called */
#define EGO       0                 /* the ego's object number; others have 1 and up */
#define SHARE_MAX (WORLD_OBJECTS_MAX + 1)

struct shared {
	uint64_t key; /* the scenario's key; 0: this number is free */
	bool seen;
	struct sim_world_object last; /* last state put, without its body */
};

struct share {
	struct sim_world *world;
	struct sim_world_tick tick;
	int64_t offset_dur_ns;       /* the scenario's time minus the world's */
	bool has_ego;                /* the ego is in the world */
	struct shared at[SHARE_MAX]; /* objects by their number in the world */
	bool full;                   /* logged that there are more objects than numbers */
	bool paused;                 /* the world knows that this host is paused */
	bool resumes;                /* resumed, and the world has not waited for this host since */
};

const char *share_why(void)
{
	return sim_world_why();
}

int share_open(const struct sim_world_options *o, int64_t now_sim_ns, struct share **ret)
{
	struct share *s = MEM_NEW(struct share);
	int r = s ? sim_world_connect(o, &s->world) : -ENOMEM;

	if (r == 0)
		r = sim_world_wait(s->world, 5 * NS_PER_S, &s->tick);
	if (r < 0) {
		share_close(s);
		return r;
	}
	s->offset_dur_ns = now_sim_ns - s->tick.time_sim_ns;
	log_info("joined the world at %.3f s%s", (double)s->tick.time_sim_ns / 1e9,
		 s->offset_dur_ns ? "; time here is another, and stays so" : "");
	*ret = s;
	return 0;
}

void share_close(struct share *s)
{
	if (!s)
		return;
	sim_world_disconnect(s->world);
	mem_free(s);
}

/* ---- objects ---- */

static uint32_t code_of(enum world_kind kind)
{
	switch (kind) {
	case WORLD_PEDESTRIAN:
		return SIM_WORLD_PEDESTRIAN;
	case WORLD_BICYCLE:
		return SIM_WORLD_BICYCLE;
	case WORLD_OTHER:
		return SIM_WORLD_GENERIC;
	default:
		return SIM_WORLD_VEHICLE;
	}
}

static const char *model_of(enum world_kind kind)
{
	static const char *const names[] = {
		[WORLD_CAR] = "car",         [WORLD_TRUCK] = "truck",           [WORLD_BUS] = "bus",
		[WORLD_BICYCLE] = "bicycle", [WORLD_MOTORCYCLE] = "motorcycle", [WORLD_PEDESTRIAN] = "pedestrian",
		[WORLD_OTHER] = "other"
	};

	return names[kind];
}

static int put(struct share *s, struct sim_world_object *o, const struct sim_world_shape *shape, int64_t now_sim_ns,
	       double yaw, double speed)
{
	unsigned char body[160];
	int n = sim_world_shape_write(o->code, shape, body, sizeof(body));

	if (n < 0)
		return n;
	o->time_sim_ns = now_sim_ns - s->offset_dur_ns;
	o->rotation[0] = cos(yaw / 2);
	o->rotation[3] = sin(yaw / 2);
	o->velocity[0] = speed * cos(yaw);
	o->velocity[1] = speed * sin(yaw);
	s->at[o->id].last = *o;
	o->body = body;
	o->body_size = (size_t)n;
	return sim_world_put(s->world, o);
}

static int put_ego(struct share *s, const struct moment *m)
{
	const struct ego *e = m->ego;
	struct sim_world_object o = { .id = EGO,
				      .code = SIM_WORLD_VEHICLE,
				      .position = { e->pos[0], e->pos[1], e->pos[2] },
				      .spin = { 0, 0, e->yaw_rate } };
	const struct sim_world_shape shape = { .model = "ego",
					       .size = { e->p.length, 1.8, 1.5 },
					       .offset = { e->p.length / 2 - e->p.rear_overhang, 0, 0.75 } };

	return put(s, &o, &shape, m->stamp_sim_ns, e->yaw, e->speed);
}

/* An object's origin in the world is the middle of its footprint on the ground. */
static int put_object(struct share *s, unsigned number, const struct world_object *w, int64_t now_sim_ns)
{
	double yaw = ego_yaw_of(w->angle_deg);
	struct sim_world_object o = { .id = number,
				      .code = code_of(w->kind),
				      .position = { w->pos[0] - cos(yaw) * w->length / 2,
						    w->pos[1] - sin(yaw) * w->length / 2, w->pos[2] } };
	struct sim_world_shape shape = { .size = { w->length, w->width, w->height },
					 .offset = { 0, 0, w->height / 2 } };

	strcpy(shape.model, model_of(w->kind));
	return put(s, &o, &shape, now_sim_ns, yaw, w->speed);
}

/* Returns the object's number, a new one if it has none; 0: no number is free. */
static unsigned number_of(struct share *s, uint64_t key)
{
	unsigned free = 0;

	for (unsigned i = 1; i < SHARE_MAX; i++) {
		if (s->at[i].key == key)
			return i;
		if (!free && !s->at[i].key)
			free = i;
	}
	if (free)
		s->at[free].key = key;
	return free;
}

static int remove_gone(struct share *s)
{
	int r = 0;

	for (unsigned i = 1; i < SHARE_MAX && r == 0; i++) {
		if (s->at[i].key && !s->at[i].seen) {
			s->at[i].key = 0;
			r = sim_world_remove(s->world, i);
		}
		s->at[i].seen = false;
	}
	return r;
}

static int put_or_remove_ego(struct share *s, const struct moment *m)
{
	int r = 0;

	if (!m->away)
		r = put_ego(s, m);
	else if (s->has_ego)
		r = sim_world_remove(s->world, EGO);
	s->has_ego = !m->away;
	return r;
}

static int put_all(struct share *s, const struct moment *m)
{
	int r = put_or_remove_ego(s, m);

	for (size_t i = 0; i < m->nobjects && r == 0; i++) {
		unsigned number = number_of(s, m->objects[i].key);

		if (!number && !s->full)
			log_warn("more than %u objects: not all of them are in the world", SHARE_MAX - 1);
		s->full |= !number;
		if (!number)
			continue;
		s->at[number].seen = true;
		r = put_object(s, number, &m->objects[i], m->stamp_sim_ns);
	}
	return r == 0 ? remove_gone(s) : r;
}

/* ---- time ---- */

/* If the server is away, all of this is sent when it is back. */
void share_pause(struct share *s)
{
	for (unsigned i = 0; i < SHARE_MAX && !s->paused; i++) {
		struct sim_world_object o = s->at[i].last;

		if (i == EGO ? !s->has_ego : !s->at[i].key)
			continue;
		memset(o.velocity, 0, sizeof(o.velocity));
		memset(o.spin, 0, sizeof(o.spin));
		(void)!sim_world_put(s->world, &o);
	}
	if (!s->paused)
		(void)!sim_world_pause(s->world);
	s->paused = s->resumes = true;
}

/*
 * Objects put now belong to the world's next tick: catching up after a long pause would take so long that the world
 * would drop this host.
 */
static int go_on(struct share *s, const struct moment *m)
{
	int r = sim_world_wait(s->world, 0, &s->tick);
	int64_t offset_dur_ns = m->stamp_sim_ns - s->tick.time_sim_ns - s->tick.step_dur_ns;

	if (r < 0 && r != -ETIMEDOUT)
		return r;
	if (offset_dur_ns >= s->offset_dur_ns)
		return 0;
	if (s->paused)
		log_info("time goes on; the world's has gone on by %.3f s meanwhile",
			 (double)(s->offset_dur_ns - offset_dur_ns) / 1e9);
	s->offset_dur_ns = offset_dur_ns;
	return 0;
}

int share_turn(struct share *s, const struct moment *m, bool (*stop)(void *user), void *user)
{
	int r;

	if (m->stamp_sim_ns - s->offset_dur_ns < s->tick.time_sim_ns + s->tick.step_dur_ns)
		return 0;
	r = s->resumes ? go_on(s, m) : 0;
	s->paused = false;
	if (r == 0)
		r = put_all(s, m);
	if (r == 0)
		r = sim_world_step(s->world, WAIT_NS, &s->tick);
	while (r == -ETIMEDOUT && !stop(user))
		r = sim_world_wait(s->world, WAIT_NS, &s->tick);
	if (r == -ETIMEDOUT)
		return -ECANCELED;
	s->resumes &= s->tick.role == SIM_WORLD_OBSERVER;
	/* another run of the world: it starts at the scenario's present time */
	if (r == 0 && m->stamp_sim_ns - s->offset_dur_ns > s->tick.time_sim_ns + s->tick.step_dur_ns)
		s->offset_dur_ns = m->stamp_sim_ns - s->tick.time_sim_ns;
	return r;
}
