/* SPDX-License-Identifier: Apache-2.0 */
/* One sensor. See unit.h. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/LaserScan.h>
#include <sim/msg/OccupancyGrid.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/Ultrasonic.h>

#include "../scene/chance.h"
#include "err.h"

#define LABEL_MAX 64
#define RAD       (M_PI / 180)

/* ---- boxes ---- */

/* Boxes in the frame of a sensor: those of the objects first, in the order of the objects. */
static size_t boxes_of(const struct moment *m, const struct scene_mount *mount, double range_m)
{
	size_t n = scene_add_objects(m->objects, m->body_size, mount, m->boxes, 0);

	if (m->buildings->n && m->motion)
		n = scene_add_buildings(m->buildings, &m->motion->pose, mount, range_m, m->boxes, n);
	return n;
}

static uint32_t objects_of(const struct moment *m, const struct sim_Detected3DObject **ret)
{
	uint32_t n;

	*ret = sim_Detected3DObjects_objects(m->objects, m->body_size, &n);
	return n;
}

/* ---- radar ---- */

static size_t look_radar(struct unit *u, const struct moment *m, void *body, size_t cap)
{
	struct look l = { .objects = m->objects,
			  .body_size = m->body_size,
			  .boxes = m->boxes,
			  .n_boxes = boxes_of(m, &u->mount, u->c->range),
			  .stamp_sim_ns = m->stamp_sim_ns,
			  .clock_generation = m->clock_generation };
	uint32_t which[RADAR_OBJECTS_MAX], n;
	struct sim_RadarObject *out;
	struct sim_builder b;

	n = radar_detect(&u->radar, &l, which);
	out = sim_RadarObjects_init(body, cap, &b) ? sim_RadarObjects_objects_alloc(&b, n) : NULL;
	if (!out)
		return 0;
	radar_measure(&u->radar, &l, m->motion, which, n, out);
	return sim_builder_size(&b);
}

/* ---- ultrasonic ---- */

static double echo(const struct unit *u, const struct moment *m, double dist)
{
	struct rnd rnd;

	if (u->c->noise > 0) {
		rnd_seed(&rnd, (uint64_t)u->c->seed ^ hash64(HASH64_INIT, &m->stamp_sim_ns, sizeof(m->stamp_sim_ns)));
		dist += chance_normal(&rnd, u->c->noise);
	}
	return fmax(dist, u->c->min_range);
}

static size_t look_ultrasonic(struct unit *u, const struct moment *m, void *body, size_t cap)
{
	size_t n = boxes_of(m, &u->mount, u->c->range);
	struct sim_builder b;
	struct sim_Ultrasonic *out = sim_Ultrasonic_init(body, cap, &b);
	double dist = INFINITY;

	if (!out)
		return 0;
	for (size_t i = 0; i < n; i++)
		dist = fmin(dist, sight_nearest(&u->sight, &m->boxes[i]));
	out->minimum_distance = isfinite(dist) ? (float)echo(u, m, dist) : -1;
	return sim_builder_size(&b);
}

/* ---- objects ---- */

/* The object in the sensor's frame; its label is set later. */
static void to_sensor(const struct unit *u, const struct scan_box *box, struct sim_Detected3DObject *o)
{
	struct sim_Quaternion q = o->pose.orientation;
	double c = cos(-u->mount.yaw / 2), s = sin(-u->mount.yaw / 2);

	o->pose.position = (struct sim_Vector3){ .x = box->x, .y = box->y, .z = box->z };
	o->pose.orientation = (struct sim_Quaternion){
		.x = c * q.x - s * q.y, .y = c * q.y + s * q.x, .z = c * q.z + s * q.w, .w = c * q.w - s * q.z
	};
	memset(&o->label, 0, sizeof(o->label));
}

static bool shows(const struct unit *u, const struct moment *m, size_t n_boxes, size_t i)
{
	if (!u->c->occlusion) /* nothing hides the object */
		return sight_sees(&u->sight, &m->boxes[i], 1, 0);
	return sight_sees(&u->sight, m->boxes, n_boxes, i);
}

static size_t look_objects(struct unit *u, const struct moment *m, void *body, size_t cap)
{
	const struct sim_Detected3DObject *all;
	uint32_t count = objects_of(m, &all), which[RADAR_OBJECTS_MAX], n = 0;
	size_t n_boxes = boxes_of(m, &u->mount, u->c->range);
	struct sim_Detected3DObject *o;
	struct sim_builder b;

	for (uint32_t i = 0; i < count && i < n_boxes; i++) {
		if (!shows(u, m, n_boxes, i))
			continue;
		if (n < RADAR_OBJECTS_MAX)
			which[n++] = i;
		else
			u->left_out++;
	}
	o = sim_Detected3DObjects_init(body, cap, &b) ? sim_Detected3DObjects_objects_alloc(&b, n) : NULL;
	for (uint32_t i = 0; o && i < n; i++) {
		const char *label = sim_Detected3DObject_label_in(m->objects, m->body_size, &all[which[i]]);

		o[i] = all[which[i]];
		to_sensor(u, &m->boxes[which[i]], &o[i]);
		if (label && sim_Detected3DObject_label_set_in(&b, &o[i], label) < 0)
			return 0;
	}
	return o ? sim_builder_size(&b) : 0;
}

/* ---- laser ---- */

/* The columns of scan.h that are in the view; they start at -pi. */
static void choose_rays(struct unit *u)
{
	double per_rad = u->c->rays / (2 * M_PI), half = u->c->fov_deg * RAD / 2;
	double first = ceil((M_PI - half) * per_rad - 1e-6), last = floor((M_PI + half) * per_rad + 1e-6);

	u->first_ray = (uint32_t)first;
	u->n_rays = (uint32_t)fmin(last - first + 1, u->c->rays);
}

static int open_laser(struct unit *u)
{
	struct scan_params p = scan_params_default();
	const char *why = "no memory";
	int r;

	choose_rays(u);
	p.beams = 1;
	p.columns = (unsigned)u->c->rays;
	p.lowest_rad = p.highest_rad = 0;
	p.no_road = true;
	p.range_min = u->c->min_range;
	p.range_max = u->c->range;
	p.noise_sigma = u->c->noise;
	p.seed = (uint64_t)u->c->seed;
	r = scan_create(&p, &u->scan, &why);
	if (r < 0)
		return err_set(r, "sensor %s: %s", u->c->channel, why);
	u->points = calloc(scan_points_max(u->scan), sizeof(*u->points));
	return u->points ? 0 : err_nomem();
}

static size_t look_laser(struct unit *u, const struct moment *m, void *body, size_t cap)
{
	double step = 2 * M_PI / u->c->rays;
	size_t n = scan_turn(u->scan, m->boxes, boxes_of(m, &u->mount, u->c->range), u->points);
	struct sim_builder b;
	struct sim_LaserScan *s = sim_LaserScan_init(body, cap, &b);
	float *ranges = s ? sim_LaserScan_ranges_alloc(&b, u->n_rays) : NULL;
	float *intensities = ranges ? sim_LaserScan_intensities_alloc(&b, u->n_rays) : NULL;

	if (!intensities)
		return 0;
	memset(intensities, 0, u->n_rays * sizeof(*intensities));
	for (uint32_t i = 0; i < u->n_rays; i++)
		ranges[i] = INFINITY;
	for (size_t i = 0; i < n; i++) {
		uint32_t ray = (uint32_t)lround(((double)u->points[i].azimuth + M_PI) / step) - u->first_ray;

		if (ray >= u->n_rays)
			continue;
		ranges[ray] = u->points[i].distance;
		intensities[ray] = u->points[i].intensity;
	}
	s->angle_min = (float)(u->first_ray * step - M_PI);
	s->angle_max = (float)((u->first_ray + u->n_rays - 1) * step - M_PI);
	s->angle_increment = (float)step;
	s->range_min = (float)u->c->min_range;
	s->range_max = (float)u->c->range;
	s->scan_time = u->c->rate > 0 ? llround(1e9 / u->c->rate) : 0;
	return sim_builder_size(&b);
}

/* ---- grid ---- */

static void corners_of(const struct scan_box *box, struct raster_point ret[4])
{
	static const int sign[4][2] = { { 1, -1 }, { 1, 1 }, { -1, 1 }, { -1, -1 } };
	double c = cos(box->yaw), s = sin(box->yaw);

	for (int i = 0; i < 4; i++) {
		double l = sign[i][0] * box->length / 2, w = sign[i][1] * box->width / 2;

		ret[i] = (struct raster_point){ box->x + c * l - s * w, box->y + s * l + c * w };
	}
}

/* The boxes are taken from a base_link turned to the north: the cells lie along the map's axes. */
static size_t look_grid(struct unit *u, const struct moment *m, void *body, size_t cap)
{
	struct scene_mount north = { .yaw = -m->motion->pose.yaw };
	double half = u->raster.width * u->raster.resolution / 2;
	struct sim_builder b;
	struct sim_OccupancyGrid *g = sim_OccupancyGrid_init(body, cap, &b);
	int8_t *cells = g ? sim_OccupancyGrid_data_alloc(&b, u->raster.width * u->raster.height) : NULL;
	size_t n;

	if (!cells)
		return 0;
	memset(cells, 0, (size_t)u->raster.width * u->raster.height);
	n = boxes_of(m, &north, u->c->range);
	for (size_t i = 0; i < n; i++) {
		struct raster_point corners[4];

		if (hypot(m->boxes[i].x, m->boxes[i].y) > u->c->range)
			continue;
		corners_of(&m->boxes[i], corners);
		raster_shape(&u->raster, corners, 4, cells);
	}
	g->origin.position = (struct sim_Vector3){ .x = m->motion->pose.x - half,
						   .y = m->motion->pose.y - half,
						   .z = m->motion->pose.z };
	g->origin.orientation.w = 1;
	g->resolution = (float)u->raster.resolution;
	g->width = u->raster.width;
	g->height = u->raster.height;
	return sim_builder_size(&b);
}

/* ---- table of kinds ---- */

static const struct {
	const struct sim_type *type, *also;
	size_t (*look)(struct unit *u, const struct moment *m, void *body, size_t cap);
} KINDS[SENSOR_KINDS] = {
	[SENSOR_RADAR] = { &sim_RadarObjects_type, NULL, look_radar },
	[SENSOR_ULTRASONIC] = { &sim_Ultrasonic_type, NULL, look_ultrasonic },
	[SENSOR_OBJECTS] = { &sim_Detected3DObjects_type, NULL, look_objects },
	[SENSOR_LASER] = { &sim_LaserScan_type, NULL, look_laser },
	[SENSOR_GRID] = { &sim_OccupancyGrid_type, NULL, look_grid },
	[SENSOR_GNSS] = { &sim_Gps_type, &sim_GpsIns_type, NULL },
	[SENSOR_IMU] = { &sim_CorrectedImu_type, &sim_Imu_type, NULL },
};

int unit_init(struct unit *u, const struct sensor_config *c)
{
	memset(u, 0, sizeof(*u));
	u->c = c;
	u->mount = (struct scene_mount){ .x = c->x, .y = c->y, .z = c->z, .yaw = c->yaw_deg * RAD };
	u->sight = (struct sight){ .half_rad = c->fov_deg * RAD / 2,
				   .half_up_rad = c->up_deg * RAD / 2,
				   .range_min = c->min_range,
				   .range_max = c->range };
	u->radar = (struct radar){ .sight = u->sight,
				   .mount = u->mount,
				   .noise_range = c->noise,
				   .noise_rad = c->noise_deg * RAD,
				   .noise_speed = c->noise_speed,
				   .seed = (uint64_t)c->seed };
	u->raster = (struct raster){ .resolution = c->resolution,
				     .width = (uint32_t)c->cells,
				     .height = (uint32_t)c->cells };
	gnss_init(&u->gnss, c);
	inertial_init(&u->inertial, c);
	return c->kind == SENSOR_LASER ? open_laser(u) : 0;
}

void unit_finish(struct unit *u)
{
	scan_destroy(u->scan);
	free(u->points);
}

bool unit_looks(const struct unit *u)
{
	return KINDS[u->c->kind].look != NULL;
}

const struct sim_type *unit_type(const struct unit *u)
{
	return KINDS[u->c->kind].type;
}

const struct sim_type *unit_also_type(const struct unit *u)
{
	return u->c->also ? KINDS[u->c->kind].also : NULL;
}

size_t unit_size(const struct unit *u)
{
	static const size_t n = RADAR_OBJECTS_MAX;

	switch (u->c->kind) {
	case SENSOR_RADAR:
		return sim_RadarObjects_size(n);
	case SENSOR_OBJECTS:
		return sim_Detected3DObjects_size(n, n * sim_string_size(LABEL_MAX));
	case SENSOR_LASER:
		return sim_LaserScan_size(u->n_rays, u->n_rays);
	case SENSOR_GRID:
		return sim_OccupancyGrid_size((size_t)u->raster.width * u->raster.height);
	default:
		return KINDS[u->c->kind].type->fixed_size;
	}
}

bool unit_needs_motion(const struct unit *u, const struct moment *m)
{
	return m->buildings->n || u->c->kind == SENSOR_RADAR || u->c->kind == SENSOR_GRID;
}

size_t unit_look(struct unit *u, const struct moment *m, void *body, size_t cap)
{
	if (!m->motion && unit_needs_motion(u, m))
		return 0;
	return KINDS[u->c->kind].look(u, m, body, cap);
}

struct sim_Transform unit_frame(const struct unit *u)
{
	return (struct sim_Transform){ .translation = { .x = u->mount.x, .y = u->mount.y, .z = u->mount.z },
				       .rotation = { .z = sin(u->mount.yaw / 2), .w = cos(u->mount.yaw / 2) } };
}
