/* SPDX-License-Identifier: Apache-2.0 */
/* sim-vehicle's connection to simd. See attach.h. */
#include "attach.h"

#include <errno.h>
#include <string.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/EmergencyCommand.h>
#include <sim/msg/EngageCommand.h>
#include <sim/msg/GearCommand.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/HazardCommand.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Int64.h>
#include <sim/msg/Pose.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/TurnCommand.h>
#include <sim/msg/VehicleControl.h>
#include <sim/msg/VehicleMode.h>
#include <sim/msg/VehicleOdometry.h>
#include <sim/msg/VehicleState.h>
#include <sim/srv/ControlModeCommand.h>
#include <sim/srv/PlaceVehicle.h>

#include "err.h"
#include "log.h"
#include "thread.h"

LOG_TOPIC("vehicle");

#define AHEAD_WAIT_NS INT64_C(100000000) /* wall: how often the thread checks whether to end */
#define DEPTH         64                 /* commands per step */

static const struct {
	const char *name;
	const struct sim_type *type;
	const char *frame;
	size_t (*fill)(const struct moment *m, void *body, size_t cap);
	size_t (*most)(void); /* NULL: the type's fixed size */
} OUT[OUT_COUNT] = {
	[OUT_TF] = { "tf", &sim_Transforms_type, FRAME_MAP, message_tf, message_tf_max },
	[OUT_ODOM] = { "odom", &sim_GpsOdometry_type, ODOM_FRAME, message_odom, odom_max },
	[OUT_IMU] = { "imu", &sim_Imu_type, FRAME_BASE, message_imu, NULL },
	[OUT_GPS] = { "gps", &sim_Gps_type, FRAME_BASE, message_gps, NULL },
	[OUT_GPS_ODOMETRY] = { "gps_odometry", &sim_GpsOdometry_type, FRAME_MAP, message_gps_odometry,
			       message_gps_odometry_max },
	[OUT_CAN_BUS] = { "can_bus", &sim_CanBus_type, FRAME_BASE, message_can_bus, NULL },
	[OUT_ODOMETRY] = { "vehicle_odometry", &sim_VehicleOdometry_type, FRAME_BASE, message_odometry, NULL },
};

/* The names in Autoware's vehicle interface, and in AWSIM. */
static const char *const MODE[MODE_NAMES] = { "control/control_mode_request", "input/control_mode_request" };

/* ---- commands ---- */

/* Each handles a checked body of its type. 0, or an error with a sentence in err_why(). */
static int on_place(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_VehiclePlacement *p = sim_VehiclePlacement_from(m->body, m->body_size);

	return p ? vehicle_place(v, p) : -EINVAL;
}

static int on_ground(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_Pose *p = sim_Pose_from(m->body, m->body_size);

	return p ? vehicle_ground(v, p) : -EINVAL;
}

static int on_state(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_VehicleState *s = sim_VehicleState_from(m->body, m->body_size);

	return s ? orders_state(&v->orders, s) : -EINVAL;
}

static int on_gear(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_GearCommand *c = sim_GearCommand_from(m->body, m->body_size);

	return c ? orders_gear(&v->orders, c->gear) : -EINVAL;
}

static int on_turn(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_TurnCommand *c = sim_TurnCommand_from(m->body, m->body_size);

	return c ? orders_turn(&v->orders, c->turn) : -EINVAL;
}

static int on_hazard(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_HazardCommand *c = sim_HazardCommand_from(m->body, m->body_size);

	if (!c)
		return -EINVAL;
	v->orders.hazard = c->on != 0;
	return 0;
}

static int on_emergency(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_EmergencyCommand *c = sim_EmergencyCommand_from(m->body, m->body_size);

	if (!c)
		return -EINVAL;
	v->orders.emergency = c->emergency != 0;
	return 0;
}

static int on_engage(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_EngageCommand *c = sim_EngageCommand_from(m->body, m->body_size);

	if (!c)
		return -EINVAL;
	v->orders.mode = c->engage ? SIM_VEHICLE_MODE_AUTO : SIM_VEHICLE_MODE_MANUAL;
	return 0;
}

static int on_control(struct vehicle *v, const struct sim_message *m)
{
	const struct sim_VehicleControl *c = sim_VehicleControl_from(m->body, m->body_size);

	return c ? vehicle_control(v, c, m->header.stamp_sim_ns) : -EINVAL;
}

static const struct {
	const char *name;
	const struct sim_type *type;
	int (*take)(struct vehicle *v, const struct sim_message *m);
} IN[IN_COUNT] = {
	[IN_PLACE] = { "place_ego", &sim_VehiclePlacement_type, on_place },
	[IN_GROUND] = { "ego_ground", &sim_Pose_type, on_ground },
	[IN_STATE] = { "state", &sim_VehicleState_type, on_state },
	[IN_GEAR] = { "gear", &sim_GearCommand_type, on_gear },
	[IN_TURN] = { "turn", &sim_TurnCommand_type, on_turn },
	[IN_HAZARD] = { "hazard", &sim_HazardCommand_type, on_hazard },
	[IN_EMERGENCY] = { "emergency", &sim_EmergencyCommand_type, on_emergency },
	[IN_ENGAGE] = { "engage", &sim_EngageCommand_type, on_engage },
	[IN_CONTROL] = { "control", &sim_VehicleControl_type, on_control },
};

static void ignored(struct vehicle_link *l, const char *what)
{
	if (l->ignored++ == 0)
		log_warn("%s: ignoring a message: %s", what, *err_why() ? err_why() : "it does not hold");
}

static void take(struct vehicle_link *l, enum link_in in, struct vehicle *v)
{
	const struct sim_message *m;

	while (sim_take(l->in[in], &m) == 0) {
		err_clear();
		if (IN[in].take(v, m) < 0)
			ignored(l, IN[in].name);
		(void)sim_release(l->in[in], m);
	}
}

/* Applies the requests that services have received since the last step. */
static void take_asked(struct vehicle_link *l, struct vehicle *v)
{
	pthread_mutex_lock(&l->lock);
	if (l->asked.mode)
		v->orders.mode = l->asked.wanted_mode;
	if (l->asked.place &&
	    vehicle_place(v, sim_VehiclePlacement_from(l->asked.placement, l->asked.placement_size)) < 0)
		ignored(l, "place_ego");
	l->asked.place = l->asked.mode = false;
	pthread_mutex_unlock(&l->lock);
}

static void measure_odom(struct vehicle_link *l, const struct vehicle *v, bool jumped)
{
	const struct model_state *s = &v->model.s;
	const struct odom_pose at = { .x = s->x, .y = s->y, .z = s->z, .yaw = s->yaw };

	if (l->odom.on)
		odom_move(&l->odom, &at, jumped);
}

/* Applies all commands that have arrived and moves to the end of the step; placements last. */
static void step(struct vehicle_link *l, struct vehicle *v)
{
	uint32_t jumps = v->jumps, spawns = v->spawns;

	for (int i = IN_PLACE + 1; i < IN_COUNT; i++)
		take(l, (enum link_in)i, v);
	vehicle_end(v);
	measure_odom(l, v, false);
	take(l, IN_PLACE, v);
	take_asked(l, v);
	if (v->spawns != spawns)
		odom_restart(&l->odom);
	if (v->jumps != jumps)
		measure_odom(l, v, true);
}

/* ---- services ---- */

/* Makes a message of its own from the placement in a request, by copying it. */
static size_t copy_placement(const struct sim_VehiclePlacement *from, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_VehiclePlacement *p = sim_VehiclePlacement_init(body, cap, &b);

	if (!p)
		return 0;
	*p = *from;
	memset(&p->name, 0, sizeof(p->name)); /* a reference into the request's body */
	return sim_builder_size(&b);
}

static int on_place_request(void *user, struct sim_request *req)
{
	const struct sim_PlaceVehicleRequest *q = sim_PlaceVehicleRequest_from(req->body, req->size);
	struct sim_PlaceVehicleResponse *response;
	struct vehicle_link *l = user;
	struct sim_builder b;
	int r = q ? vehicle_check_placement(&l->vehicle->base, &q->placement) : -EBADMSG;

	response = sim_PlaceVehicleResponse_init(req->response, req->response_capacity, &b);
	response->success = r == 0;
	(void)sim_PlaceVehicleResponse_message_set(&b, r < 0 ? err_why() : "");
	if (r == 0) {
		pthread_mutex_lock(&l->lock);
		l->asked.placement_size = copy_placement(&q->placement, l->asked.placement, sizeof(l->asked.placement));
		l->asked.place = l->asked.placement_size > 0;
		pthread_mutex_unlock(&l->lock);
	}
	req->response_size = sim_builder_size(&b);
	return 0;
}

/*
 * In a run with scenario_simulator_v2 the scenario takes the vehicle over by itself: a stack may only request to drive,
 * as with its own vehicle.
 */
static bool offers(const struct vehicle_link *l, uint8_t asked)
{
	return asked == SIM_CONTROL_MODE_COMMAND_REQUEST_AUTONOMOUS ||
	       __atomic_load_n(&sim_clock_page(l->client)->source, __ATOMIC_RELAXED) != SIM_SOURCE_SS2;
}

static int mode_of(uint8_t asked, uint8_t *ret)
{
	switch (asked) {
	case SIM_CONTROL_MODE_COMMAND_REQUEST_AUTONOMOUS:
		*ret = SIM_VEHICLE_MODE_AUTO;
		return 0;
	case SIM_CONTROL_MODE_COMMAND_REQUEST_AUTONOMOUS_STEER_ONLY:
		*ret = SIM_VEHICLE_MODE_AUTO_STEER;
		return 0;
	case SIM_CONTROL_MODE_COMMAND_REQUEST_AUTONOMOUS_VELOCITY_ONLY:
		*ret = SIM_VEHICLE_MODE_AUTO_SPEED;
		return 0;
	case SIM_CONTROL_MODE_COMMAND_REQUEST_MANUAL:
		*ret = SIM_VEHICLE_MODE_MANUAL;
		return 0;
	default:
		return -EINVAL;
	}
}

static int on_mode_request(void *user, struct sim_request *req)
{
	const struct sim_ControlModeCommandRequest *q = sim_ControlModeCommandRequest_from(req->body, req->size);
	struct sim_ControlModeCommandResponse *response;
	struct vehicle_link *l = user;
	struct sim_builder b;
	uint8_t mode;

	response = sim_ControlModeCommandResponse_init(req->response, req->response_capacity, &b);
	response->success = q && offers(l, q->mode) && mode_of(q->mode, &mode) == 0;
	if (response->success) {
		pthread_mutex_lock(&l->lock);
		l->asked.mode = true;
		l->asked.wanted_mode = mode;
		pthread_mutex_unlock(&l->lock);
	}
	return 0;
}

/* ---- publishing ---- */

static size_t room(enum link_out ch)
{
	return OUT[ch].most ? OUT[ch].most() : OUT[ch].type->fixed_size;
}

static int publish(struct vehicle_link *l, enum link_out ch, const struct moment *m, int64_t stamp_sim_ns)
{
	size_t cap = room(ch);
	struct sim_slot *slot;
	int r = sim_loan(l->out[ch].pub, cap, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = stamp_sim_ns;
	return outlet_send(&l->out[ch], slot, OUT[ch].fill(m, sim_slot_body_mut(slot), cap), NULL);
}

static void publish_all(struct vehicle_link *l, struct vehicle *v, const struct sim_clock_sample *now)
{
	struct moment m = {
		.model = &v->model, .orders = &v->orders, .origin = l->origin, .odom = l->odom.on ? &l->odom : NULL
	};

	if (!rate_due(&l->rate, now))
		return;
	m.gyro = vehicle_gyro(v, &m.span_dur_ns);
	for (int i = 0; i < OUT_COUNT; i++)
		if (l->out[i].pub)
			outlet_count(&l->out[i], publish(l, (enum link_out)i, &m, now->sim_ns));
}

void vehicle_link_turn(struct vehicle_link *l, const struct sim_clock_sample *now)
{
	struct vehicle *v = l->vehicle;
	uint64_t cut = v->cut;

	pthread_mutex_lock(&l->stepping);
	vehicle_begin(v, now);
	if (v->cut != cut && cut == 0)
		log_warn("time moved on by %.3f s in one step: the vehicle moves %lld s of it",
			 (double)v->step_dur_ns / 1e9, (long long)(VEHICLE_STEP_MAX_NS / 1000000000));
	step(l, v);
	publish_all(l, v, now);
	pthread_mutex_unlock(&l->stepping);
}

void vehicle_link_report(const struct vehicle_link *l)
{
	for (int i = 0; i < OUT_COUNT; i++)
		if (l->out[i].pub)
			outlet_report(&l->out[i]);
	log_info("%llu orders taken, %llu messages ignored", (unsigned long long)l->vehicle->orders.messages,
		 (unsigned long long)l->ignored);
}

static int named(int r, const char *what)
{
	return r < 0 ? err_set(r, "%s: %s", what, source_why(r)) : 0;
}

/* ---- ahead of time ---- */

/* A scenario asks for the vehicle's pose in its next frame, before it advances time to it. */
int vehicle_link_ahead(struct vehicle_link *l, int64_t to_sim_ns)
{
	int r;

	if (!(__atomic_load_n(&sim_clock_page(l->client)->flags, __ATOMIC_RELAXED) & SIM_CLOCK_LOCKSTEP))
		return err_set(-EAGAIN, "nobody takes part in steps");
	r = vehicle_begin_ahead(l->vehicle, to_sim_ns);
	if (r == 0)
		step(l, l->vehicle);
	return r;
}

static void move_ahead(struct vehicle_link *l, int64_t to_sim_ns)
{
	size_t cap = message_gps_odometry_max();
	struct sim_slot *slot;

	pthread_mutex_lock(&l->stepping);
	if (vehicle_link_ahead(l, to_sim_ns) == 0 && sim_loan(l->ahead, cap, &slot) == 0) {
		const struct moment m = { .model = &l->vehicle->model,
					  .orders = &l->vehicle->orders,
					  .origin = l->origin };

		slot->stamp_sim_ns = to_sim_ns;
		if (sim_slot_set_size(slot, message_gps_odometry(&m, sim_slot_body_mut(slot), cap)) < 0)
			(void)sim_unloan(l->ahead, slot);
		else if (sim_publish_local(l->ahead, slot) < 0)
			log_warn("ego_ahead: %s; ignoring", sim_why());
	}
	pthread_mutex_unlock(&l->stepping);
}

static void *serve_ahead(void *arg)
{
	struct vehicle_link *l = arg;

	while (!atomic_load(&l->leaving)) {
		const struct sim_message *m;

		if (sim_wait(l->asked_ahead, AHEAD_WAIT_NS) < 0)
			(void)nanosleep(&(struct timespec){ .tv_nsec = AHEAD_WAIT_NS }, NULL);
		for (; sim_take(l->asked_ahead, &m) == 0; (void)sim_release(l->asked_ahead, m)) {
			const struct sim_Int64 *to = sim_Int64_from(m->body, m->body_size);

			if (to)
				move_ahead(l, to->data);
		}
	}
	return NULL;
}

int vehicle_link_serve_ahead(struct vehicle_link *l)
{
	struct sim_publisher_options po = { .size = sizeof(po),
					    .max_body = message_gps_odometry_max(),
					    .frame_id = FRAME_MAP,
					    .flags = SIM_PUB_LOCAL };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 4 };
	int r = named(sim_advertise(l->client, "ego_ahead", &sim_GpsOdometry_type, &po, &l->ahead), "ego_ahead");

	if (r == 0)
		r = named(sim_subscribe(l->client, "advance_ego", &sim_Int64_type, &so, &l->asked_ahead),
			  "advance_ego");
	if (r == 0)
		r = named(thread_start(&l->serving, "ahead", serve_ahead, l), "a thread");
	l->serves = r == 0;
	return r;
}

/* ---- open and close ---- */

static int advertise(struct vehicle_link *l, enum link_out ch)
{
	struct sim_publisher_options po = {
		.size = sizeof(po), .max_body = room(ch), .frame_id = OUT[ch].frame, .flags = SIM_PUB_NO_WAIT
	};

	l->out[ch].name = OUT[ch].name;
	return named(sim_advertise(l->client, OUT[ch].name, OUT[ch].type, &po, &l->out[ch].pub), OUT[ch].name);
}

static int offer(struct vehicle_link *l)
{
	int r = named(sim_service_offer(l->client, "place_ego", &sim_PlaceVehicle_service, NULL, on_place_request, l,
					&l->place),
		      "service place_ego");

	for (int i = 0; r == 0 && i < MODE_NAMES; i++)
		r = named(sim_service_offer(l->client, MODE[i], &sim_ControlModeCommand_service, NULL, on_mode_request,
					    l, &l->mode[i]),
			  MODE[i]);
	return r;
}

int vehicle_link_open(struct vehicle_link *l, struct sim_client *c, double rate_hz, struct vehicle *v,
		      const struct origin *o, const struct odom *odom)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = DEPTH };
	int r;

	l->client = c;
	l->vehicle = v;
	l->origin = o;
	if (odom)
		l->odom = *odom;
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->stepping, NULL);
	r = named(rate_init(&l->rate, rate_hz), "--rate");
	for (int i = 0; r == 0 && i < OUT_COUNT; i++)
		r = l->odom.on || i != OUT_ODOM ? advertise(l, (enum link_out)i) : 0;
	for (int i = 0; r == 0 && i < IN_COUNT; i++)
		r = named(sim_subscribe(c, IN[i].name, IN[i].type, &so, &l->in[i]), IN[i].name);
	if (r == 0)
		r = offer(l);
	return r;
}

void vehicle_link_close(struct vehicle_link *l)
{
	sim_service_destroy(l->place);
	for (int i = 0; i < MODE_NAMES; i++)
		sim_service_destroy(l->mode[i]);
	atomic_store(&l->leaving, true);
	if (l->serves)
		pthread_join(l->serving, NULL);
	sim_subscriber_destroy(l->asked_ahead);
	sim_publisher_destroy(l->ahead);
	for (int i = 0; i < IN_COUNT; i++)
		sim_subscriber_destroy(l->in[i]);
	for (int i = 0; i < OUT_COUNT; i++)
		sim_publisher_destroy(l->out[i].pub);
}
