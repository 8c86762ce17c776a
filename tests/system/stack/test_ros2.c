/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole line to ROS 2 and back: a client publishes, a DDS program in another process decodes it and sees simulated
 * time on /clock; its command comes to a client that listens.
 */
#include "peer.h"
#include "stack.h"

#include <sim/msg/Gear.h>
#include <sim/msg/GearCommand.h>
#include <sim/param.h>
#include <sim/srv/SetBool.h>

#include "../ros2/asker.h"
#include "../ros2/cables.h"
#include "../ros2/caller.h"
#include "../ros2/node.h"
#include "../ros2/reader.h"

#define CONF \
	"\"TimeSource\":\"system\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"128KiB\",\"count\":20}]" \
	",\"rigs\":[{\"name\":\"car\",\"inbound\":[\"/gear\",\"/near\"],\"channels\":[{\"name\":\"/t/line\"," \
	"\"options\":{\"ros2\":{\"topic\":\"/ultrasonic\",\"frame\":\"bumper\",\"durability\":\"transient_local\",\"depth\":1}}}]," \
	"\"bridges\":[{\"name\":\"ros\",\"plugin\":\"ros2\",\"options\":{\"ros_distro\":\"jazzy\",\"subscribe\":" \
	"{\"/control/command/gear_cmd\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\",\"channel\":\"/gear\"}," \
	"\"/range\":{\"type\":\"sensor_msgs/msg/Range\",\"channel\":\"/near\"}}}}]}]"

static pid_t simd;

static int setup(void **state)
{
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("ros", "status"), "connected"));
	return cables_lay(state); /* a network comes, with another machine at its end */
}

static int teardown(void **state)
{
	(void)cables_cut(state);
	return stack_sweep(state);
}

/* One message, 0 m; the peer of the network waits for it. */
static int publish_one(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/line", 64, 0);

	PEER(p, peer_queue(p, pub, sizeof(struct sim_Ultrasonic), NULL) == 0);
	return peer_leave(p, c, pub);
}

static int read_it(struct peer *p)
{
	dds_entity_t dp = reader_participant();
	struct seen_ultrasonic m = { .minimum_distance = -5 };
	struct seen_time a = { 0, 0 }, b = { 0, 0 };
	dds_entity_t clock;

	PEER(p, dp > 0 && reader_take(reader_open(dp, &seen_ultrasonic_desc, "rt/ultrasonic", true), &m) == 0);
	PEER(p, m.minimum_distance == 0.0f && m.stamp.sec > 1600000000 && strcmp(m.frame_id, "bumper") == 0);
	clock = reader_open(dp, &seen_clock_desc, "rt/clock", false);
	PEER(p, reader_take(clock, &a) == 0 && reader_take(clock, &b) == 0);
	PEER(p, a.sec >= m.stamp.sec && (b.sec > a.sec || (b.sec == a.sec && b.nanosec > a.nanosec)));
	return 0;
}

TEST(a_message_reaches_ros_with_its_stamp)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t reader = peer_fork(q, read_it), sensor = peer_fork(p, publish_one);

	stack_wait(reader);
	if (atomic_load(&q->failed))
		fail_msg("%s", q->why);
	peer_join(p, sensor);
	assert_int_equal(p->ok, 1);
	peer_check(p, false);
	peer_free(p);
	peer_free(q);
	assert_int_equal(stack_bridge("ros", "failed"), 0);
}

/* ---- nodes and others ---- */

/* Only ours has sent anything when it is counted: the node is on loopback. */
TEST(local_nodes_communicate_and_another_machine_sees_nothing)
{
	struct node n, far;

	node_start(&far, false, 0, 0, cables_stranger());
	node_start(&n, false, 1, 0, 0);
	AWAIT(node_has(&n));
	for (int cable = 0; cable < CABLES; cable++)
		assert_int_equal(cables_count(cable, NULL), 0);
	node_end(&n);
	for (int fast = 0; fast < 2; fast++) {
		if (!node_can_be(fast))
			continue;
		node_start(&n, fast, 0, 0, 0);
		AWAIT(node_has(&n));
		node_end(&n);
	}
	assert_false(node_has(&far));
	node_end(&far);
}

static int write_another_type(struct peer *p)
{
	dds_entity_t dp = reader_participant();

	PEER(p, reader_write_volatile(dp, &seen_image_desc, "rt/control/command/gear_cmd") > 0);
	p->ready = 1;
	PEER_IDLE(p);
	return 0;
}

TEST(a_publisher_that_cannot_be_received_is_named)
{
	struct peer *p = peer_new();
	pid_t writer = peer_fork(p, write_another_type);
	const char *what = "; but a publisher of sensor_msgs/msg/Image on /control/command/gear_cmd is not heard";

	AWAIT(strstr(stack_bridge_text("ros", "detail"), what) || atomic_load(&p->failed));
	assert_non_null(strstr(stack_ctl("bridge", "info", "ros", NULL)->out, what));
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, what));
	peer_join(p, writer);
	peer_free(p);
}

/* ---- services ---- */

static int on_lamp(void *user, struct sim_request *req)
{
	const struct sim_SetBoolRequest *q = sim_SetBoolRequest_from(req->body, req->size);
	struct sim_SetBoolResponse *a;
	struct peer *p = user;
	struct sim_builder b;

	p->received++;
	if (p->command) { /* dies in the middle of it */
		p->ready = 2;
		while (!p->stop)
			pause();
	}
	a = sim_SetBoolResponse_init(req->response, req->response_capacity, &b);
	a->success = true;
	sim_SetBoolResponse_message_set(&b, q->data ? "on" : "off");
	req->response_size = sim_builder_size(&b);
	return 0;
}

static int provide(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "lamp");
	struct sim_service *sv;

	PEER(p, sim_service_offer(c, "/lamp", &sim_SetBool_service, NULL, on_lamp, p, &sv) == 0);
	p->ready = 1;
	PEER_IDLE(p);
	sim_service_destroy(sv);
	sim_disconnect(c);
	return 0;
}

/* Calls until the provider dies in a call: that is answered too. */
static int ask(struct peer *p)
{
	struct asker a = asker_open(reader_participant(), "/lamp", &ask_set_request, &ask_set_response, "1.1");

	for (int64_t i = 1; i <= 20; i++)
		asker_set(&a, i, i % 2, true, i % 2 ? "on" : "off");
	p->ready = 1;
	PEER_AWAIT(p, atomic_load(&p->command));
	asker_set(&a, 21, true, false, NULL);
	p->called = 1;
	return 0;
}

TEST(services_are_called_in_both_directions)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t lamp = peer_fork(p, provide), asker = peer_fork(q, ask);

	AWAIT(q->ready || q->failed);
	assert_int_equal(p->received, 20);
	assert_int_equal(stack_int("ListServices", "services/0/answered"), 20);
	peer_tell(p, 1);
	peer_tell(q, 1);
	AWAIT(p->ready == 2);
	stack_kill(lamp);
	AWAIT(q->called || q->failed);
	peer_join(q, asker);
	peer_free(p);
	peer_free(q);
}

/* ---- and back ---- */

static int listen_to(struct peer *p)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 4 };
	struct sim_client *c = peer_connect(p, "vehicle");
	const struct sim_message *slot;
	struct sim_subscriber *s;

	PEER(p, sim_subscribe(c, "/gear", &sim_GearCommand_type, &o, &s) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		if (sim_wait(s, 20 * NS_PER_MS) != 1 || sim_take(s, &slot) != 0)
			continue;
		atomic_store(&p->result, ((const struct sim_GearCommand *)slot->body)->gear);
		atomic_fetch_add(&p->received, 1);
		sim_release(s, slot);
	}
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	return 0;
}

/* A driving stack repeats its commands. */
static int command(struct peer *p)
{
	dds_entity_t dp = reader_participant(), w = reader_write_to(dp, &seen_gear_desc, "rt/control/command/gear_cmd");
	struct seen_gear m = { { 1, 0 }, 20 };

	while (!atomic_load(&p->stop)) {
		PEER(p, dds_write(w, &m) == 0);
		pace_us(20000);
	}
	return 0;
}

TEST(control_commands_reach_the_vehicle)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t vehicle = peer_fork(p, listen_to), stack;

	AWAIT(atomic_load(&p->ready) || atomic_load(&p->failed));
	stack = peer_fork(q, command);
	AWAIT(atomic_load(&p->received) > 0 || atomic_load(&q->failed));
	assert_int_equal(p->result, SIM_GEAR_REVERSE);
	peer_join(q, stack);
	peer_join(p, vehicle);
	peer_free(p);
	peer_free(q);
}

/* ---- parameters ---- */

static int have_rate(struct peer *p)
{
	struct sim_param_options o = { .size = sizeof(o), .min = sim_param_double(1), .max = sim_param_double(40) };
	struct sim_param_value initial = sim_param_double(10);
	struct sim_client *c = peer_connect(p, "lidar");
	struct sim_params *params;
	double rate = 0;

	PEER(p, sim_params_create(c, "lidar-1", &params) == 0);
	PEER(p, sim_params_declare(params, "rate", &initial, &o) == 0);
	p->ready = 1;
	while (!atomic_load(&p->stop)) {
		PEER(p, sim_params_get_double(params, "rate", &rate) == 0);
		atomic_store(&p->result, (int)rate);
		pace_us(5000);
	}
	sim_params_destroy(params);
	sim_disconnect(c);
	return 0;
}

/* `ros2 param set /lidar_1 rate VALUE`; why: the reason that it says. */
static void set_rate(struct caller *c, double value, const char *why)
{
	struct cdr q = { .n = 0 }, r;

	cdr_u32(&q, 1);
	cdr_text(&q, "rate");
	cdr_u8(&q, SIM_PARAM_DOUBLE);
	cdr_u8(&q, 0);
	cdr_i64(&q, 0);
	cdr_f64(&q, value);
	cdr_text(&q, "");
	for (int i = 0; i < 5; i++)
		cdr_u32(&q, 0);
	r = caller_call(c, "/lidar_1/set_parameters", "rcl_interfaces::srv::dds_::SetParameters_", q);
	assert_int_equal(cdr_get_u32(&r), 1);
	assert_int_equal(cdr_get_u8(&r), !*why);
	assert_string_equal(cdr_get_text(&r), why);
	cdr_free(&r);
}

TEST(parameters_are_set_also_after_a_bridge_has_crashed)
{
	struct peer *p = peer_new();
	pid_t lidar = peer_fork(p, have_rate);

	AWAIT(p->ready || p->failed);
	assert_int_equal(p->failed, 0);
	for (int i = 0; i < 2; i++) {
		struct caller c = caller_start(false);

		set_rate(&c, 20 + i, "");
		AWAIT(p->result == 20 + i || p->failed);
		set_rate(&c, 41, "Parameter {rate} doesn't comply with floating point range.");
		caller_end(&c);
		assert_int_equal(kill((pid_t)stack_bridge("ros", "pid"), SIGKILL), 0);
		AWAIT(stack_bridge("ros", "restarts") == i + 1 &&
		      !strcmp(stack_bridge_text("ros", "status"), "connected"));
	}
	assert_string_equal(stack_ctl("param", "get", "lidar-1", "rate", NULL)->out, "21\n");
	peer_join(p, lidar);
	peer_free(p);
}

TEST(a_type_given_by_name_is_that_of_the_configured_ros_release)
{
	AWAIT(strstr(stack_ctl("type", "show", "/near", NULL)->out, "float32 variance"));
	stack_stop(simd);
}

TEST_GROUP(setup, teardown)
