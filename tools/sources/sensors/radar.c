/* SPDX-License-Identifier: Apache-2.0 */
/* A radar. See radar.h. */
#include "radar.h"

#include <math.h>
#include <string.h>

#include "../scene/chance.h"

static const struct {
	const char *label;
	double rcs;
} CROSS_SECTIONS[] = {
	{ "Pedestrian", 1 }, { "Bicycle", 2 }, { "Motorcycle", 5 }, { "Car", 10 }, { "Truck", 100 }, { "Bus", 100 },
};

double radar_cross_section(const char *label)
{
	for (size_t i = 0; label && i < sizeof(CROSS_SECTIONS) / sizeof(*CROSS_SECTIONS); i++) {
		if (strcmp(CROSS_SECTIONS[i].label, label) == 0)
			return CROSS_SECTIONS[i].rcs;
	}
	return RADAR_REFERENCE_RCS;
}

static bool detects(const struct radar *r, const struct look *l, const struct sim_Detected3DObject *o, uint32_t i)
{
	double rcs = radar_cross_section(sim_Detected3DObject_label_in(l->objects, l->body_size, o));
	struct sight s = r->sight;

	s.range_max *= pow(fmin(rcs / RADAR_REFERENCE_RCS, 1), 0.25);
	return sight_sees(&s, l->boxes, l->n_boxes, i);
}

static bool was_there(const struct radar *r, uint32_t id)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->before[i] == id)
			return true;
	return false;
}

static double azimuth_of(struct sim_Vector3 v)
{
	return atan2(v.y, v.x);
}

/* Add noise to the position, in the sensor's frame, and to the speed along the line of sight. */
static void disturb(const struct radar *r, const struct look *l, uint32_t id, struct sim_Vector3 *at, double *doppler)
{
	double dist = sqrt(at->x * at->x + at->y * at->y + at->z * at->z), azimuth = azimuth_of(*at), grows, flat;
	struct rnd rnd;

	rnd_seed(&rnd,
		 r->seed ^ hash64(hash64(HASH64_INIT, &l->stamp_sim_ns, sizeof(l->stamp_sim_ns)), &id, sizeof(id)));
	grows = fmax(dist + chance_normal(&rnd, r->noise_range), 0) / dist;
	azimuth += chance_normal(&rnd, r->noise_rad);
	*doppler = chance_normal(&rnd, r->noise_speed);
	flat = hypot(at->x, at->y) * grows;
	*at = (struct sim_Vector3){ .x = flat * cos(azimuth), .y = flat * sin(azimuth), .z = at->z * grows };
}

static struct sim_Vector3 add(struct sim_Vector3 a, struct sim_Vector3 b, double k)
{
	return (struct sim_Vector3){ .x = a.x + k * b.x, .y = a.y + k * b.y, .z = a.z + k * b.z };
}

static void fill(const struct radar *r, const struct look *l, const struct motion *m, uint32_t i,
		 const struct sim_Detected3DObject *o, struct sim_RadarObject *d)
{
	const struct scan_box *b = &l->boxes[i];
	struct sim_Vector3 at = { .x = b->x, .y = b->y, .z = b->z }, v = o->map_velocity;
	double dist = sqrt(at.x * at.x + at.y * at.y + at.z * at.z), doppler = 0;

	if (dist > 0 && (r->noise_range > 0 || r->noise_rad > 0 || r->noise_speed > 0))
		disturb(r, l, o->id, &at, &doppler);
	memset(d, 0, sizeof(*d)); /* includes the padding at its end, so that the same look gives the same bytes */
	d->sensor_aim = motion_to_map(m, r->mount.yaw, (struct sim_Vector3){ .x = 1 });
	d->sensor_right = motion_to_map(m, r->mount.yaw, (struct sim_Vector3){ .y = -1 });
	d->sensor_position = motion_place(m, &r->mount);
	d->sensor_velocity = motion_velocity(m, &r->mount);
	d->relative_position = motion_to_map(m, r->mount.yaw, at);
	d->position = add(d->sensor_position, d->relative_position, 1);
	dist = sqrt(at.x * at.x + at.y * at.y + at.z * at.z);
	d->relative_velocity = add(add(v, d->sensor_velocity, -1), d->relative_position, dist > 0 ? doppler / dist : 0);
	d->velocity = add(d->relative_velocity, d->sensor_velocity, 1);
	d->size = o->size;
	d->sensor_angle = fmin(fmax(azimuth_of(at), -M_PI / 2), M_PI / 2);
	d->id = (int32_t)o->id;
	d->state = sqrt(v.x * v.x + v.y * v.y + v.z * v.z) < RADAR_STATIONARY_MPS ? SIM_RADAR_OBJECT_STATE_STATIONARY
										  : SIM_RADAR_OBJECT_STATE_MOVING;
	d->new_detection = !was_there(r, o->id);
}

uint32_t radar_detect(const struct radar *r, const struct look *l, uint32_t *ret_which)
{
	uint32_t count, n = 0;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(l->objects, l->body_size, &count);

	for (uint32_t i = 0; i < count && i < l->n_boxes && n < RADAR_OBJECTS_MAX; i++)
		if (detects(r, l, &o[i], i))
			ret_which[n++] = i;
	return n;
}

void radar_measure(struct radar *r, const struct look *l, const struct motion *m, const uint32_t *which, uint32_t n,
		   struct sim_RadarObject *out)
{
	uint32_t count;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(l->objects, l->body_size, &count);

	if (l->clock_generation != r->clock_generation)
		r->n = 0;
	for (uint32_t i = 0; i < n; i++)
		fill(r, l, m, which[i], &o[which[i]], &out[i]);
	for (uint32_t i = 0; i < n; i++)
		r->before[i] = o[which[i]].id;
	r->n = n;
	r->clock_generation = l->clock_generation;
}
