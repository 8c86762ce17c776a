/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ego's body: turns SUMO's values (a point on a lane, an angle, a speed) into what sensors measure.
 *
 * Frame "base_link": middle of the rear axle, on the road, x forward, y left, z up. SUMO's position is the middle of
 * the front bumper. Its path has corners (a lane is a polyline) and its angle jumps where lanes meet, by up to 15
 * degrees in one step of 10 ms; differentiating that would give an IMU thousands of degrees a second. So only the path
 * of the front is taken from SUMO. The direction in which the front goes follows it with a lag of 0.06 s, and converges
 * to it; the front pulls the rear axle, which rolls without slipping sideways. That curve has a closed form (a
 * tractrix): with distance s of the front and beta between its direction and the yaw,
 *
 *     tan(beta_after / 2) = tan(beta / 2) exp(-s / d),   yaw turns by beta - beta_after
 *
 * with d from rear axle to front bumper. Yaw rate and speed are the step's changes of yaw and of base_link's position,
 * so that their integrals are exactly yaw and position, for any step. The front is some centimetres beside SUMO's after
 * a corner, and for some 40 m after an instant lane change by SUMO. If it is EGO_JUMP_M away (SUMO teleports the ego),
 * the body restarts there. Between two lanes with no lane connecting them (a junction without internal lanes) the body
 * is carried over: the position jumps, the yaw does not, and then it turns as it drives.
 *
 * Driven from outside, the body is a kinematic bicycle that integrates wheel angle and acceleration.
 *
 * Thread: one at a time. Pure arithmetic: the same inputs give the same bits.
 */
#ifndef SOURCES_SUMO_EGO_H
#define SOURCES_SUMO_EGO_H

#include <stdbool.h>
#include <stdint.h>

#define EGO_GRAVITY 9.80665 /* m/s^2 */
#define EGO_JUMP_M  5.0     /* distance to SUMO's front from which it counts as teleported */

struct ego_params {
	double length;          /* m, bumper to bumper */
	double rear_overhang;   /* m, rear bumper to rear axle */
	double wheelbase;       /* m */
	double wheel_radius;    /* m */
	double gear_ratio;      /* motor turns per wheel turn: an electric car with one gear */
	double max_wheel_angle; /* rad, full lock */
	double max_wheel_rate;  /* rad/s */
	double max_accel;       /* m/s^2 at full throttle */
	double max_brake;       /* m/s^2 at full brake */
};

enum ego_gear { EGO_NEUTRAL = 0, EGO_DRIVE = 1, EGO_REVERSE = 2, EGO_PARKING = 3, EGO_LOW = 4 };

/* Command of an external driver; filled from messages, held until the next one. */
struct ego_command {
	double throttle, brake;    /* 0..1 */
	bool has_accel, has_speed; /* if set, replaces throttle and brake */
	double accel;              /* m/s^2 */
	double speed;              /* m/s, forward */
	double wheel_angle;        /* rad, left is positive */
	double wheel_rate;         /* rad/s, 0: as fast as possible */
	enum ego_gear gear;
};

struct ego {
	struct ego_params p;
	/* state */
	double pos[3];          /* m, map, base_link */
	double yaw;             /* rad, map, 0 is east, anticlockwise, -pi..pi */
	double turned;          /* rad, sum over all steps: yaw without wrapping and jumps */
	double speed;           /* m/s along x */
	double yaw_rate;        /* rad/s */
	double accel;           /* m/s^2 along x, low-passed */
	double wheel_angle;     /* rad, left is positive */
	double throttle, brake; /* 0..1; estimated while SUMO drives */
	enum ego_gear gear;
	uint32_t jumps; /* how often it was restarted or carried over */
	/* private */
	bool started;
	double front[3], beta;
};

/* Returns the dimensions of an ordinary car of that length. */
struct ego_params ego_params_for(double length);
void ego_init(struct ego *e, const struct ego_params *p);

/*
 * SUMO drives: moves the body after SUMO's front bumper. angle_deg: SUMO's, clockwise from north; dt_s: time since the
 * last call.
 */
void ego_follow(struct ego *e, const double front[3], double angle_deg, double speed, double dt_s);
/*
 * SUMO's front has jumped over a gap without lanes: moves the body behind it, with its yaw unchanged. ego_follow()
 * comes next.
 */
void ego_carry(struct ego *e, const double front[3], double angle_deg, double speed, double dt_s);
/* Distance from SUMO's front to the body's; 0: the body has no position yet. */
double ego_gap(const struct ego *e, const double front[3]);
/* An external driver moves it. ego_front() then says where SUMO has to put it. */
void ego_drive(struct ego *e, const struct ego_command *c, double dt_s);

/* Pose and motion of base_link, from a vehicle program. */
struct ego_state {
	double pos[3], yaw; /* m, rad; map */
	double speed, yaw_rate, wheel_angle;
};
void ego_set(struct ego *e, const struct ego_state *s);

void ego_front(const struct ego *e, double *ret_x, double *ret_y);
double ego_angle_deg(const struct ego *e);
/* Specific force that an IMU at base_link measures, in its own axes: +9.81 up at rest. */
void ego_specific_force(const struct ego *e, double ret[3]);
double ego_motor_rpm(const struct ego *e);

/* Convert SUMO's angle to a yaw; wrap to -pi..pi. */
double ego_yaw_of(double angle_deg);
double ego_wrap(double rad);

#endif
