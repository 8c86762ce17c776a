/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects, lanes, lights and radar targets as markers, which displays draw by themselves. Each message first deletes
 * all markers of the one before, so that no stale ones remain; those of the last message disappear by their lifetime.
 */
#include <math.h>
#include <stdio.h>

#include "map_private.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/LaneLines.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/TrafficSignals.h"

enum { CUBE = 1, SPHERE = 2, LINE_STRIP = 4, LINE_LIST = 5, TEXT_VIEW_FACING = 9 };
enum { ADD = 0, DELETE = 2, DELETEALL = 3 };

#define LIFETIME_DUR_NS INT64_C(1000000000)
#define THINNEST_M      0.01 /* displays refuse markers without extent */
#define TEXT_M          0.5
#define LANE_STEP_M     1.0
#define LANE_STEPS_MAX  200
#define LANE_WIDTH_M    0.1

struct color {
	float r, g, b, a;
};

struct marker {
	const char *ns; /* name space: from the message, or a constant */
	int32_t id, type, action;
	struct sim_Pose pose;
	struct sim_Vector3 scale;
	struct color color;
	const char *text;
};

static const struct sim_Quaternion straight = { .w = 1 };

static double extent(double v)
{
	return fmax(v, THINNEST_M); /* also for NaN */
}

static struct sim_Vector3 extents(const struct sim_Vector3 *v)
{
	return (struct sim_Vector3){ .x = extent(v->x), .y = extent(v->y), .z = extent(v->z) };
}

/* Replaces {0, 0, 0, 0}, unknown, which displays do not accept. */
static struct sim_Pose turned(const struct sim_Pose *p)
{
	const struct sim_Quaternion *q = &p->orientation;
	bool known = q->x != 0 || q->y != 0 || q->z != 0 || q->w != 0;

	return (struct sim_Pose){ .position = p->position, .orientation = known ? *q : straight };
}

static struct sim_Pose at(struct sim_Vector3 position)
{
	return (struct sim_Pose){ .position = position, .orientation = straight };
}

/* ---- one marker ---- */

static void marker_begin(struct sim_enc *e, const struct map_message *in, const struct marker *k, uint32_t points)
{
	sim_enc_begin(e, NULL);
	map_header(e, in);
	map_text(e, "ns", in, k->ns);
	sim_enc_i32(e, "id", k->id);
	sim_enc_i32(e, "type", k->type);
	sim_enc_i32(e, "action", k->action);
	map_pose(e, "pose", &k->pose.position, &k->pose.orientation);
	map_vector(e, "scale", &k->scale);
	sim_enc_begin(e, "color");
	sim_enc_f32(e, "r", k->color.r);
	sim_enc_f32(e, "g", k->color.g);
	sim_enc_f32(e, "b", k->color.b);
	sim_enc_f32(e, "a", k->color.a);
	sim_enc_end(e);
	sim_enc_duration(e, "lifetime", k->action == ADD ? LIFETIME_DUR_NS : 0);
	sim_enc_bool(e, "frame_locked", 0);
	sim_enc_list(e, "points", points);
}

/* Unused fields; ROS 1 does not have them. */
static void no_texture(struct sim_enc *e)
{
	sim_enc_text(e, "texture_resource", "");
	sim_enc_begin(e, "texture");
	sim_enc_header(e, "header", &(struct sim_enc_header){ .frame = "" });
	sim_enc_text(e, "format", "");
	sim_enc_array(e, "data", SIM_KIND_UINT8, NULL, 0);
	sim_enc_end(e);
	sim_enc_list(e, "uv_coordinates", 0);
	sim_enc_list_end(e);
}

static void no_mesh_file(struct sim_enc *e)
{
	sim_enc_begin(e, "mesh_file");
	sim_enc_text(e, "filename", "");
	sim_enc_array(e, "data", SIM_KIND_UINT8, NULL, 0);
	sim_enc_end(e);
}

static void marker_end(struct sim_enc *e, const struct map_message *in, const struct marker *k)
{
	sim_enc_list_end(e);
	sim_enc_list(e, "colors", 0);
	sim_enc_list_end(e);
	if (!in->ros1)
		no_texture(e);
	sim_enc_text(e, "text", k->text ? k->text : "");
	sim_enc_text(e, "mesh_resource", "");
	if (!in->ros1)
		no_mesh_file(e);
	sim_enc_bool(e, "mesh_use_embedded_materials", 0);
	sim_enc_end(e);
}

static void marker(struct sim_enc *e, const struct map_message *in, const struct marker *k)
{
	marker_begin(e, in, k, 0);
	marker_end(e, in, k);
}

/* Begins a list of n markers, preceded by one that deletes all: an empty namespace means all of them. */
static void markers_begin(struct sim_enc *e, const struct map_message *in, uint32_t n)
{
	sim_enc_list(e, "markers", n + 1);
	marker(e, in, &(struct marker){ .ns = "", .action = DELETEALL, .pose.orientation = straight });
}

/* ---- objects ---- */

static struct color class_color(enum map_class class)
{
	static const struct color colors[] = {
		[MAP_CLASS_UNKNOWN] = { 0.6f, 0.6f, 0.6f, 0.5f },
		[MAP_CLASS_CAR] = { 0.1f, 0.5f, 1.0f, 0.5f },
		[MAP_CLASS_TRUCK] = { 0.5f, 0.3f, 1.0f, 0.5f },
		[MAP_CLASS_BUS] = { 0.5f, 0.3f, 1.0f, 0.5f },
		[MAP_CLASS_TRAILER] = { 0.5f, 0.3f, 1.0f, 0.5f },
		[MAP_CLASS_MOTORCYCLE] = { 1.0f, 0.8f, 0.1f, 0.5f },
		[MAP_CLASS_BICYCLE] = { 1.0f, 0.8f, 0.1f, 0.5f },
		[MAP_CLASS_PEDESTRIAN] = { 1.0f, 0.4f, 0.1f, 0.5f },
		[MAP_CLASS_ANIMAL] = { 1.0f, 0.4f, 0.1f, 0.5f },
		[MAP_CLASS_HAZARD] = { 1.0f, 0.1f, 0.1f, 0.5f },
		[MAP_CLASS_OVER_DRIVABLE] = { 0.6f, 0.6f, 0.6f, 0.5f },
		[MAP_CLASS_UNDER_DRIVABLE] = { 0.6f, 0.6f, 0.6f, 0.5f },
	};

	return colors[class];
}

/* Displays identify a marker by namespace and id: an object without an id gets a unique negative one. */
static int32_t object_id(const struct sim_Detected3DObject *o, uint32_t i)
{
	return o->id ? (int32_t)o->id : -1 - (int32_t)i;
}

static void object_text(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o,
			struct marker box)
{
	char text[80];
	size_t n = map_text_length(in, box.ns);

	snprintf(text, sizeof(text), "%.*s %u", n < 64 ? (int)n : 63, box.ns, o->id);
	box.pose.position.z += box.scale.z / 2 + TEXT_M;
	marker(e, in,
	       &(struct marker){ .ns = "labels",
				 .id = box.id,
				 .type = TEXT_VIEW_FACING,
				 .pose = at(box.pose.position),
				 .scale.z = TEXT_M,
				 .color = { 1, 1, 1, 1 },
				 .text = text + (*text == ' ') });
}

MAP(Detected3DObjects, visualization_msgs, MarkerArray)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, in->size, &n);

	markers_begin(e, in, 2 * n);
	for (uint32_t i = 0; i < n; i++) {
		const char *label = sim_Detected3DObject_label_in(in->body, in->size, &o[i]);
		struct marker box = { .ns = label,
				      .id = object_id(&o[i], i),
				      .type = CUBE,
				      .pose = turned(&o[i].pose),
				      .scale = extents(&o[i].size),
				      .color = class_color(map_class_of(label)) };

		marker(e, in, &box);
		object_text(e, in, &o[i], box);
	}
	sim_enc_list_end(e);
	return 0;
}

/* ---- lanes ---- */

/* Number of points along the line: even, so that every second piece of a dashed line is drawn; 0: the line is empty. */
static uint32_t lane_points(const struct sim_LaneLine *l)
{
	double length = (double)l->max_x - (double)l->min_x;

	if (!(length > 0) || !isfinite(length))
		return 0;
	return 2 * (uint32_t)ceil(fmin(length / LANE_STEP_M, LANE_STEPS_MAX) / 2);
}

static void lane_point(struct sim_enc *e, const struct sim_LaneLine *l, double x)
{
	double y = (double)l->c0 + x * ((double)l->c1 + x * ((double)l->c2 + x * (double)l->c3));

	map_vector(e, NULL, &(struct sim_Vector3){ .x = x, .y = y });
}

static void lane(struct sim_enc *e, const struct map_message *in, const struct sim_LaneLine *line, uint32_t i)
{
	struct sim_LaneLine l = *line; /* read once: a peer may still change it */
	bool dashed = l.type == SIM_LANE_LINE_TYPE_WHITE_DASHED || l.type == SIM_LANE_LINE_TYPE_YELLOW_DASHED;
	bool yellow = l.type == SIM_LANE_LINE_TYPE_YELLOW_DASHED || l.type == SIM_LANE_LINE_TYPE_YELLOW_SOLID;
	uint32_t n = lane_points(&l);
	struct marker k = { .ns = "lanes",
			    .id = (int32_t)i,
			    .type = dashed ? LINE_LIST : LINE_STRIP,
			    .action = n ? ADD : DELETE,
			    .pose.orientation = straight,
			    .scale.x = l.width > 0 ? (double)l.width : LANE_WIDTH_M,
			    .color = { 1, yellow ? 0.8f : 1, yellow ? 0 : 1, 1 } };

	marker_begin(e, in, &k, n);
	for (uint32_t p = 0; p < n; p++)
		lane_point(e, &l, (double)l.min_x + ((double)l.max_x - (double)l.min_x) * p / (n - 1));
	marker_end(e, in, &k);
}

MAP(LaneLines, visualization_msgs, MarkerArray)
{
	uint32_t n;
	const struct sim_LaneLine *l = sim_LaneLines_lines(m, in->size, &n);

	markers_begin(e, in, n);
	for (uint32_t i = 0; i < n; i++)
		lane(e, in, &l[i], i);
	sim_enc_list_end(e);
	return 0;
}

/* ---- radar targets ---- */

static double dot(const struct sim_Vector3 *a, const struct sim_Vector3 *b)
{
	return a->x * b->x + a->y * b->y + a->z * b->z;
}

/* Position in the radar's frame (ahead, left, up); the message has it in the map's axes. */
static struct sim_Vector3 from_radar(const struct sim_RadarObject *o)
{
	const struct sim_Vector3 *aim = &o->sensor_aim, *right = &o->sensor_right, *to = &o->relative_position;
	struct sim_Vector3 up = { .x = right->y * aim->z - right->z * aim->y,
				  .y = right->z * aim->x - right->x * aim->z,
				  .z = right->x * aim->y - right->y * aim->x };

	return (struct sim_Vector3){ .x = dot(to, aim), .y = -dot(to, right), .z = dot(to, &up) };
}

MAP(RadarObjects, visualization_msgs, MarkerArray)
{
	uint32_t n;
	const struct sim_RadarObject *o = sim_RadarObjects_objects(m, in->size, &n);

	markers_begin(e, in, n);
	for (uint32_t i = 0; i < n; i++)
		marker(e, in,
		       &(struct marker){ .ns = "radar",
					 .id = o[i].id ? o[i].id : -1 - (int32_t)i,
					 .type = SPHERE,
					 .pose = at(from_radar(&o[i])),
					 .scale = { .x = 1, .y = 1, .z = 1 },
					 .color = o[i].state == SIM_RADAR_OBJECT_STATE_MOVING
							  ? (struct color){ 1, 0.4f, 0.1f, 0.8f }
							  : (struct color){ 0.6f, 0.6f, 0.6f, 0.8f } });
	sim_enc_list_end(e);
	return 0;
}

/* ---- traffic lights ---- */

static struct color light_color(uint8_t color)
{
	static const struct color colors[] = {
		[SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN] = { 0.6f, 0.6f, 0.6f, 0.8f },
		[SIM_TRAFFIC_SIGNAL_COLOR_RED] = { 1, 0, 0, 0.8f },
		[SIM_TRAFFIC_SIGNAL_COLOR_YELLOW] = { 1, 0.8f, 0, 0.8f },
		[SIM_TRAFFIC_SIGNAL_COLOR_GREEN] = { 0, 1, 0, 0.8f },
		[SIM_TRAFFIC_SIGNAL_COLOR_BLACK] = { 0.1f, 0.1f, 0.1f, 0.8f },
		[SIM_TRAFFIC_SIGNAL_COLOR_WHITE] = { 1, 1, 1, 0.8f },
	};

	return colors[color < sizeof(colors) / sizeof(colors[0]) ? color : SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN];
}

/* Lamps of one light may share a number, so the id is the index in the message. */
MAP(TrafficSignals, visualization_msgs, MarkerArray)
{
	uint32_t n;
	const struct sim_TrafficSignal *s = sim_TrafficSignals_signals(m, in->size, &n);

	markers_begin(e, in, n);
	for (uint32_t i = 0; i < n; i++)
		marker(e, in,
		       &(struct marker){ .ns = "signals",
					 .id = (int32_t)i,
					 .type = CUBE,
					 .pose = turned(&s[i].pose),
					 .scale = extents(&s[i].size),
					 .color = light_color(s[i].color) });
	sim_enc_list_end(e);
	return 0;
}
