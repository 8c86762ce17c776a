/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming sensor messages of Apollo: images, clouds, radar, ultrasonic. See apollo_in.h. */
#include <math.h>
#include <string.h>

#include "apollo_in_private.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Image.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/Ultrasonic.h"
#include "sim/point_cloud.h"

/* ---- cameras ---- */

struct text { /* borrows */
	const void *at;
	size_t len;
};

struct picture { /* common to both messages */
	uint32_t height, width, step;
	struct text encoding, data;
};

static const struct apollo_field picture_fields[] = { APOLLO_FIELD(4, IN_U32, picture, height),
						      APOLLO_FIELD(5, IN_U32, picture, width),
						      APOLLO_FIELD(7, IN_U32, picture, step) };
static const struct apollo_field compressed_fields[] = { APOLLO_FIELD(7, IN_U32, picture, width),
							 APOLLO_FIELD(8, IN_U32, picture, height) };

static void own_frame(struct apollo_in *d, const struct pb_reader *r)
{
	struct text t;

	if (pb_get_bytes(r, &t.at, &t.len) && t.len) {
		d->frame = t.at;
		d->frame_len = t.len;
	}
}

int apollo_in_image(struct apollo_in *d)
{
	struct picture p = { 0 };
	struct pb_reader r;
	uint8_t *data;

	int e = apollo_take_header(d, 1);

	for (apollo_begin(d, &r); pb_next(&r);)
		if (r.field == 2)
			own_frame(d, &r);
		else if (r.field == 6)
			pb_get_bytes(&r, &p.encoding.at, &p.encoding.len);
		else if (r.field == 8)
			pb_get_bytes(&r, &p.data.at, &p.data.len);
		else
			APOLLO_TAKE(&r, picture_fields, &p);
	APOLLO_START(d, e, Image);
	if (!p.step && p.height)
		p.step = (uint32_t)(p.data.len / p.height);
	if ((uint64_t)p.step * p.height != p.data.len)
		return apollo_drop(d, -EBADMSG, "an image of %u rows of %u bytes has %zu bytes", p.height, p.step,
				   p.data.len);
	m->height = p.height;
	m->width = p.width;
	m->step = p.step;
	(void)apollo_set_text(&builder, &m->encoding, p.encoding.at, p.encoding.len, 0);
	data = sim_Image_data_alloc(&builder, (uint32_t)p.data.len);
	if (data && p.data.len)
		memcpy(data, p.data.at, p.data.len);
	return apollo_made(d, &builder);
}

int apollo_in_compressed_image(struct apollo_in *d)
{
	struct picture p = { 0 };
	struct pb_reader r;
	uint8_t *data;
	int e = apollo_take_header(d, 1);

	for (apollo_begin(d, &r); pb_next(&r);)
		if (r.field == 2)
			own_frame(d, &r);
		else if (r.field == 3)
			pb_get_bytes(&r, &p.encoding.at, &p.encoding.len);
		else if (r.field == 4)
			pb_get_bytes(&r, &p.data.at, &p.data.len);
		else if (d->release != APOLLO_5)
			APOLLO_TAKE(&r, compressed_fields, &p);
	APOLLO_START(d, e, CompressedImage);
	m->height = p.height;
	m->width = p.width;
	if (p.encoding.len == 3 && memcmp(p.encoding.at, "jpg", 3) == 0)
		p.encoding = (struct text){ "jpeg", 4 };
	(void)apollo_set_text(&builder, &m->format, p.encoding.at, p.encoding.len, 0);
	data = sim_CompressedImage_data_alloc(&builder, (uint32_t)p.data.len);
	if (data && p.data.len)
		memcpy(data, p.data.at, p.data.len);
	return apollo_made(d, &builder);
}

/* ---- lidar ---- */

struct point { /* a point of Apollo's */
	float x, y, z;
	uint32_t intensity;
	uint64_t stamp_ns;
};

static void read_point(const struct pb_reader *field, struct point *p)
{
	struct pb_reader r;

	*p = (struct point){ .x = NAN, .y = NAN, .z = NAN };
	for (pb_enter(field, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			pb_get_f32(&r, &p->x);
			break;
		case 2:
			pb_get_f32(&r, &p->y);
			break;
		case 3:
			pb_get_f32(&r, &p->z);
			break;
		case 4:
			pb_get_u32(&r, &p->intensity);
			break;
		case 5:
			pb_get_u64(&r, &p->stamp_ns);
			break;
		}
}

/*
 * A driver stamps a cloud when it is complete, so its points are older. The stamp becomes that of the first point, if
 * that is at most so much earlier.
 */
#define CLOUD_DUR_NS INT64_C(4000000000)

static void stamp_of_first(struct apollo_in *d, uint64_t first_ns)
{
	int64_t first = first_ns && first_ns <= INT64_MAX ? (int64_t)first_ns : 0;

	if (!first)
		return;
	if (d->stamp_ns == MESSAGE_IN_NO_STAMP || (first < d->stamp_ns && first >= d->stamp_ns - CLOUD_DUR_NS))
		d->stamp_ns = first;
}

static void put_point(struct sim_Point *to, const struct point *p, int64_t stamp_ns)
{
	uint64_t after = p->stamp_ns - (uint64_t)stamp_ns;
	uint32_t intensity = p->intensity < 255 ? p->intensity : 255;

	*to = (struct sim_Point){ .x = p->x,
				  .y = p->y,
				  .z = p->z,
				  .intensity = (float)intensity / 255,
				  .time_offset = p->stamp_ns && after <= UINT32_MAX ? (uint32_t)after : 0,
				  .azimuth = atan2f(p->y, p->x),
				  .distance = sqrtf(p->x * p->x + p->y * p->y + p->z * p->z) };
}

struct shape {
	uint32_t n, width, height;
	uint64_t first_ns; /* earliest stamp of the points; 0: they have none */
};

static struct shape shape_of(struct apollo_in *d)
{
	struct shape s = { 0 };
	struct pb_reader r;
	struct point p;

	for (apollo_begin(d, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			apollo_header_here(d, &r);
			break;
		case 2:
			own_frame(d, &r);
			break;
		case 4:
			if (r.wire != PB_LENGTH)
				break;
			read_point(&r, &p);
			if (p.stamp_ns && (!s.first_ns || p.stamp_ns < s.first_ns))
				s.first_ns = p.stamp_ns;
			s.n++;
			break;
		case 6:
			pb_get_u32(&r, &s.width);
			break;
		case 7:
			pb_get_u32(&r, &s.height);
			break;
		}
	return s;
}

int apollo_in_point_cloud(struct apollo_in *d)
{
	struct shape s = shape_of(d);
	struct sim_PointCloud *m;
	struct sim_builder b;
	struct sim_Point *to;
	struct pb_reader r;
	bool dense = true;
	struct point p;
	uint32_t i = 0;

	if (d->error)
		return d->error;
	to = sim_point_cloud_begin(d->body, d->room, s.n, &b);
	if (!to && (s.n || d->room < sim_point_cloud_size(0)))
		return s.n > SIM_BODY_MAX / sizeof(*to) ? apollo_drop(d, -E2BIG, "a cloud of %u points", s.n)
							: -ENOBUFS;
	stamp_of_first(d, s.first_ns);
	for (apollo_begin(d, &r); i < s.n && apollo_next(&r, 4); i++) {
		read_point(&r, &p);
		dense = dense && isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
		put_point(&to[i], &p, d->stamp_ns);
	}
	m = d->body;
	m->is_dense = dense;
	if (s.height > 1 && (uint64_t)s.width * s.height == s.n) {
		m->width = s.width;
		m->height = s.height;
		m->row_step = s.width * (uint32_t)sizeof(struct sim_Point);
	}
	return apollo_made(d, &b);
}

/* ---- ranging sensors ---- */

/* Of all sensors of the vehicle the nearest range. */
int apollo_in_ultrasonic(struct apollo_in *d)
{
	float least = -1, range;
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	for (apollo_begin(d, &r); pb_next(&r);)
		if (r.field == 2)
			while (pb_item_f32(&r, &range))
				if (range >= 0 && isfinite(range) && (least < 0 || range < least))
					least = range;
	APOLLO_START(d, e, Ultrasonic);
	m->minimum_distance = least;
	return apollo_made(d, &builder);
}

struct radar_obs {
	int32_t id, dynprop, meas_state;
	struct sim_Vector3 at, velocity; /* ahead, left */
	double length, width;
};

static const struct apollo_field radar_fields[] = {
	APOLLO_FIELD(3, IN_I32, radar_obs, id),          APOLLO_FIELD(4, IN_F64, radar_obs, at.x),
	APOLLO_FIELD(5, IN_F64, radar_obs, at.y),        APOLLO_FIELD(6, IN_F64, radar_obs, velocity.x),
	APOLLO_FIELD(7, IN_F64, radar_obs, velocity.y),  APOLLO_FIELD(9, IN_I32, radar_obs, dynprop),
	APOLLO_FIELD(15, IN_I32, radar_obs, meas_state), APOLLO_FIELD(22, IN_F64, radar_obs, length),
	APOLLO_FIELD(23, IN_F64, radar_obs, width),
};

enum { DYNPROP_STATIONARY = 1, MEAS_STATE_NEW = 1 };

/*
 * The message does not give the radar's pose: it is placed at 0, looking along x. Values are unchecked, as from any
 * sensor.
 */
static void put_radar(struct sim_RadarObject *to, const struct radar_obs *o)
{
	*to = (struct sim_RadarObject){ .sensor_aim = { .x = 1 },
					.sensor_right = { .y = -1 },
					.position = o->at,
					.velocity = o->velocity,
					.relative_position = o->at,
					.relative_velocity = o->velocity,
					.size = { .x = o->length, .y = o->width },
					.sensor_angle = atan2(o->at.y, o->at.x),
					.id = o->id,
					.state = o->dynprop == DYNPROP_STATIONARY ? SIM_RADAR_OBJECT_STATE_STATIONARY
										  : SIM_RADAR_OBJECT_STATE_MOVING,
					.new_detection = o->meas_state == MEAS_STATE_NEW };
}

int apollo_in_radar(struct apollo_in *d)
{
	struct sim_RadarObject *to;
	uint32_t n, i = 0;
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	APOLLO_START(d, e, RadarObjects);
	(void)m;
	n = apollo_count(d, 2);
	to = sim_RadarObjects_objects_alloc(&builder, n);
	if (n && !to)
		return sim_builder_error(&builder);
	for (apollo_begin(d, &r); i < n && apollo_next(&r, 2); i++) {
		struct radar_obs o = { 0 };

		APOLLO_TAKE_ALL(&r, radar_fields, &o);
		put_radar(&to[i], &o);
	}
	return apollo_made(d, &builder);
}
