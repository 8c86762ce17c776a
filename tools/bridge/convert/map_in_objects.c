/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming objects, detected by other perception software: see map_in.h. */
#include <math.h>

#include "sim/msg/Detected2DObjects.h"
#include "sim/msg/Detected3DObjects.h"
#include "map_in_private.h"

#define LABEL_MAX 63u

/* minimum bytes of a Detection on the wire: stamp, two empty strings, id, score, box, two vectors */
#define DETECTION2D_MIN (8 + 4 + 4 + 4 + 4 + 16 + 48)
#define DETECTION3D_MIN (8 + 4 + 4 + 4 + 4 + 80 + 48)

MAP_IN(lgsvl_msgs, Detection2DArray, Detected2DObjects)
{
	struct sim_Detected2DObject *o;
	uint32_t n;

	START(Detected2DObjects);
	map_in_header(d, to);
	n = sim_dec_list(d, "detections", DETECTION2D_MIN);
	o = sim_Detected2DObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		sim_dec_begin(d, NULL);
		sim_dec_header(d, "header");
		o[i].id = sim_dec_u32(d, "id");
		map_in_text(d, &builder, "label", &o[i].label, LABEL_MAX);
		o[i].score = sim_dec_f32(d, "score");
		sim_dec_begin(d, "bbox");
		o[i].center_x = sim_dec_f32(d, "x");
		o[i].center_y = sim_dec_f32(d, "y");
		o[i].width = sim_dec_f32(d, "width");
		o[i].height = sim_dec_f32(d, "height");
		sim_dec_end(d);
		sim_dec_begin(d, "velocity");
		o[i].linear_velocity = map_in_finite(d, "linear");
		o[i].angular_velocity = map_in_finite(d, "angular");
		sim_dec_end(d);
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}

static void twist(struct sim_dec *d, const char *name, struct sim_Twist *ret)
{
	sim_dec_begin(d, name);
	ret->linear = map_in_finite(d, "linear");
	ret->angular = map_in_finite(d, "angular");
	sim_dec_end(d);
}

static void box3d(struct sim_dec *d, struct sim_Detected3DObject *o)
{
	sim_dec_begin(d, "bbox");
	o->pose = map_in_finite_pose(d, "position");
	o->size = map_in_finite(d, "size");
	sim_dec_end(d);
}

MAP_IN(lgsvl_msgs, Detection3DArray, Detected3DObjects)
{
	struct sim_Detected3DObject *o;
	uint32_t n;

	START(Detected3DObjects);
	map_in_header(d, to);
	n = sim_dec_list(d, "detections", DETECTION3D_MIN);
	o = sim_Detected3DObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		sim_dec_begin(d, NULL);
		sim_dec_header(d, "header");
		o[i].id = sim_dec_u32(d, "id");
		map_in_text(d, &builder, "label", &o[i].label, LABEL_MAX);
		o[i].score = sim_dec_f32(d, "score");
		box3d(d, &o[i]);
		twist(d, "velocity", &o[i].velocity);
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}

/* ---- Autoware ---- */

enum { CLASS_MAX = 11 };

static const char *const class_names[CLASS_MAX + 1] = { "Unknown", "Car",        "Truck",        "Bus",
							"Trailer", "Motorcycle", "Bicycle",      "Pedestrian",
							"Animal",  "Hazard",     "OverDrivable", "UnderDrivable" };

/* The class with the highest probability, the first if equal. Class numbers that are unknown here become Unknown. */
static void classification(struct sim_dec *d, struct sim_builder *b, struct sim_span *label_span)
{
	uint32_t n = sim_dec_list(d, "classification", 5);
	float best = -1;
	uint8_t class = 0;
	char *to;

	for (uint32_t i = 0; i < n && !d->err; i++) {
		uint8_t candidate;
		float probability;

		sim_dec_begin(d, NULL);
		candidate = sim_dec_u8(d, "label");
		probability = sim_dec_f32(d, "probability");
		sim_dec_end(d);
		if (probability > best) {
			best = probability;
			class = candidate <= CLASS_MAX ? candidate : 0;
		}
	}
	sim_dec_list_end(d);
	to = d->err ? NULL : sim_builder_string(b, label_span, strlen(class_names[class]), LABEL_MAX);
	if (to)
		memcpy(to, class_names[class], strlen(class_names[class]));
}

/* Unavailable values stay 0: the orientation {0, 0, 0, 0} means unknown. */
static void kinematics(struct sim_dec *d, struct sim_Detected3DObject *o)
{
	struct sim_Twist velocity = { 0 };

	sim_dec_begin(d, "kinematics");
	sim_dec_begin(d, "pose_with_covariance");
	o->pose = map_in_finite_pose(d, "pose");
	map_in_skip_f64s(d, "covariance", 36);
	sim_dec_end(d);
	sim_dec_bool(d, "has_position_covariance");
	if (sim_dec_u8(d, "orientation_availability") == 0)
		o->pose.orientation = (struct sim_Quaternion){ 0 };
	sim_dec_begin(d, "twist_with_covariance");
	twist(d, "twist", &velocity);
	map_in_skip_f64s(d, "covariance", 36);
	sim_dec_end(d);
	if (sim_dec_bool(d, "has_twist"))
		o->velocity = velocity;
	sim_dec_bool(d, "has_twist_covariance");
	sim_dec_end(d);
}

/* Of a polygon only the dimensions are used. */
static void shape(struct sim_dec *d, struct sim_Detected3DObject *o)
{
	uint32_t n;

	sim_dec_begin(d, "shape");
	sim_dec_u8(d, "type");
	sim_dec_begin(d, "footprint");
	n = sim_dec_list(d, "points", 12);
	for (uint32_t i = 0; i < n && !d->err; i++) {
		sim_dec_begin(d, NULL);
		sim_dec_f32(d, "x");
		sim_dec_f32(d, "y");
		sim_dec_f32(d, "z");
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
	sim_dec_end(d);
	o->size = map_in_finite(d, "dimensions");
	sim_dec_end(d);
}

/*
 * minimum bytes of a DetectedObject: probability, no class, pose and twist with their covariances, flags, shape without
 * points
 */
#define DETECTED_MIN (4 + 4 + 56 + 288 + 2 + 48 + 288 + 2 + 1 + 4 + 24)

MAP_IN(autoware_perception_msgs, DetectedObjects, Detected3DObjects)
{
	struct sim_Detected3DObject *o;
	uint32_t n;

	START(Detected3DObjects);
	map_in_header(d, to);
	n = sim_dec_list(d, "objects", DETECTED_MIN);
	o = sim_Detected3DObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		sim_dec_begin(d, NULL);
		o[i].score = sim_dec_f32(d, "existence_probability");
		classification(d, &builder, &o[i].label);
		kinematics(d, &o[i]);
		shape(d, &o[i]);
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}

/* The last four of the 16 bytes, where ours are written. */
static uint32_t object_id(struct sim_dec *d)
{
	const uint8_t *at;
	uint32_t n, id = 0;

	sim_dec_begin(d, "object_id");
	at = d->ops->array(d, "uuid", SIM_KIND_UINT8, 16, &n);
	for (uint32_t i = n > 4 ? n - 4 : 0; at && i < n; i++)
		id = id << 8 | at[i];
	sim_dec_end(d);
	return id;
}

/* Rotates the acceleration from the object's axes by its own orientation, as if the message's frame were the map. */
static void tracked_kinematics(struct sim_dec *d, struct sim_Detected3DObject *o)
{
	struct sim_Quaternion yaw;
	struct sim_Twist acceleration;

	sim_dec_begin(d, "kinematics");
	sim_dec_begin(d, "pose_with_covariance");
	o->pose = map_in_finite_pose(d, "pose");
	map_in_skip_f64s(d, "covariance", 36);
	sim_dec_end(d);
	sim_dec_begin(d, "twist_with_covariance");
	twist(d, "twist", &o->velocity);
	map_in_skip_f64s(d, "covariance", 36);
	sim_dec_end(d);
	sim_dec_begin(d, "acceleration_with_covariance");
	twist(d, "accel", &acceleration);
	map_in_skip_f64s(d, "covariance", 36);
	sim_dec_end(d);
	if (sim_dec_u8(d, "orientation_availability") == 0)
		o->pose.orientation = (struct sim_Quaternion){ 0 };
	sim_dec_bool(d, "is_stationary");
	sim_dec_end(d);
	o->heading = map_in_yaw(&o->pose.orientation);
	yaw = (struct sim_Quaternion){ .z = sin(o->heading / 2), .w = cos(o->heading / 2) };
	o->map_acceleration = map_in_from_body(&yaw, &acceleration.linear);
}

/* minimum bytes of a TrackedObject: as a DetectedObject, with an id and an acceleration, and fewer flags */
#define TRACKED_MIN (16 + 4 + 4 + 56 + 288 + 48 + 288 + 48 + 288 + 2 + 1 + 4 + 24)

MAP_IN(autoware_perception_msgs, TrackedObjects, Detected3DObjects)
{
	struct sim_Detected3DObject *o;
	uint32_t n;

	START(Detected3DObjects);
	map_in_header(d, to);
	n = sim_dec_list(d, "objects", TRACKED_MIN);
	o = sim_Detected3DObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		sim_dec_begin(d, NULL);
		o[i].id = object_id(d);
		o[i].score = sim_dec_f32(d, "existence_probability");
		classification(d, &builder, &o[i].label);
		tracked_kinematics(d, &o[i]);
		shape(d, &o[i]);
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}
