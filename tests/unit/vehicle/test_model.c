/* SPDX-License-Identifier: Apache-2.0 */
/* The model against the closed form of its equations, an independent integration, and its limits. */
#include "car.h"

#define FRAME INT64_C(33333333)

static void run(struct model *m, int64_t dur_ns, int64_t step_ns)
{
	for (; dur_ns > 0; dur_ns -= step_ns)
		model_advance(m, dur_ns < step_ns ? dur_ns : step_ns);
}

static void put(struct model *m, double speed, double steer)
{
	model_put(m, &(struct model_place){ .x = 100, .y = -50, .z = 3, .yaw = 0.4, .speed = speed, .steer = steer });
}

/* ---- kinematic ---- */

/* On a circle of radius wheel_base / tan(steer), s = v t + a t^2 / 2 along it. 1 nm after 20 s. */
TEST(constant_commands_give_a_circle)
{
	static const int64_t steps[] = { MS, 10 * MS, FRAME, 700 * MS };
	struct vehicle_params p = car("{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_ACC\"}");
	double steer = 0.2, v = 3, a = 0.5, t = 20, s = v * t + a * t * t / 2, radius = WB / tan(steer);
	static struct model m;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		model_init(&m, &p);
		put(&m, v, steer);
		model_order(&m, &(struct model_order){ .accel = a, .steer = steer, .gear = GEAR_DRIVE });
		run(&m, 20 * S, steps[i]);
		near(m.s.speed, v + a * t, 1e-11);
		near(m.s.x, 100 + radius * (sin(0.4 + s / radius) - sin(0.4)), 1e-9);
		near(m.s.y, -50 - radius * (cos(0.4 + s / radius) - cos(0.4)), 1e-9);
		near(m.s.yaw, model_wrap(0.4 + s / radius), 1e-11);
		near(m.s.yaw_rate, m.s.speed / radius, 1e-12);
		near(m.s.side_accel, m.s.speed * m.s.speed / radius, 1e-11);
		near(m.s.z, 3, 0);
	}
}

/*
 * The plane z = 0.1 x + 0.05 y: along its own axes the same circle, which it leaves for no moment; all of it by the plane's base
 * vectors, as the model does not: u along the start's heading, w across it.
 */
TEST(a_circle_on_a_slope_lies_in_its_plane)
{
	struct vehicle_params p = car("{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_ACC\"}");
	const double h = 0.4, c = cos(h), n = sin(h), rise = 0.1 * c + 0.05 * n, k = sqrt(1 + rise * rise);
	const double u[3] = { c / k, n / k, rise / k }, m3 = sqrt(1 + 0.0125),
		     up[3] = { -0.1 / m3, -0.05 / m3, 1 / m3 };
	const double w[3] = { up[1] * u[2] - up[2] * u[1], up[2] * u[0] - up[0] * u[2], up[0] * u[1] - up[1] * u[0] };
	double steer = 0.2, v = 3, t = 12, radius = WB / tan(steer), by = v * t / radius;
	double along = radius * sin(by), across = radius * (1 - cos(by));
	static struct model m;
	struct model_axes a;

	model_init(&m, &p);
	model_put(&m, &(struct model_place){ .x = 100,
					     .y = -50,
					     .z = 3,
					     .yaw = h,
					     .speed = v,
					     .steer = steer,
					     .slope_x = 0.1,
					     .slope_y = 0.05 });
	model_order(&m, &(struct model_order){ .steer = steer, .gear = GEAR_DRIVE });
	run(&m, (int64_t)(t * 1e9), FRAME);
	near(m.s.x, 100 + along * u[0] + across * w[0], 1e-9);
	near(m.s.y, -50 + along * u[1] + across * w[1], 1e-9);
	near(m.s.z, 3 + along * u[2] + across * w[2], 1e-9);
	near(m.s.z, 3 + 0.1 * (m.s.x - 100) + 0.05 * (m.s.y + 50), 1e-12);
	a = model_axes(&m.s);
	for (int i = 0; i < 3; i++) {
		near(a.forward[i], u[i] * cos(by) + w[i] * sin(by), 1e-11);
		near(a.left[i], w[i] * cos(by) - u[i] * sin(by), 1e-11);
		near(a.up[i], up[i], 1e-15);
	}
	near(sin(a.pitch), -a.forward[2], 1e-15);
	near(sin(a.roll) * cos(a.pitch), a.left[2], 1e-15);
	near(m.s.yaw_rate, v / radius, 1e-12); /* about its own axis */
}

/*
 * From 10 % up to 20 % down, as the caller gives it at each step: the height is the road's, and the distance is that of
 * the rolling wheels.
 */
TEST(a_vehicle_follows_the_ground_it_is_given)
{
	struct vehicle_params p = car("{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_ACC\"}");
	static struct model m;

	model_init(&m, &p);
	model_put(&m, &(struct model_place){ .x = 5, .z = 40, .speed = 10 });
	model_order(&m, &(struct model_order){ .gear = GEAR_DRIVE });
	model_ground(&m, &(struct model_plane){ .x = 4, .z = 41, .slope_x = 0.1 });
	near(m.s.z, 41.1, 1e-12);
	run(&m, S, FRAME);
	near(m.s.x, 5 + 10 / sqrt(1.01), 1e-9);
	near(m.s.z, 41.1 + 1 / sqrt(1.01), 1e-9);
	near(model_axes(&m.s).pitch, -atan(0.1), 1e-15);
	model_ground(&m, &(struct model_plane){ .x = m.s.x, .y = 7, .z = 42, .slope_x = -0.2 });
	near(m.s.z, 42, 1e-12);
	run(&m, S, FRAME);
	near(m.s.z, 42 - 2 / sqrt(1.04), 1e-9);
	near(m.s.speed, 10, 0);
}

/* v(t) = u (t' - tau (1 - e^(-t'/tau))), t' since the dead time is over; way is its integral. 1 pm. */
TEST(acceleration_follows_with_dead_time_and_lag)
{
	struct vehicle_params p = car("{" CAR ", \"acc_time_delay\": 0.137, \"acc_time_constant\": 0.21}");
	static const int64_t steps[] = { MS, FRAME, 250 * MS };
	double u = 1.7, tau = 0.21, t = 3 - 0.137, done = 1 - exp(-t / tau);
	static struct model m;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		model_init(&m, &p);
		model_order(&m, &(struct model_order){ .accel = u, .gear = GEAR_DRIVE });
		model_advance(&m, 137 * MS);
		near(m.s.speed, 0, 0);
		run(&m, 3 * S - 137 * MS, steps[i]);
		near(m.s.accel, u * done, 1e-12);
		near(m.s.speed, u * (t - tau * done), 1e-12);
		near(m.s.x, u * (t * t / 2 - tau * (t - tau * done)), 1e-12);
		near(m.s.y, 0, 0);
	}
}

TEST(wheels_follow_with_dead_time_rate_and_lag)
{
	struct vehicle_params p =
		car("{" CAR ", \"steer_time_delay\": 0.1, \"steer_time_constant\": 0.2, \"steer_rate_lim\": 0.5}");
	static struct model m;
	double full = (0.4 - 0.5 * 0.2) / 0.5; /* s at full rate, then 0.1 rad are left */

	model_init(&m, &p);
	model_order(&m, &(struct model_order){ .steer = 0.4, .gear = GEAR_DRIVE });
	run(&m, 100 * MS + (int64_t)llround(full * 0.5e9), FRAME);
	near(m.s.steer, full * 0.5 * 0.5, 1e-9);
	near(m.s.steer_rate, 0.5, 1e-12);
	run(&m, (int64_t)llround(full * 0.5e9) + 300 * MS, FRAME);
	near(m.s.steer, 0.4 - 0.1 * exp(-0.3 / 0.2), 1e-9);
}

TEST(the_steering_has_bias_and_dead_band)
{
	struct vehicle_params p = car("{" CAR ", \"steer_bias\": 0.02, \"steer_dead_band\": 0.01}");
	static struct model m;

	model_init(&m, &p);
	model_order(&m, &(struct model_order){ .steer = 0.3, .gear = GEAR_DRIVE });
	run(&m, 20 * S, FRAME);
	near(model_measured_steer(&m), 0.29, 1e-9); /* the sensor's view ends at the edge of the band */
	near(m.s.steer, 0.27, 1e-9);
}

/* ---- an independent integration of the whole: Runge-Kutta, 20 us ---- */

struct plain {
	double x, y, yaw, v, a, steer, side, r;
};

static double bound(double x, double most)
{
	return x < -most ? -most : x > most ? most : x;
}

static struct plain change(const struct vehicle_params *p, const struct plain *s, double a_order, double steer_order)
{
	double b = p->wheel_base - p->front_to_cog, af = p->front_to_cog, cf = p->stiffness_front,
	       cr = p->stiffness_rear;
	struct plain d = { .v = s->a,
			   .a = (a_order - s->a) / p->acc_tau_s,
			   .steer = bound((steer_order - s->steer) / p->steer_tau_s, p->steer_rate_lim) };

	if (p->bicycle == BICYCLE_KINEMATIC) {
		d.x = s->v * cos(s->yaw);
		d.y = s->v * sin(s->yaw);
		d.yaw = s->v * tan(s->steer) / p->wheel_base;
		return d;
	}
	/* x, y of the centre of mass */
	double front = cf * (s->steer - (s->side + af * s->r) / s->v), rear = cr * -((s->side - b * s->r) / s->v);

	d.x = s->v * cos(s->yaw) - s->side * sin(s->yaw);
	d.y = s->v * sin(s->yaw) + s->side * cos(s->yaw);
	d.yaw = s->r;
	d.side = (front + rear) / p->mass - s->v * s->r;
	d.r = (af * front - b * rear) / p->yaw_inertia;
	return d;
}

static struct plain added(const struct plain *s, const struct plain *d, double h)
{
	return (struct plain){ s->x + h * d->x, s->y + h * d->y,         s->yaw + h * d->yaw,   s->v + h * d->v,
			       s->a + h * d->a, s->steer + h * d->steer, s->side + h * d->side, s->r + h * d->r };
}

static void runge_kutta(const struct vehicle_params *p, struct plain *s, double a, double steer, double t)
{
	const int n = (int)lround(t / 20e-6);
	double h = t / n;

	for (int i = 0; i < n; i++) {
		struct plain k1 = change(p, s, a, steer), s2 = added(s, &k1, h / 2);
		struct plain k2 = change(p, &s2, a, steer), s3 = added(s, &k2, h / 2);
		struct plain k3 = change(p, &s3, a, steer), s4 = added(s, &k3, h);
		struct plain k4 = change(p, &s4, a, steer);

		*s = added(s, &k1, h / 6);
		*s = added(s, &k2, h / 3);
		*s = added(s, &k3, h / 3);
		*s = added(s, &k4, h / 6);
	}
}

/* A slalom: orders that change every half second for 10 s. */
static void slalom(const char *json, double bound_m)
{
	struct vehicle_params p = car(json);
	double cog = p.bicycle == BICYCLE_DYNAMIC ? p.wheel_base - p.front_to_cog : 0;
	struct plain s = { .x = 100 + cog * cos(0.4), .y = -50 + cog * sin(0.4), .yaw = 0.4, .v = 8 };
	static struct model m;

	model_init(&m, &p);
	put(&m, 8, 0);
	for (int i = 0; i < 20; i++) {
		double a = i % 3 - 0.8, steer = 0.15 * sin(i);

		model_order(&m, &(struct model_order){ .accel = a, .steer = steer, .gear = GEAR_DRIVE });
		run(&m, 500 * MS, FRAME);
		runge_kutta(&p, &s, a, steer, 0.5);
		near(m.s.speed, s.v, 1e-8);
		near(m.s.steer, s.steer, 1e-6);
		near(m.s.x, s.x - cog * cos(s.yaw), bound_m);
		near(m.s.y, s.y - cog * sin(s.yaw), bound_m);
		near(m.s.yaw, model_wrap(s.yaw), bound_m / 10);
	}
}

TEST(a_slalom_matches_an_independent_integration)
{
	slalom("{" CAR ", \"acc_time_delay\": 0, \"steer_time_delay\": 0}", 2e-5);
}

#define TYRES \
	"\"bicycle\": \"dynamic\", \"mass\": 1500, \"yaw_inertia\": 2300, \"front_to_cog\": 1.2, " \
	"\"cornering_stiffness_front\": 120000, \"cornering_stiffness_rear\": 140000"

TEST(a_slalom_with_tyres_matches_an_independent_integration)
{
	slalom("{" CAR ", " TYRES ", \"acc_time_delay\": 0, \"steer_time_delay\": 0}", 2e-4);
}

/* r = v steer / (L + K v^2), K = m (b Cr - a Cf) / (L Cf Cr); the centre of mass on a circle of radius v_cog / r. */
TEST(tyres_settle_on_their_understeer_circle)
{
	struct vehicle_params p = car("{" CAR ", " TYRES ", \"vehicle_model_type\": \"IDEAL_STEER_ACC\"}");
	double v = 20, steer = 0.03, a = 1.2, b = WB - a, cf = 120000, cr = 140000;
	double k = 1500 * (b * cr - a * cf) / (WB * cf * cr), r = v * steer / (WB + k * v * v);
	double side = r * (b - a * 1500 * v * v / (WB * cr)), x0, y0, cx, cy, radius = hypot(v, side) / r;
	static struct model m;

	model_init(&m, &p);
	put(&m, v, steer);
	model_order(&m, &(struct model_order){ .steer = steer, .gear = GEAR_DRIVE });
	run(&m, 20 * S, 10 * MS);
	near(m.s.yaw_rate, r, 1e-12);
	near(m.s.side_speed, side - b * r, 1e-11);
	near(m.s.side_accel, v * r, 1e-9);
	x0 = m.s.x + b * cos(m.s.yaw);
	y0 = m.s.y + b * sin(m.s.yaw);
	cx = x0 - radius * sin(m.s.yaw + atan2(side, v));
	cy = y0 + radius * cos(m.s.yaw + atan2(side, v));
	run(&m, 10 * S, 10 * MS);
	near(hypot(m.s.x + b * cos(m.s.yaw) - cx, m.s.y + b * sin(m.s.yaw) - cy), radius, 1e-7);
}

/* ---- pedals and gears ---- */

static void order(struct model *m, double accel, enum model_gear gear, bool hand_brake)
{
	model_order(m, &(struct model_order){ .accel = accel, .gear = gear, .hand_brake = hand_brake });
}

TEST(brakes_stop_and_hold)
{
	struct vehicle_params p = car("{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_ACC_GEARED\"}");
	static struct model m;

	model_init(&m, &p);
	put(&m, 10, 0);
	order(&m, -4, GEAR_DRIVE, false);
	run(&m, 10 * S, FRAME);
	near(m.s.speed, 0, 0);
	near(m.s.accel, 0, 0);
	near(hypot(m.s.x - 100, m.s.y + 50), 10 * 10 / 8.0, 1e-12); /* v^2 / 2a */
	order(&m, 1, GEAR_DRIVE, false);
	run(&m, S, FRAME);
	near(m.s.speed, 1, 1e-12);
}

TEST(a_lagging_brake_stops_where_its_equation_does)
{
	struct vehicle_params p = car("{" CAR ", \"acc_time_delay\": 0, \"acc_time_constant\": 0.3}");
	static const int64_t steps[] = { MS, FRAME, 4 * S };
	double at[3], t = 2.8;
	static struct model m;

	for (int i = 0; i < 50; i++) /* when 5 - 2 (t - tau (1 - e^(-t/tau))) is 0 */
		t = 2.5 + 0.3 * (1 - exp(-t / 0.3));
	for (size_t i = 0; i < 3; i++) {
		model_init(&m, &p);
		model_put(&m, &(struct model_place){ .speed = 5 });
		order(&m, -2, GEAR_DRIVE, false);
		run(&m, 4 * S, steps[i]);
		near(m.s.speed, 0, 0);
		at[i] = m.s.x;
	}
	for (size_t i = 0; i < 3; i++)
		near(at[i], 5 * t - 2 * (t * t / 2 - 0.3 * (t - 0.3 * (1 - exp(-t / 0.3)))), 1e-11);
}

TEST(the_gear_decides_the_direction_of_a_pedal)
{
	struct vehicle_params p = car("{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_ACC_GEARED\"}");
	static struct model m;

	model_init(&m, &p);
	order(&m, 1, GEAR_REVERSE, false);
	run(&m, 2 * S, FRAME);
	near(m.s.speed, -2, 1e-12);
	near(m.s.accel, -1, 0);
	order(&m, -1, GEAR_REVERSE, false);
	run(&m, 4 * S, FRAME);
	near(m.s.speed, 0, 0);
	order(&m, 1, GEAR_NEUTRAL, false);
	run(&m, S, FRAME);
	near(m.s.speed, 0, 0);
	order(&m, 1, GEAR_PARKING, false);
	run(&m, S, FRAME);
	near(m.s.speed, 0, 0);
	order(&m, 1, GEAR_DRIVE, true);
	run(&m, S, FRAME);
	near(m.s.speed, 0, 0);
}

TEST(a_hand_brake_stops_the_vehicle)
{
	struct vehicle_params p = car("{" CAR ", \"vel_rate_lim\": 5}");
	static struct model m;

	model_init(&m, &p);
	model_put(&m, &(struct model_place){ .speed = 10 });
	order(&m, 3, GEAR_DRIVE, true);
	run(&m, 5 * S, FRAME);
	near(m.s.speed, 0, 0);
	near(m.s.x, 10, 1e-9);
}

TEST(without_gears_braking_leads_into_reverse)
{
	struct vehicle_params p = car("{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_ACC\"}");
	static struct model m;

	model_init(&m, &p);
	order(&m, -1, GEAR_DRIVE, false);
	run(&m, 3 * S, FRAME);
	near(m.s.speed, -3, 1e-12);
}

TEST(models_by_speed_take_a_speed)
{
	struct vehicle_params p =
		car("{" CAR
		    ", \"vehicle_model_type\": \"DELAY_STEER_VEL\", \"vel_time_delay\": 0, \"vel_time_constant\": 0.5, "
		    "\"vel_rate_lim\": 2}");
	static struct model m;
	double full = (5 - 2 * 0.5) / 2; /* s at full rate */

	model_init(&m, &p);
	model_order(&m, &(struct model_order){ .speed = 5, .gear = GEAR_DRIVE });
	run(&m, 3 * S, FRAME);
	near(m.s.speed, 5 - 1 * exp(-(3 - full) / 0.5), 1e-12);
	near(m.s.x, full * full * 2 / 2 + 5 * (3 - full) - 0.5 * (1 - exp(-(3 - full) / 0.5)), 1e-12);
}

/* ---- limits, and the same again ---- */

static void drive_at_random(struct model *m, const char *json, uint64_t seed)
{
	struct vehicle_params p = car(json);
	struct rnd r;

	rnd_seed(&r, seed);
	model_init(m, &p);
	for (int i = 0; i < 20000; i++) {
		struct model_state before = m->s;
		int64_t dur_ns = 1 + (int64_t)(unit(&r) * 50e6);
		double dt = (double)dur_ns / 1e9, pedal = m->motion.pedal;
		struct model_order o = { .accel = (unit(&r) - 0.5) * 40,
					 .speed = (unit(&r) - 0.5) * 100,
					 .steer = (unit(&r) - 0.5) * 4,
					 .gear = (enum model_gear)rnd_below(&r, 5),
					 .hand_brake = rnd_below(&r, 10) == 0 };

		model_order(m, &o);
		model_advance(m, dur_ns);
		assert_true(fabs(m->s.speed) <= p.vel_lim);
		assert_true(fabs(m->s.steer) <= p.steer_lim);
		assert_true(fabs(m->s.accel) <= p.vel_rate_lim * 2 + 1e-9); /* pedal and hand brake at most */
		assert_true(fabs(m->motion.pedal) <= p.vel_rate_lim + 1e-9);
		assert_true(fabs(m->s.steer - before.steer) <= p.steer_rate_lim * dt + 1e-12);
		assert_true(fabs(m->motion.pedal - pedal) <= p.jerk_lim * dt + 1e-9);
		assert_true(hypot(m->s.x - before.x, m->s.y - before.y) <= (p.vel_lim + 50) * dt + 1e-9);
		assert_true(isfinite(m->s.x + m->s.y + m->s.yaw + m->s.yaw_rate + m->s.side_accel + m->s.side_speed));
	}
}

static const char *const cars[] = {
	"{" CAR ", \"vel_lim\": 20, \"steer_lim\": 0.6, \"steer_rate_lim\": 0.7, \"jerk_lim\": 9}",
	"{" CAR
	", \"vel_lim\": 20, \"steer_lim\": 0.6, \"steer_rate_lim\": 0.7, \"vehicle_model_type\": \"DELAY_STEER_VEL\"}",
	"{" CAR ", \"vel_lim\": 20, \"steer_lim\": 0.6, \"vehicle_model_type\": \"DELAY_STEER_ACC\"}",
	"{" CAR ", \"vel_lim\": 20, \"steer_lim\": 0.5, \"jerk_lim\": 5, " TYRES "}",
};

TEST(limits_hold_under_any_commands)
{
	static struct model m;

	for (size_t i = 0; i < sizeof(cars) / sizeof(cars[0]); i++)
		drive_at_random(&m, cars[i], test_seed(3));
}

TEST(the_same_commands_give_identical_bits)
{
	static struct model a, b;

	for (size_t i = 0; i < sizeof(cars) / sizeof(cars[0]); i++) {
		drive_at_random(&a, cars[i], 4);
		drive_at_random(&b, cars[i], 4);
		assert_memory_equal(&a.s, &b.s, sizeof(a.s));
	}
}
