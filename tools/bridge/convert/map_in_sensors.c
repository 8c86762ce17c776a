/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming data of cameras, laser scanners, radar and ultrasonic sensors: see map_in.h. */
#include <string.h>

#include "map_in_private.h"
#include "sim/msg/CameraInfo.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Image.h"
#include "sim/msg/LaserScan.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/Ultrasonic.h"

#define WORD_MAX 255u /* bytes of an encoding, a format, a model */

MAP_IN(sensor_msgs, Image, Image)
{
	const void *data;
	uint32_t n;

	START(Image);
	map_in_header(d, to);
	m->height = sim_dec_u32(d, "height");
	m->width = sim_dec_u32(d, "width");
	map_in_text(d, &builder, "encoding", &m->encoding, WORD_MAX);
	m->is_bigendian = sim_dec_u8(d, "is_bigendian") != 0;
	m->step = sim_dec_u32(d, "step");
	data = map_in_array(d, "data", SIM_KIND_UINT8, &n);
	if ((uint64_t)m->step * m->height != n)
		sim_dec_fail(d, -EBADMSG);
	if (!d->err)
		map_in_copy(sim_Image_data_alloc(&builder, n), data, n);
	return map_in_finish(&builder, to);
}

MAP_IN(sensor_msgs, CompressedImage, CompressedImage)
{
	const void *data;
	uint32_t n;

	START(CompressedImage);
	map_in_header(d, to);
	map_in_text(d, &builder, "format", &m->format, WORD_MAX);
	data = map_in_array(d, "data", SIM_KIND_UINT8, &n);
	if (!d->err)
		map_in_copy(sim_CompressedImage_data_alloc(&builder, n), data, n);
	return map_in_finish(&builder, to);
}

/* ROS 1 has capitals: formats with names may use either. */
static const char *either(struct sim_dec *d, const char *small, const char *capital)
{
	return sim_dec_has(d, small) ? small : capital;
}

MAP_IN(sensor_msgs, CameraInfo, CameraInfo)
{
	const void *data;
	uint32_t n;

	START(CameraInfo);
	map_in_header(d, to);
	m->height = sim_dec_u32(d, "height");
	m->width = sim_dec_u32(d, "width");
	map_in_text(d, &builder, "distortion_model", &m->distortion_model, WORD_MAX);
	data = map_in_array(d, either(d, "d", "D"), SIM_KIND_FLOAT64, &n);
	if (!d->err)
		map_in_copy(sim_CameraInfo_d_alloc(&builder, n), data, n * sizeof(double));
	map_in_f64s(d, either(d, "k", "K"), m->k, 9);
	map_in_f64s(d, either(d, "r", "R"), m->r, 9);
	map_in_f64s(d, either(d, "p", "P"), m->p, 12);
	m->binning_x = sim_dec_u32(d, "binning_x");
	m->binning_y = sim_dec_u32(d, "binning_y");
	sim_dec_begin(d, "roi"); /* our type has no field for it */
	sim_dec_u32(d, "x_offset");
	sim_dec_u32(d, "y_offset");
	sim_dec_u32(d, "height");
	sim_dec_u32(d, "width");
	sim_dec_bool(d, "do_rectify");
	sim_dec_end(d);
	return map_in_finish(&builder, to);
}

MAP_IN(sensor_msgs, LaserScan, LaserScan)
{
	const void *data;
	uint32_t n, n_intensities;

	START(LaserScan);
	map_in_header(d, to);
	m->angle_min = map_in_f32(d, "angle_min");
	m->angle_max = map_in_f32(d, "angle_max");
	m->angle_increment = map_in_f32(d, "angle_increment");
	m->time_increment = map_in_ns(d, (double)map_in_f32(d, "time_increment"));
	m->scan_time = map_in_ns(d, (double)map_in_f32(d, "scan_time"));
	m->range_min = map_in_f32(d, "range_min");
	m->range_max = map_in_f32(d, "range_max");
	data = map_in_array(d, "ranges", SIM_KIND_FLOAT32, &n);
	if (!d->err)
		map_in_copy(sim_LaserScan_ranges_alloc(&builder, n), data, n * sizeof(float));
	data = map_in_array(d, "intensities", SIM_KIND_FLOAT32, &n_intensities);
	if (n_intensities && n_intensities != n)
		sim_dec_fail(d, -EBADMSG);
	if (!d->err)
		map_in_copy(sim_LaserScan_intensities_alloc(&builder, n_intensities), data,
			    n_intensities * sizeof(float));
	return map_in_finish(&builder, to);
}

/* ---- radar ---- */

#define RADAR_OBJECT_MIN (4 + 9 * 24 + 8 + 2) /* bytes of an object */

static void radar_object(struct sim_dec *d, struct sim_RadarObject *o)
{
	struct sim_Vector3 relative;

	sim_dec_begin(d, NULL);
	o->id = sim_dec_i32(d, "id");
	o->sensor_aim = map_in_vector(d, "sensor_aim");
	o->sensor_right = map_in_vector(d, "sensor_right");
	o->sensor_position = map_in_vector(d, "sensor_position");
	o->sensor_velocity = map_in_vector(d, "sensor_velocity");
	o->sensor_angle = map_in_f64(d, "sensor_angle") / (180.0 / 3.14159265358979323846);
	o->position = map_in_vector(d, "object_position");
	o->velocity = map_in_vector(d, "object_velocity");
	o->relative_position = map_in_vector(d, "object_relative_position");
	relative = map_in_vector(d, "object_relative_velocity"); /* in their message: sensor minus object */
	o->relative_velocity = (struct sim_Vector3){ .x = -relative.x, .y = -relative.y, .z = -relative.z };
	o->size = map_in_vector(d, "object_collider_size");
	o->state = sim_dec_u8(d, "object_state");
	o->new_detection = sim_dec_bool(d, "new_detection");
	sim_dec_end(d);
}

MAP_IN(lgsvl_msgs, DetectedRadarObjectArray, RadarObjects)
{
	struct sim_RadarObject *o;
	uint32_t n;

	START(RadarObjects);
	map_in_header(d, to);
	n = sim_dec_list(d, "objects", RADAR_OBJECT_MIN);
	o = sim_RadarObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		memset(&o[i], 0, sizeof(o[i]));
		radar_object(d, &o[i]);
	}
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}

MAP_IN(lgsvl_msgs, Ultrasonic, Ultrasonic)
{
	START(Ultrasonic);
	map_in_header(d, to);
	m->minimum_distance = map_in_f32(d, "minimum_distance");
	return map_in_finish(&builder, to);
}
