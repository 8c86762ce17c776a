/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming traffic lights and occupancy grids: see map_in.h. */
#include <inttypes.h>
#include <stdio.h>

#include "map_in_private.h"
#include "sim/msg/OccupancyGrid.h"
#include "sim/msg/TrafficSignals.h"

MAP_IN(nav_msgs, OccupancyGrid, OccupancyGrid)
{
	const void *data;
	uint32_t n;

	START(OccupancyGrid);
	map_in_header(d, to);
	sim_dec_begin(d, "info");
	sim_dec_time(d, "map_load_time");
	m->resolution = map_in_f32(d, "resolution");
	m->width = sim_dec_u32(d, "width");
	m->height = sim_dec_u32(d, "height");
	m->origin = map_in_pose(d, "origin");
	sim_dec_end(d);
	data = map_in_array(d, "data", SIM_KIND_INT8, &n);
	if ((uint64_t)m->width * m->height != n)
		sim_dec_fail(d, -EBADMSG);
	if (!d->err)
		map_in_copy(sim_OccupancyGrid_data_alloc(&builder, n), data, n);
	return map_in_finish(&builder, to);
}

/* ---- SVL ---- */

#define SIGNAL_MIN (8 + 4 + 4 + 4 + 4 + 80) /* bytes of a signal without strings */

static uint8_t color_of(const char *s, size_t len)
{
	static const char *const names[] = {
		[SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN] = "",      [SIM_TRAFFIC_SIGNAL_COLOR_RED] = "red",
		[SIM_TRAFFIC_SIGNAL_COLOR_YELLOW] = "yellow", [SIM_TRAFFIC_SIGNAL_COLOR_GREEN] = "green",
		[SIM_TRAFFIC_SIGNAL_COLOR_BLACK] = "black",
	};

	for (uint8_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && memcmp(names[i], s, len) == 0)
			return i;
	return SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN;
}

static void signal(struct sim_dec *d, struct sim_TrafficSignal *s)
{
	const char *label;
	size_t len;

	sim_dec_begin(d, NULL);
	sim_dec_header(d, "header");
	s->seq_id = sim_dec_u32(d, "id");
	label = sim_dec_string(d, "label", 63, &len);
	s->color = color_of(label, len);
	s->score = sim_dec_f32(d, "score");
	sim_dec_begin(d, "bbox");
	s->pose = map_in_finite_pose(d, "position");
	s->size = map_in_finite(d, "size");
	sim_dec_end(d);
	s->shape = SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN;
	sim_dec_end(d);
}

MAP_IN(lgsvl_msgs, SignalArray, TrafficSignals)
{
	struct sim_TrafficSignal *s;
	uint32_t n;

	START(TrafficSignals);
	map_in_header(d, to);
	n = sim_dec_list(d, "signals", SIGNAL_MIN);
	s = sim_TrafficSignals_signals_alloc_in(&builder, m, n);
	for (uint32_t i = 0; s && i < n && !d->err; i++)
		signal(d, &s[i]);
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}

/* ---- Autoware ---- */

/* minimum bytes: of a lamp, of an empty group, of a prediction */
#define LAMP_MIN       (3 + 4)
#define GROUP_MIN      (8 + 4 + 4)
#define PREDICTION_MIN (8 + 4 + 4 + 4)

enum { AW_OFF = 1, AW_FLASHING = 3, AW_COLOR_MAX = 4, AW_SHAPE_MAX = 10 };

/* A lamp that is off is black, whatever its color. */
static struct sim_TrafficSignal lamp(struct sim_dec *d)
{
	static const uint8_t colors[] = { SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN, SIM_TRAFFIC_SIGNAL_COLOR_RED,
					  SIM_TRAFFIC_SIGNAL_COLOR_YELLOW, SIM_TRAFFIC_SIGNAL_COLOR_GREEN,
					  SIM_TRAFFIC_SIGNAL_COLOR_WHITE };
	struct sim_TrafficSignal s = { 0 };
	uint8_t color, shape, status;

	sim_dec_begin(d, NULL);
	color = sim_dec_u8(d, "color");
	shape = sim_dec_u8(d, "shape");
	status = sim_dec_u8(d, "status");
	s.color = status == AW_OFF ? SIM_TRAFFIC_SIGNAL_COLOR_BLACK : color <= AW_COLOR_MAX ? colors[color] : 0;
	/* the same order, but from 1 */
	s.shape = shape && shape <= AW_SHAPE_MAX ? (uint8_t)(shape - 1) : SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN;
	s.blink = status == AW_FLASHING;
	s.score = sim_dec_f32(d, "confidence");
	sim_dec_end(d);
	return s;
}

static void skip_lamps(struct sim_dec *d)
{
	uint32_t n = sim_dec_list(d, "simultaneous_elements", LAMP_MIN);

	for (uint32_t i = 0; i < n && !d->err; i++)
		(void)lamp(d);
	sim_dec_list_end(d);
}

/* Our type has no field for predictions. */
static void skip_predictions(struct sim_dec *d)
{
	uint32_t n = sim_dec_list(d, "predictions", PREDICTION_MIN);
	size_t len;

	for (uint32_t i = 0; i < n && !d->err; i++) {
		sim_dec_begin(d, NULL);
		sim_dec_time(d, "predicted_stamp");
		skip_lamps(d);
		sim_dec_f32(d, "reliability");
		sim_dec_string(d, "information_source", 255, &len);
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
}

/*
 * Room for the lamps of one more group, directly after those before: their total number is not known until the end.
 * Nothing else may be allocated in between.
 */
static struct sim_TrafficSignal *more(struct sim_builder *b, struct sim_TrafficSignals *m, uint32_t n)
{
	size_t bytes = n * sizeof(struct sim_TrafficSignal);
	uint8_t *at;

	if (!m->signals.count)
		return sim_TrafficSignals_signals_alloc_in(b, m, n);
	if (bytes > b->capacity - b->used) {
		b->err = b->err ? b->err : -ENOBUFS;
		return NULL;
	}
	at = memset(b->base + b->used, 0, bytes);
	b->used += bytes;
	m->signals.count += n;
	return (struct sim_TrafficSignal *)(void *)at;
}

/* Reads a group. Stores its id temporarily in size.x, until put_names() has room for it. */
static void group(struct sim_dec *d, struct sim_builder *b, struct sim_TrafficSignals *m)
{
	struct sim_TrafficSignal *s;
	int64_t id;
	uint32_t n;

	sim_dec_begin(d, NULL);
	id = sim_dec_i64(d, "traffic_light_group_id");
	n = sim_dec_list(d, "elements", LAMP_MIN);
	s = more(b, m, n);
	for (uint32_t i = 0; s && i < n && !d->err; i++) {
		s[i] = lamp(d);
		s[i].seq_id = (uint32_t)id;
		memcpy(&s[i].size.x, &id, sizeof(id));
	}
	sim_dec_list_end(d);
	if (!s)
		return;
	skip_predictions(d);
	sim_dec_end(d);
}

/* Writes each group's id as the signal's name. */
static void put_names(struct sim_builder *b, struct sim_TrafficSignals *m)
{
	struct sim_TrafficSignal *s = (struct sim_TrafficSignal *)(void *)(b->base + m->signals.offset);
	char text[24];
	int64_t id;

	for (uint32_t i = 0; i < m->signals.count && !b->err; i++) {
		memcpy(&id, &s[i].size.x, sizeof(id));
		s[i].size.x = 0;
		snprintf(text, sizeof(text), "%" PRId64, id);
		(void)sim_builder_text(b, &s[i].id, text, 63);
	}
}

MAP_IN(autoware_perception_msgs, TrafficLightGroupArray, TrafficSignals)
{
	uint32_t n;

	START(TrafficSignals);
	map_in_stamp(d, "stamp", to);
	n = sim_dec_list(d, "traffic_light_groups", GROUP_MIN);
	for (uint32_t i = 0; i < n && !d->err && !builder.err; i++)
		group(d, &builder, m);
	if (!d->err && !builder.err)
		put_names(&builder, m);
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}
