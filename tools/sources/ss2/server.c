/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of scenario_simulator_v2. See server.h; entities are in server_entities.c. */
#include "messages.h"
#include "printable.h"
#include "server_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sim/msg/TrafficSignal.h>

#include "../space.h"
#include "err.h"
#include "log.h"
#include "mem.h"

LOG_TOPIC("ss2");

#define NS_PER_S          INT64_C(1000000000)
#define SECONDS_MAX       9e9
#define NUMBER_INITIALIZE 1 /* number of the member in the envelope */

/* ---- time ---- */

/* The scenario's ROS time; without it, its own time seconds_s is used. */
static int time_of(const Ss2__Time *t, double seconds_s, const char *what, int64_t *ret_sim_ns)
{
	if (t) {
		if (t->sec < 0 || t->nanosec >= NS_PER_S)
			return err_set(-ERANGE, "%s: %d s and %u ns are not a valid time, which starts at 0", what,
				       (int)t->sec, (unsigned)t->nanosec);
		*ret_sim_ns = t->sec * NS_PER_S + t->nanosec;
		return 0;
	}
	if (!(seconds_s >= 0 && seconds_s <= SECONDS_MAX))
		return err_set(-ERANGE, "%s: %g s is not a valid time, which starts at 0", what, seconds_s);
	*ret_sim_ns = llround(seconds_s * 1e9);
	return 0;
}

/* The scenario's own time, which sensors use. */
static int own_time_of(double seconds_s, const char *what, int64_t *ret_run_ns)
{
	if (!(fabs(seconds_s) <= SECONDS_MAX))
		return err_set(-ERANGE, "%s: %g s is not a valid time of a simulation", what, seconds_s);
	*ret_run_ns = llround(seconds_s * 1e9);
	return 0;
}

static void warn_crowded(struct server *s)
{
	if (!s->crowded && s->scene.n_entities > MESSAGE_OBJECTS_MAX + 1)
		log_warn("%zu entities: a message of objects has the %d that are nearest to the ego",
			 s->scene.n_entities, MESSAGE_OBJECTS_MAX);
	if (!s->crowded && s->scene.n_bulbs > MESSAGE_BULBS_MAX)
		log_warn("%zu bulbs: a message of traffic signals has the first %d", s->scene.n_bulbs,
			 MESSAGE_BULBS_MAX);
	s->crowded = s->scene.n_entities > MESSAGE_OBJECTS_MAX + 1 || s->scene.n_bulbs > MESSAGE_BULBS_MAX;
}

/* Drop the entities of the previous run once time has jumped, also if that is seen in the turn of the jump. */
static void begin_run(struct server *s, bool refused)
{
	if (s->begins && !refused) {
		sensors_time(&s->sensors, s->next_run_ns);
		scene_clear(&s->scene);
		sensors_reset(&s->sensors);
		s->ego_placed = s->crowded = false;
		s->placed_sim_ns = -1;
	}
	s->begins = false;
}

static void sense(struct server *s, int64_t sim_ns)
{
	struct server_sensed x = { .imu_config = &s->sensors.config.imu, .grid = &s->sensors.config.grid.grid };
	struct sensors_measure imu;

	x.cloud = sensors_scan(&s->sensors, &s->scene, sim_ns);
	sensors_detect(&s->sensors, &s->scene, sim_ns, &x.detected, &x.truth);
	if (sensors_imu(&s->sensors, &s->scene, &imu))
		x.imu = &imu;
	if (s->sensors.config.lights)
		x.lights = &s->scene;
	x.drawn = sensors_draw(&s->sensors, &s->scene, sim_ns);
	if (x.cloud || x.detected || x.truth || x.imu || x.lights || x.drawn)
		s->ops->sense(s->ctx, &x, sim_ns);
}

void server_turn(struct server *s, int64_t sim_ns)
{
	struct scene_entity *ego;
	struct vehicle_state v;

	begin_run(s, false);
	sensors_time(&s->sensors, s->next_run_ns);
	ego = scene_ego(&s->scene);
	if (ego && ego_follows(s, &v))
		ego_move(ego, &v);
	warn_crowded(s);
	for (size_t i = 0; i < s->scene.n_entities; i++) {
		struct scene_entity *e = &s->scene.entity[i];

		if (!e->shown)
			e->first_sim_ns = sim_ns;
		e->shown = true;
	}
	s->ops->show(s->ctx, &s->scene, sim_ns);
	sense(s, sim_ns);
}

/* Only one scenario runs at a time: the one that begins last replaces the other, and both clients are named. */
static void take_over_from(struct server *s)
{
	if (*s->owner && strcmp(s->owner, s->peer) != 0)
		log_warn("%s begins a scenario while that of %s runs: the one before ends, and its requests are refused "
			 "from now on",
			 s->peer, s->owner);
	memcpy(s->owner, s->peer, sizeof(s->owner));
}

static int on_initialize(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__InitializeRequest *q = m->initialize;
	int64_t sim_ns = 0, run_ns = 0;
	int r = time_of(q->initialize_ros_time, q->initialize_time, "initialize", &sim_ns);

	a->note = "succeed to initialize simulation";
	if (r == 0)
		r = own_time_of(q->initialize_time, "initialize", &run_ns);
	if (r == 0 && !(q->step_time >= 0 && q->step_time <= SECONDS_MAX))
		r = err_set(-ERANGE, "initialize: %g s is not a valid step time", q->step_time);
	if (r < 0)
		return r;
	s->begins = true; /* a refused request drops nothing */
	s->next_run_ns = run_ns;
	r = s->ops->jump(s->ctx, sim_ns);
	begin_run(s, r < 0);
	if (r < 0)
		return r;
	take_over_from(s);
	s->initialised = true;
	s->step_time_s = q->step_time;
	s->now_sim_ns = sim_ns;
	log_info("a scenario begins at %lld.%09lld s, step %g s", (long long)(sim_ns / NS_PER_S),
		 (long long)(sim_ns % NS_PER_S), q->step_time);
	if (r == 0)
		server_turn(s, sim_ns);
	return 0;
}

static int on_update_frame(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__UpdateFrameRequest *q = m->update_frame;
	int64_t sim_ns = 0;
	int r = time_of(q->current_ros_time, q->current_simulation_time, "update_frame", &sim_ns);

	a->note = "succeed to update frame";
	if (!s->initialised) /* in the reference simulator's words */
		return err_set(-EPROTO, "simulator have not initialized yet.");
	if (r == 0)
		r = own_time_of(q->current_simulation_time, "update_frame", &s->next_run_ns);
	if (r == 0)
		r = s->ops->set(s->ctx, sim_ns);
	if (r < 0)
		return r;
	s->now_sim_ns = sim_ns;
	if (r == 0)
		server_turn(s, sim_ns);
	return 0;
}

static int on_update_step_time(struct server *s, const Ss2__Request *m, struct answer *a)
{
	double step_s = m->update_step_time->simulation_step_time;

	(void)a;
	if (!(step_s >= 0 && step_s <= SECONDS_MAX))
		return err_set(-ERANGE, "update_step_time: %g s is not a valid step time", step_s);
	s->step_time_s = step_s;
	log_info("the step time is %g s from now on", step_s);
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

/* Both enumerations use the same numbers. */
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

static void put_bulb(struct scene *s, int32_t group, int32_t light, uint8_t color, const Ss2__TrafficLight *lit)
{
	struct scene_bulb *b = &s->bulb[s->n_bulbs++];

	*b = (struct scene_bulb){ .group = group, .light = light, .color = color, .score = 1 };
	if (!lit)
		return;
	b->shape = shape_of((int)lit->shape);
	b->blink = lit->status == SS2__TRAFFIC_LIGHT__STATUS__FLASHING;
	if (lit->confidence > 0 && lit->confidence < 1) /* an absent value reads as 0 */
		b->score = lit->confidence;
}

/*
 * One entry for each bulb that is on. A light without such a bulb gets one entry: black if all are off, otherwise
 * unknown.
 */
static void put_group(struct scene *s, const Ss2__TrafficSignal *q, int32_t group)
{
	size_t before = s->n_bulbs;
	bool off = true;

	for (size_t i = 0; i < q->n_traffic_light_status; i++) {
		const Ss2__TrafficLight *bulb = q->traffic_light_status[i];

		off = off && bulb->status == SS2__TRAFFIC_LIGHT__STATUS__SOLID_OFF;
		if (is_lit(bulb))
			put_bulb(s, group, q->id, color_of((int)bulb->color), bulb);
	}
	if (s->n_bulbs == before)
		put_bulb(s, group, q->id, off ? SIM_TRAFFIC_SIGNAL_COLOR_BLACK : SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN,
			 NULL);
}

/*
 * A map of Autoware knows the groups of a light. A release that sends no groups (before 5.0.0) has only the light's own
 * id.
 */
static void put_light(struct scene *s, const Ss2__TrafficSignal *q)
{
	if (q->n_traffic_light_status == 0) /* the reference simulator leaves it out */
		return;
	if (q->n_relation_ids == 0)
		put_group(s, q, q->id);
	for (size_t i = 0; i < q->n_relation_ids; i++)
		put_group(s, q, q->relation_ids[i]);
}

/* Largest number of bulbs. Both factors are bounded by the size of a request, so their product fits. */
static size_t bulbs_of(const Ss2__UpdateTrafficLightsRequest *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n_states; i++)
		n += q->states[i]->n_traffic_light_status *
		     (q->states[i]->n_relation_ids > 1 ? q->states[i]->n_relation_ids : 1);
	return n;
}

static int on_update_traffic_lights(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__UpdateTrafficLightsRequest *q = m->update_traffic_lights;
	size_t n = bulbs_of(q);

	(void)a;
	if (n > SCENE_BULBS_MAX)
		return err_set(-E2BIG, "update_traffic_lights: %zu bulbs are too many, %d at most", n, SCENE_BULBS_MAX);
	s->scene.n_bulbs = 0;
	for (size_t i = 0; i < q->n_states; i++)
		put_light(&s->scene, q->states[i]);
	return 0;
}

/* ---- the table ---- */

/* In the order of the envelope. */
static const struct {
	const char *name;
	int (*handle)(struct server *s, const Ss2__Request *m, struct answer *a);
} requests[] = {
	[1] = { "initialize", on_initialize },
	[2] = { "update_frame", on_update_frame },
	[3] = { "spawn_vehicle_entity", on_spawn_vehicle },
	[4] = { "spawn_pedestrian_entity", on_spawn_pedestrian },
	[5] = { "spawn_misc_object_entity", on_spawn_object },
	[6] = { "despawn_entity", on_despawn },
	[7] = { "update_entity_status", on_update_entity_status },
	[8] = { "attach_lidar_sensor", on_attach_lidar },
	[9] = { "attach_detection_sensor", on_attach_detection },
	[10] = { "attach_occupancy_grid_sensor", on_attach_grid },
	[11] = { "update_traffic_lights", on_update_traffic_lights },
	[12] = { "follow_polyline_trajectory", on_follow_trajectory },
	[13] = { "attach_pseudo_traffic_light_detector", on_attach_detector },
	[14] = { "update_step_time", on_update_step_time },
	[15] = { "attach_imu_sensor", on_attach_imu },
};

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

static int dispatch(struct server *s, const struct request *q, struct answer *a)
{
	uint32_t n = (uint32_t)q->msg->request_case;

	if (n == 0 || n >= REQUESTS)
		return err_set(-EOPNOTSUPP, "request %u is unknown; 1 to %zu are known", q->number, REQUESTS - 1);
	return requests[n].handle(s, q->msg, a);
}

static int reply(uint32_t number, int r, const struct answer *a, uint8_t **ret, size_t *ret_len)
{
	Ss2__UpdateEntityStatusResponse response = a->response;
	Ss2__Result result = SS2__RESULT__INIT;
	const char *why = r < 0 ? err_why() : a->note;
	char text[ERR_WHY_MAX];

	printable(text, sizeof(text), why, strlen(why)); /* a proto3 string must be UTF-8 throughout */
	result.success = r >= 0;
	result.description = text;
	response.result = &result;
	if (r < 0)
		response.n_status = 0;
	return answer_encode(number, &response, ret, ret_len);
}

/* ---- state for the next process ---- */

static void save(struct server *s)
{
	struct store_head *h = s->store->head;

	h->initialised = s->initialised;
	h->last_id = s->scene.last_id;
	h->n_entities = s->scene.n_entities;
	h->n_bulbs = s->scene.n_bulbs;
	h->now_sim_ns = s->now_sim_ns;
	h->placed_sim_ns = s->placed_sim_ns;
	h->run_ns = s->next_run_ns;
	h->step_time_s = s->step_time_s;
	memcpy(h->attached, &s->sensors.config, sizeof(s->sensors.config));
	memcpy(h->owner, s->owner, sizeof(h->owner));
}

_Static_assert(sizeof(struct sensors_config) <= sizeof(((struct store_head *)0)->attached), "it is kept there");

/* The noise of the sensors starts again from its seed. */
static void attach_again(struct server *s)
{
	struct sensors_config c;

	memcpy(&c, s->store->head->attached, sizeof(c));
	c.imu.frame[SENSORS_FRAME_MAX] = '\0';
	if ((c.lidar.attached && sensors_attach_lidar(&s->sensors, &c.lidar) < 0) ||
	    (c.grid.attached && sensors_attach_grid(&s->sensors, &c.grid) < 0) ||
	    (c.detection.attached && sensors_attach_detection(&s->sensors, &c.detection) < 0) ||
	    (c.imu.attached && sensors_attach_imu(&s->sensors, &c.imu) < 0))
		log_warn("%s: ignoring", err_why());
	s->sensors.config.lights = c.lights;
	if (s->ops->attach(s->ctx, &s->sensors.config) < 0)
		log_warn("%s: ignoring", err_why());
}

static bool holds(const struct scene *s)
{
	for (size_t i = 0; i < s->n_entities; i++) {
		const struct scene_entity *e = &s->entity[i];

		if (!memchr(e->name, '\0', sizeof(e->name)) || e->kind > SCENE_OBJECT ||
		    !space_vector_ok(&e->pose.position))
			return false;
	}
	return true;
}

static int take_over(struct server *s)
{
	const struct store_head *h = s->store->head;

	s->scene.n_entities = h->n_entities;
	s->scene.n_bulbs = h->n_bulbs;
	if (!holds(&s->scene)) {
		scene_clear(&s->scene);
		return 0;
	}
	s->scene.last_id = h->last_id;
	s->initialised = true;
	s->now_sim_ns = h->now_sim_ns;
	s->placed_sim_ns = h->placed_sim_ns;
	s->next_run_ns = h->run_ns;
	sensors_time(&s->sensors, h->run_ns);
	s->step_time_s = h->step_time_s;
	snprintf(s->owner, sizeof(s->owner), "%.*s", (int)sizeof(h->owner) - 1, h->owner);
	attach_again(s);
	log_info("the scenario continues with the scene of the previous sim-ss2: %zu entities", s->scene.n_entities);
	return 1;
}

int server_restore(struct server *s, uint64_t simd_id, uint32_t clock_generation)
{
	struct store_head *h = s->store->head;
	bool same = h->simd_id == simd_id && h->clock_generation == clock_generation && h->initialised;
	uint32_t busy = same ? h->busy : 0;
	int r = same && !busy ? take_over(s) : 0;

	if (r == 0)
		store_reset(s->store);
	if (!busy)
		return r;
	return err_set(
		-EPIPE,
		"the previous sim-ss2 ended while it answered request %u (%s): scenario_simulator_v2 waits for that "
		"answer for ever; end it, and start the scenario again",
		busy - 1, busy - 1 < REQUESTS && requests[busy - 1].name ? requests[busy - 1].name : "unknown");
}

void server_remember(struct server *s, uint64_t simd_id, uint32_t clock_generation)
{
	s->store->head->simd_id = simd_id;
	s->store->head->clock_generation = clock_generation;
}

void server_answered(struct server *s)
{
	s->store->head->busy = 0;
	store_end(s->store);
}

/* ---- a request ---- */

void server_peer(struct server *s, const char *name)
{
	snprintf(s->peer, sizeof(s->peer), "%s", name);
}

const char *server_owner(const struct server *s)
{
	return s->owner;
}

void server_owner_gone(struct server *s)
{
	*s->owner = '\0';
}

/*
 * A scenario without an owner, since its client or this process has been started again, belongs to the client that
 * continues it.
 */
static int admit(struct server *s, uint32_t number)
{
	if (strcmp(s->owner, s->peer) == 0 || (*s->peer && number == NUMBER_INITIALIZE))
		return 0;
	if (*s->owner)
		return err_set(
			-EBUSY,
			"the scenario is that of %s, which has begun it since: send Initialize to begin another one",
			s->owner);
	if (s->initialised)
		memcpy(s->owner, s->peer, sizeof(s->owner));
	return 0;
}

int server_handle(struct server *s, const void *request, size_t len, uint8_t **ret, size_t *ret_len)
{
	struct answer a = { .response = SS2__UPDATE_ENTITY_STATUS_RESPONSE__INIT, .note = "" };
	struct request q;
	int e, r = request_decode(&q, request, len);

	s->store->head->busy = q.number + 1;
	if (r == 0)
		r = admit(s, q.number);
	if (r == 0)
		r = dispatch(s, &q, &a);
	save(s);
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

int server_create(const struct server_ops *ops, void *ctx, struct store *store, struct server **ret)
{
	struct server *s = MEM_NEW(struct server);

	if (!s)
		return err_nomem();
	s->ops = ops;
	s->ctx = ctx;
	s->store = store;
	s->placed_sim_ns = -1;
	scene_init(&s->scene, store->scene);
	sensors_init(&s->sensors);
	*ret = s;
	return 0;
}

void server_noise(struct server *s, const struct noise_settings *n)
{
	s->noise = n;
	s->sensors.model = n ? n->model : NULL;
}

void server_destroy(struct server *s)
{
	if (s)
		sensors_finish(&s->sensors);
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
