/* SPDX-License-Identifier: Apache-2.0 */
/* sim-ss2's side towards simd. See attach.h. */
#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Int64.h>
#include <sim/msg/OccupancyGrid.h>
#include <sim/msg/PointCloud.h>
#include <sim/msg/Pose.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/VehiclePlacement.h>

#include "err.h"
#include "log.h"
#include "messages.h"
#include "store.h"

LOG_TOPIC("link");

#define ADVANCE_WAIT_NS INT64_C(1000000000)
#define RATE_MAX_HZ     1000.0
/* wall: after that long a step that is not over is reported, since the scenario stands still */
#define LATE_MS 1000

static const struct {
	const char *name;
	const struct sim_type *type;
	const char *frame;
} CHANNELS[LINK_CHANNELS] = {
	[LINK_OBJECTS] = { "objects", &sim_Detected3DObjects_type, FRAME_MAP },
	[LINK_SIGNALS] = { "signals", &sim_TrafficSignals_type, FRAME_MAP },
	[LINK_CLOUD] = { "perception/pointcloud", &sim_PointCloud_type, FRAME_BASE },
	[LINK_DETECTED] = { "perception/objects", &sim_Detected3DObjects_type, FRAME_MAP },
	[LINK_TRUTH] = { "perception/ground_truth", &sim_Detected3DObjects_type, FRAME_MAP },
	[LINK_IMU] = { "perception/imu", &sim_Imu_type, FRAME_BASE },
	[LINK_GRID] = { "perception/grid", &sim_OccupancyGrid_type, FRAME_MAP },
	[LINK_LIGHTS] = { "perception/signals", &sim_TrafficSignals_type, FRAME_MAP },
};

/* ---- time ---- */

static int hand_on(int r)
{
	return err_set(r, "%s", source_why(r));
}

static int take_lease(struct link *l)
{
	uint32_t source = __atomic_load_n(&sim_clock_page(l->client)->source, __ATOMIC_RELAXED);

	/* never take it from an engine that is about to attach to another driven source */
	if (source != SIM_SOURCE_SS2)
		return err_set(-EOPNOTSUPP, "simd's time source is %s; `simctl clock source ss2` selects this one",
			       sim_time_source_name((enum sim_time_source)source));
	if (sim_driver_acquire(l->client, 0, &l->driver) < 0)
		return hand_on(-EBUSY);
	log_info("sim-ss2 has the driver lease and drives time");
	return 0;
}

static void drop_lease(struct link *l)
{
	sim_driver_release(l->driver);
	l->driver = NULL;
	l->asked = false;
}

/* ---- turns ---- */

static void take_no_part(struct link *l)
{
	sim_step_leave(l->step);
	l->step = NULL;
	l->turn = false;
}

/* Join the steps if they have participants, so that these see the scene within the step itself. */
static void take_part(struct link *l)
{
	uint32_t flags = __atomic_load_n(&sim_clock_page(l->client)->flags, __ATOMIC_RELAXED);

	if (!l->step && (l->onboard || (flags & SIM_CLOCK_LOCKSTEP)) &&
	    sim_step_join(l->client, l->rank, &l->step) == 0)
		log_info("steps have participants: the scene is published in turns of rank %u", l->rank);
}

/* Move the vehicle on board, and take its messages directly, not over its channels. */
static void move_ego(struct link *l)
{
	const struct sim_GpsOdometry *o;
	const struct sim_CanBus *b;

	if (!l->onboard)
		return;
	store_move(l->store);
	onboard_step(l->onboard, &l->now);
	store_moved(l->store);
	o = onboard_odometry(l->onboard);
	b = onboard_can_bus(l->onboard);
	if (o && b) {
		(void)vehicle_odometry(&l->vehicle, o, l->now.sim_ns, l->now.clock_generation);
		(void)vehicle_can_bus(&l->vehicle, b, l->now.sim_ns, l->now.clock_generation);
	}
}

static void end_turn(struct link *l)
{
	if (l->due) { /* the client that waited for an answer has it by now */
		l->due = false;
		move_ego(l);
		server_turn(l->server, l->now.sim_ns);
	}
	if (l->turn && sim_step_done(l->step) < 0)
		log_warn("the end of a turn could not be reported to simd: %s; ignoring", source_why(-EIO));
	l->turn = false;
}

/*
 * Look at the progress of steps: a turn, or the end of the turns of others of our rank. Being late, or simd's end, ends
 * our part in steps; the next frame joins again. True: a turn is open that no other participant has at the same time.
 */
static bool look_for_turn(struct link *l)
{
	struct sim_step_turn turn;
	int r = sim_step_wait(l->step, 0, &turn);

	if (r == -ECONNABORTED)
		take_no_part(l);
	if (r < 0)
		return false;
	l->now = turn.now;
	l->turned = l->turn = l->due = true;
	/* what we have published is held back until all participants of the turn are done, and this must be noticed */
	if (turn.shared)
		end_turn(l);
	return l->turn;
}

/* Wait for the end of the step that we have begun, or for our turn in it. Returns 0, or as sim_driver_end(). */
static int await(struct link *l)
{
	for (bool late = false;;) {
		struct pollfd p[] = { { .fd = sim_driver_fd(l->driver), .events = POLLIN },
				      { .fd = l->step ? sim_step_fd(l->step) : -1, .events = POLLIN } };
		int r = -ETIMEDOUT, n = p[0].fd < 0 ? 1 : poll(p, 2, late ? -1 : LATE_MS);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			log_warn(
				"the step is not over after %d ms, and the scenario waits: `simctl clock` says for whom",
				LATE_MS);
		late = late || n == 0;
		if (p[1].revents && look_for_turn(l))
			return 0;
		if (p[0].fd < 0 || p[0].revents)
			r = sim_driver_end(l->driver, 0);
		if (r != -ETIMEDOUT) {
			l->asked = false;
			return r;
		}
	}
}

/*
 * The request has been answered, in our turn or when the step was over. The rest of the step is done while the scenario
 * works out its next request.
 */
void link_answered(struct link *l)
{
	end_turn(l);
}

bool link_has_turn(const struct link *l)
{
	return l->due;
}

void link_make_up(struct link *l, bool moved)
{
	sim_now_sample(l->client, &l->now);
	if (!moved)
		move_ego(l);
	server_turn(l->server, l->now.sim_ns);
}

void link_settle(struct link *l)
{
	int r = 0;

	end_turn(l);
	while (r == 0 && l->asked) {
		r = await(l);
		end_turn(l);
	}
	if (r == -EPERM)
		drop_lease(l);
}

int link_fd(const struct link *l)
{
	return l->step ? sim_step_fd(l->step) : -1;
}

void link_turn(struct link *l)
{
	if (l->step && look_for_turn(l))
		end_turn(l);
}

/* ---- changes of time ---- */

static void remember(struct link *l)
{
	struct sim_clock_sample now;

	sim_now_sample(l->client, &now);
	server_remember(l->server, sim_clock_page(l->client)->simd_id, now.clock_generation);
}

/* The source may have been switched away and back since the lease was taken; the lease is then taken again, once. */
static int drive(struct link *l, int64_t sim_ns, bool jump)
{
	int r = -EPERM;

	link_settle(l);
	l->resting = l->turned = false;
	l->ahead_sim_ns = 0;
	take_part(l);
	for (int tries = 0; r == -EPERM && tries < 2; tries++) {
		int e = l->driver ? 0 : take_lease(l);

		if (e < 0)
			return e;
		r = sim_driver_begin(l->driver, sim_ns, jump);
		l->asked = r == 0;
		if (r == 0)
			r = await(l);
		if (r == -EPERM)
			drop_lease(l);
	}
	if (r < 0)
		return hand_on(r);
	remember(l);
	if (!l->turned) {
		sim_now_sample(l->client, &l->now);
		move_ego(l);
	}
	return l->turned;
}

static int on_jump(void *ctx, int64_t sim_ns)
{
	struct link *l = ctx;

	memset(l->refused, 0, sizeof(l->refused));
	return drive(l, sim_ns, true);
}

static int on_set(void *ctx, int64_t sim_ns)
{
	return drive(ctx, sim_ns, false);
}

void link_idle(struct link *l)
{
	if (!l->resting && !l->driver && sim_client_state(l->client) == SIM_CLIENT_CONNECTED &&
	    __atomic_load_n(&sim_clock_page(l->client)->source, __ATOMIC_RELAXED) == SIM_SOURCE_SS2)
		(void)take_lease(l);
}

void link_rest(struct link *l)
{
	link_settle(l);
	l->resting = true;
	drop_lease(l);
}

/* ---- publishing ---- */

/* Contents of one message; the channel decides which member is set. */
union content {
	const struct scene *scene;
	const struct lidar_cloud *cloud;
	const struct sensors_look *look;
	const struct server_sensed *imu, *grid;
};

static size_t room(enum link_channel ch, union content c)
{
	switch (ch) {
	case LINK_OBJECTS:
		return message_objects_max(c.scene->n_entities < MESSAGE_OBJECTS_MAX ? c.scene->n_entities
										     : MESSAGE_OBJECTS_MAX);
	case LINK_SIGNALS:
	case LINK_LIGHTS:
		return message_signals_max(c.scene->n_bulbs < MESSAGE_BULBS_MAX ? c.scene->n_bulbs : MESSAGE_BULBS_MAX);
	case LINK_CLOUD:
		return message_cloud_size(c.cloud->n);
	case LINK_DETECTED:
	case LINK_TRUTH:
		return message_objects_max(c.look->n);
	case LINK_GRID:
		return message_grid_size(c.grid->grid);
	default:
		return sim_Imu_type.fixed_size;
	}
}

static size_t fill(enum link_channel ch, union content c, int64_t sim_ns, void *body, size_t cap)
{
	switch (ch) {
	case LINK_OBJECTS:
		return message_objects(c.scene, sim_ns, body, cap);
	case LINK_SIGNALS:
	case LINK_LIGHTS:
		return message_signals(c.scene, body, cap);
	case LINK_CLOUD:
		return message_cloud(c.cloud, body, cap);
	case LINK_DETECTED:
	case LINK_TRUTH:
		return message_look(c.look, sim_ns, body, cap);
	case LINK_GRID:
		return message_grid(c.grid->grid, c.grid->drawn, body, cap);
	default:
		return message_sensed_imu(c.imu->imu, c.imu->imu_config, body, cap);
	}
}

static const char *frame_of(enum link_channel ch, union content c)
{
	if (ch == LINK_OBJECTS)
		return message_frame(c.scene);
	if (ch == LINK_IMU && *c.imu->imu_config->frame)
		return c.imu->imu_config->frame;
	return CHANNELS[ch].frame;
}

static int publish(struct link *l, enum link_channel ch, union content c, int64_t sim_ns)
{
	size_t cap = room(ch, c);
	struct sim_slot *slot;
	int r;

	r = sim_loan(l->out[ch].pub, cap, &slot);
	if (r < 0)
		return r;
	slot->stamp_sim_ns = sim_ns;
	memset(slot->frame_id, 0, sizeof(slot->frame_id));
	snprintf(slot->frame_id, sizeof(slot->frame_id), "%s", frame_of(ch, c));
	return outlet_send(&l->out[ch], slot, fill(ch, c, sim_ns, sim_slot_body_mut(slot), cap), NULL);
}

static void send(struct link *l, enum link_channel ch, union content c, int64_t sim_ns)
{
	/* no publisher: advertising failed when the sensor was attached */
	if (l->out[ch].pub && rate_due(&l->rate[ch], &l->now))
		outlet_count(&l->out[ch], publish(l, ch, c, sim_ns));
}

static void on_show(void *ctx, const struct scene *s, int64_t sim_ns)
{
	send(ctx, LINK_OBJECTS, (union content){ .scene = s }, sim_ns);
	send(ctx, LINK_SIGNALS, (union content){ .scene = s }, sim_ns);
}

static void on_sense(void *ctx, const struct server_sensed *x, int64_t sim_ns)
{
	if (x->cloud)
		send(ctx, LINK_CLOUD, (union content){ .cloud = x->cloud }, x->cloud->sim_ns);
	if (x->detected)
		send(ctx, LINK_DETECTED, (union content){ .look = x->detected }, sim_ns);
	if (x->truth)
		send(ctx, LINK_TRUTH, (union content){ .look = x->truth }, sim_ns);
	if (x->imu)
		send(ctx, LINK_IMU, (union content){ .imu = x }, sim_ns);
	if (x->drawn)
		send(ctx, LINK_GRID, (union content){ .grid = x }, sim_ns);
	if (x->lights)
		send(ctx, LINK_LIGHTS, (union content){ .scene = x->lights }, sim_ns);
}

/*
 * A grid that has grown needs larger slots, so it is advertised again. A size that was refused once is not tried again,
 * so that it does not prevent other sensors.
 */
static int advertise(struct link *l, enum link_channel ch, size_t max_body)
{
	/* a slow bridge must not hold the scenario up */
	struct sim_publisher_options po = {
		.size = sizeof(po), .max_body = max_body, .frame_id = CHANNELS[ch].frame, .flags = SIM_PUB_NO_WAIT
	};

	int r;

	if ((l->out[ch].pub && l->room[ch] >= max_body) || l->refused[ch] == max_body)
		return 0;
	sim_publisher_destroy(l->out[ch].pub);
	l->out[ch].pub = NULL;
	l->out[ch].name = CHANNELS[ch].name;
	l->room[ch] = max_body;
	r = sim_advertise(l->client, CHANNELS[ch].name, CHANNELS[ch].type, &po, &l->out[ch].pub);
	l->refused[ch] = r < 0 ? max_body : 0;
	return r;
}

static int on_attach(void *ctx, const struct sensors_config *c)
{
	struct link *l = ctx;
	int r = c->lidar.attached ? advertise(l, LINK_CLOUD, message_cloud_size(lidar_points_max(&c->lidar))) : 0;

	if (r == 0 && c->detection.attached)
		r = advertise(l, LINK_DETECTED, message_objects_max(MESSAGE_OBJECTS_MAX));
	if (r == 0 && c->detection.attached)
		r = advertise(l, LINK_TRUTH, message_objects_max(MESSAGE_OBJECTS_MAX));
	if (r == 0 && c->imu.attached)
		r = advertise(l, LINK_IMU, sim_Imu_type.fixed_size);
	if (r == 0 && c->lights)
		r = advertise(l, LINK_LIGHTS, message_signals_max(MESSAGE_BULBS_MAX));
	if (r == 0 && c->grid.attached)
		r = advertise(l, LINK_GRID, message_grid_size(&c->grid.grid));
	return r < 0 ? hand_on(r) : 0;
}

/* ---- the vehicle ---- */

static void hear(struct link *l)
{
	const struct sim_message *msg;

	if (l->onboard)
		return;
	while (sim_take(l->odometry, &msg) == 0) {
		const struct sim_GpsOdometry *m = sim_GpsOdometry_from(msg->body, msg->body_size);

		if (m)
			(void)vehicle_odometry(&l->vehicle, m, msg->header.stamp_sim_ns, msg->header.clock_generation);
		(void)sim_release(l->odometry, msg);
	}
	while (sim_take(l->can_bus, &msg) == 0) {
		const struct sim_CanBus *m = sim_CanBus_from(msg->body, msg->body_size);

		if (m)
			(void)vehicle_can_bus(&l->vehicle, m, msg->header.stamp_sim_ns, msg->header.clock_generation);
		(void)sim_release(l->can_bus, msg);
	}
}

static bool on_vehicle(void *ctx, struct vehicle_state *ret)
{
	struct link *l = ctx;
	struct sim_clock_sample now;

	hear(l);
	sim_now_sample(l->client, &now);
	if (now.sim_ns < l->ahead_sim_ns)
		now.sim_ns = l->ahead_sim_ns;
	if (!vehicle_now(&l->vehicle, now.sim_ns, now.clock_generation, ret))
		return false;
	ret->manual = ret->manual && sim_publisher_has_subscribers(l->place);
	return true;
}

static int ask_ahead(struct link *l, int64_t to_sim_ns)
{
	struct sim_slot *slot;
	struct sim_builder b;
	int r = sim_loan(l->advance, sizeof(struct sim_Int64), &slot);

	if (r < 0)
		return r;
	sim_Int64_init(sim_slot_body_mut(slot), slot->body_size, &b)->data = to_sim_ns;
	return sim_publish_local(l->advance, slot);
}

/* Look for the vehicle's answer to this question; an answer that comes too late for an earlier question is dropped. */
static bool hear_ahead(struct link *l, int64_t to_sim_ns)
{
	const struct sim_message *msg;

	while (l->ahead_sim_ns != to_sim_ns && sim_take(l->ahead, &msg) == 0) {
		const struct sim_GpsOdometry *m = sim_GpsOdometry_from(msg->body, msg->body_size);

		if (m && msg->header.stamp_sim_ns == to_sim_ns &&
		    vehicle_odometry(&l->vehicle, m, to_sim_ns, msg->header.clock_generation))
			l->ahead_sim_ns = to_sim_ns;
		(void)sim_release(l->ahead, msg);
	}
	return l->ahead_sim_ns == to_sim_ns;
}

static void advance_onboard(struct link *l, int64_t to_sim_ns)
{
	const struct sim_GpsOdometry *o;
	struct sim_clock_sample now;

	take_part(l);
	store_move(l->store);
	if (!l->step || onboard_ahead(l->onboard, to_sim_ns) < 0)
		return;
	o = onboard_odometry(l->onboard);
	sim_now_sample(l->client, &now);
	if (o && vehicle_odometry(&l->vehicle, o, to_sim_ns, now.clock_generation))
		l->ahead_sim_ns = to_sim_ns;
}

static void on_ground(void *ctx, const struct sim_Pose *p)
{
	struct link *l = ctx;
	struct sim_slot *slot;

	if (l->onboard) {
		store_move(l->store);
		/* on failure the vehicle stays on the ground that it was given before */
		(void)onboard_ground(l->onboard, p);
		return;
	}
	if (!sim_publisher_has_subscribers(l->ground) || sim_loan(l->ground, sizeof(*p), &slot) < 0)
		return;
	memcpy(sim_slot_body_mut(slot), p, sizeof(*p));
	if (sim_slot_set_size(slot, sizeof(*p)) < 0)
		(void)sim_unloan(l->ground, slot);
	else if (sim_publish_local(l->ground, slot) < 0)
		log_debug("ego_ground: %s; ignoring", sim_why());
}

/*
 * A vehicle that does not answer is taken to be where it was in the frame before, and is asked again once an ego is
 * spawned.
 */
static void on_advance(void *ctx, int64_t to_sim_ns)
{
	struct link *l = ctx;

	if (l->onboard) {
		advance_onboard(l, to_sim_ns);
		return;
	}
	if (!l->advances || !l->step || !sim_publisher_has_subscribers(l->advance))
		return;
	hear(l);
	l->ahead_sim_ns = 0;
	l->advances = ask_ahead(l, to_sim_ns) == 0;
	while (l->advances && !hear_ahead(l, to_sim_ns))
		l->advances = sim_wait(l->ahead, ADVANCE_WAIT_NS) == 1;
	if (!l->advances)
		log_warn(
			"the vehicle does not report its state of the next frame: the scenario gets its state of the frame before");
}

static bool on_place(void *ctx, const struct server_place *p)
{
	struct link *l = ctx;
	const struct scene_entity *e = p->ego;
	struct sim_VehiclePlacement *m;
	struct sim_builder b;
	struct sim_slot *slot;
	size_t cap = sim_VehiclePlacement_size(sizeof(e->name));

	l->advances = l->advances || p->action == PLACE_SPAWN;
	if (!sim_publisher_has_subscribers(l->place) || sim_loan(l->place, cap, &slot) < 0)
		return false;
	m = sim_VehiclePlacement_init(sim_slot_body_mut(slot), cap, &b);
	m->action = (uint8_t)p->action;
	m->pose = e->pose;
	m->velocity = e->twist;
	m->acceleration = e->accel.linear;
	m->size = e->box_size;
	m->center = e->box_center;
	m->wheel_base = p->wheel_base;
	m->max_steering = p->max_steering;
	if (sim_VehiclePlacement_name_set(&b, e->name) < 0 || sim_slot_set_size(slot, sim_builder_size(&b)) < 0) {
		(void)sim_unloan(l->place, slot);
		return false;
	}
	if (sim_publish_local(l->place, slot) < 0)
		return false;
	hear(l); /* drop its earlier messages, since they say nothing about how it moves at the new place */
	vehicle_forget(&l->vehicle);
	if (p->action == PLACE_TAKE_OVER || p->action == PLACE_SPAWN)
		vehicle_ordered(&l->vehicle, p->action == PLACE_TAKE_OVER, l->now.sim_ns, l->now.clock_generation);
	return true;
}

const struct server_ops link_ops = {
	.jump = on_jump,
	.set = on_set,
	.show = on_show,
	.vehicle = on_vehicle,
	.ground = on_ground,
	.advance = on_advance,
	.attach = on_attach,
	.sense = on_sense,
	.place = on_place,
};

/* ---- life ---- */

static int subscribe(struct link *l)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 16 };
	int r;

	if (l->onboard) /* its state is known here */
		return 0;
	r = sim_subscribe(l->client, "gps_odometry", &sim_GpsOdometry_type, &so, &l->odometry);

	if (r == 0)
		r = sim_subscribe(l->client, "ego_ahead", &sim_GpsOdometry_type, &so, &l->ahead);
	return r < 0 ? r : sim_subscribe(l->client, "can_bus", &sim_CanBus_type, &so, &l->can_bus);
}

static int advertise_place(struct link *l)
{
	struct sim_publisher_options po = { .size = sizeof(po),
					    .max_body = sim_VehiclePlacement_size(SCENE_NAME_MAX + 1),
					    .frame_id = FRAME_MAP,
					    .flags = SIM_PUB_LATCH | SIM_PUB_LOCAL };

	int r = sim_advertise(l->client, "place_ego", &sim_VehiclePlacement_type, &po, &l->place);

	po.flags = SIM_PUB_LOCAL;
	po.max_body = sim_Pose_type.fixed_size;
	if (r == 0)
		r = sim_advertise(l->client, "ego_ground", &sim_Pose_type, &po, &l->ground);
	po.max_body = sim_Int64_type.fixed_size;
	return r < 0 ? r : sim_advertise(l->client, "advance_ego", &sim_Int64_type, &po, &l->advance);
}

/* Rate 0 follows the scenario: a message in every frame, or each time that the sensor measures. */
static void open_params(struct link *l, const char *name)
{
	char parameter[SIM_PARAM_NAME_MAX + 1];
	int r = 0;

	l->params = rate_params(l->client, name);
	for (int i = 0; l->params && r == 0 && i < LINK_CHANNELS; i++) {
		const struct rate_param rate = { .name = parameter,
						 .description = "[Hz] most messages per second of simulated time; "
								"0: at the scenario's rate",
						 .max = RATE_MAX_HZ };

		snprintf(parameter, sizeof(parameter), "%s.frequency", CHANNELS[i].name);
		r = rate_declare(&l->rate[i], l->params, &rate);
	}
	if (r < 0)
		log_warn("not all parameters can be set: %s", source_why(r));
}

void link_serve(struct link *l, struct server *s)
{
	l->server = s;
}

int link_open(struct link *l, const char *name, const char *socket, const struct vehicle_origin *origin, uint32_t rank)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = name, .socket = socket, .flags = SIM_CLIENT_SOURCE
	};
	int r;

	*l = (struct link){ .vehicle.origin = *origin, .rank = rank };
	r = sim_connect(&co, &l->client);
	if (r == 0)
		r = advertise(l, LINK_OBJECTS, message_objects_max(MESSAGE_OBJECTS_MAX));
	if (r == 0)
		r = advertise(l, LINK_SIGNALS, message_signals_max(MESSAGE_BULBS_MAX));
	if (r == 0)
		r = advertise_place(l);
	for (int i = 0; r == 0 && i < LINK_CHANNELS; i++)
		r = rate_init(&l->rate[i], 0);
	if (r == 0)
		open_params(l, name);
	return r;
}

int link_board(struct link *l, const char *params, const char *origin, struct store *store)
{
	int r = params ? onboard_open(l->client, params, origin, store->more, &l->onboard) : 0;

	l->store = store;
	return r == 0 ? subscribe(l) : r;
}

void link_close(struct link *l)
{
	sim_params_destroy(l->params);
	take_no_part(l);
	sim_driver_release(l->driver);
	onboard_close(l->onboard);
	sim_subscriber_destroy(l->odometry);
	sim_subscriber_destroy(l->can_bus);
	sim_subscriber_destroy(l->ahead);
	for (int i = 0; i < LINK_CHANNELS; i++)
		sim_publisher_destroy(l->out[i].pub);
	sim_publisher_destroy(l->place);
	sim_publisher_destroy(l->ground);
	sim_publisher_destroy(l->advance);
	sim_disconnect(l->client);
}
