/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a vehicle: names, meaning and defaults as Autoware's simple planning simulator and its vehicle_info
 * have them, read from a JSON file. What Autoware lacks is marked "ours".
 *
 * Thread: any; params_load() reads a file.
 */
#ifndef SOURCES_VEHICLE_PARAMS_H
#define SOURCES_VEHICLE_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "accel_map.h"
#include "conf.h"

/* Wheels that steer and speed that changes at once (IDEAL) or with dead time and lag (DELAY); MAP: by a table of accelerations. */
#define PARAMS_MODELS(X) \
	X(IDEAL_STEER_VEL) \
	X(IDEAL_STEER_ACC) \
	X(IDEAL_STEER_ACC_GEARED) \
	X(DELAY_STEER_VEL) \
	X(DELAY_STEER_ACC) \
	X(DELAY_STEER_ACC_GEARED) \
	X(DELAY_STEER_MAP_ACC_GEARED)

enum params_model {
#define X(name) MODEL_##name,
	PARAMS_MODELS(X)
#undef X
};

enum params_bicycle { BICYCLE_KINEMATIC, BICYCLE_DYNAMIC };

struct vehicle_params {
	enum params_model model;          /* vehicle_model_type */
	enum params_bicycle bicycle;      /* ours */
	double wheel_base;                /* m */
	double vel_lim;                   /* m/s */
	double vel_rate_lim;              /* m/s^2 */
	double jerk_lim;                  /* m/s^3, ours; INFINITY: none */
	double steer_lim, steer_rate_lim; /* rad, rad/s */
	int64_t acc_delay_dur_ns, vel_delay_dur_ns, steer_delay_dur_ns;
	double acc_tau_s, vel_tau_s, steer_tau_s;
	double steer_dead_band, steer_bias; /* rad */
	double acc_scale, steer_scale;      /* debug_*_scaling_factor */
	struct accel_map map;               /* acceleration_map_path; only for the model with a map */
	/* body */
	double wheel_radius, wheel_tread, front_overhang, rear_overhang, left_overhang, right_overhang, height; /* m */
	double gear_ratio; /* ours */
	/* the dynamic bicycle, ours */
	double mass, yaw_inertia;               /* kg, kg m^2 */
	double front_to_cog;                    /* m, front axle to the centre of mass */
	double stiffness_front, stiffness_rear; /* N/rad of an axle, both tyres */
};

extern const char *const params_models[]; /* NULL-terminated */

/* The table of keys, for the manual's check. */
extern const struct conf_key params_keys[];

/* Reads and checks a file. -EINVAL and file errors, with a sentence in err_why() that names file and key. */
int params_load(const char *path, struct vehicle_params *ret);
/* The same from text; origin: name of the text in messages. */
int params_parse(const char *origin, const char *text, struct vehicle_params *ret);

/*
 * Applies a scenario's vehicle dimensions: overwrites the parameters that it gives (0: not given), within limits.
 * -ERANGE: unchanged.
 */
struct params_size {
	double length, width, height; /* of the box */
	double center_x;              /* of the box, from base_link */
	double wheel_base, steer_lim; /* m, rad */
};
int params_resize(struct vehicle_params *p, const struct params_size *s);

static inline bool params_geared(const struct vehicle_params *p)
{
	return p->model == MODEL_IDEAL_STEER_ACC_GEARED || p->model == MODEL_DELAY_STEER_ACC_GEARED ||
	       p->model == MODEL_DELAY_STEER_MAP_ACC_GEARED;
}

static inline bool params_by_speed(const struct vehicle_params *p)
{
	return p->model == MODEL_IDEAL_STEER_VEL || p->model == MODEL_DELAY_STEER_VEL;
}

static inline bool params_ideal(const struct vehicle_params *p)
{
	return p->model <= MODEL_IDEAL_STEER_ACC_GEARED;
}

#endif
