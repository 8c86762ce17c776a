/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters: a missing, absurd or unknown one gives an error text; a scenario's dimensions. */
#include "car.h"

static void refused(const char *json, const char *word)
{
	struct vehicle_params p = { .wheel_base = -1 };

	assert_true(params_parse("car.json", json, &p) < 0);
	assert_true(p.wheel_base == -1); /* untouched */
	if (!strstr(err_why(), word) || !strstr(err_why(), "car.json"))
		fail_msg("%s: %s", json, err_why());
}

TEST(names_and_defaults_match_autoware)
{
	struct vehicle_params p = car("{" CAR "}");

	assert_int_equal(p.model, MODEL_DELAY_STEER_ACC_GEARED);
	assert_string_equal(params_models[p.model], "DELAY_STEER_ACC_GEARED");
	assert_true(p.vel_lim == 50 && p.vel_rate_lim == 7 && p.steer_lim == 1 && p.steer_rate_lim == 5);
	assert_true(p.acc_tau_s == 0.1 && p.vel_tau_s == 0.5 && p.steer_tau_s == 0.27);
	assert_int_equal(p.acc_delay_dur_ns, 100 * MS);
	assert_int_equal(p.vel_delay_dur_ns, 250 * MS);
	assert_int_equal(p.steer_delay_dur_ns, 240 * MS);
	assert_true(isinf(p.jerk_lim));
}

TEST(invalid_parameters_are_refused_with_the_reason)
{
	refused("{}", "wheel_base is required");
	refused("{\"wheel_base\": 0}", "wheel_base");
	refused("{\"wheel_base\": 1e300}", "wheel_base");
	refused("{\"wheel_base\": \"long\"}", "wheel_base");
	refused("{" CAR ", \"steer_lim\": 0}", "steer_lim");
	refused("{" CAR ", \"steer_lim\": 2}", "steer_lim");
	refused("{" CAR ", \"acc_time_constant\": -1}", "acc_time_constant");
	refused("{" CAR ", \"acc_time_delay\": 11}", "acc_time_delay");
	refused("{" CAR ", \"vel_rate_limit\": 3}", "did you mean vel_rate_lim");
	refused("{" CAR ", \"vehicle_model_type\": \"FLYING\"}", "DELAY_STEER_ACC_GEARED");
	refused("{" CAR ",", "car.json:1");
}

#define TYRES \
	"\"bicycle\": \"dynamic\", \"yaw_inertia\": 2300, \"cornering_stiffness_front\": 120000, " \
	"\"cornering_stiffness_rear\": 140000"

TEST(tyres_need_a_stable_body)
{
	refused("{" CAR ", " TYRES ", \"front_to_cog\": 1.2}", "mass is missing");
	refused("{" CAR ", " TYRES ", \"mass\": 1500, \"front_to_cog\": 3}", "front_to_cog");
	refused("{" CAR ", " TYRES ", \"mass\": 1500, \"front_to_cog\": 2}", "vel_lim");
	(void)car("{" CAR ", " TYRES ", \"mass\": 1500, \"front_to_cog\": 1.2}");
}

TEST(a_scenario_resizes_the_vehicle)
{
	struct vehicle_params p = car("{" CAR "}"), before = p;
	struct params_size bus = {
		.length = 12, .width = 2.5, .height = 3, .center_x = 4, .wheel_base = 6, .steer_lim = 0.7
	};

	assert_ok(params_resize(&p, &bus));
	near(p.rear_overhang + p.wheel_base + p.front_overhang, 12, 1e-12);
	near(p.left_overhang + p.wheel_tread + p.right_overhang, 2.5, 1e-12);
	near(p.rear_overhang, 2, 1e-12);
	near(p.steer_lim, 0.7, 0);
	p = before;
	assert_ok(params_resize(&p, &(struct params_size){ 0 })); /* no value given, none changed */
	assert_memory_equal(&p, &before, sizeof(p));
	assert_true(params_resize(&p, &(struct params_size){ .length = (double)NAN }) < 0);
	assert_true(params_resize(&p, &(struct params_size){ .length = 2, .wheel_base = 9 }) < 0);
	assert_true(params_resize(&p, &(struct params_size){ .center_x = (double)INFINITY }) < 0);
	assert_memory_equal(&p, &before, sizeof(p));
}
