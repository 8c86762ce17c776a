/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd itself in front of a Foxglove client: what the client sees of it, and the actions that a client with the token
 * may take. The plug-in alone: ../foxglove; the page in a browser: ../page.
 */
#include "../foxglove/watcher.h"
#include "stack.h"

#include <signal.h>

#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/sim.h>

TEST_PROCESSES()

#define TOKEN "?token=0123456789abcdef"
#define CONF \
	"\"TimeSource\":\"system\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"2MiB\",\"count\":40}],\"rigs\":[{\"name\":\"car\"," \
	"\"bridges\":[{\"name\":\"look\",\"plugin\":\"foxglove\",\"connection\":\"127.0.0.1:0\",\"options\":{\"control\":\"true\"," \
	"\"token_file\":\"/tmp/token\"}},{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out\"}]}]"

static pid_t simd;
static struct sim_client *client;

/* False: without the client that looks there is nothing to see. */
static bool up(void)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	if (!watcher_possible())
		return false;
	assert_int_equal(system("echo 0123456789abcdef >/tmp/token"), 0);
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("look", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	assert_int_equal(sim_connect(&o, &client), 0);
	return true;
}

static int sweep(void **state)
{
	sim_disconnect(client);
	client = NULL;
	return stack_sweep(state);
}

static void end(void)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
}

static struct watcher *watch(const char *more)
{
	char url[200] = "ws";
	unsigned port;

	assert_int_equal(sscanf(stack_bridge_text("look", "detail"), "http://127.0.0.1:%u/", &port), 1);
	snprintf(url, sizeof(url), "ws://127.0.0.1:%u/%s", port, more);
	return watcher_start(url, "foxglove.sdk.v1");
}

static struct sim_publisher *imu(void)
{
	struct sim_publisher *p = NULL;

	assert_int_equal(sim_advertise(client, "/imu", &sim_Imu_type, NULL, &p), 0);
	return p;
}

static void send_imu(struct sim_publisher *p)
{
	struct sim_slot *s = NULL;

	assert_int_equal(sim_loan(p, sizeof(struct sim_Imu), &s), 0);
	memset(sim_slot_body_mut(s), 0, sizeof(struct sim_Imu));
	assert_int_equal(sim_try_queue(p, s, NULL, NULL, NULL), 0);
}

TEST_WITH(foxglove_shows_the_channels_of_simd, NULL, sweep)
{
	struct sim_publisher *p;
	struct watcher *w;

	if (!up())
		return;
	p = imu();
	w = watch("");
	watcher_say(w, "watch /imu");
	watcher_hears(w, "channel /imu sensor_msgs/msg/Imu cdr ros2msg");
	watcher_sync(w);
	send_imu(p);
	watcher_hears_of(w, "message /imu ", "angular_velocity");
	watcher_say(w, "watch /simd/channels");
	watcher_hears_of(w, "message /simd/channels ", "\"name\":\"/imu\"");
	watcher_say(w, "watch /simd/bridges");
	watcher_hears_of(w, "message /simd/bridges ", "\"name\":\"log\"");
	watcher_say(w, "watch /simd/clients");
	watcher_hears_of(w, "message /simd/clients ", "\"name\":\"sensor\"");
	watcher_say(w, "watch /simd/clock");
	watcher_hears_of(w, "message /simd/clock ", "\"source\":\"system\"");
	watcher_say(w, "watch /simd/info");
	watcher_hears_of(w, "message /simd/info ", "\"version\"");
	watcher_hears_of(w, "message /simd/clock ", "\"paused\":false"); /* again */
	watcher_end(w);
	sim_publisher_destroy(p);
	end();
}

TEST_WITH(foxglove_pauses_steps_and_scales_the_clock, NULL, sweep)
{
	struct watcher *w;
	int64_t at;

	if (!up())
		return;
	w = watch(TOKEN);
	watcher_hears(w, "service /simd/RestartProcess");
	watcher_say(w, "call /simd/PauseClock {}");
	watcher_hears_of(w, "answer /simd/PauseClock json ", "\"paused\":true");
	at = stack_int("GetClock", "clock/sim_ns");
	watcher_say(w, "call /simd/StepClock {\"dur_ns\":250000000}");
	watcher_hears_of(w, "answer /simd/StepClock json ", "\"paused\":true");
	assert_int_equal(stack_int("GetClock", "clock/sim_ns"), at + 250000000);
	watcher_say(w, "call /simd/SetScale {\"scale\":2}");
	watcher_hears_of(w, "answer /simd/SetScale json ", "\"scale\":2.0");
	watcher_say(w, "call /simd/SetScale {\"scale\":-1}");
	watcher_hears_of(w, "failed /simd/SetScale ", "out of range");
	watcher_say(w, "call /simd/SetScale {\"speed\":1}");
	watcher_hears_of(w, "failed /simd/SetScale ", "speed");
	watcher_say(w, "call /simd/ResumeClock [1]");
	watcher_hears_of(w, "failed /simd/ResumeClock ", "the request is not a JSON object");
	watcher_say(w, "call /simd/ResumeClock {}");
	watcher_hears_of(w, "answer /simd/ResumeClock json ", "\"paused\":false");
	watcher_end(w);
	end();
}

TEST_WITH(parameters_are_read_and_set, NULL, sweep)
{
	struct watcher *w, *other;

	if (!up())
		return;
	w = watch(TOKEN);
	other = watch("");
	watcher_hears(other, "info ");
	watcher_say(other, "updates");
	watcher_hears_of(other, "parameters - ", "{\"name\":\"/clock/paused\",\"value\":false}");
	watcher_hears(w, "info ");
	watcher_say(w, "get a [\"/clock/scale\"]");
	assert_string_equal(watcher_hears(w, "parameters a "),
			    "parameters a [{\"name\":\"/clock/scale\",\"value\":1,\"type\":\"float64\"}]");
	watcher_say(w, "set b [{\"name\":\"/clock/scale\",\"value\":0.5},{\"name\":\"/clock/paused\",\"value\":true}]");
	watcher_hears_of(w, "parameters b ", "{\"name\":\"/clock/scale\",\"value\":0.5,");
	assert_non_null(strstr(w->line, "{\"name\":\"/clock/paused\",\"value\":true}"));
	watcher_hears_of(other, "parameters - ", "{\"name\":\"/clock/paused\",\"value\":true}");
	watcher_say(w, "set c [{\"name\":\"/clock/scale\",\"value\":1000}]");
	watcher_hears_of(w, "status 2 setParameters: /clock/scale: ", "out of range");
	watcher_say(w, "set e [{\"name\":\"/bridge/queue\",\"value\":7}]");
	watcher_hears_of(w, "parameters e ", "{\"name\":\"/bridge/queue\",\"value\":7}");
	watcher_say(w, "set f [{\"name\":\"/bridge/queue\",\"value\":0}]");
	watcher_hears_of(w, "status 2 setParameters: /bridge/queue: ", "1 to 1000");
	watcher_say(w, "set d [{\"name\":\"/else\",\"value\":1}]");
	watcher_hears_of(w, "status 2 setParameters: /else: ", "can be set");
	watcher_end(other);
	watcher_end(w);
	end();
}

TEST_WITH(the_connection_graph_is_sent_to_foxglove, NULL, sweep)
{
	struct sim_publisher *p;
	struct watcher *w;

	if (!up())
		return;
	p = imu();
	w = watch("");
	watcher_hears(w, "info ");
	watcher_say(w, "graph");
	watcher_hears_of(w, "graph ", "{\"name\":\"/imu\",\"publisherIds\":[\"sensor\"]}");
	assert_non_null(strstr(w->line, "{\"name\":\"/imu\",\"subscriberIds\":[\"look\",\"log\"]}"));
	sim_publisher_destroy(p);
	watcher_hears_of(w, "graph ", "\"removedTopics\":[\"/imu\"]");
	watcher_end(w);
	end();
}

TEST_WITH(a_bridge_connection_can_be_changed_from_foxglove, NULL, sweep)
{
	struct watcher *w;

	if (!up())
		return;
	w = watch(TOKEN);
	watcher_hears(w, "service /simd/SetBridgeConnection");
	watcher_say(w, "call /simd/SetBridgeConnection {\"name\":\"log\",\"connection\":\"/tmp/out2\"}");
	watcher_hears(w, "answer /simd/SetBridgeConnection json {");
	/* connected it is for a moment still, to where it was */
	AWAIT(!strcmp(stack_bridge_text("log", "connection"), "/tmp/out2") && access("/tmp/out2.txt.gz", F_OK) == 0 &&
	      !strcmp(stack_bridge_text("log", "status"), "connected"));
	watcher_say(w, "call /simd/RestartBridge {\"name\":\"nobody\"}");
	watcher_hears_of(w, "failed /simd/RestartBridge ", "nobody");
	watcher_say(w, "call /simd/RestartBridge {\"name\":\"look\"}"); /* the one that serves it */
	watcher_hears(w, "closed");
	watcher_end(w);
	AWAIT(stack_bridge("look", "restarts") == 1 && !strcmp(stack_bridge_text("look", "status"), "connected"));
	w = watch(TOKEN);
	watcher_hears(w, "info ");
	watcher_end(w);
	end();
}

#define WIDTH  1024u
#define HEIGHT 512u

static void send_image(struct sim_publisher *p)
{
	struct sim_slot *s = NULL;
	struct sim_builder b;
	struct sim_Image *m;

	assert_int_equal(sim_loan(p, sim_Image_size(8, 3 * WIDTH * HEIGHT), &s), 0);
	m = sim_Image_init(sim_slot_body_mut(s), sim_Image_size(8, 3 * WIDTH * HEIGHT), &b);
	assert_non_null(m);
	m->width = WIDTH;
	m->height = HEIGHT;
	m->step = 3 * WIDTH;
	assert_int_equal(sim_Image_encoding_set(&b, "rgb8"), 0);
	memset(sim_Image_data_alloc(&b, 3 * WIDTH * HEIGHT), 7, 3 * WIDTH * HEIGHT);
	assert_int_equal(sim_try_queue(p, s, NULL, NULL, NULL), 0);
}

/*
 * A bridge is killed while a client that does not read has slots of it: they are freed, and the next bridge serves
 * again.
 */
TEST_WITH(slots_of_a_killed_bridge_are_released, NULL, sweep)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = sim_Image_size(8, 3 * WIDTH * HEIGHT) };
	struct sim_publisher *p = NULL;
	struct watcher *w;
	uint32_t before;

	if (!up())
		return;
	assert_int_equal(sim_advertise(client, "/camera", &sim_Image_type, &o, &p), 0);
	w = watch("");
	watcher_say(w, "watch /camera");
	watcher_hears(w, "channel /camera sensor_msgs/msg/Image");
	watcher_sync(w);
	AWAIT(stack_in_flight("/camera") == 0);
	before = stack_slots();
	watcher_say(w, "stall");
	watcher_hears(w, "stalled");
	for (int i = 0; i < 20; i++)
		send_image(p);
	kill((pid_t)stack_bridge("look", "pid"), SIGKILL);
	AWAIT(stack_in_flight("/camera") == 0 && stack_slots() <= before);
	AWAIT(!strcmp(stack_bridge_text("look", "status"), "connected"));
	watcher_end(w);
	w = watch("");
	watcher_hears(w, "channel /camera");
	watcher_end(w);
	sim_publisher_destroy(p);
	end();
}
