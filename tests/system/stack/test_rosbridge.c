/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole line to a rosbridge server, played by rosbridge_server.h, which is strict: messages arrive as JSON,
 * commands come back, and a server that disconnects, stalls, sends false data or is another program is named and
 * affects no other client.
 */
#include "peer.h"
#include "rosbridge_line.h"
#include "stack.h"

#include <errno.h>
#include <stdatomic.h>

#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/msg/VehicleControl.h>
#include <sim/service.h>
#include <sim/srv/SetBool.h>

TEST_PROCESSES()

TEST_WITH(messages_arrive_as_json, NULL, line_sweep)
{
	struct sim_publisher *p;
	double first;
	uint64_t n;

	line_start("");
	p = line_imu_publisher();
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/imu", "type", "sensor_msgs/msg/Imu"));
	assert_int_equal(line_send_imu(p, 0.1), 0);
	AWAIT(rosbridge_server_count(line_server, "publish", "/imu") == 1);
	assert_true(line_number_of("publish", "/imu", "msg.angular_velocity.z") == 0.1);
	assert_string_equal(line_text_of("publish", "/imu", "msg.header.frame_id"), "imu");
	assert_true(line_number_of("publish", "/imu", "msg.header.stamp.sec") > 1e9);
	AWAIT(rosbridge_server_count(line_server, "publish", "/clock") > 3);
	first = line_number_of("publish", "/clock", "msg.clock.sec") +
		1e-9 * line_number_of("publish", "/clock", "msg.clock.nanosec");
	n = rosbridge_server_count(line_server, "publish", "/clock");
	AWAIT(rosbridge_server_count(line_server, "publish", "/clock") > n + 1);
	assert_true(line_number_of("publish", "/clock", "msg.clock.sec") +
			    1e-9 * line_number_of("publish", "/clock", "msg.clock.nanosec") >
		    first);
	sim_publisher_destroy(p);
	line_stop();
}

TEST_WITH(ros_1_uses_its_own_names, NULL, line_sweep)
{
	struct sim_publisher *p;

	line_start("\"flavour\":\"ros\"");
	p = line_imu_publisher();
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/imu", "type", "sensor_msgs/Imu"));
	assert_int_equal(line_send_imu(p, 0.1), 0);
	AWAIT(rosbridge_server_count(line_server, "publish", "/imu") == 1);
	assert_true(line_number_of("publish", "/imu", "msg.header.stamp.secs") > 1e9);
	assert_true(line_number_of("publish", "/imu", "msg.header.seq") >= 0);
	line_stop();
}

/* What Apollo has messages of its own for becomes these, the rest is ROS'. */
TEST_WITH(apollo_has_its_own_messages, NULL, line_sweep)
{
	struct sim_subscriber *s;
	struct sim_publisher *p;
	const struct sim_VehicleControl *c;
	const struct sim_message *m;

	line_start(
		"\"flavour\":\"apollo\",\"subscribe\":{\"/cmd\":{\"type\":\"pb_msgs/ControlCommand\",\"channel\":\"control\"}}");
	line_subscribe(&s);
	AWAIT(rosbridge_server_heard(line_server, "subscribe", "/cmd", "type", "pb_msgs/ControlCommand"));
	p = line_imu_publisher();
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/imu", "type", "pb_msgs/Imu"));
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/clock", "type", "rosgraph_msgs/Clock"));
	assert_int_equal(line_send_imu(p, 0.1), 0);
	AWAIT(rosbridge_server_count(line_server, "publish", "/imu") == 1);
	assert_true(line_number_of("publish", "/imu", "msg.angular_velocity.z") == 0.1);
	assert_true(line_number_of("publish", "/imu", "msg.header.timestamp_sec") > 1e9);
	rosbridge_server_text(line_server, "{\"op\":\"publish\",\"topic\":\"/cmd\",\"msg\":{\"throttle\":50}}");
	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &m), 0);
	c = m->body;
	assert_true(c->acceleration == 0.5f && c->present == SIM_VEHICLE_CONTROL_HAS_ACCELERATION);
	sim_release(s, m);
	sim_publisher_destroy(p);
	sim_subscriber_destroy(s);
	line_stop();
}

/* ---- inbound messages ---- */

/* A JSON object in quotes, as the data of a fragment. */
static void fragment(const char *id, unsigned num, unsigned total, const char *part)
{
	json_t *j = json_pack("{s:s,s:s,s:i,s:i,s:s}", "op", "fragment", "id", id, "num", num, "total", total, "data",
			      part);
	char *text = json_dumps(j, 0);

	rosbridge_server_text(line_server, text);
	free(text);
	json_decref(j);
}

TEST_WITH(inbound_commands_reach_the_channel, NULL, line_sweep)
{
	struct sim_subscriber *s;

	line_start_listening(COMMANDS(",\"throttle_rate\":20,\"queue_length\":3"), &s);
	assert_true(line_number_of("subscribe", "/cmd", "throttle_rate") == 20);
	assert_true(line_number_of("subscribe", "/cmd", "queue_length") == 3);
	rosbridge_server_text(line_server, "{\"op\":\"publish\",\"topic\":\"/other\",\"msg\":{}}");
	rosbridge_server_text(line_server, COMMAND("7")); /* more than the pedal has */
	rosbridge_server_text(line_server, COMMAND("0.5"));
	assert_float_equal(line_next_throttle(s), 0.5, 1e-6);
	fragment("a", 0, 2, "{\"op\":\"publish\",\"topic\":\"/c");
	fragment("b", 1, 2, "out of turn");
	fragment("a", 1, 2, "md\",\"msg\":{\"acceleration_pct\":0.25}}");
	assert_float_equal(line_next_throttle(s), 0.25, 1e-6);
	AWAIT(stack_said("out of turn"));
	sim_subscriber_destroy(s);
	AWAIT(rosbridge_server_count(line_server, "unsubscribe", "/cmd") == 1);
	line_stop();
}

/* CBOR of {"op": "publish", "topic": "/cmd", "msg": ...}, up to there. */
static size_t cbor_head(uint8_t *to)
{
	static const char head[] = "\xa3\x62op\x67publish\x65topic\x64/cmd\x63msg";

	memcpy(to, head, sizeof(head) - 1);
	return sizeof(head) - 1;
}

TEST_WITH(inbound_commands_are_accepted_as_cbor, NULL, line_sweep)
{
	static const char msg[] = "\xa1\x70"
				  "acceleration_pct\xfa\x3f\x00\x00\x00";
	struct sim_subscriber *s;
	uint8_t m[200];
	size_t n = cbor_head(m);

	line_start_listening(COMMANDS(",\"compression\":\"cbor\""), &s);
	assert_string_equal(line_text_of("subscribe", "/cmd", "compression"), "cbor");
	memcpy(m + n, msg, sizeof(msg) - 1);
	rosbridge_server_binary(line_server, m, n); /* cut off */
	rosbridge_server_binary(line_server, m, n + sizeof(msg) - 1);
	assert_float_equal(line_next_throttle(s), 0.5, 1e-6);
	AWAIT(stack_said("no CBOR object"));
	sim_subscriber_destroy(s);
	line_stop();
}

TEST_WITH(inbound_commands_are_accepted_as_ros_bytes, NULL, line_sweep)
{
	static const char msg[] = "\xa3\x64secs\x01\x65nsecs\x02\x65"
				  "bytes\x58\x25"
				  "\0\1\0\0\x0c\0\0\0\0\0\0\0\4\0\0\0map\0\0\0\x80\x3e\0\0\0\0\0\0\0\0\0\0\0\0\1";
	struct sim_subscriber *s;
	uint8_t m[200];
	size_t n = cbor_head(m);

	line_start_listening(COMMANDS(",\"compression\":\"cbor-raw\""), &s);
	memcpy(m + n, msg, sizeof(msg) - 1);
	rosbridge_server_binary(line_server, m, n + sizeof(msg) - 1);
	assert_float_equal(line_next_throttle(s), 0.25, 1e-6);
	sim_subscriber_destroy(s);
	line_stop();
}

/* ---- services ---- */

static int on_set(void *user, struct sim_request *req)
{
	const struct sim_SetBoolRequest *q = req->body;
	struct sim_SetBoolResponse *a;
	struct sim_builder b;

	(void)user;
	if (!q->data)
		return -EPERM;
	a = sim_SetBoolResponse_init(req->response, req->response_capacity, &b);
	a->success = 1;
	assert_int_equal(sim_SetBoolResponse_message_set(&b, "on \"now\""), 0);
	req->response_size = sim_builder_size(&b);
	return 0;
}

static void ask(const char *id, const char *service, const char *args)
{
	char text[300];

	snprintf(text, sizeof(text), "{\"op\":\"call_service\",\"id\":\"%s\",\"service\":\"%s\",\"args\":%s}", id,
		 service, args);
	rosbridge_server_text(line_server, text);
	AWAIT(rosbridge_server_count(line_server, "service_response", id) == 1);
}

TEST_WITH(services_are_offered_to_the_server, NULL, line_sweep)
{
	struct sim_service *sv;
	json_t *v;

	line_start("");
	assert_int_equal(sim_service_offer(line_client, "lights", &sim_SetBool_service, NULL, on_set, NULL, &sv), 0);
	AWAIT(rosbridge_server_heard(line_server, "advertise_service", "/lights", "type", "std_srvs/srv/SetBool"));
	ask("1", "/lights", "{\"data\":true}");
	assert_string_equal(line_text_of("service_response", "1", "values.message"), "on \"now\"");
	v = line_value_of("service_response", "1", "result");
	assert_true(json_is_true(v));
	json_decref(v);
	ask("2", "/lights", "{\"data\":false}");
	v = line_value_of("service_response", "2", "result");
	assert_true(json_is_false(v));
	json_decref(v);
	ask("3", "/lights", "{\"data\":\"what\"}");
	assert_string_equal(line_text_of("service_response", "3", "values.message"), "the request is malformed");
	rosbridge_server_drop(line_server); /* it is announced to the next one again, and nothing is withdrawn */
	AWAIT(rosbridge_server_greeted(line_server) == 2);
	AWAIT(rosbridge_server_heard(line_server, "advertise_service", "/lights", NULL, NULL));
	ask("4", "/lights", "{\"data\":true}");
	sim_service_destroy(sv);
	AWAIT(rosbridge_server_count(line_server, "unadvertise_service", "/lights") == 1);
	line_stop();
}

struct lamp {
	_Atomic int done;
	int result;
	char text[300];
};

static void on_lamp(void *user, int result, const char *why, const void *response, size_t size)
{
	const struct sim_SetBoolResponse *a = result < 0 ? NULL : sim_SetBoolResponse_from(response, size);
	struct lamp *l = user;

	l->result = result;
	snprintf(l->text, sizeof(l->text), "%s", a ? sim_SetBoolResponse_message(a, size) : why);
	atomic_store(&l->done, 1);
}

/* A client of simd calls /lamp of the server, which answers with `rest`. */
static struct lamp call_lamp(uint64_t n, const char *rest)
{
	struct sim_SetBoolRequest q = { .data = 1 };
	struct lamp l = { .done = 0 };
	char text[300];

	assert_int_equal(sim_service_call_async(line_client, "lamp", &sim_SetBool_service, &q, sizeof(q), 0, on_lamp,
						&l),
			 0);
	AWAIT(atomic_load(&l.done) || rosbridge_server_count(line_server, "call_service", "/lamp") == n);
	if (!l.done) {
		snprintf(text, sizeof(text), "{\"op\":\"service_response\",\"service\":\"/lamp\",\"id\":\"%s\",%s}",
			 line_text_of("call_service", "/lamp", "id"), rest);
		rosbridge_server_text(line_server, text);
	}
	AWAIT(atomic_load(&l.done)); /* simd answers at its deadline, whatever happens */
	return l;
}

TEST_WITH(services_of_the_server_are_called, NULL, line_sweep)
{
	struct lamp l;

	line_start("\"call\":{\"/lamp\":{\"type\":\"std_srvs/SetBool\",\"service\":\"lamp\"}}");
	l = call_lamp(1, "\"values\":{\"success\":true,\"message\":\"lit\"},\"result\":true");
	if (l.result != 0)
		fail_msg("%d: %s", l.result, l.text);
	assert_string_equal(l.text, "lit");
	l = call_lamp(2, "\"values\":\"it is broken\",\"result\":false");
	assert_int_equal(l.result, -EREMOTEIO);
	assert_string_equal(l.text, "/lamp of the rosbridge server: it is broken");
	assert_int_equal(rosbridge_server_count(line_server, "advertise_service", "/lamp"), 0); /* it is not released */
	line_stop();
}

/* ---- servers that go, and slow ones ---- */

static void again(struct sim_publisher *p, unsigned connections)
{
	uint64_t n;

	AWAIT(rosbridge_server_greeted(line_server) > connections);
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/imu", NULL, NULL));
	n = rosbridge_server_count(line_server, "publish", "/imu");
	AWAIT(line_send_imu(p, 0) == 0); /* simd hears of it a little later */
	AWAIT(rosbridge_server_count(line_server, "publish", "/imu") == n + 1);
}

static uint8_t picture[(1 << 20) + 4096] __attribute__((aligned(64)));

static size_t paint(void)
{
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(picture, sizeof(picture), &b);

	m->height = 512;
	m->width = m->step = 2048;
	assert_int_equal(sim_Image_encoding_set(&b, "mono8"), 0);
	assert_non_null(sim_Image_data_alloc(&b, 1 << 20));
	return sim_builder_size(&b);
}

/* Some of it waits in the queue when the connection ends: it is nothing for the next one, which does not know that topic yet. */
static void drop_with_a_full_queue(struct sim_publisher *p)
{
	size_t size = paint();

	AWAIT(rosbridge_server_heard(line_server, "advertise", "/image", NULL, NULL));
	rosbridge_server_hold(line_server, true);
	for (int i = 0; i < 24; i++)
		assert_int_equal(line_send_one(p, picture, size), 0);
	rosbridge_server_drop(line_server);
	rosbridge_server_hold(line_server, false);
}

TEST_WITH(a_lost_server_is_dialled_again, NULL, line_sweep)
{
	struct sim_subscriber *s;
	struct sim_publisher *p, *q;
	unsigned port;

	line_start(COMMANDS(""));
	p = line_imu_publisher();
	q = line_advertise("image", &sim_Image_type, sizeof(picture));
	line_subscribe(&s);
	again(p, 0);
	drop_with_a_full_queue(q);
	again(p, 1);
	rosbridge_server_close(line_server, 1001);
	again(p, 2);
	assert_true(stack_said("it has closed the connection (1001)"));
	AWAIT(rosbridge_server_heard(line_server, "subscribe", "/cmd", NULL, NULL));
	rosbridge_server_text(line_server, COMMAND("0.25"));
	assert_float_equal(line_next_throttle(s), 0.25, 1e-6);
	assert_string_equal(rosbridge_server_fault(line_server), "");
	port = rosbridge_server_port(line_server);
	rosbridge_server_destroy(line_server);
	line_server = NULL;
	AWAIT(strcmp(stack_bridge_text("far", "status"), "connected"));
	line_server = rosbridge_server_create(port, NULL);
	assert_non_null(line_server);
	again(p, 0);
	assert_int_equal(stack_bridge("far", "restarts"), 0);
	sim_subscriber_destroy(s);
	line_stop();
}

/* The last large message that a slow server gets is the newest; lost ones are counted; all are taken at once. */
TEST_WITH(of_large_messages_the_newest_is_sent, NULL, line_sweep)
{
	struct sim_publisher *p, *q;
	size_t size = paint();
	uint64_t n;

	line_start("\"stall_ms\":60000");
	p = line_advertise("image", &sim_Image_type, sizeof(picture));
	q = line_imu_publisher();
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/image", NULL, NULL));
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/imu", NULL, NULL));
	rosbridge_server_hold(line_server, true);
	for (int i = 0; i < 64; i++) {
		((struct sim_Image *)picture)->width = (uint32_t)i;
		assert_int_equal(line_send_one(p, picture, size), 0);
		assert_int_equal(line_send_imu(q, i), 0);
	}
	AWAIT(strstr(stack_bridge_text("far", "detail"), "dropped, as the server is slow:"));
	AWAIT(strstr(stack_bridge_text("far", "detail"), " /image ")); /* it is reported each ten seconds */
	rosbridge_server_hold(line_server, false);
	AWAIT(rosbridge_server_count(line_server, "publish", "/imu") &&
	      rosbridge_server_count(line_server, "publish", "/image"));
	AWAIT(line_number_of("publish", "/imu", "msg.angular_velocity.z") == 63);
	AWAIT(line_number_of("publish", "/image", "msg.width") == 63);
	n = rosbridge_server_count(line_server, "publish", "/imu");
	assert_true(n >= 10 && n < 64);
	assert_true(rosbridge_server_count(line_server, "publish", "/image") < 64);
	line_stop();
}

/* More than the queue and the socket have room for. */
static void lose(struct sim_publisher *p, size_t size)
{
	rosbridge_server_hold(line_server, true);
	for (int i = 0; i < 64; i++)
		assert_int_equal(line_send_one(p, picture, size), 0);
}

/* Messages lost on an earlier connection are still reported, though its topics are new ones now. */
TEST_WITH(messages_lost_on_an_earlier_connection_are_reported, NULL, line_sweep)
{
	struct sim_publisher *p, *q;
	size_t size = paint();

	line_start("\"stall_ms\":60000");
	p = line_advertise("image", &sim_Image_type, sizeof(picture));
	q = line_imu_publisher();
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/image", NULL, NULL));
	lose(p, size);
	rosbridge_server_drop(line_server);
	rosbridge_server_hold(line_server, false);
	AWAIT(rosbridge_server_greeted(line_server) == 2);
	AWAIT(strcmp(stack_bridge_text("far", "status"), "connected") == 0 && line_send_imu(q, 0) == 0 &&
	      rosbridge_server_count(line_server, "publish", "/imu") > 0);
	lose(p, size);
	AWAIT(strstr(stack_bridge_text("far", "detail"), "dropped, as the server is slow: "));
	assert_non_null(strstr(stack_bridge_text("far", "detail"), " before a reconnection"));
	rosbridge_server_hold(line_server, false);
	line_stop();
}

#define THROTTLED "\"options\":{\"rosbridge\":{\"throttle_rate\":1000000}}"

#define LATCHED "\"options\":{\"rosbridge\":{\"throttle_rate\":1000000,\"latch\":true}}"

/*
 * The first message is sent, and then one when the next is due, which is not during this test. Other topics are not
 * throttled, nor are latched ones.
 */
TEST_WITH(a_topic_may_be_throttled, NULL, line_sweep)
{
	struct sim_publisher *p, *q, *kept;

	line_rig = "\"channels\":[{\"name\":\"imu\"," THROTTLED "},{\"name\":\"/clock\"," THROTTLED
		   "},{\"name\":\"kept\"," LATCHED "}],";
	line_start("");
	p = line_imu_publisher();
	q = line_advertise("other", &sim_Imu_type, sizeof(struct sim_Imu));
	for (int i = 1; i <= 5; i++)
		assert_int_equal(line_send_imu(p, i), 0);
	kept = line_advertise("kept", &sim_Imu_type, sizeof(struct sim_Imu));
	for (int i = 1; i <= 5; i++) {
		assert_int_equal(line_send_imu(q, i), 0);
		assert_int_equal(line_send_imu(kept, i), 0);
	}
	AWAIT(rosbridge_server_count(line_server, "publish", "/other") == 5);
	AWAIT(rosbridge_server_count(line_server, "publish", "/kept") == 5);
	AWAIT(rosbridge_server_count(line_server, "publish", "/clock"));
	assert_int_equal(rosbridge_server_count(line_server, "publish", "/clock"), 1);
	assert_int_equal(rosbridge_server_count(line_server, "publish", "/imu"), 1);
	assert_true(line_number_of("publish", "/imu", "msg.angular_velocity.z") == 1);
	line_stop();
}

/* In fragments, the server's whole again; and nothing is lost where the queue waits. */
TEST_WITH(all_messages_arrive_when_the_queue_waits, NULL, line_sweep)
{
	struct sim_publisher *p;
	struct sim_slot *slot;
	size_t size = paint();

	line_start("\"when_full\":\"wait\",\"stall_ms\":60000,\"fragment_size\":300000");
	p = line_advertise("image", &sim_Image_type, sizeof(picture));
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/image", NULL, NULL));
	for (int i = 0; i < 30; i++) {
		assert_int_equal(sim_loan(p, size, &slot), 0);
		memcpy(sim_slot_body_mut(slot), picture, size);
		assert_int_equal(sim_try_queue(p, slot, NULL, NULL, NULL), 0);
	}
	assert_int_equal(sim_flush(line_client, -1), 0);
	sim_disconnect(line_client);
	line_client = NULL;
	stack_stop(line_simd);
	AWAIT(rosbridge_server_count(line_server, "publish", "/image") == 30);
	assert_true(rosbridge_server_count(line_server, "fragment", "simd-1") == 5);
	assert_string_equal(rosbridge_server_fault(line_server), "");
}
