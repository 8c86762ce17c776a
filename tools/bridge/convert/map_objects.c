/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle's surroundings: objects and traffic lights. See map.h. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "map_private.h"
#include "number.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/OccupancyGrid.h"
#include "sim/msg/TrafficSignals.h"

static void box3d(struct sim_enc *e, const struct sim_Pose *pose, const struct sim_Vector3 *size)
{
	sim_enc_begin(e, "bbox");
	map_pose(e, "position", &pose->position, &pose->orientation);
	map_vector(e, "size", size);
	sim_enc_end(e);
}

static void detection(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o)
{
	sim_enc_begin(e, NULL);
	map_header(e, in);
	sim_enc_u32(e, "id", o->id);
	map_text(e, "label", in, sim_Detected3DObject_label_in(in->body, in->size, o));
	sim_enc_f32(e, "score", o->score);
	box3d(e, &o->pose, &o->size);
	map_twist(e, "velocity", &o->velocity.linear, &o->velocity.angular);
	sim_enc_end(e);
}

MAP(Detected3DObjects, lgsvl_msgs, Detection3DArray)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, in->size, &n);

	MAP_HEADED_LIST("detections", o, n, detection);
	return 0;
}

/* ---- Autoware's objects ---- */

static const struct {
	const char *label;
	uint8_t number;
} classes[] = {
	{ "Car", MAP_CLASS_CAR },
	{ "Sedan", MAP_CLASS_CAR },
	{ "SUV", MAP_CLASS_CAR },
	{ "Jeep", MAP_CLASS_CAR },
	{ "Hatchback", MAP_CLASS_CAR },
	{ "Van", MAP_CLASS_CAR },
	{ "Truck", MAP_CLASS_TRUCK },
	{ "BoxTruck", MAP_CLASS_TRUCK },
	{ "Bus", MAP_CLASS_BUS },
	{ "SchoolBus", MAP_CLASS_BUS },
	{ "Trailer", MAP_CLASS_TRAILER },
	{ "Motorcycle", MAP_CLASS_MOTORCYCLE },
	{ "Bicycle", MAP_CLASS_BICYCLE },
	{ "Pedestrian", MAP_CLASS_PEDESTRIAN },
	{ "Animal", MAP_CLASS_ANIMAL },
	{ "Hazard", MAP_CLASS_HAZARD },
	{ "OverDrivable", MAP_CLASS_OVER_DRIVABLE },
	{ "UnderDrivable", MAP_CLASS_UNDER_DRIVABLE },
};

enum { SHAPE_BOX = 0, SHAPE_CYLINDER = 1 };
enum { ORIENTATION_UNAVAILABLE = 0, ORIENTATION_SIGN_UNKNOWN = 1, ORIENTATION_AVAILABLE = 2 };

uint8_t map_class_of(const char *label)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strcasecmp(classes[i].label, label) == 0)
			return classes[i].number;
	return MAP_CLASS_UNKNOWN;
}

static uint8_t orientation_of(const struct map_message *in, uint8_t class)
{
	if (!in->options->sign_unknown)
		return ORIENTATION_AVAILABLE;
	return class == MAP_CLASS_UNKNOWN ? ORIENTATION_UNAVAILABLE : ORIENTATION_SIGN_UNKNOWN;
}

/* Our type has no covariance: the rig's variance is the diagonal. */
static void pose_covariance(struct sim_enc *e, const struct map_message *in)
{
	double c[36];

	for (int i = 0; i < 36; i++)
		c[i] = i % 7 ? 0 : in->options->covariance;
	sim_enc_f64s(e, "covariance", c, 36);
}

static void kinematics(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o,
		       uint8_t class)
{
	static const double unknown[36];

	sim_enc_begin(e, "kinematics");
	sim_enc_begin(e, "pose_with_covariance");
	map_pose(e, "pose", &o->pose.position, &o->pose.orientation);
	pose_covariance(e, in);
	sim_enc_end(e);
	sim_enc_bool(e, "has_position_covariance", 0);
	sim_enc_u8(e, "orientation_availability", orientation_of(in, class));
	sim_enc_begin(e, "twist_with_covariance");
	map_twist(e, "twist", &o->velocity.linear, &o->velocity.angular);
	sim_enc_f64s(e, "covariance", unknown, 36);
	sim_enc_end(e);
	sim_enc_bool(e, "has_twist", 1);
	sim_enc_bool(e, "has_twist_covariance", 0);
	sim_enc_end(e);
}

static void classification(struct sim_enc *e, uint8_t class)
{
	sim_enc_list(e, "classification", 1);
	sim_enc_begin(e, NULL);
	sim_enc_u8(e, "label", class);
	sim_enc_f32(e, "probability", 1.0f);
	sim_enc_end(e);
	sim_enc_list_end(e);
}

static void shape(struct sim_enc *e, uint8_t class, const struct sim_Vector3 *size)
{
	sim_enc_begin(e, "shape");
	sim_enc_u8(e, "type", class == MAP_CLASS_PEDESTRIAN ? SHAPE_CYLINDER : SHAPE_BOX);
	sim_enc_begin(e, "footprint");
	sim_enc_list(e, "points", 0);
	sim_enc_list_end(e);
	sim_enc_end(e);
	map_vector(e, "dimensions", size);
	sim_enc_end(e);
}

static void object(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o)
{
	uint8_t class = map_class_of(sim_Detected3DObject_label_in(in->body, in->size, o));

	sim_enc_begin(e, NULL);
	sim_enc_f32(e, "existence_probability", o->score);
	classification(e, class);
	kinematics(e, in, o, class);
	shape(e, class, &o->size);
	sim_enc_end(e);
}

MAP(Detected3DObjects, autoware_perception_msgs, DetectedObjects)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, in->size, &n);

	MAP_HEADED_LIST("objects", o, n, object);
	return 0;
}

/* A UUID of 16 bytes made from our id, the same in every run. */
static void object_id(struct sim_enc *e, uint32_t id)
{
	uint8_t *at;

	sim_enc_begin(e, "object_id");
	at = e->ops->room(e, "uuid", SIM_KIND_UINT8, 16, 1);
	if (at) {
		memset(at, 0, 16);
		for (unsigned i = 0; i < 4; i++)
			at[15 - i] = (uint8_t)(id >> 8 * i);
	}
	sim_enc_end(e);
}

static void tracked_kinematics(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o,
			       uint8_t class)
{
	static const double unknown[36];
	struct sim_Quaternion yaw = { .z = sin(o->heading / 2), .w = cos(o->heading / 2) };
	struct sim_Vector3 acceleration = map_to_body(&yaw, &o->map_acceleration), zero = { 0 };
	bool still = o->velocity.linear.x == 0 && o->velocity.linear.y == 0 && o->velocity.linear.z == 0;

	sim_enc_begin(e, "kinematics");
	sim_enc_begin(e, "pose_with_covariance");
	map_pose(e, "pose", &o->pose.position, &o->pose.orientation);
	pose_covariance(e, in);
	sim_enc_end(e);
	sim_enc_begin(e, "twist_with_covariance");
	map_twist(e, "twist", &o->velocity.linear, &o->velocity.angular);
	sim_enc_f64s(e, "covariance", unknown, 36);
	sim_enc_end(e);
	sim_enc_begin(e, "acceleration_with_covariance");
	map_twist(e, "accel", &acceleration, &zero);
	sim_enc_f64s(e, "covariance", unknown, 36);
	sim_enc_end(e);
	sim_enc_u8(e, "orientation_availability", orientation_of(in, class));
	sim_enc_bool(e, "is_stationary", still);
	sim_enc_end(e);
}

static void tracked(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o)
{
	uint8_t class = map_class_of(sim_Detected3DObject_label_in(in->body, in->size, o));

	sim_enc_begin(e, NULL);
	object_id(e, o->id);
	sim_enc_f32(e, "existence_probability", o->score);
	classification(e, class);
	tracked_kinematics(e, in, o, class);
	shape(e, class, &o->size);
	sim_enc_end(e);
}

MAP(Detected3DObjects, autoware_perception_msgs, TrackedObjects)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, in->size, &n);

	MAP_HEADED_LIST("objects", o, n, tracked);
	return 0;
}

/* ---- Autoware.AI's objects ---- */

enum { AI_INDICATOR_NONE = 3 };

static void empty_cloud(struct sim_enc *e, const struct map_message *in)
{
	sim_enc_begin(e, "pointcloud");
	map_header(e, in);
	sim_enc_u32(e, "height", 0);
	sim_enc_u32(e, "width", 0);
	sim_enc_list(e, "fields", 0);
	sim_enc_list_end(e);
	sim_enc_bool(e, "is_bigendian", 0);
	sim_enc_u32(e, "point_step", 0);
	sim_enc_u32(e, "row_step", 0);
	sim_enc_array(e, "data", SIM_KIND_UINT8, NULL, 0);
	sim_enc_bool(e, "is_dense", 0);
	sim_enc_end(e);
}

static void empty_hull(struct sim_enc *e, const struct map_message *in)
{
	sim_enc_begin(e, "convex_hull");
	map_header(e, in);
	sim_enc_begin(e, "polygon");
	sim_enc_list(e, "points", 0);
	sim_enc_list_end(e);
	sim_enc_end(e);
	sim_enc_end(e);
}

static void no_trajectories(struct sim_enc *e)
{
	sim_enc_begin(e, "candidate_trajectories");
	sim_enc_i32(e, "id", 0);
	sim_enc_list(e, "lanes", 0);
	sim_enc_list_end(e);
	sim_enc_end(e);
}

/* Image fields are unknown: no rectangle, no angle, no pixels. */
static void no_image(struct sim_enc *e, const struct map_message *in)
{
	sim_enc_text(e, "image_frame", "");
	sim_enc_i32(e, "x", 0);
	sim_enc_i32(e, "y", 0);
	sim_enc_i32(e, "width", 0);
	sim_enc_i32(e, "height", 0);
	sim_enc_f32(e, "angle", 0);
	sim_enc_begin(e, "roi_image");
	map_header(e, in);
	sim_enc_u32(e, "height", 0);
	sim_enc_u32(e, "width", 0);
	sim_enc_text(e, "encoding", "");
	sim_enc_u8(e, "is_bigendian", 0);
	sim_enc_u32(e, "step", 0);
	sim_enc_array(e, "data", SIM_KIND_UINT8, NULL, 0);
	sim_enc_end(e);
}

/* A color of 0 means the display's default. */
static void ai_what(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o)
{
	sim_enc_u32(e, "id", o->id);
	map_text(e, "label", in, sim_Detected3DObject_label_in(in->body, in->size, o));
	sim_enc_f32(e, "score", o->score);
	sim_enc_begin(e, "color");
	sim_enc_f32(e, "r", 0);
	sim_enc_f32(e, "g", 0);
	sim_enc_f32(e, "b", 0);
	sim_enc_f32(e, "a", 0);
	sim_enc_end(e);
	sim_enc_bool(e, "valid", 1);
}

static void ai_object(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o)
{
	static const struct sim_Vector3 unknown;

	sim_enc_begin(e, NULL);
	map_header(e, in);
	ai_what(e, in, o);
	sim_enc_text(e, "space_frame", in->options->frame ? in->options->frame : in->header.frame);
	map_pose(e, "pose", &o->pose.position, &o->pose.orientation);
	map_vector(e, "dimensions", &o->size);
	map_vector(e, "variance", &unknown);
	map_twist(e, "velocity", &o->velocity.linear, &o->velocity.angular);
	map_twist(e, "acceleration", &unknown, &unknown);
	empty_cloud(e, in);
	empty_hull(e, in);
	no_trajectories(e);
	sim_enc_bool(e, "pose_reliable", 1);
	sim_enc_bool(e, "velocity_reliable", 1);
	sim_enc_bool(e, "acceleration_reliable", 0);
	no_image(e, in);
	sim_enc_u8(e, "indicator_state", AI_INDICATOR_NONE);
	sim_enc_u8(e, "behavior_state", 0);
	sim_enc_list(e, "user_defined_info", 0);
	sim_enc_list_end(e);
	sim_enc_end(e);
}

MAP(Detected3DObjects, autoware_msgs, DetectedObjectArray)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, in->size, &n);

	MAP_HEADED_LIST("objects", o, n, ai_object);
	return 0;
}

/* ---- occupancy grid ---- */

MAP(OccupancyGrid, nav_msgs, OccupancyGrid)
{
	uint32_t n;
	const int8_t *data = sim_OccupancyGrid_data(m, in->size, &n);

	map_header(e, in);
	sim_enc_begin(e, "info");
	sim_enc_time(e, "map_load_time", in->header.stamp_sim_ns);
	sim_enc_f32(e, "resolution", m->resolution);
	sim_enc_u32(e, "width", m->width);
	sim_enc_u32(e, "height", m->height);
	map_pose(e, "origin", &m->origin.position, &m->origin.orientation);
	sim_enc_end(e);
	sim_enc_array(e, "data", SIM_KIND_INT8, data, n);
	return 0;
}

/* ---- traffic lights ---- */

static const char *color_name(uint8_t color)
{
	switch (color) {
	case SIM_TRAFFIC_SIGNAL_COLOR_RED:
		return "red";
	case SIM_TRAFFIC_SIGNAL_COLOR_YELLOW:
		return "yellow";
	case SIM_TRAFFIC_SIGNAL_COLOR_GREEN:
		return "green";
	case SIM_TRAFFIC_SIGNAL_COLOR_BLACK:
		return "black";
	default:
		return "";
	}
}

static void signal(struct sim_enc *e, const struct map_message *in, const struct sim_TrafficSignal *s)
{
	sim_enc_begin(e, NULL);
	map_header(e, in);
	sim_enc_u32(e, "id", s->seq_id);
	sim_enc_text(e, "label", color_name(s->color));
	sim_enc_f32(e, "score", s->score);
	box3d(e, &s->pose, &s->size);
	sim_enc_end(e);
}

MAP(TrafficSignals, lgsvl_msgs, SignalArray)
{
	uint32_t n;
	const struct sim_TrafficSignal *s = sim_TrafficSignals_signals(m, in->size, &n);

	MAP_HEADED_LIST("signals", s, n, signal);
	return 0;
}

/* The group's number in the map: the signal's id if it is a number, as lanelet ids are, else its sequence number. */
static int64_t group_id(const struct map_message *in, const struct sim_TrafficSignal *s)
{
	char id[24] = ""; /* a copy, terminated: the publisher may still change it */
	int64_t v;

	strncpy(id, sim_TrafficSignal_id_in(in->body, in->size, s), sizeof(id) - 1);
	return number_i64(id, NUMBER_DEC, INT64_MIN, INT64_MAX, &v) == 0 ? v : s->seq_id;
}

enum { AW_OFF = 1, AW_ON = 2, AW_FLASHING = 3 };

/* Autoware has no black: it becomes unknown, with status off. */
static uint8_t autoware_color(uint8_t color)
{
	static const uint8_t colors[] = {
		[SIM_TRAFFIC_SIGNAL_COLOR_RED] = 1,
		[SIM_TRAFFIC_SIGNAL_COLOR_YELLOW] = 2,
		[SIM_TRAFFIC_SIGNAL_COLOR_GREEN] = 3,
		[SIM_TRAFFIC_SIGNAL_COLOR_WHITE] = 4,
	};

	return color < sizeof(colors) ? colors[color] : 0;
}

static void lamp(struct sim_enc *e, const struct sim_TrafficSignal *s)
{
	bool dark = s->color == SIM_TRAFFIC_SIGNAL_COLOR_BLACK;

	sim_enc_begin(e, NULL);
	sim_enc_u8(e, "color", autoware_color(s->color));
	/* the same order, but from 1; 0 is unknown */
	sim_enc_u8(e, "shape", s->shape < SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN ? (uint8_t)(s->shape + 1) : 0);
	sim_enc_u8(e, "status", dark ? AW_OFF : s->blink ? AW_FLASHING : AW_ON);
	sim_enc_f32(e, "confidence", s->score);
	sim_enc_end(e);
}

/* Number of signals from i on that are lamps of one light; another light of the same group has another seq_id. */
static uint32_t lamps_of_one(const struct map_message *in, const struct sim_TrafficSignal *s, uint32_t i, uint32_t n)
{
	int64_t id = group_id(in, &s[i]);
	uint32_t k = 1;

	while (i + k < n && s[i + k].seq_id == s[i].seq_id && group_id(in, &s[i + k]) == id)
		k++;
	return k;
}

MAP(TrafficSignals, autoware_perception_msgs, TrafficLightGroupArray)
{
	const struct sim_TrafficSignal *s;
	uint32_t n, groups = 0;

	s = sim_TrafficSignals_signals(m, in->size, &n);
	for (uint32_t i = 0; i < n; i += lamps_of_one(in, s, i, n))
		groups++;
	sim_enc_time(e, "stamp", in->header.stamp_sim_ns);
	sim_enc_list(e, "traffic_light_groups", groups);
	for (uint32_t i = 0, k; i < n && groups; i += k, groups--) {
		k = groups > 1 ? lamps_of_one(in, s, i, n) : n - i;
		sim_enc_begin(e, NULL);
		sim_enc_i64(e, "traffic_light_group_id", group_id(in, &s[i]));
		sim_enc_list(e, "elements", k);
		for (uint32_t j = 0; j < k; j++)
			lamp(e, &s[i + j]);
		sim_enc_list_end(e);
		if (!in->options->no_predictions) {
			sim_enc_list(e, "predictions", 0); /* our type has no predictions */
			sim_enc_list_end(e);
		}
		sim_enc_end(e);
	}
	sim_enc_list_end(e);
	return 0;
}
