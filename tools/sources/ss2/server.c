/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of scenario_simulator_v2. See server.h; entities are in server_entities.c. */
#include "printable.h"
#include "server_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/msg/TrafficSignal.h>

#include "err.h"
#include "log.h"
#include "mem.h"

LOG_TOPIC("ss2");

#define NS_PER_S        INT64_C(1000000000)
#define STEP_TIME_MIN_S 0.001 /* scenario_simulator_v2 itself takes none below */
#define SECONDS_MAX     9e9

/* ---- time ---- */

/* The ROS time of the scenario; one that tells none is at seconds_s of its own. */
static int time_of(const Ss2__Time *t, double seconds_s, const char *what, int64_t *ret_sim_ns)
{
	if (t) {
		if (t->sec < 0 || t->nanosec >= NS_PER_S)
			return err_set(-ERANGE, "%s: %d s and %u ns are no time from 0 on", what, (int)t->sec,
				       (unsigned)t->nanosec);
		*ret_sim_ns = t->sec * NS_PER_S + t->nanosec;
		return 0;
	}
	if (!(seconds_s >= 0 && seconds_s <= SECONDS_MAX))
		return err_set(-ERANGE, "%s: %g s are no time from 0 on", what, seconds_s);
	*ret_sim_ns = llround(seconds_s * 1e9);
	return 0;
}

static void show(struct server *s, int64_t sim_ns)
{
	for (size_t i = 0; i < s->scene.n_entities; i++) {
		struct scene_entity *e = &s->scene.entity[i];

		if (!e->shown)
			e->first_sim_ns = sim_ns;
		e->shown = true;
	}
	s->ops->show(s->ctx, &s->scene, sim_ns);
}

static int on_initialize(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__InitializeRequest *q = m->initialize;
	int64_t sim_ns = 0;
	int r = time_of(q->initialize_ros_time, q->initialize_time, "initialize", &sim_ns);

	(void)a;
	if (r == 0 && !(q->step_time >= 0 && q->step_time <= SECONDS_MAX))
		r = err_set(-ERANGE, "initialize: a step time of %g s cannot be", q->step_time);
	if (r == 0)
		r = s->ops->jump(s->ctx, sim_ns);
	if (r < 0)
		return r;
	scene_clear(&s->scene);
	s->initialised = true;
	s->step_time_s = q->step_time;
	s->ego_placed = false;
	log_info("a scenario begins at %lld.%09lld s, step %g s", (long long)(sim_ns / NS_PER_S),
		 (long long)(sim_ns % NS_PER_S), q->step_time);
	show(s, sim_ns);
	return 0;
}

static int on_update_frame(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__UpdateFrameRequest *q = m->update_frame;
	int64_t sim_ns = 0;
	int r = time_of(q->current_ros_time, q->current_simulation_time, "update_frame", &sim_ns);

	(void)a;
	if (r == 0)
		r = s->ops->set(s->ctx, sim_ns);
	if (r == 0)
		show(s, sim_ns);
	return r;
}

static int on_update_step_time(struct server *s, const Ss2__Request *m, struct answer *a)
{
	double step_s = m->update_step_time->simulation_step_time;

	(void)a;
	if (!(step_s >= STEP_TIME_MIN_S && step_s <= SECONDS_MAX))
		return err_set(-ERANGE, "update_step_time: %g s is out of range, %g s at least", step_s,
			       STEP_TIME_MIN_S);
	s->step_time_s = step_s;
	log_info("the step time is %g s from here on", step_s);
	return 0;
}

/* ---- traffic lights ---- */

static uint8_t color_of(int color)
{
	switch (color) {
	case SS2__TRAFFIC_LIGHT__COLOR__RED:
		return SIM_TRAFFIC_SIGNAL_COLOR_RED;
	case SS2__TRAFFIC_LIGHT__COLOR__AMBER:
		return SIM_TRAFFIC_SIGNAL_COLOR_YELLOW;
	case SS2__TRAFFIC_LIGHT__COLOR__GREEN:
		return SIM_TRAFFIC_SIGNAL_COLOR_GREEN;
	case SS2__TRAFFIC_LIGHT__COLOR__WHITE:
		return SIM_TRAFFIC_SIGNAL_COLOR_WHITE;
	default:
		return SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN;
	}
}

/* Theirs and ours have the same numbers. */
static uint8_t shape_of(int shape)
{
	return shape >= 0 && shape < SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN ? (uint8_t)shape
								      : SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN;
}

static bool is_lit(const Ss2__TrafficLight *bulb)
{
	return bulb->status == SS2__TRAFFIC_LIGHT__STATUS__SOLID_ON ||
	       bulb->status == SS2__TRAFFIC_LIGHT__STATUS__FLASHING;
}

/* A signal has bulbs; the message has one colour. The lit circle says more than a lit arrow; the first one counts. */
static void fill_signal(const Ss2__TrafficSignal *q, struct scene_signal *ret)
{
	const Ss2__TrafficLight *best = NULL;
	bool off = q->n_traffic_light_status > 0;

	for (size_t i = 0; i < q->n_traffic_light_status; i++) {
		const Ss2__TrafficLight *bulb = q->traffic_light_status[i];

		if (bulb->status != SS2__TRAFFIC_LIGHT__STATUS__SOLID_OFF)
			off = false;
		if (is_lit(bulb) && (!best || (best->shape != SS2__TRAFFIC_LIGHT__SHAPE__CIRCLE &&
					       bulb->shape == SS2__TRAFFIC_LIGHT__SHAPE__CIRCLE)))
			best = bulb;
	}
	*ret = (struct scene_signal){ .id = q->id, .score = 1 };
	if (!best) {
		ret->color = off ? SIM_TRAFFIC_SIGNAL_COLOR_BLACK : SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN;
		return;
	}
	ret->color = color_of((int)best->color);
	ret->shape = shape_of((int)best->shape);
	ret->blink = best->status == SS2__TRAFFIC_LIGHT__STATUS__FLASHING;
	if (best->confidence > 0 && best->confidence < 1) /* absent reads as 0 */
		ret->score = best->confidence;
}

static int on_update_traffic_lights(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__UpdateTrafficLightsRequest *q = m->update_traffic_lights;

	(void)a;
	if (q->n_states > SCENE_SIGNALS_MAX)
		return err_set(-E2BIG, "update_traffic_lights: %zu signals are too many, %d at most", q->n_states,
			       SCENE_SIGNALS_MAX);
	for (size_t i = 0; i < q->n_states; i++)
		fill_signal(q->states[i], &s->scene.signal[i]);
	s->scene.n_signals = q->n_states;
	return 0;
}

/* ---- the table ---- */

/* In the order of the envelope. early: also before a run was initialised. */
static const struct {
	const char *name;
	int (*handle)(struct server *s, const Ss2__Request *m, struct answer *a);
	bool early;
} requests[] = {
	[1] = { "initialize", on_initialize, true },
	[2] = { "update_frame", on_update_frame, false },
	[3] = { "spawn_vehicle_entity", on_spawn_vehicle, false },
	[4] = { "spawn_pedestrian_entity", on_spawn_pedestrian, false },
	[5] = { "spawn_misc_object_entity", on_spawn_object, false },
	[6] = { "despawn_entity", on_despawn, false },
	[7] = { "update_entity_status", on_update_entity_status, false },
	[8] = { "attach_lidar_sensor", on_attach_sensor, false },
	[9] = { "attach_detection_sensor", on_attach_sensor, false },
	[10] = { "attach_occupancy_grid_sensor", on_attach_sensor, false },
	[11] = { "update_traffic_lights", on_update_traffic_lights, false },
	[12] = { "follow_polyline_trajectory", on_follow_trajectory, false },
	[13] = { "attach_pseudo_traffic_light_detector", on_attach_detector, false },
	[14] = { "update_step_time", on_update_step_time, false },
	[15] = { "attach_imu_sensor", on_attach_sensor, false },
};

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

static int dispatch(struct server *s, const struct request *q, struct answer *a)
{
	uint32_t n = (uint32_t)q->msg->request_case;

	if (n == 0 || n >= REQUESTS)
		return err_set(-EOPNOTSUPP, "request %u is not known here; 1 to %zu are", q->number, REQUESTS - 1);
	if (!s->initialised && !requests[n].early)
		return err_set(-EPROTO, "%s: no scenario has begun; initialize comes first", requests[n].name);
	return requests[n].handle(s, q->msg, a);
}

static int reply(uint32_t number, int r, const struct answer *a, uint8_t **ret, size_t *ret_len)
{
	Ss2__UpdateEntityStatusResponse response = a->response;
	Ss2__Result result = SS2__RESULT__INIT;
	const char *why = r < 0 ? err_why() : a->note;
	char text[ERR_WHY_MAX];

	printable(text, sizeof(text), why, strlen(why)); /* as a proto3 string must be: UTF-8 throughout */
	result.success = r >= 0;
	result.description = text;
	response.result = &result;
	if (r < 0)
		response.n_status = 0;
	return answer_encode(number, &response, ret, ret_len);
}

int server_handle(struct server *s, const void *request, size_t len, uint8_t **ret, size_t *ret_len)
{
	struct answer a = { .response = SS2__UPDATE_ENTITY_STATUS_RESPONSE__INIT, .note = "" };
	struct request q;
	int e, r = request_decode(&q, request, len);

	if (r == 0)
		r = dispatch(s, &q, &a);
	s->requests++;
	s->failures += r < 0;
	e = reply(q.number, r, &a, ret, ret_len);
	answer_finish(&a);
	request_finish(&q);
	return e < 0 ? e : r >= 0;
}

int server_refuse(const char *why, uint8_t **ret, size_t *ret_len)
{
	struct answer a = { .response = SS2__UPDATE_ENTITY_STATUS_RESPONSE__INIT, .note = "" };

	return reply(0, err_set(-EBADMSG, "%s", why), &a, ret, ret_len);
}

/* ---- life ---- */

int server_create(const struct server_ops *ops, void *ctx, struct server **ret)
{
	struct server *s = MEM_NEW(struct server);

	if (!s)
		return err_nomem();
	s->ops = ops;
	s->ctx = ctx;
	if (scene_init(&s->scene) < 0) {
		mem_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void server_destroy(struct server *s)
{
	if (!s)
		return;
	scene_finish(&s->scene);
	mem_free(s);
}

void server_info(const struct server *s, struct server_info *ret)
{
	*ret = (struct server_info){ .initialised = s->initialised,
				     .step_time_s = s->step_time_s,
				     .requests = s->requests,
				     .failures = s->failures,
				     .scene = &s->scene };
}
