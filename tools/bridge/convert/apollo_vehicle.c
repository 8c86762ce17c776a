/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle. See apollo.h. */
#include <time.h>

#include "apollo_private.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Gear.h"
#include "sim/msg/VehicleMode.h"

enum { CHASSIS_ERROR = 2, GEAR_NONE = 6, TURN_HAZARD_WARNING = 3, FIX_3D = 2, SATELLITES = 15 };

/* The date is in UTC, as from a GNSS receiver. */
static void chassis_gps(struct apollo_out *o, const struct sim_CanBus *m)
{
	int64_t ns = o->in->stamp_sim_ns;
	time_t s = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
	struct pb_writer *w = &o->w;
	struct tm utc = { 0 };

	gmtime_r(&s, &utc);
	pb_open(w, 28);
	pb_f64(w, 1, m->latitude);
	pb_f64(w, 2, m->longitude);
	pb_bool(w, 3, true);
	pb_i64(w, 4, utc.tm_year + 1900);
	pb_i64(w, 5, utc.tm_mon + 1);
	pb_i64(w, 6, utc.tm_mday);
	pb_i64(w, 7, utc.tm_hour);
	pb_i64(w, 8, utc.tm_min);
	pb_i64(w, 9, utc.tm_sec);
	pb_f64(w, 10, apollo_compass(&m->orientation));
	pb_f64(w, 14, m->altitude - o->options->undulation);
	pb_f64(w, 15, apollo_compass(&m->orientation));
	pb_u64(w, 18, FIX_3D);
	pb_i64(w, 19, SATELLITES);
	pb_f64(w, 20, (double)m->speed);
	pb_close(w);
}

static void signals(struct apollo_out *o, const struct sim_CanBus *m)
{
	uint64_t turn = m->left_turn_signal == m->right_turn_signal ? 0 : m->left_turn_signal ? 1 : 2;

	if (m->hazard_lights)
		turn = o->release == APOLLO_5 ? 0 : TURN_HAZARD_WARNING;
	pb_open(&o->w, 27);
	pb_u64(&o->w, 1, turn);
	pb_bool(&o->w, 2, m->high_beam);
	pb_bool(&o->w, 3, m->low_beam);
	pb_bool(&o->w, 5, m->hazard_lights);
	pb_close(&o->w);
}

static void controls(struct apollo_out *o, const struct sim_CanBus *m)
{
	struct pb_writer *w = &o->w;

	pb_bool(w, 3, m->engine_on);
	pb_f32(w, 4, m->engine_rpm);
	pb_f32(w, 5, m->speed);
	pb_f32(w, 8, m->throttle * 100);
	pb_f32(w, 9, m->braking * 100);
	pb_f32(w, 11, m->steering * 100); /* left is positive in both */
	pb_bool(w, 13, m->parking_brake);
	pb_bool(w, 14, m->high_beam);
	pb_bool(w, 15, m->low_beam);
	pb_bool(w, 16, m->left_turn_signal);
	pb_bool(w, 17, m->right_turn_signal);
	pb_bool(w, 19, m->wipers);
}

/* The vehicle's state, not its commands. An emergency is also reported as a fault. */
int apollo_out_chassis(struct apollo_out *o)
{
	const struct sim_CanBus *body = APOLLO_CHECKED(o, CanBus, body);
	struct sim_CanBus m = *body; /* copied once: a peer may still change it */
	struct pb_writer *w = &o->w;
	bool emergency = m.mode == SIM_VEHICLE_MODE_EMERGENCY;

	controls(o, &m);
	pb_u64(w, 21, m.mode <= SIM_VEHICLE_MODE_EMERGENCY ? m.mode : 0); /* both enums have the same values */
	pb_u64(w, 22, emergency ? CHASSIS_ERROR : 0);
	pb_u64(w, 23, m.gear <= SIM_GEAR_LOW ? m.gear : GEAR_NONE); /* both enums have the same values */
	apollo_header(o, 25, 0);
	pb_i64(w, 26, emergency);
	signals(o, &m);
	chassis_gps(o, &m);
	if (o->options->vehicle) {
		pb_open(w, 33);
		apollo_text(o, 1, o->options->vehicle);
		pb_close(w);
	}
	return 0;
}
