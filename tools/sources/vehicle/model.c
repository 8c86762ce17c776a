/* SPDX-License-Identifier: Apache-2.0 */
/* A vehicle. See model.h. */
#include "model.h"

#include <math.h>

#include "tyres.h"

#define PIECE_NS INT64_C(2000000) /* while the wheels turn, the tyres slip, or a map gives the acceleration */
#define STILL    1e-12            /* rad: wheels this close to their target do not turn */

double model_wrap(double rad)
{
	return remainder(rad, 2 * M_PI);
}

static double clamp(double v, double most)
{
	return v < -most ? -most : v > most ? most : v;
}

static int64_t delay_of(const struct vehicle_params *p, int64_t dur_ns)
{
	return params_ideal(p) ? 0 : dur_ns;
}

static void forget_orders(struct model *m, double accel, double speed, double steer)
{
	const struct vehicle_params *p = &m->p;

	dead_time_init(&m->accel, delay_of(p, p->acc_delay_dur_ns), accel);
	dead_time_init(&m->speed, delay_of(p, p->vel_delay_dur_ns), speed);
	dead_time_init(&m->steer, delay_of(p, p->steer_delay_dur_ns), steer);
}

void model_init(struct model *m, const struct vehicle_params *p)
{
	m->p = *p;
	m->s = (struct model_state){ 0 };
	m->order = (struct model_order){ .gear = GEAR_DRIVE };
	m->motion = (struct longitudinal){ 0 };
	m->now_ns = 0;
	forget_orders(m, 0, 0, 0);
}

void model_put(struct model *m, const struct model_place *at)
{
	double steer = clamp(at->steer, m->p.steer_lim), speed = clamp(at->speed, m->p.vel_lim);
	double accel = clamp(at->accel, m->p.vel_rate_lim);

	m->s = (struct model_state){ .x = at->x,
				     .y = at->y,
				     .z = at->z,
				     .yaw = model_wrap(at->yaw),
				     .slope_x = at->slope_x,
				     .slope_y = at->slope_y,
				     .speed = speed,
				     .accel = accel,
				     .steer = steer,
				     .yaw_rate = speed * tan(steer) / m->p.wheel_base };
	m->s.side_accel = m->s.yaw_rate * speed;
	m->motion = (struct longitudinal){ .speed = speed,
					   .pedal = params_geared(&m->p) && speed < 0 ? -accel : accel,
					   .accel = accel };
	forget_orders(m, 0, 0, 0);
	/* the present command is applied again, after its dead time */
	model_order(m, &m->order);
}

void model_ground(struct model *m, const struct model_plane *g)
{
	m->s.z = g->z + g->slope_x * (m->s.x - g->x) + g->slope_y * (m->s.y - g->y);
	m->s.slope_x = g->slope_x;
	m->s.slope_y = g->slope_y;
}

void model_order(struct model *m, const struct model_order *o)
{
	const struct vehicle_params *p = &m->p;

	m->order = *o;
	dead_time_put(&m->accel, m->now_ns, clamp(clamp(o->accel, p->vel_rate_lim) * p->acc_scale, p->vel_rate_lim));
	dead_time_put(&m->speed, m->now_ns, clamp(o->speed, p->vel_lim));
	dead_time_put(&m->steer, m->now_ns, clamp(clamp(o->steer, p->steer_lim) * p->steer_scale, p->steer_lim));
}

/* ---- actuators ---- */

static struct lag lag_of(const struct vehicle_params *p, double tau_s, double rate)
{
	return params_ideal(p) ? (struct lag){ .rate = INFINITY } : (struct lag){ .tau_s = tau_s, .rate = rate };
}

/* Target of the wheels: commands are in the sensor's terms, and differences within the dead band are ignored. */
static double steer_goal(const struct model *m)
{
	double goal = clamp(m->steer.value - m->p.steer_bias, m->p.steer_lim), off = m->s.steer - goal;
	double band = params_ideal(&m->p) ? 0 : m->p.steer_dead_band;

	if (fabs(off) <= band)
		return m->s.steer;
	return goal + copysign(band, off);
}

static int direction_of(enum model_gear g)
{
	return g == GEAR_DRIVE || g == GEAR_LOW ? 1 : g == GEAR_REVERSE ? -1 : 0;
}

static bool held(const struct model *m)
{
	return m->order.hand_brake || m->order.gear == GEAR_PARKING;
}

static double move_by_speed(struct model *m, double dt_s)
{
	double wanted = held(m) ? 0 : m->speed.value, before = m->motion.speed;
	struct lag l = lag_of(&m->p, m->p.vel_tau_s, m->p.vel_rate_lim);
	struct lag_motion now = lag_move(&l, before, wanted, dt_s);

	m->motion.speed = now.x;
	m->motion.accel = l.tau_s > 0 ? clamp((wanted - now.x) / l.tau_s, l.rate) : (now.x - before) / dt_s;
	return now.integral;
}

/* Target of the pedals: a map is evaluated at the speed in the middle of the piece. */
static double pedal_goal(const struct model *m, const struct longitudinal_params *lp, double hold, double dt_s)
{
	const struct accel_map *map = &m->p.map;
	struct longitudinal half = m->motion;
	double goal = m->accel.value;

	if (!map->n_orders)
		return goal;
	(void)longitudinal_move(&half, lp, accel_map_at(map, goal, fabs(half.speed)), direction_of(m->order.gear), hold,
				dt_s / 2);
	return accel_map_at(map, goal, fabs(half.speed));
}

static double move_by_pedal(struct model *m, double dt_s)
{
	double hold = held(m) ? m->p.vel_rate_lim : 0;
	const struct longitudinal_params lp = {
		.pedal = lag_of(&m->p, m->p.acc_tau_s, m->p.jerk_lim),
		.speed_lim = m->p.vel_lim,
		.geared = params_geared(&m->p),
	};

	return longitudinal_move(&m->motion, &lp, pedal_goal(m, &lp, hold, dt_s), direction_of(m->order.gear), hold,
				 dt_s);
}

/* ---- paths ---- */

/* Up is perpendicular to the plane; forward lies in it, along the heading. */
struct model_axes model_axes(const struct model_state *s)
{
	double c = cos(s->yaw), n = sin(s->yaw);
	double rise = s->slope_x * c + s->slope_y * n, bank = s->slope_y * c - s->slope_x * n;
	double k = 1 / sqrt(1 + rise * rise), up = 1 / sqrt(1 + rise * rise + bank * bank);
	double back = k * up * bank * rise, side = up / k;

	return (struct model_axes){ .forward = { k * c, k * n, k * rise },
				    .left = { -back * c - side * n, side * c - back * n, k * up * bank },
				    .up = { -up * s->slope_x, -up * s->slope_y, up },
				    .pitch = 0 - atan(rise),
				    .roll = atan(bank * k) };
}

/* Moves in the plane of the ground and turns. */
static void turn(struct model_state *s, double forward, double left, double by)
{
	const struct model_axes a = model_axes(s);
	double dx = forward * a.forward[0] + left * a.left[0], dy = forward * a.forward[1] + left * a.left[1];
	double c = cos(by), n = sin(by);

	s->x += dx;
	s->y += dy;
	s->turned += by;
	s->z += s->slope_x * dx + s->slope_y * dy;
	if (s->slope_x == 0 && s->slope_y == 0)
		s->yaw = model_wrap(s->yaw + by);
	else
		s->yaw = atan2(c * a.forward[1] + n * a.left[1], c * a.forward[0] + n * a.left[0]);
}

static double sinc(double x)
{
	return fabs(x) < 1e-4 ? 1 - x * x / 6 : sin(x) / x;
}

static void roll(struct model *m, double way, double steer)
{
	double by = way * tan(steer) / m->p.wheel_base, chord = way * sinc(by / 2);

	turn(&m->s, chord * cos(by / 2), chord * sin(by / 2), by);
	m->s.side_speed = 0;
	m->s.yaw_rate = m->motion.speed * tan(m->s.steer) / m->p.wheel_base;
	m->s.side_accel = m->s.yaw_rate * m->motion.speed;
}

/* The path of the centre of mass by Simpson's rule, in the axes at the start; base_link lies behind it. */
static void slip(struct model *m, double before, double steer, double dt_s)
{
	double rear = m->p.wheel_base - m->p.front_to_cog, speed = (before + m->motion.speed) / 2;
	struct tyres_state s = { .side_speed = m->s.side_speed + rear * m->s.yaw_rate, .yaw_rate = m->s.yaw_rate };
	struct tyres_motion mid = tyres_move(&m->p, s, speed, steer, dt_s / 2);
	struct tyres_motion end = tyres_move(&m->p, s, speed, steer, dt_s);
	double cm = cos(mid.turned), sm = sin(mid.turned), ce = cos(end.turned), se = sin(end.turned);
	double vm = mid.end.side_speed, ve = end.end.side_speed, after = m->motion.speed;
	double forward = before + 4 * (speed * cm - vm * sm) + after * ce - ve * se;
	double left = s.side_speed + 4 * (speed * sm + vm * cm) + after * se + ve * ce;

	turn(&m->s, rear + forward * dt_s / 6 - rear * ce, left * dt_s / 6 - rear * se, end.turned);
	m->s.yaw_rate = end.end.yaw_rate;
	m->s.side_speed = ve - rear * end.end.yaw_rate;
	m->s.side_accel = end.rate.side_speed - rear * end.rate.yaw_rate + end.end.yaw_rate * after;
}

static bool slips(const struct model *m, double before)
{
	return m->p.bicycle == BICYCLE_DYNAMIC && fabs(before) >= MODEL_SLOW && before * m->motion.speed > 0 &&
	       fabs(m->motion.speed) >= MODEL_SLOW;
}

/* Integrates a piece in which no command takes effect. */
static void move(struct model *m, int64_t dur_ns)
{
	double dt_s = (double)dur_ns / 1e9, goal = steer_goal(m), before = m->motion.speed, middle, way;
	struct lag wheels = lag_of(&m->p, m->p.steer_tau_s, m->p.steer_rate_lim);
	struct lag_motion end = lag_move(&wheels, m->s.steer, goal, dt_s);

	middle = lag_move(&wheels, m->s.steer, goal, dt_s / 2).x;
	way = params_by_speed(&m->p) ? move_by_speed(m, dt_s) : move_by_pedal(m, dt_s);
	m->s.steer_rate =
		wheels.tau_s > 0 ? clamp((goal - end.x) / wheels.tau_s, wheels.rate) : (end.x - m->s.steer) / dt_s;
	m->s.steer = end.x;
	if (slips(m, before))
		slip(m, before, middle, dt_s);
	else
		roll(m, way, middle);
	m->s.speed = m->motion.speed;
	m->s.accel = m->motion.accel;
	m->now_ns += dur_ns;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Time in which only what the integration of a piece covers changes. */
static int64_t piece_of(const struct model *m, int64_t end_ns)
{
	int64_t until_ns = least(least(dead_time_next_ns(&m->accel), dead_time_next_ns(&m->speed)),
				 least(dead_time_next_ns(&m->steer), end_ns));
	bool still =
		fabs(steer_goal(m) - m->s.steer) <= STILL && m->p.bicycle == BICYCLE_KINEMATIC && !m->p.map.n_orders;

	return still ? until_ns - m->now_ns : least(until_ns - m->now_ns, PIECE_NS);
}

void model_advance(struct model *m, int64_t dur_ns)
{
	int64_t end_ns = m->now_ns + dur_ns;

	while (m->now_ns < end_ns) {
		dead_time_pass(&m->accel, m->now_ns);
		dead_time_pass(&m->speed, m->now_ns);
		dead_time_pass(&m->steer, m->now_ns);
		move(m, piece_of(m, end_ns));
	}
}
