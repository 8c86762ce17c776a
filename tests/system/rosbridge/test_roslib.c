/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that shares no code with us: roslib (npm), at the same server, which relays. It gets what simd publishes, as JSON and as CBOR,
 * drives, calls a service of simd and answers for one of its own.
 */
#include "support/test.h"

#include <errno.h>

#include <sim/msg/Imu.h>
#include <sim/msg/VehicleControl.h>
#include <sim/srv/SetBool.h>

#include "line.h"

#define MODULES "build/npm"

static char key; /* its address is a request */

/* Without it the test says so, and has failed where FULL=1 asked for everything; an older node, as Debian 12 has it, cannot load it. */
static bool have_roslib(void)
{
	if (access(MODULES "/node_modules/roslib", F_OK) != 0) {
		print_message("not tried, without roslib: run tools/dev/deps.sh full\n");
		assert_false(test_full());
		return false;
	}
	if (system("node -e 'process.exit(Number(parseInt(process.versions.node) < 20))'") != 0) {
		print_message("not tried: roslib needs node 20 or newer\n");
		return false;
	}
	return true;
}

static void up(const char *compression)
{
	const struct rosbridge_server_how how = { .relay = true };
	char subscribe[256];
	const char *const options[] = { "subscribe", subscribe, "call",
					"{\"/lamp\":{\"type\":\"std_srvs/SetBool\",\"service\":\"far/lamp\"}}", NULL };

	snprintf(
		subscribe, sizeof(subscribe),
		"{\"/cmd\":{\"type\":\"lgsvl_msgs/msg/VehicleControlData\",\"channel\":\"control\",\"compression\":\"%s\"}}",
		compression);
	line_up(options, &how);
	line_host.ops->listen(line_bridge, "control", 1);
	line_host.ops->service(line_bridge, "/lights", &sim_SetBool_service);
	AWAIT(rosbridge_server_heard(line_server, "subscribe", "/cmd", NULL, NULL));
	AWAIT(rosbridge_server_heard(line_server, "advertise_service", "/lights", NULL, NULL));
}

static FILE *begin(const char *compression)
{
	char command[300];
	FILE *f;

	snprintf(command, sizeof(command), "exec node tests/system/rosbridge/roslib.mjs %s ws://127.0.0.1:%u %s 2>&1",
		 MODULES, rosbridge_server_port(line_server), compression);
	f = popen(command, "r");
	assert_non_null(f);
	return f;
}

static void next_line(FILE *f, const char *expected)
{
	char line[300] = "";

	assert_non_null(fgets(line, sizeof(line), f));
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
}

/* It calls, simd answers. */
static void answer_call(int result, const char *text)
{
	struct host_call c = host_next_call(&line_host);
	_Alignas(64) uint8_t body[256];
	struct sim_builder b;
	struct sim_SetBoolResponse *a = sim_SetBoolResponse_init(body, sizeof(body), &b);

	assert_string_equal(c.service, "/lights");
	assert_int_equal(((const struct sim_SetBoolRequest *)c.request)->data, result == 0);
	a->success = 1;
	assert_int_equal(sim_SetBoolResponse_message_set(&b, text), 0);
	c.fn(c.user, result, text, result < 0 ? NULL : body, result < 0 ? 0 : sim_builder_size(&b));
}

static struct host_answer ask_lamp(bool on)
{
	struct sim_SetBoolRequest q = { .data = on };

	line_host.served.fn(line_host.served.user, &q, sizeof(q), (struct sim_pending *)(void *)&key);
	return host_next_answer(&line_host);
}

static void publish_imu(void)
{
	struct sim_bridge_topic *t = host_open(&line_host, line_bridge, "imu", &sim_Imu_type, "{}");
	struct sim_slot *s = host_slot(sizeof(struct sim_Imu), "base");

	((struct sim_Imu *)sim_slot_body_mut(s))->angular_velocity.z = 0.1;
	assert_int_equal(host_publish(&line_host, line_bridge, t, s), 0);
	line_host.ops->close(line_bridge, t); /* queued messages are sent all the same */
	free(s);
}

static void all_of_it(const char *compression)
{
	struct host_answer a;
	struct host_in in;
	FILE *f;

	if (!have_roslib())
		return;
	up(compression);
	f = begin(compression);
	answer_call(0, "lit");
	next_line(f, "answer true lit");
	answer_call(-EPERM, "not now");
	next_line(f, "failed not now");
	AWAIT(rosbridge_server_heard(line_server, "subscribe", "/imu", "compression", compression));
	publish_imu();
	next_line(f, "imu base 1640995200 123456768 0.1 9");
	in = host_next(&line_host);
	assert_string_equal(in.channel, "control");
	assert_true(((const struct sim_VehicleControl *)(const void *)in.body)->acceleration == 0.25f);
	assert_int_equal(rosbridge_server_cbor(line_server),
			 strcmp(compression, "cbor") == 0 ? 2 : 0); /* /imu to roslib, /control to the bridge */
	a = ask_lamp(true);
	assert_int_equal(a.result, 0);
	assert_string_equal(sim_SetBoolResponse_message(sim_SetBoolResponse_from(a.response, a.size), a.size),
			    "caf\xc3\xa9 \"on\"");
	a = ask_lamp(false);
	assert_int_equal(a.result, -EREMOTEIO);
	assert_int_equal(pclose(f), 0);
	AWAIT(!rosbridge_server_heard(line_server, "advertise_service", "/lamp", NULL, NULL));
	a = ask_lamp(true); /* the provider has exited: the server says so */
	assert_int_equal(a.result, -EREMOTEIO);
	assert_non_null(strstr(a.why, "Service /lamp does not exist"));
	line_down();
}

TEST(roslib_exchanges_messages_over_json)
{
	all_of_it("none");
}

TEST(roslib_exchanges_messages_over_cbor)
{
	all_of_it("cbor");
}
