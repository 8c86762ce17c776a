/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether to brake: for what is in the corridor that the vehicle will drive through, or walks into it, and nearer than the way it needs
 * to stop, or than it needs in time. The corridor is as wide as the vehicle and a bit, and bent as its front wheels are turned, by a
 * quarter of a circle at most.
 *
 * Once it brakes it goes on until the corridor has been free for a while; the vehicle then stands, mostly.
 *
 * Thread: one at a time; pure arithmetic, the same input gives the same bytes. When stamps go back it lets go.
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
	double range_m;              /* what is further away along the corridor is not looked at */
	double decel, max_decel;     /* m/s^2: wanted, and what the brakes can do */
	double latency_s;            /* from a cloud to the brakes */
	double margin_m;             /* left in front of what it stops for */
	double ttc_s;                /* time to collision below which it brakes in any case */
	double predict_s;            /* how far ahead in time the way of what walks towards the corridor is followed */
	double release_m, clear_s; /* it goes on when nothing is nearer than that beyond the way to stop, for so long */
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
	int64_t last_sim_ns, danger_sim_ns; /* the last decision; when the corridor was not free last */
	double wheel_angle;                 /* of the wheels when it began to brake: they stay */
	uint32_t id;                        /* what it brakes for */
	double decel;
};

struct braking_order {
	bool brake;         /* false: the vehicle is left alone */
	bool began, ended;  /* with this decision */
	uint32_t id;        /* what it brakes for */
	double decel;       /* m/s^2, positive */
	double wheel_angle; /* rad */
	double distance_m;  /* from the bumper to it; INFINITY: nothing is in the way any more */
};

struct braking_params braking_params_default(void);
/* Returns: 0; -EINVAL with a sentence in *ret_why (static). */
int braking_init(struct braking *b, const struct braking_params *p, const char **ret_why);
struct braking_order braking_decide(struct braking *b, int64_t stamp_sim_ns, const struct braking_ego *ego,
				    const struct braking_object *o, size_t n);

#endif
