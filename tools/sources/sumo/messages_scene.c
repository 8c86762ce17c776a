/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about what is around the ego. See messages.h. */
#include "messages.h"

#include <math.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/LaneLines.h>
#include <sim/msg/TrafficSignals.h>

#define LABEL_MAX    16
#define LIGHT_HEIGHT 5.0 /* m, height of a light's centre above the road; SUMO has no heights */

static const char *const LABELS[] = {
	[WORLD_CAR] = "Car",         [WORLD_TRUCK] = "Truck",           [WORLD_BUS] = "Bus",
	[WORLD_BICYCLE] = "Bicycle", [WORLD_MOTORCYCLE] = "Motorcycle", [WORLD_PEDESTRIAN] = "Pedestrian",
	[WORLD_OTHER] = "Unknown",
};

static double clamp(double v, double limit)
{
	return v < -limit ? -limit : v > limit ? limit : v;
}

/* Transforms a point and a direction of the map to base_link. */
static struct sim_Pose in_base(const struct ego *e, double x, double y, double z, double yaw)
{
	double dx = x - e->pos[0], dy = y - e->pos[1], c = cos(e->yaw), s = sin(e->yaw);
	double turn = ego_wrap(yaw - e->yaw);

	return (struct sim_Pose){
		.position = { .x = c * dx + s * dy, .y = c * dy - s * dx, .z = z - e->pos[2] },
		.orientation = { .z = sin(turn / 2), .w = cos(turn / 2) },
	};
}

static void fill_object(const struct moment *m, const struct world_object *w, struct sim_Detected3DObject *o)
{
	double yaw = ego_yaw_of(w->angle_deg), c = cos(yaw), s = sin(yaw);
	double vel[2] = { w->speed * c, w->speed * s };
	double x = w->pos[0] - c * w->length / 2, y = w->pos[1] - s * w->length / 2, z = w->pos[2] + w->height / 2;
	const struct track *t = tracks_see(m->tracks, w->key, vel, yaw, m->stamp_sim_ns);

	o->pose = in_base(m->ego, x, y, z, yaw);
	o->size = (struct sim_Vector3){ .x = w->length, .y = w->width, .z = w->height };
	o->velocity.linear.x = w->speed;
	/* SUMO turns a vehicle at once where lanes meet; this is the most that wheels could do */
	o->velocity.angular.z = clamp(t->yaw_rate, fabs(w->speed) / (w->length / 2 + 0.5));
	o->map_position = (struct sim_Vector3){ .x = x, .y = y, .z = z };
	o->map_velocity = (struct sim_Vector3){ .x = vel[0], .y = vel[1] };
	o->map_acceleration = (struct sim_Vector3){ .x = t->acc[0], .y = t->acc[1] };
	o->heading = yaw;
	o->tracking_time = m->stamp_sim_ns - t->first_sim_ns;
	o->id = t->id;
	o->score = 1;
}

size_t message_objects_max(size_t n)
{
	return sim_Detected3DObjects_size(n, n * sim_string_size(LABEL_MAX));
}

size_t message_objects(const struct moment *m, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Detected3DObjects *all = sim_Detected3DObjects_init(body, cap, &b);
	struct sim_Detected3DObject *o = all ? sim_Detected3DObjects_objects_alloc(&b, (uint32_t)m->nobjects) : NULL;

	if (!o)
		return 0;
	for (size_t i = 0; i < m->nobjects; i++) {
		fill_object(m, &m->objects[i], &o[i]);
		if (sim_Detected3DObject_label_set_in(&b, &o[i], LABELS[m->objects[i].kind]) < 0)
			return 0;
	}
	return sim_builder_size(&b);
}

static uint8_t color_of(char state, uint8_t *ret_blink)
{
	*ret_blink = state == 'o';
	switch (state) {
	case 'g':
	case 'G':
		return SIM_TRAFFIC_SIGNAL_COLOR_GREEN;
	case 'y':
	case 'Y':
	case 'o': /* switched off, blinking */
		return SIM_TRAFFIC_SIGNAL_COLOR_YELLOW;
	case 'r':
	case 'R':
	case 'u': /* red and yellow */
	case 's': /* green arrow after a stop */
		return SIM_TRAFFIC_SIGNAL_COLOR_RED;
	case 'O':
		return SIM_TRAFFIC_SIGNAL_COLOR_BLACK;
	default:
		return SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN;
	}
}

static bool in_range(const struct moment *m, const struct world_light *l)
{
	return hypot(l->pos[0] - m->ego->pos[0], l->pos[1] - m->ego->pos[1]) <= m->range_m;
}

size_t message_signals_max(size_t n)
{
	return sim_TrafficSignals_size(n, n * sim_string_size(sizeof(((struct world_light *)0)->id)));
}

static int fill_signal(const struct moment *m, size_t i, struct sim_TrafficSignal *s, struct sim_builder *b)
{
	const struct world_light *l = &m->lights[i];
	double facing = ego_yaw_of(l->angle_deg) + M_PI; /* lights face oncoming vehicles */

	s->pose = in_base(m->ego, l->pos[0], l->pos[1], l->pos[2] + LIGHT_HEIGHT, facing);
	s->size = (struct sim_Vector3){ .x = 0.3, .y = 0.3, .z = 0.9 };
	s->seq_id = (uint32_t)i;
	s->score = 1;
	s->color = color_of(l->state, &s->blink);
	return sim_TrafficSignal_id_set_in(b, s, l->id);
}

size_t message_signals(const struct moment *m, void *body, size_t cap)
{
	size_t near[LIGHTS_SENT_MAX];
	struct sim_TrafficSignals *all;
	struct sim_TrafficSignal *s;
	struct sim_builder b;
	uint32_t n = 0;

	for (size_t i = 0; i < m->nlights && n < LIGHTS_SENT_MAX; i++) {
		if (in_range(m, &m->lights[i]))
			near[n++] = i;
	}
	all = sim_TrafficSignals_init(body, cap, &b);
	s = all ? sim_TrafficSignals_signals_alloc(&b, n) : NULL;
	for (uint32_t i = 0; s && i < n; i++) {
		if (fill_signal(m, near[i], &s[i], &b) < 0)
			return 0;
	}
	return s ? sim_builder_size(&b) : 0;
}

size_t message_lanes_max(void)
{
	return sim_LaneLines_size(LANES_LINES_MAX);
}

size_t message_lanes(const struct moment *m, void *body, size_t cap)
{
	struct lane_line line[LANES_LINES_MAX];
	uint32_t n = (uint32_t)lanes_look(m->roads, m->ego->pos[0], m->ego->pos[1], m->ego->yaw, m->range_m, line);
	struct sim_builder b;
	struct sim_LaneLine *out = sim_LaneLines_init(body, cap, &b) ? sim_LaneLines_lines_alloc(&b, n) : NULL;

	for (uint32_t i = 0; out && i < n; i++) {
		const struct lane_line *l = &line[i];
		bool far = l->position < SIM_LANE_LINE_POSITION_FIFTH_LEFT ||
			   l->position > SIM_LANE_LINE_POSITION_FIFTH_RIGHT;

		memset(&out[i], 0, sizeof(out[i])); /* also clears the padding at its end */
		out[i].min_x = (float)l->min_x;
		out[i].max_x = (float)l->max_x;
		out[i].c0 = (float)l->c[0];
		out[i].c1 = (float)l->c[1];
		out[i].c2 = (float)l->c[2];
		out[i].c3 = (float)l->c[3];
		out[i].width = (float)LANES_WIDTH;
		out[i].type = l->dashed ? SIM_LANE_LINE_TYPE_WHITE_DASHED : SIM_LANE_LINE_TYPE_WHITE_SOLID;
		out[i].position = far ? SIM_LANE_LINE_POSITION_OTHER : (int8_t)l->position;
	}
	return out ? sim_builder_size(&b) : 0;
}
