/* SPDX-License-Identifier: Apache-2.0 */
/* random_world.h */
#include <stdlib.h>
#include <string.h>

#include "random_world.h"

#define STEP_NS 10000000

static void must(bool ok)
{
	if (!ok)
		abort();
}

static struct body *some_body(struct rnd *r, unsigned changes)
{
	struct wire_buf b = { 0 };
	struct body *ret = NULL;

	wire_bytes(&b, 1, "model", 5);
	for (unsigned i = 0; i < 4; i++)
		wire_u64(&b, 2, i == 0 ? changes : 300 * i);
	if (rnd_below(r, 8))
		wire_fixed64(&b, 3, changes & 1);
	must(!b.failed && body_create(b.data, b.len, &ret) == 0);
	wire_buf_finish(&b);
	return rnd_below(r, 16) ? ret : (body_unref(ret), NULL);
}

static struct object_state new_object(struct rnd *r, uint64_t id)
{
	struct object_state o = { .id = id, .code = 2 + 14 * rnd_below(r, 2), .owner = rnd_below(r, 3) };

	for (int i = 0; i < 3; i++) {
		o.motion.v[MOTION_POSITION + i] = (int64_t)(rnd_u64(r) >> 30) - (INT64_C(1) << 33);
		o.motion.v[MOTION_VELOCITY + i] = (int64_t)rnd_below(r, 60000) - 30000;
	}
	o.motion.v[MOTION_ROTATION] = 1 << 20;
	o.body = some_body(r, 0);
	return o;
}

/* Most move on as predicted, some turn, brake, change their body or their owner. */
static struct object_state moved(struct rnd *r, const struct object_state *before, int64_t dt)
{
	struct object_state o = *before;

	motion_predict(&before->motion, dt, &o.motion);
	switch (rnd_below(r, 6)) {
	case 0:
		o.motion.v[rnd_below(r, MOTION_ROTATION)] += (int64_t)rnd_below(r, 2000) - 1000;
		break;
	case 1:
		o.motion.v[MOTION_ROTATION + rnd_below(r, 4)] = rnd_below(r, 1 << 20);
		o.motion.v[MOTION_ROTATION + 1] |= 1;
		break;
	case 2:
		o.motion.v[MOTION_VELOCITY + rnd_below(r, 7)] = (int64_t)rnd_below(r, 20000) - 10000;
		break;
	case 3:
		o.owner = rnd_below(r, 3);
		o.motion = before->motion;
		break;
	default:
		break;
	}
	o.body = rnd_below(r, 4) ? body_ref(before->body) : some_body(r, rnd_below(r, 100));
	return o;
}

struct section *random_section(struct rnd *r, const struct section *before)
{
	static struct object_state objects[RANDOM_WORLD_MAX];
	const struct section_key key = { (int32_t)rnd_below(r, 7) - 3, INT32_MIN, rnd_below(r, SECTION_LEVELS) };
	int64_t dt = before ? (int64_t)(1 + rnd_below(r, 40)) * STEP_NS : 0;
	uint32_t n = 0, wanted = rnd_below(r, RANDOM_WORLD_MAX);
	uint64_t last = 0;
	struct section *s = NULL;

	for (uint32_t i = 0; before && i < before->count && n < RANDOM_WORLD_MAX; i++) {
		uint64_t id = before->objects[i].id;

		if (id - last > 1 && n < wanted && !rnd_below(r, 10))
			objects[n++] = new_object(
				r, last + 1 + rnd_below(r, id - last - 1 < 1000 ? (uint32_t)(id - last - 1) : 1000));
		if (n < RANDOM_WORLD_MAX && rnd_below(r, 10))
			objects[n++] = moved(r, &before->objects[i], dt);
		last = id;
	}
	for (; n < wanted; n++) {
		last = n ? objects[n - 1].id > last ? objects[n - 1].id : last : last;
		last += 1 + rnd_below(r, 1u << 24);
		objects[n] = new_object(r, last);
	}
	must(section_create(before ? before->key : key, before ? before->tick + (uint64_t)(dt / STEP_NS) : 1,
			    before ? before->time_sim_ns + dt : INT64_C(1700000000000000000), objects, n, &s) == 0);
	return s;
}

static bool object_equal(const struct object_state *a, const struct object_state *b)
{
	return a->id == b->id && a->code == b->code && a->owner == b->owner &&
	       memcmp(&a->motion, &b->motion, sizeof(a->motion)) == 0 && body_equal(a->body, b->body);
}

bool section_equal(const struct section *a, const struct section *b)
{
	for (uint32_t i = 0; a->count == b->count && i < a->count; i++)
		if (!object_equal(&a->objects[i], &b->objects[i]))
			return false;
	return section_key_equal(a->key, b->key) && a->tick == b->tick && a->time_sim_ns == b->time_sim_ns &&
	       a->count == b->count && a->hash == b->hash;
}
