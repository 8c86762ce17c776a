/* SPDX-License-Identifier: Apache-2.0 */
/* Point clouds and other ranging sensors. See apollo.h. */
#include <math.h>
#include <string.h>

#include "apollo_private.h"
#include "pb_points.h"
#include "sim/msg/LaserScan.h"
#include "sim/msg/PointCloud.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/Ultrasonic.h"

struct layout {
	const char *name;
	uint8_t datatype;
	uint32_t *offset;
};

static void take_field(const struct apollo_out *o, const struct sim_PointField *f, uint32_t step,
		       const struct layout *want, size_t n)
{
	struct sim_PointField head = *f; /* read once: a peer may still change it */
	const char *name = sim_PointField_name_in(o->in->body, o->in->size, f);
	size_t len = apollo_body_len(o, name);

	for (size_t i = 0; i < n; i++)
		if (strlen(want[i].name) == len && !memcmp(want[i].name, name, len) &&
		    head.datatype == want[i].datatype && step >= 4 && head.offset <= step - 4)
			*want[i].offset = head.offset;
}

/* Finds the fields of a point that Apollo's points have. */
static int layout_of(struct apollo_out *o, const struct sim_PointCloud *m, uint32_t step, struct pb_points *ret)
{
	uint32_t n, y = PB_POINTS_NONE, z = PB_POINTS_NONE;
	const struct sim_PointField *f = sim_PointCloud_fields(m, o->in->size, &n);
	const struct layout want[] = { { "x", SIM_POINT_FIELD_FLOAT32, &ret->xyz },
				       { "y", SIM_POINT_FIELD_FLOAT32, &y },
				       { "z", SIM_POINT_FIELD_FLOAT32, &z },
				       { "intensity", SIM_POINT_FIELD_FLOAT32, &ret->intensity },
				       { "time_offset", SIM_POINT_FIELD_UINT32, &ret->time } };

	ret->xyz = ret->intensity = ret->time = PB_POINTS_NONE;
	for (uint32_t i = 0; i < n; i++)
		take_field(o, &f[i], step, want, sizeof(want) / sizeof(want[0]));
	if (ret->xyz == PB_POINTS_NONE || y != ret->xyz + 4 || z != ret->xyz + 8)
		return apollo_refuse(o, -ENOTSUP, "a point needs x, y and z as float32, one behind the other");
	return 0;
}

/* Coordinates are the sensor's: forward, left, up, as from Apollo's lidar driver. Points without a hit are left out. */
int apollo_out_point_cloud(struct apollo_out *o)
{
	const struct sim_PointCloud *m = APOLLO_BODY(o, PointCloud);
	int64_t ns = o->in->stamp_sim_ns;
	uint32_t size, step = m->point_step, width = m->width, height = m->height, n;
	struct pb_points p = { .stamp_ns = ns, .stamped = ns >= 0, .skip_zero = true };
	uint64_t points = (uint64_t)width * height;
	int r;

	p.data = sim_PointCloud_data(m, o->in->size, &size);
	if (points * step != size || points > UINT32_MAX)
		return apollo_refuse(o, -EBADMSG, "%u by %u points of %u bytes are not the %u bytes there are", width,
				     height, step, size);
	r = layout_of(o, m, step, &p);
	if (r < 0)
		return r;
	p.n = (uint32_t)points;
	p.step = step;
	apollo_header(o, 1, APOLLO_LIDAR_TIMESTAMP);
	apollo_frame_id(o, 2);
	pb_bool(&o->w, 3, m->is_dense);
	n = pb_points(&o->w, 4, &p);
	pb_f64(&o->w, 5, apollo_seconds(ns));
	pb_u64(&o->w, 6, n);
	pb_u64(&o->w, 7, 1);
	return 0;
}

/* ---- planar scanners, sent as a lidar with one ring ---- */

struct scan {
	struct sim_LaserScan head;
	const float *ranges, *intensities; /* intensities: NULL: none */
	uint32_t n;
};

static int scan_of(struct apollo_out *o, struct scan *ret)
{
	const struct sim_LaserScan *m = APOLLO_BODY(o, LaserScan);
	uint32_t n_intensities;

	ret->head = *m; /* read once: a peer may still change it */
	ret->ranges = sim_LaserScan_ranges(m, o->in->size, &ret->n);
	ret->intensities = sim_LaserScan_intensities(m, o->in->size, &n_intensities);
	if (!n_intensities)
		ret->intensities = NULL;
	else if (n_intensities != ret->n)
		return apollo_refuse(o, -EBADMSG, "laser scan has %u ranges but %u intensities", ret->n, n_intensities);
	return 0;
}

static void scan_point(struct apollo_out *o, const struct scan *s, uint32_t i, float range)
{
	double angle = (double)s->head.angle_min + i * (double)s->head.angle_increment;
	float light = s->intensities ? s->intensities[i] : 0;
	int64_t ns = o->in->stamp_sim_ns;

	pb_open(&o->w, 4);
	pb_f32(&o->w, 1, (float)((double)range * cos(angle)));
	pb_f32(&o->w, 2, (float)((double)range * sin(angle)));
	pb_f32(&o->w, 3, 0);
	if (s->intensities)
		pb_u64(&o->w, 4, light > 0 ? (uint64_t)((light < 1 ? light : 1) * 255) : 0);
	if (ns >= 0)
		pb_u64(&o->w, 5, (uint64_t)ns + i * (uint64_t)s->head.time_increment);
	pb_close(&o->w);
}

/* Sends the rays that hit something, each with its time. */
int apollo_out_laser_scan(struct apollo_out *o)
{
	uint32_t hits = 0;
	struct scan s = { .n = 0 };
	int r = scan_of(o, &s);

	if (r < 0)
		return r;
	apollo_header(o, 1, APOLLO_LIDAR_TIMESTAMP);
	apollo_frame_id(o, 2);
	pb_bool(&o->w, 3, true);
	for (uint32_t i = 0; i < s.n; i++) {
		float range = s.ranges[i];

		if (!(range >= s.head.range_min && range <= s.head.range_max))
			continue;
		scan_point(o, &s, i, range);
		hits++;
	}
	pb_f64(&o->w, 5, apollo_seconds(o->in->stamp_sim_ns));
	pb_u64(&o->w, 6, hits);
	pb_u64(&o->w, 7, 1);
	return 0;
}

/* A single sensor: its range, or nothing. */
int apollo_out_ultrasonic(struct apollo_out *o)
{
	const struct sim_Ultrasonic *m = APOLLO_BODY(o, Ultrasonic);

	apollo_header(o, 1, 0);
	if (m->minimum_distance >= 0)
		pb_f32(&o->w, 2, m->minimum_distance);
	return 0;
}

/* ---- radar ---- */

enum { POINT = 0, CAR = 1, TRUCK = 2 }; /* classes of the radar */
#define TRUCK_M 5

/* Along the radar's line of sight, and to its left; object minus sensor. */
static void radar_obs(struct apollo_out *o, const struct sim_RadarObject *r)
{
	struct pb_writer *w = &o->w;

	pb_open(w, 2);
	apollo_header(o, 1, APOLLO_RADAR_TIMESTAMP);
	pb_bool(w, 2, false); /* a track */
	pb_i64(w, 3, r->id);
	pb_f64(w, 4, apollo_dot(&r->relative_position, &r->sensor_aim));
	pb_f64(w, 5, -apollo_dot(&r->relative_position, &r->sensor_right));
	pb_f64(w, 6, apollo_dot(&r->relative_velocity, &r->sensor_aim));
	pb_f64(w, 7, -apollo_dot(&r->relative_velocity, &r->sensor_right));
	pb_i64(w, 9, r->state == SIM_RADAR_OBJECT_STATE_STATIONARY);
	pb_f64(w, 14, 1);
	pb_i64(w, 15, r->new_detection ? 1 : 2);
	pb_f64(w, 18, apollo_radar_orientation(r));
	pb_f64(w, 22, r->size.x);
	pb_f64(w, 23, r->size.y);
	pb_i64(w, 24, r->size.x > TRUCK_M ? TRUCK : CAR);
	pb_close(w);
}

int apollo_out_radar(struct apollo_out *o)
{
	const struct sim_RadarObjects *m = APOLLO_BODY(o, RadarObjects);
	uint32_t n;
	const struct sim_RadarObject *r = sim_RadarObjects_objects(m, o->in->size, &n);

	apollo_header(o, 1, APOLLO_RADAR_TIMESTAMP);
	for (uint32_t i = 0; i < n; i++)
		radar_obs(o, &r[i]);
	pb_open(&o->w, 5);
	pb_i64(&o->w, 1, n);
	pb_i64(&o->w, 2, (int32_t)(o->in->sequence & 0xffff)); /* 16 bits, as in the radar */
	pb_i64(&o->w, 3, 0);
	pb_close(&o->w);
	return 0;
}
