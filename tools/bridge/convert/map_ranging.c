/* SPDX-License-Identifier: Apache-2.0 */
/* Laser scanners, radar, ultrasonic. See map.h. */
#include <math.h>

#include "map_private.h"
#include "sim/msg/LaserScan.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/Ultrasonic.h"

static float seconds(int64_t dur_ns)
{
	return (float)((double)dur_ns * 1e-9);
}

/* A range outside the scanner's limits, or NaN, is no hit; ROS has +Inf for it. */
static bool hit(const struct sim_LaserScan *m, float range)
{
	return range >= m->range_min && range <= m->range_max;
}

/* Whether the scan has ROS's form already, so that no copy is needed. */
static bool is_as_ros_has_it(const struct sim_LaserScan *m, const float *ranges, const float *intensities, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!hit(m, ranges[i]) && (!isinf(ranges[i]) || ranges[i] < 0 || (intensities && intensities[i] != 0)))
			return false;
	return true;
}

/* Copies values of a scan; rays without a hit get `nothing`. */
static void put_rays(struct sim_enc *e, const char *name, const struct sim_LaserScan *m, const float *ranges,
		     const float *values, uint32_t n, float nothing)
{
	uint8_t *to = e->ops->room(e, name, SIM_KIND_FLOAT32, n, 0);

	for (uint32_t i = 0; to && i < n; i++)
		memcpy(to + (size_t)i * sizeof(float), hit(m, ranges[i]) ? &values[i] : &nothing, sizeof(float));
}

MAP(LaserScan, sensor_msgs, LaserScan)
{
	uint32_t n, n_intensities;
	const float *ranges = sim_LaserScan_ranges(m, in->size, &n);
	const float *intensities = sim_LaserScan_intensities(m, in->size, &n_intensities);

	if (n_intensities && n_intensities != n)
		return -EBADMSG;
	map_header(e, in);
	sim_enc_f32(e, "angle_min", m->angle_min);
	sim_enc_f32(e, "angle_max", m->angle_max);
	sim_enc_f32(e, "angle_increment", m->angle_increment);
	sim_enc_f32(e, "time_increment", seconds(m->time_increment));
	sim_enc_f32(e, "scan_time", seconds(m->scan_time));
	sim_enc_f32(e, "range_min", m->range_min);
	sim_enc_f32(e, "range_max", m->range_max);
	if (is_as_ros_has_it(m, ranges, n_intensities ? intensities : NULL, n)) {
		sim_enc_array(e, "ranges", SIM_KIND_FLOAT32, ranges, n);
		sim_enc_array(e, "intensities", SIM_KIND_FLOAT32, intensities, n_intensities);
		return 0;
	}
	put_rays(e, "ranges", m, ranges, ranges, n, INFINITY);
	put_rays(e, "intensities", m, ranges, intensities, n_intensities, 0);
	return 0;
}

static void radar_object(struct sim_enc *e, const struct map_message *in, const struct sim_RadarObject *o)
{
	/* in their message: sensor minus object; in ours: object minus sensor */
	struct sim_Vector3 relative = { .x = -o->relative_velocity.x,
					.y = -o->relative_velocity.y,
					.z = -o->relative_velocity.z };

	sim_enc_begin(e, NULL);
	sim_enc_i32(e, "id", map_is_svl(in) ? 0 : o->id);
	map_vector(e, "sensor_aim", &o->sensor_aim);
	map_vector(e, "sensor_right", &o->sensor_right);
	map_vector(e, "sensor_position", &o->sensor_position);
	map_vector(e, "sensor_velocity", &o->sensor_velocity);
	sim_enc_f64(e, "sensor_angle", o->sensor_angle * (180.0 / 3.14159265358979323846));
	map_vector(e, "object_position", &o->position);
	map_vector(e, "object_velocity", &o->velocity);
	map_vector(e, "object_relative_position", &o->relative_position);
	map_vector(e, "object_relative_velocity", &relative);
	map_vector(e, "object_collider_size", &o->size);
	sim_enc_u8(e, "object_state", o->state);
	sim_enc_bool(e, "new_detection", o->new_detection);
	sim_enc_end(e);
}

MAP(RadarObjects, lgsvl_msgs, DetectedRadarObjectArray)
{
	uint32_t n;
	const struct sim_RadarObject *o = sim_RadarObjects_objects(m, in->size, &n);

	MAP_HEADED_LIST("objects", o, n, radar_object);
	return 0;
}

MAP(Ultrasonic, lgsvl_msgs, Ultrasonic)
{
	map_header(e, in);
	sim_enc_f32(e, "minimum_distance", m->minimum_distance < 0 ? -1.0f : m->minimum_distance);
	return 0;
}
