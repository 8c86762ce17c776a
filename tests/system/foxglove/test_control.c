/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access of clients: messages that they publish, and services of simd's clients that they call. simd's own services are
 * in ../stack/test_foxglove.c.
 */
#include "support/test.h"

#include <errno.h>
#include <sys/stat.h>

#include <sim/msg/VehicleControl.h>
#include <sim/srv/SetBool.h>

#include "line.h"
#include "raw.h"

#define VIEWERS_MAX 64u
#define UPGRADE     "Host: 127.0.0.1\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n"

#define TOKEN_FILE "/tmp/foxglove-token"
#define COMMAND \
	"[\"std_msgs/Header header\\nfloat32 acceleration_pct\\nfloat32 braking_pct\\nfloat32 target_wheel_angle\\n" \
	"float32 target_wheel_angular_rate\\nuint8 target_gear\\n" \
	"================================================================================\\nMSG: std_msgs/Header\\n" \
	"builtin_interfaces/Time stamp\\nstring frame_id\\n" \
	"================================================================================\\nMSG: builtin_interfaces/Time\\n" \
	"int32 sec\\nuint32 nanosec\"," \
	"{\"header\":{\"stamp\":{\"sec\":1,\"nanosec\":2},\"frame_id\":\"x\"},\"acceleration_pct\":%s,\"target_gear\":1}]"

static const char *const control[] = {
	"control",  "true",      "token_file",
	TOKEN_FILE, "subscribe", "{\"/cmd\":{\"type\":\"lgsvl_msgs/msg/VehicleControlData\",\"channel\":\"control\"}}",
	NULL
};

static const char *with_token(void)
{
	static char text[200];
	FILE *f = fopen(TOKEN_FILE, "r");

	assert_non_null(f);
	strcpy(text, "?token=");
	assert_non_null(fgets(text + 7, sizeof(text) - 7, f));
	text[strcspn(text, "\n")] = '\0';
	fclose(f);
	return text;
}

static float next_acceleration(void)
{
	struct host_in in = host_next(&line_host);
	struct sim_VehicleControl c;

	assert_string_equal(in.channel, "control");
	assert_int_equal(in.size, sizeof(c));
	memcpy(&c, in.body, sizeof(c));
	return c.acceleration;
}

TEST(messages_published_by_a_client_reach_the_channel)
{
	struct watcher *p;

	if (!watcher_possible())
		return;
	line_up(control);
	p = line_client(with_token());
	watcher_say(p, "publish /cmd lgsvl_msgs/msg/VehicleControlData cdr " COMMAND, "0.25");
	assert_true(next_acceleration() == 0.25f);
	watcher_say(p, "publish /cmd lgsvl_msgs/msg/VehicleControlData json " COMMAND, "0.5");
	assert_true(next_acceleration() == 0.5f);
	watcher_say(p, "publish /cmd lgsvl_msgs/msg/VehicleControlData json [\"\",{\"target_gear\":[1]}]");
	host_next_drop(&line_host);
	watcher_say(p, "publish /other std_msgs/msg/Bool json [\"\",{\"data\":true}]");
	watcher_hears_of(p, "status 2 advertise: /other: ", "\"subscribe\" in the options lists what it takes");
	watcher_say(p, "publish /cmd std_msgs/msg/Bool cdr [\"bool data\",{\"data\":true}]");
	watcher_hears_of(p, "status 2 advertise: /cmd ", "is lgsvl_msgs/VehicleControlData, not std_msgs/msg/Bool");
	watcher_end(p);
	line_down();
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* What a program calls its schema of JSON need be no name of ROS. */
TEST(a_json_schema_may_have_a_name_that_ros_does_not_allow)
{
	static const char *const options[] = {
		"control",
		"true",
		"token_file",
		TOKEN_FILE,
		"subscribe",
		"{\"/t\":{\"type\":\"json/T\",\"channel\":\"t\",\"definition\":\"/tmp/T.msg\"},"
		"\"/state\":{\"type\":\"car/carState\",\"channel\":\"state\",\"definition\":\"/tmp/T.msg\"}}",
		NULL
	};
	struct watcher *p;
	struct host_in in;

	if (!watcher_possible())
		return;
	write_file("/tmp/T.msg", "float64 speedKmh\n");
	line_up(options);
	p = line_client(with_token());
	watcher_say(p, "publish /t T json [\"\",{\"speedKmh\":2.5}]");
	in = host_next(&line_host);
	assert_string_equal(in.type, "json/T");
	assert_true(memcmp(in.body, &(double){ 2.5 }, 8) == 0);
	watcher_say(p, "publish /state car.carState json [\"\",{\"speedKmh\":2.5}]");
	assert_string_equal(host_next(&line_host).type, "car/carState");
	watcher_say(p, "publish /t U json [\"\",{\"speedKmh\":2.5}]");
	watcher_hears_of(p, "status 2 advertise: /t ", "is json/T, not U");
	watcher_end(p);
	line_down();
}

static void answer(int result, const char *text)
{
	struct host_call c = host_next_call(&line_host);
	_Alignas(64) uint8_t body[256];
	struct sim_builder b;
	struct sim_SetBoolResponse *a = sim_SetBoolResponse_init(body, sizeof(body), &b);

	assert_string_equal(c.service, "/lights");
	assert_int_equal(((const struct sim_SetBoolRequest *)c.request)->data, 1);
	a->success = 1;
	assert_int_equal(sim_SetBoolResponse_message_set(&b, text), 0);
	c.fn(c.user, result, text, result < 0 ? NULL : body, result < 0 ? 0 : sim_builder_size(&b));
}

TEST(services_are_called)
{
	struct watcher *p;

	if (!watcher_possible())
		return;
	line_up(control);
	line_host.ops->service(line_bridge, "/lights", &sim_SetBool_service);
	p = line_client(with_token());
	watcher_hears(p, "service /simd/PauseClock PauseClock");
	watcher_hears_of(p, "service /lights sim/SetBool", "\"data\":{\"type\":\"boolean\"}");
	watcher_say(p, "call /lights {\"data\":true}");
	answer(0, "lit \"up\"");
	assert_string_equal(watcher_hears(p, "answer "),
			    "answer /lights json {\"success\":true,\"message\":\"lit \\\"up\\\"\"}");
	watcher_say(p, "call /lights {\"data\":true}");
	answer(-EPERM, "not now");
	assert_string_equal(watcher_hears(p, "failed "), "failed /lights not now");
	watcher_say(p, "call /lights {\"data\":{}}");
	assert_string_equal(watcher_hears(p, "failed "), "failed /lights the request is malformed");
	watcher_say(p, "call /lights {");
	assert_string_equal(watcher_hears(p, "failed "), "failed /lights the request is malformed");
	watcher_say(p, "call /nobody {}");
	watcher_hears_of(p, "failed ", "there is no such service");
	line_host.ops->service(line_bridge, "/lights", NULL);
	watcher_hears(p, "no-service /lights");
	watcher_end(p);
	line_down();
}

/* A client that has gone meanwhile has no answer. */
TEST(an_answer_for_a_disconnected_client_is_dropped)
{
	struct host_call c;
	struct watcher *p;

	if (!watcher_possible())
		return;
	line_up(control);
	line_host.ops->service(line_bridge, "/lights", &sim_SetBool_service);
	p = line_client(with_token());
	watcher_hears(p, "service /lights");
	watcher_say(p, "call /lights {\"data\":true}");
	c = host_next_call(&line_host);
	watcher_end(p);
	host_wait_log(&line_host, "client 1 disconnected");
	c.fn(c.user, -EPIPE, "", NULL, 0);
	line_down();
}

static void may_only_look(const char *more)
{
	struct watcher *p = line_client(more);

	assert_null(strstr(p->line, "clientPublish"));
	assert_non_null(strstr(p->line, "\"control\":\"false\""));
	watcher_say(p, "publish /cmd lgsvl_msgs/msg/VehicleControlData json [\"\",{\"acceleration_pct\":1}]");
	watcher_hears_of(p, "status 2 advertise: this connection is read-only", "token");
	watcher_hears(p, "status 2 this connection is read-only"); /* the message itself */
	watcher_say(p, "call /simd/PauseClock {}");
	watcher_hears(p, "status 2 this connection is read-only");
	watcher_say(p, "set a [{\"name\":\"/clock/paused\",\"value\":true}]");
	watcher_hears(p, "status 2 setParameters: this connection is read-only");
	watcher_end(p);
}

TEST(without_the_token_a_client_has_read_access_only)
{
	static const char *const looking[] = { "token_file", TOKEN_FILE, NULL };

	if (!watcher_possible())
		return;
	line_up(control);
	may_only_look("");
	may_only_look("?token=0123456789abcdef0123456789abcdef");
	may_only_look("?token=");
	line_down();
	line_up(looking); /* the right token, where the rig allows nothing */
	may_only_look(with_token());
	line_down();
}

/* All places are taken by others; the last of them goes. */
TEST(a_client_with_the_token_gets_a_place)
{
	int fd[VIEWERS_MAX], known;
	char path[300];

	line_up(control);
	for (unsigned i = 0; i < VIEWERS_MAX; i++) {
		fd[i] = raw_open(line_port, "/", UPGRADE);
		assert_true(fd[i] >= 0 && raw_hears(fd[i], "serverInfo"));
	}
	assert_int_equal(raw_open(line_port, "/", UPGRADE), -1);
	snprintf(path, sizeof(path), "/%s", with_token());
	known = raw_open(line_port, path, UPGRADE);
	assert_true(known >= 0 && raw_hears(known, "serverInfo"));
	raw_await_close(fd[VIEWERS_MAX - 1]);
	for (unsigned i = 0; i < VIEWERS_MAX; i++)
		close(fd[i]);
	close(known);
	line_down();
}

TEST(the_token_persists_and_is_readable_by_its_owner_only)
{
	char first[200];
	struct stat st;

	unlink(TOKEN_FILE);
	line_up(control);
	strcpy(first, with_token());
	assert_int_equal(strlen(first), 7 + 32);
	assert_int_equal(stat(TOKEN_FILE, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	line_down();
	line_up(control);
	assert_string_equal(with_token(), first);
	line_down();
}
