/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether to brake: for objects in the corridor that the vehicle will drive through, or that walk into it, and
 * that are nearer than the stopping distance or than a time to collision. The corridor is slightly wider than the
 * vehicle, and curved as its front wheels are turned, by at most a quarter circle.
 *
 * Once it brakes, it continues until the corridor has been free for a while; usually the vehicle then stands.
 *
 * Thread: one at a time; pure arithmetic, the same input gives the same bytes. When stamps go back it stops braking.
 */
#ifndef PERCEPTION_BRAKING_H
#define PERCEPTION_BRAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "obstacle.h"

struct braking_params {
	double front_m, wheelbase_m; /* from base_link to the front bumper, and to the front axle */
	double length_m;             /* bumper to bumper */
	double width_m;              /* of the corridor */
	double range_m;              /* objects further away along the corridor are ignored */
	double decel, max_decel;     /* m/s^2: wanted, and the brakes' maximum */
	double latency_s;            /* from a cloud to the brakes */
	double margin_m;             /* distance to keep from the object it stops for */
	double ttc_s;                /* brakes in any case below this time to collision */
	double predict_s;            /* how far ahead in time it follows an object that walks towards the corridor */
	/* it stops braking when nothing is nearer than release_m beyond the stopping distance, for clear_s */
	double release_m, clear_s;
};

struct braking_ego {
	double speed;       /* m/s, forward */
	double wheel_angle; /* rad, of the front wheels, left is positive */
};

struct braking_object {
	uint32_t id;
	struct obstacle box;
	double vx, vy; /* m/s, base_link's axes, over ground */
	double age_s;  /* since it was first seen */
};

struct braking {
	struct braking_params p;
	bool braking;
	int64_t last_sim_ns, danger_sim_ns; /* time of the last decision; last time that the corridor was not free */
	double wheel_angle;                 /* of the wheels when braking began: kept while it brakes */
	uint32_t id;                        /* object it brakes for */
	double decel;
};

struct braking_order {
	bool brake;         /* false: the vehicle is not controlled */
	bool began, ended;  /* changed with this decision */
	uint32_t id;        /* object it brakes for */
	double decel;       /* m/s^2, positive */
	double wheel_angle; /* rad */
	double distance_m;  /* from the bumper to it; INFINITY: nothing is in the way any more */
};

struct braking_params braking_params_default(void);
/* Returns: 0; -EINVAL with the reason in *ret_why (static). */
int braking_init(struct braking *b, const struct braking_params *p, const char **ret_why);
struct braking_order braking_decide(struct braking *b, int64_t stamp_sim_ns, const struct braking_ego *ego,
				    const struct braking_object *o, size_t n);

#endif
