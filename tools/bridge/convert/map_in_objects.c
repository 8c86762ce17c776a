/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that come in, seen by somebody else's perception: see map_in.h. */
#include "sim/msg/Detected2DObjects.h"
#include "sim/msg/Detected3DObjects.h"
#include "map_in_private.h"

#define LABEL_MAX 63u

static struct sim_Vector3 vector(struct sim_dec *d, const char *name)
{
	double x, y, z;

	sim_dec_begin(d, name);
	x = sim_dec_f64(d, "x");
	y = sim_dec_f64(d, "y");
	z = sim_dec_f64(d, "z");
	sim_dec_end(d);
	return (struct sim_Vector3){ .x = x, .y = y, .z = z };
}

/* Strings lie behind the array of objects: the builder grows while they are read. */
static void label(struct sim_dec *d, struct sim_builder *b, struct sim_span *span)
{
	size_t len;
	const char *s = sim_dec_string(d, "label", LABEL_MAX, &len);
	char *at = d->err ? NULL : sim_builder_string(b, span, len, LABEL_MAX);

	if (at && len)
		memcpy(at, s, len);
}

/* least bytes of a Detection on the wire: stamp, two empty strings, id, score, box, two vectors */
#define DETECTION2D_MIN (8 + 4 + 4 + 4 + 4 + 16 + 48)
#define DETECTION3D_MIN (8 + 4 + 4 + 4 + 4 + 80 + 48)

int map_in_detections_2d(struct sim_dec *d, struct message_in *to)
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
		label(d, &builder, &o[i].label);
		o[i].score = sim_dec_f32(d, "score");
		sim_dec_begin(d, "bbox");
		o[i].center_x = sim_dec_f32(d, "x");
		o[i].center_y = sim_dec_f32(d, "y");
		o[i].width = sim_dec_f32(d, "width");
		o[i].height = sim_dec_f32(d, "height");
		sim_dec_end(d);
		sim_dec_begin(d, "velocity");
		o[i].linear_velocity = vector(d, "linear");
		o[i].angular_velocity = vector(d, "angular");
		sim_dec_end(d);
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}

static void pose(struct sim_dec *d, const char *name, struct sim_Pose *ret)
{
	sim_dec_begin(d, name);
	ret->position = vector(d, "position");
	sim_dec_begin(d, "orientation");
	ret->orientation.x = sim_dec_f64(d, "x");
	ret->orientation.y = sim_dec_f64(d, "y");
	ret->orientation.z = sim_dec_f64(d, "z");
	ret->orientation.w = sim_dec_f64(d, "w");
	sim_dec_end(d);
	sim_dec_end(d);
}

static void twist(struct sim_dec *d, const char *name, struct sim_Twist *ret)
{
	sim_dec_begin(d, name);
	ret->linear = vector(d, "linear");
	ret->angular = vector(d, "angular");
	sim_dec_end(d);
}

static void box3d(struct sim_dec *d, struct sim_Detected3DObject *o)
{
	sim_dec_begin(d, "bbox");
	pose(d, "position", &o->pose);
	o->size = vector(d, "size");
	sim_dec_end(d);
}

int map_in_detections_3d(struct sim_dec *d, struct message_in *to)
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
		label(d, &builder, &o[i].label);
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

/* The likeliest class; the first of equals. Numbers of a later Autoware are of no class that we know. */
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

/* Covariances have no place in our message. */
static void skip_covariance(struct sim_dec *d)
{
	uint32_t n;

	d->ops->array(d, "covariance", SIM_KIND_FLOAT64, 36, &n);
}

/* What is not available stays 0: an orientation {0, 0, 0, 0} is one that is not known. */
static void kinematics(struct sim_dec *d, struct sim_Detected3DObject *o)
{
	struct sim_Twist velocity = { 0 };

	sim_dec_begin(d, "kinematics");
	sim_dec_begin(d, "pose_with_covariance");
	pose(d, "pose", &o->pose);
	skip_covariance(d);
	sim_dec_end(d);
	sim_dec_bool(d, "has_position_covariance");
	if (sim_dec_u8(d, "orientation_availability") == 0)
		o->pose.orientation = (struct sim_Quaternion){ 0 };
	sim_dec_begin(d, "twist_with_covariance");
	twist(d, "twist", &velocity);
	skip_covariance(d);
	sim_dec_end(d);
	if (sim_dec_bool(d, "has_twist"))
		o->velocity = velocity;
	sim_dec_bool(d, "has_twist_covariance");
	sim_dec_end(d);
}

/* Of a polygon we take the dimensions that go with it. */
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
	o->size = vector(d, "dimensions");
	sim_dec_end(d);
}

/* least bytes of a DetectedObject: probability, no class, pose and twist with their covariances, flags, shape without points */
#define DETECTED_MIN (4 + 4 + 56 + 288 + 2 + 48 + 288 + 2 + 1 + 4 + 24)

int map_in_detected_objects(struct sim_dec *d, struct message_in *to)
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
