/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo's commands close the loop: over a cyber_bridge, played by cyber_server.h, they move SUMO's ego and its
 * vehicle, and outdated or foreign commands do not. Commands are written by protobuf-c.
 */
#include "cyber_server.h"
#include "peer.h"
#include "stack.h"

#include <math.h>

#include <modules/common_msgs/chassis_msgs/chassis.pb-c.h>
#include <modules/common_msgs/control_msgs/control_cmd.pb-c.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Gear.h>

TEST_PROCESSES()

static struct cyber_server *server;
static struct sim_client *client;
static struct sim_subscriber *can_bus;
static struct sim_CanBus last;
static pid_t simd;

static const char rig[] = /* its peer disconnects: messages in the bridge then wait for the deadline */
	"\"dispatch\":{\"deadline_ms\":1000},\"pools\":[{\"size\":\"1KiB\",\"count\":4000},{\"size\":\"64KiB\",\"count\":400}],"
	"\"rigs\":[{\"name\":\"car\",\"inbound\":[\"control\",\"gear\",\"turn\",\"hazard\",\"state\"],"
	"\"channels\":[{\"name\":\"objects\",\"max_body\":\"64000\"},{\"name\":\"signals\",\"max_body\":\"64000\"},"
	"{\"name\":\"tf_static\",\"publishers\":2}],"
	"\"processes\":[{\"name\":\"sumo\",\"command\":[\"sim-sumo\",\"--config\",\"config/rigs/demo/town.sumocfg\",\"--vehicle\"]},"
	"{\"name\":\"vehicle\",\"command\":[\"sim-vehicle\",\"--params\",\"config/rigs/vehicle/car.json\"]}],"
	"\"bridges\":[{\"name\":\"far\",\"plugin\":\"cyber\",\"connection\":\"127.0.0.1:%u\",\"channels\":[\"can_bus\"],"
	"\"options\":{\"vehicle\":\"ego\",\"max_age_ms\":5000,\"subscribe\":{\"/apollo/control\":["
	"{\"type\":\"apollo.control.ControlCommand\",\"channel\":\"control\",\"control_timeout_ms\":300,"
	"\"safe_input\":{\"acceleration\":0,\"braking\":0.8,\"steer_target\":0}},"
	"{\"type\":\"apollo.control.ControlCommand\",\"channel\":\"gear\",\"as\":\"sim/GearCommand\"},"
	"{\"type\":\"apollo.control.ControlCommand\",\"channel\":\"turn\",\"as\":\"sim/TurnCommand\"},"
	"{\"type\":\"apollo.control.ControlCommand\",\"channel\":\"hazard\",\"as\":\"sim/HazardCommand\"},"
	"{\"type\":\"apollo.control.ControlCommand\",\"channel\":\"state\",\"as\":\"sim/VehicleState\"}]}}}]}]";

static int sweep(void **state)
{
	sim_disconnect(client);
	client = NULL;
	if (server)
		cyber_server_destroy(server);
	server = NULL;
	return stack_sweep(state);
}

static void start(void)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "driver", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };
	static char conf[sizeof(rig) + 16];

	server = cyber_server_create(0, NULL);
	assert_non_null(server);
	snprintf(conf, sizeof(conf), rig, cyber_server_port(server));
	simd = stack_start(conf);
	assert_int_equal(sim_connect(&o, &client), 0);
	assert_int_equal(sim_subscribe(client, "can_bus", &sim_CanBus_type, &so, &can_bus), 0);
	AWAIT(cyber_server_reader(server, "/apollo/control"));
}

static void stop(void)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
	assert_string_equal(cyber_server_fault(server), "");
	cyber_server_destroy(server);
	server = NULL;
}

/* ---- what the driver does ---- */

static Apollo__Control__ControlCommand command = APOLLO__CONTROL__CONTROL_COMMAND__INIT;
static Apollo__Common__Header header = APOLLO__COMMON__HEADER__INIT;
static Apollo__Common__VehicleSignal signals = APOLLO__COMMON__VEHICLE_SIGNAL__INIT;
static double age_s; /* of the commands */

static void order(double throttle, double brake, double steering)
{
	command.has_throttle = command.has_brake = command.has_steering_target = command.has_gear_location = true;
	command.throttle = throttle;
	command.brake = brake;
	command.steering_target = steering;
	command.header = &header;
	command.signal = &signals;
	header.has_timestamp_sec = signals.has_turn_signal = true;
	header.frame_id = "ego";
}

static void send_order(void)
{
	uint8_t bytes[512];

	header.timestamp_sec = (double)sim_now(client) / 1e9 - age_s;
	assert_true(apollo__control__control_command__get_packed_size(&command) <= sizeof(bytes));
	(void)cyber_server_publish(server, "/apollo/control", bytes,
				   (uint32_t)apollo__control__control_command__pack(&command, bytes));
}

static void look(void)
{
	const struct sim_message *m;

	while (sim_take(can_bus, &m) == 0) {
		const struct sim_CanBus *b = sim_CanBus_from(m->body, m->body_size);

		assert_non_null(b);
		last = *b;
		sim_release(can_bus, m);
	}
}

/* What Apollo receives about the vehicle; zeros: nothing yet. */
static Apollo__Canbus__Chassis chassis(void)
{
	static Apollo__Canbus__Chassis none = APOLLO__CANBUS__CHASSIS__INIT, *c;
	uint8_t data[1024];
	size_t n = cyber_server_last(server, "/apollo/canbus/chassis", data, sizeof(data));

	if (c)
		apollo__canbus__chassis__free_unpacked(c, NULL);
	c = n <= sizeof(data) ? apollo__canbus__chassis__unpack(NULL, n, data) : NULL;
	if (n <= sizeof(data))
		assert_non_null(c);
	return c ? *c : none;
}

/* The order is given until that is so of the vehicle. */
#define DRIVE_UNTIL(cond) AWAIT((send_order(), look(), (cond)))

TEST_WITH(the_ego_obeys_apollos_commands, NULL, sweep)
{
	start();
	command.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	order(50, 0, 0);
	DRIVE_UNTIL(last.speed > 3);
	assert_int_equal(last.gear, SIM_GEAR_DRIVE);
	signals.turn_signal = APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_LEFT;
	order(10, 0, 20);
	DRIVE_UNTIL(last.yaw_rate > 0.02 && last.left_turn_signal);
	DRIVE_UNTIL(chassis().steering_percentage > 15 && chassis().signal &&
		    chassis().signal->turn_signal == APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_LEFT);
	assert_true(chassis().steering_percentage < 25);
	assert_int_equal(chassis().gear_location, APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE);
	assert_string_equal(chassis().vehicle_id->vin, "ego");
	signals.turn_signal = APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_RIGHT;
	order(10, 0, -20);
	DRIVE_UNTIL(last.yaw_rate < -0.02 && last.right_turn_signal && !last.left_turn_signal);
	signals.has_high_beam = signals.high_beam = signals.has_emergency_light = signals.emergency_light = true;
	DRIVE_UNTIL(last.high_beam && last.hazard_lights);
	DRIVE_UNTIL(chassis().high_beam_signal && chassis().signal && chassis().signal->emergency_light &&
		    chassis().signal->turn_signal == APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_HAZARD_WARNING);
	signals.high_beam = signals.emergency_light = false;
	signals.has_low_beam = signals.low_beam = true;
	DRIVE_UNTIL(last.low_beam && !last.high_beam && !last.hazard_lights && chassis().low_beam_signal);
	order(0, 80, 0);
	DRIVE_UNTIL(chassis().brake_percentage > 50 && chassis().throttle_percentage < 1);
	DRIVE_UNTIL(fabs((double)last.speed) < 0.01);
	command.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_REVERSE;
	order(30, 0, 0);
	DRIVE_UNTIL(last.speed < -0.5 && last.gear == SIM_GEAR_REVERSE);
	DRIVE_UNTIL(chassis().gear_location == APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_REVERSE);
	stop();
}

/* Commands of yesterday, or for another vehicle, have no effect. */
TEST_WITH(old_and_foreign_commands_are_ignored, NULL, sweep)
{
	start();
	command.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	order(50, 0, 0);
	DRIVE_UNTIL(last.speed > 3);
	age_s = 10;
	DRIVE_UNTIL(fabs((double)last.speed) < 0.01); /* full throttle of then */
	assert_true(stack_said("control gets the rig's safe input"));
	age_s = 0;
	DRIVE_UNTIL(last.speed > 3);
	header.frame_id = "another";
	DRIVE_UNTIL(fabs((double)last.speed) < 0.01);
	assert_true(stack_said("/apollo/control: a message is dropped"));
	stop();
}

TEST_WITH(the_ego_brakes_when_the_peer_is_lost, NULL, sweep)
{
	start();
	command.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	order(50, 0, 0);
	DRIVE_UNTIL(last.speed > 3);
	cyber_server_destroy(server);
	server = NULL;
	AWAIT((look(), fabs((double)last.speed) < 0.01));
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
}
