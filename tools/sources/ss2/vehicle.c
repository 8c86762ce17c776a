/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle under test. See vehicle.h. */
#include "vehicle.h"

#include <errno.h>
#include <math.h>

#include <sim/msg/VehicleMode.h>

#include "../space.h"
#include "bridge/convert/geo.h"
#include "err.h"
#include "number.h"

#define SQUARE_M     100000.0
#define ACCEL_DUR_NS INT64_C(500000000) /* two reports further apart give no acceleration */

int vehicle_origin_parse(struct vehicle_origin *ret, const char *text)
{
	double v[3] = { 0 };

	if (!text || !*text) {
		*ret = (struct vehicle_origin){ .mgrs = true };
		return 0;
	}
	if (number_f64s(text, v, 3) < 2 || !space_vector_ok(&(struct sim_Vector3){ .x = v[0], .y = v[1], .z = v[2] }))
		return err_set(
			-EINVAL,
			"\"%.60s\" is not an origin; give EASTING,NORTHING or EASTING,NORTHING,ALTITUDE in metres",
			text);
	*ret = (struct vehicle_origin){ .easting = v[0], .northing = v[1], .altitude = v[2] };
	return 0;
}

static struct sim_Vector3 on_map(const struct vehicle_origin *o, double easting, double northing, double altitude)
{
	if (o->mgrs)
		return (struct sim_Vector3){ .x = easting - floor(easting / SQUARE_M) * SQUARE_M,
					     .y = northing - floor(northing / SQUARE_M) * SQUARE_M,
					     .z = altitude };
	return (struct sim_Vector3){ .x = easting - o->easting,
				     .y = northing - o->northing,
				     .z = altitude - o->altitude };
}

/*
 * As in the reference simulator, acceleration is the change of speed and yaw rate since the report before, and sideways
 * that of the turn.
 */
static bool report(struct vehicle_report *r, struct vehicle_state *s, int64_t stamp_sim_ns, uint32_t generation)
{
	if (stamp_sim_ns < 0 || !space_vector_ok(&s->pose.position) || !space_normalise(&s->pose.orientation) ||
	    !space_vector_ok(&s->twist.linear) || !space_vector_ok(&s->twist.angular))
		return false;
	if (r->given && r->clock_generation == generation) {
		int64_t dt_ns = stamp_sim_ns - r->stamp_sim_ns;
		double dt_s = (double)dt_ns / 1e9;

		if (dt_ns == 0) {
			s->accel = r->state.accel;
			s->jerk = r->state.jerk;
		} else if (dt_ns > 0 && dt_ns <= ACCEL_DUR_NS) {
			s->accel.linear.x = (s->twist.linear.x - r->state.twist.linear.x) / dt_s;
			s->accel.angular.z = (s->twist.angular.z - r->state.twist.angular.z) / dt_s;
			s->jerk = s->accel.linear.x; /* the reference simulator's value of that name */
		}
	}
	s->accel.linear.y = s->twist.angular.z * s->twist.linear.x;
	s->stamp_sim_ns = stamp_sim_ns;
	*r = (struct vehicle_report){
		.given = true, .stamp_sim_ns = stamp_sim_ns, .clock_generation = generation, .state = *s
	};
	return true;
}

bool vehicle_odometry(struct vehicle *v, const struct sim_GpsOdometry *m, int64_t stamp_sim_ns, uint32_t generation)
{
	struct vehicle_state s = { .pose.orientation = m->orientation };

	if (m->ignore_map_origin)
		s.pose.position = on_map(&v->origin, m->easting, m->northing, m->altitude);
	else
		s.pose.position = (struct sim_Vector3){ .x = m->easting,
							.y = m->northing,
							.z = m->altitude - v->origin.altitude };
	s.twist.linear.x = (double)m->forward_speed;
	s.twist.angular = m->angular_velocity;
	return report(&v->odometry, &s, stamp_sim_ns, generation);
}

bool vehicle_can_bus(struct vehicle *v, const struct sim_CanBus *m, int64_t stamp_sim_ns, uint32_t generation)
{
	struct vehicle_state s = { .pose.orientation = m->orientation };
	struct geo_utm utm;

	if (!isfinite(m->longitude) || !isfinite(m->latitude) || geo_utm(m->longitude, m->latitude, &utm) < 0)
		return false;
	s.pose.position = on_map(&v->origin, utm.easting, utm.northing, m->altitude);
	s.twist.linear.x = (double)m->speed;
	if (generation != v->ordered_generation || stamp_sim_ns > v->ordered_sim_ns)
		v->manual = m->mode == SIM_VEHICLE_MODE_MANUAL;
	return report(&v->can_bus, &s, stamp_sim_ns, generation);
}

void vehicle_forget(struct vehicle *v)
{
	v->odometry.given = v->can_bus.given = false;
}

void vehicle_ordered(struct vehicle *v, bool manual, int64_t sim_ns, uint32_t generation)
{
	v->manual = manual;
	v->ordered_sim_ns = sim_ns;
	v->ordered_generation = generation;
}

static bool fresh(const struct vehicle_report *r, int64_t now_sim_ns, uint32_t generation)
{
	return r->given && r->clock_generation == generation && r->stamp_sim_ns <= now_sim_ns &&
	       r->stamp_sim_ns >= now_sim_ns - VEHICLE_FRESH_DUR_NS;
}

bool vehicle_now(const struct vehicle *v, int64_t now_sim_ns, uint32_t generation, struct vehicle_state *ret)
{
	if (fresh(&v->odometry, now_sim_ns, generation))
		*ret = v->odometry.state;
	else if (fresh(&v->can_bus, now_sim_ns, generation))
		*ret = v->can_bus.state;
	else
		return false;
	ret->manual = v->manual;
	return true;
}
