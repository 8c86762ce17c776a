/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a vehicle. See params.h. */
#include "params.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

#define LENGTH_TOLERANCE 0.5 /* share by which the axles may exceed a scenario's box */

const char *const params_models[] = {
#define X(name) #name,
	PARAMS_MODELS(X)
#undef X
		NULL
};
static const char *const bicycles[] = { "kinematic", "dynamic", NULL };

#define REAL(name_, def_, min_, max_, doc_) \
	{ \
		.name = (name_), .type = CONF_REAL, .def = (def_), .min = (min_), .max = (max_), .doc = (doc_) \
	}

const struct conf_key params_keys[] = {
	{ .name = "vehicle_model_type",
	  .type = CONF_CHOICE,
	  .def = "\"DELAY_STEER_ACC_GEARED\"",
	  .choices = params_models,
	  .doc = "How orders become motion." },
	{ .name = "bicycle",
	  .type = CONF_CHOICE,
	  .def = "\"kinematic\"",
	  .choices = bicycles,
	  .doc = "Wheels that roll without slipping, or linear tyres." },
	{ .name = "wheel_base",
	  .type = CONF_REAL,
	  .required = true,
	  .min = 0,
	  .max = 30,
	  .doc = "[m] Between the axles." },
	REAL("vel_lim", "50", 0, 150, "[m/s] Highest speed, both ways."),
	REAL("vel_rate_lim", "7", 0, 100, "[m/s^2] Highest acceleration, both ways; the brakes' too."),
	REAL("jerk_lim", "0", 0, 10000, "[m/s^3] Highest change of the acceleration; 0: no bound."),
	REAL("steer_lim", "1", 0, 1, "[rad] Full lock of the wheels."),
	REAL("steer_rate_lim", "5", 0, 100, "[rad/s] How fast they turn."),
	REAL("acc_time_delay", "0.1", 0, 10, "[s] Dead time of the acceleration."),
	REAL("acc_time_constant", "0.1", 0, 100, "[s] Its lag."),
	REAL("vel_time_delay", "0.25", 0, 10, "[s] Dead time of the speed."),
	REAL("vel_time_constant", "0.5", 0, 100, "[s] Its lag."),
	REAL("steer_time_delay", "0.24", 0, 10, "[s] Dead time of the steering."),
	REAL("steer_time_constant", "0.27", 0, 100, "[s] Its lag."),
	REAL("steer_dead_band", "0", 0, 1, "[rad] An error of the steering that is left alone."),
	REAL("steer_bias", "0", -1, 1, "[rad] What the sensor of the steering shows too much."),
	REAL("debug_acc_scaling_factor", "1", 0, 10, "Acceleration that comes of one that is wanted."),
	REAL("debug_steer_scaling_factor", "1", 0, 10, "The same of the steering."),
	{ .name = "acceleration_map_path",
	  .type = CONF_STRING,
	  .doc = "What comes of an acceleration, by speed: a table; beside this file unless it begins with /." },
	REAL("wheel_radius", "0.383", 0, 5, "[m]"),
	REAL("wheel_tread", "1.64", 0, 10, "[m] Between left and right wheel."),
	REAL("front_overhang", "1.0", 0, 20, "[m] From the front axle to the bumper."),
	REAL("rear_overhang", "1.1", 0, 20, "[m] From the rear axle to the bumper."),
	REAL("left_overhang", "0.128", 0, 5, "[m] From the wheels to the side."),
	REAL("right_overhang", "0.128", 0, 5, "[m] The same on the right."),
	REAL("vehicle_height", "2.5", 0, 10, "[m]"),
	REAL("gear_ratio", "9", 0, 100, "Turns of the motor to one of the wheels."),
	REAL("mass", NULL, 0, 100000, "[kg]"),
	REAL("yaw_inertia", NULL, 0, 10000000, "[kg m^2] About the vertical through the centre of mass."),
	REAL("front_to_cog", NULL, 0, 30, "[m] From the front axle to the centre of mass."),
	REAL("cornering_stiffness_front", NULL, 0, 100000000, "[N/rad] Of the axle, both tyres."),
	REAL("cornering_stiffness_rear", NULL, 0, 100000000, "[N/rad] Of the axle, both tyres."),
	{ 0 }
};

static const struct {
	const char *key;
	size_t off;
} REALS[] = {
#define F(key_, field) \
	{ \
		key_, offsetof(struct vehicle_params, field) \
	}
	F("wheel_base", wheel_base),
	F("vel_lim", vel_lim),
	F("vel_rate_lim", vel_rate_lim),
	F("jerk_lim", jerk_lim),
	F("steer_lim", steer_lim),
	F("steer_rate_lim", steer_rate_lim),
	F("acc_time_constant", acc_tau_s),
	F("vel_time_constant", vel_tau_s),
	F("steer_time_constant", steer_tau_s),
	F("steer_dead_band", steer_dead_band),
	F("steer_bias", steer_bias),
	F("debug_acc_scaling_factor", acc_scale),
	F("debug_steer_scaling_factor", steer_scale),
	F("wheel_radius", wheel_radius),
	F("wheel_tread", wheel_tread),
	F("front_overhang", front_overhang),
	F("rear_overhang", rear_overhang),
	F("left_overhang", left_overhang),
	F("right_overhang", right_overhang),
	F("vehicle_height", height),
	F("gear_ratio", gear_ratio),
	F("mass", mass),
	F("yaw_inertia", yaw_inertia),
	F("front_to_cog", front_to_cog),
	F("cornering_stiffness_front", stiffness_front),
	F("cornering_stiffness_rear", stiffness_rear),
#undef F
};

/* Zero would cause a division by zero, or stop the vehicle for ever. */
static const char *const POSITIVE[] = { "wheel_base",     "vel_lim",      "vel_rate_lim", "steer_lim",
					"steer_rate_lim", "wheel_radius", "wheel_tread" };
static const char *const TYRES[] = { "mass", "yaw_inertia", "front_to_cog", "cornering_stiffness_front",
				     "cornering_stiffness_rear" };

static int64_t ns_of(struct conf_view v, const char *key)
{
	return llround(conf_real(v, key) * 1e9);
}

static void fill(struct conf_view v, struct vehicle_params *p)
{
	for (size_t i = 0; i < sizeof(REALS) / sizeof(REALS[0]); i++) {
		double x = conf_has(v, REALS[i].key) ? conf_real(v, REALS[i].key) : 0;

		memcpy((char *)p + REALS[i].off, &x, sizeof(x));
	}
	p->model = (enum params_model)conf_choice(v, "vehicle_model_type");
	p->bicycle = (enum params_bicycle)conf_choice(v, "bicycle");
	p->acc_delay_dur_ns = ns_of(v, "acc_time_delay");
	p->vel_delay_dur_ns = ns_of(v, "vel_time_delay");
	p->steer_delay_dur_ns = ns_of(v, "steer_time_delay");
	if (!(p->jerk_lim > 0))
		p->jerk_lim = INFINITY;
}

static int check_positive(struct conf_view v, const char *const *keys, size_t n, const char *for_what)
{
	for (size_t i = 0; i < n; i++) {
		if (!conf_has(v, keys[i]))
			return err_set(-EINVAL, "%s is missing%s", keys[i], for_what);
		if (!(conf_real(v, keys[i]) > 0))
			return err_set(-EINVAL, "%s: %g is out of range, it must be above 0", keys[i],
				       conf_real(v, keys[i]));
	}
	return 0;
}

/*
 * The rear axle must hold better than the front, or the vehicle leaves its course by itself above a critical speed:
 * v^2 = L^2 Cf Cr / (m (a Cf - b Cr)).
 */
static int check_tyres(const struct vehicle_params *p)
{
	double a = p->front_to_cog, b = p->wheel_base - a;
	double surplus = a * p->stiffness_front - b * p->stiffness_rear, critical;

	if (!(b > 0))
		return err_set(-EINVAL, "front_to_cog: %g m is out of range, below the wheel_base of %g m", a,
			       p->wheel_base);
	if (surplus <= 0)
		return 0;
	critical = p->wheel_base * sqrt(p->stiffness_front * p->stiffness_rear / (p->mass * surplus));
	if (critical > p->vel_lim)
		return 0;
	return err_set(
		-EINVAL,
		"with these tyres the vehicle cannot be held above %.3g m/s, and vel_lim is %g m/s; give a higher "
		"cornering_stiffness_rear, or a lower vel_lim",
		critical, p->vel_lim);
}

static int check(struct conf_view v, const struct vehicle_params *p)
{
	int r = check_positive(v, POSITIVE, sizeof(POSITIVE) / sizeof(POSITIVE[0]), "");

	if (r == 0 && p->bicycle == BICYCLE_DYNAMIC)
		r = check_positive(v, TYRES, sizeof(TYRES) / sizeof(TYRES[0]), ", and bicycle is dynamic");
	if (r == 0 && p->bicycle == BICYCLE_DYNAMIC)
		r = check_tyres(p);
	return r;
}

/* A relative path is relative to the folder of the file that contains it. */
static int read_map(struct conf_view v, const char *origin, struct accel_map *ret)
{
	const char *name = conf_string(v, "acceleration_map_path"), *slash = strrchr(origin, '/');
	int dir = slash ? (int)(slash + 1 - origin) : 0;
	char path[PATH_MAX];

	if (!name)
		return err_set(-EINVAL, "acceleration_map_path is missing, and the model goes by a map");
	if (snprintf(path, sizeof(path), "%.*s%s", *name == '/' ? 0 : dir, origin, name) >= (int)sizeof(path))
		return err_set(-ENAMETOOLONG, "acceleration_map_path is too long");
	return accel_map_load(path, ret);
}

static int finish(struct conf *c, const char *origin, struct vehicle_params *ret)
{
	struct vehicle_params p = { 0 };
	int r = conf_finish(c);

	if (r == 0) {
		fill(conf_root(c), &p);
		r = check(conf_root(c), &p);
	}
	if (r == 0 && p.model == MODEL_DELAY_STEER_MAP_ACC_GEARED)
		r = read_map(conf_root(c), origin, &p.map);
	if (r < 0)
		return err_prefix(r, "%s", origin);
	*ret = p;
	return 0;
}

int params_load(const char *path, struct vehicle_params *ret)
{
	struct conf *c;
	int r = conf_create(params_keys, &c);

	if (r < 0)
		return r;
	r = conf_add_file(c, path);
	if (r == 0)
		r = finish(c, path, ret);
	conf_destroy(c);
	return r;
}

int params_parse(const char *origin, const char *text, struct vehicle_params *ret)
{
	struct conf *c;
	int r = conf_create(params_keys, &c);

	if (r < 0)
		return r;
	r = conf_add_text(c, origin, text, strlen(text));
	if (r == 0)
		r = finish(c, origin, ret);
	conf_destroy(c);
	return r;
}

static bool told(double x)
{
	return x > 0;
}

static bool sane(double x, double most)
{
	return x >= 0 && x <= most; /* NaN fails */
}

int params_resize(struct vehicle_params *p, const struct params_size *s)
{
	struct vehicle_params n = *p;

	if (!sane(s->length, 50) || !sane(s->width, 10) || !sane(s->height, 10) || !sane(s->wheel_base, 30) ||
	    !sane(s->steer_lim, 1.5) || !(fabs(s->center_x) <= 50))
		return err_set(-ERANGE, "a vehicle of %g m x %g m x %g m with %g m between the axles is out of range",
			       s->length, s->width, s->height, s->wheel_base);
	if (told(s->wheel_base))
		n.wheel_base = s->wheel_base;
	if (told(s->steer_lim))
		n.steer_lim = s->steer_lim;
	if (told(s->height))
		n.height = s->height;
	if (told(s->width))
		n.left_overhang = n.right_overhang = fmax(s->width - n.wheel_tread, 0) / 2;
	if (told(s->length)) {
		n.front_overhang = fmax(s->center_x + s->length / 2 - n.wheel_base, 0);
		n.rear_overhang = fmax(s->length / 2 - s->center_x, 0);
		if (n.wheel_base > s->length * (1 + LENGTH_TOLERANCE))
			return err_set(-ERANGE, "a vehicle of %g m cannot have %g m between its axles", s->length,
				       n.wheel_base);
	}
	if (n.bicycle == BICYCLE_DYNAMIC && check_tyres(&n) < 0)
		return -ERANGE;
	*p = n;
	return 0;
}
