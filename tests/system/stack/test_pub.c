/* SPDX-License-Identifier: Apache-2.0 */
/* simctl pub and find, snapshot, and what echo may be asked for: messages from JSON, as a subscriber has them, and back. Thread: the test's. */
#include "stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include <sim/msg/Image.h>
#include <sim/msg/String.h>
#include <sim/msg/Ultrasonic.h>
#include <sim/sim.h>

#include "wait.h"

#define CONF \
	"\"TimeSource\":\"simulation\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"256KiB\",\"count\":200}]"
#define WAIT_NS INT64_C(10000000000)

static pid_t simd;
static struct sim_client *client;
static struct sim_subscriber *sub;

static int setup(void **state)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	(void)state;
	sub = NULL;
	simd = stack_start(CONF);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(sim_connect(&o, &client), 0);
	return 0;
}

static void listen_to(const char *channel, const struct sim_type *type)
{
	const struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };

	assert_int_equal(sim_subscribe(client, channel, type, &o, &sub), 0);
}

/* Not stack_stop(): files of this process's attachment stay until it ends itself. */
static void end(void)
{
	sim_subscriber_destroy(sub);
	sim_disconnect(client);
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
}

static const struct sim_message *next(void)
{
	const struct sim_message *m;

	while (sim_take(sub, &m) != 0)
		(void)!sim_wait(sub, WAIT_NS); /* the runner ends a wait in vain */
	return m;
}

static void has_distance(double metres, const char *frame)
{
	const struct sim_message *m = next();
	const struct sim_Ultrasonic *u = m->body;

	assert_true(u->minimum_distance == metres);
	assert_string_equal(m->header.frame_id, frame);
	assert_int_equal(sim_release(sub, m), 0);
}

static void said(const struct ctl_result *r, int code, const char *out, const char *err)
{
	if (r->code != code || strcmp(r->out, out) || !strstr(r->err, err) || (!*err && *r->err))
		fail_msg("exit code %d, \"%s\", \"%s\"", r->code, r->out, r->err);
}

/* simctl with that on its stdin. */
static const struct ctl_result *with_lines(const char *lines, const char *options)
{
	static struct ctl_result r;
	char command[4096];
	int status;
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), "printf '%s' | %s pub %s 2>&1", lines, BIN "simctl", options);
	f = popen(command, "r"); /* NOLINT(cert-env33-c) */
	assert_non_null(f);
	n = fread(r.err, 1, sizeof(r.err) - 1, f);
	r.err[n] = 0;
	status = pclose(f);
	assert_true(WIFEXITED(status));
	r.code = WEXITSTATUS(status);
	return &r;
}

TEST_WITH(a_message_is_published, setup, stack_sweep)
{
	listen_to("/u", &sim_Ultrasonic_type);
	said(stack_ctl("pub", "/u", "{\"minimum_distance\":1.5}", "-t", "sim/Ultrasonic", "--frame", "bumper", NULL), 0,
	     "", "");
	has_distance(1.5, "bumper");
	said(stack_ctl("pub", "/u", "{}", "-t", "sim/Ultrasonic", NULL), 0, "", "");
	has_distance(0, "");
	said(stack_ctl("pub", "/u", "{\"minimum_distance\":7}", "-t", "sim/Ultrasonic", "-n", "3", NULL), 0, "", "");
	for (int i = 0; i < 3; i++)
		has_distance(7, "");
	end();
}

TEST_WITH(pub_repeats_at_a_rate_until_a_signal, setup, stack_sweep)
{
	static const char *const argv[] = { "simctl", "pub", "/u", "{\"minimum_distance\":2}", "-t", "sim/Ultrasonic",
					    "-r",     "500", NULL };
	pid_t pid;

	listen_to("/u", &sim_Ultrasonic_type);
	pid = fork();
	if (!pid) {
		execv(BIN "simctl", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	for (int i = 0; i < 20; i++)
		has_distance(2, "");
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(WEXITSTATUS(stack_wait(pid)), 130);
	end();
}

/* The output of echo --json is valid input; an existing channel needs no type. */
TEST_WITH(lines_of_stdin_are_messages, setup, stack_sweep)
{
	struct sim_publisher *p;
	const struct ctl_result *r;

	listen_to("/u", &sim_Ultrasonic_type);
	assert_int_equal(sim_advertise(client, "/u", &sim_Ultrasonic_type, NULL, &p), 0);
	r = with_lines(
		"{\"minimum_distance\":1}\\n\\n"
		"{\"channel\":\"/x\",\"sequence\":3,\"frame_id\":\"rear\",\"message\":{\"minimum_distance\":2}}\\n"
		"{\"minimum_distance\":3}",
		"/u");
	said(r, 0, "", "");
	has_distance(1, "");
	has_distance(2, "rear");
	has_distance(3, "rear"); /* until another one says otherwise */
	r = with_lines("{\"minimum_distance\":1}\\n{\"minimum_distance\":2}\\n", "/u -n 1");
	said(r, 0, "", "");
	has_distance(1, "");
	sim_publisher_destroy(p);
	end();
}

/* More than the usual room for a message with an array. */
TEST_WITH(pub_accepts_a_long_message, setup, stack_sweep)
{
	static char lines[200000];
	const struct sim_message *m;
	size_t n = 0;
	FILE *f = fopen("/tmp/image.json", "w");

	memset(lines, 'A', sizeof(lines)); /* base64: 3 bytes of 0 in four characters */
	assert_non_null(f);
	fprintf(f, "{\"width\":1,\"data\":\"AAAA\"}\n{\"width\":2,\"data\":\"%.*s\"}\n", 180000, lines);
	fclose(f);
	listen_to("/image", &sim_Image_type);
	assert_int_equal(system(BIN "simctl pub /image -t sim/Image < /tmp/image.json") /* NOLINT(cert-env33-c) */, 0);
	for (unsigned i = 1; i <= 2; i++) {
		m = next();
		assert_int_equal(((const struct sim_Image *)m->body)->width, i);
		(void)sim_Image_data(m->body, m->body_size, &(uint32_t){ 0 });
		n = m->body_size;
		assert_int_equal(sim_release(sub, m), 0);
	}
	assert_true(n > 135000);
	assert_int_equal(unlink("/tmp/image.json"), 0);
	end();
}

TEST_WITH(an_invalid_message_is_reported, setup, stack_sweep)
{
	listen_to("/u", &sim_Ultrasonic_type);
	said(stack_ctl("pub", "/u", "{\"minimum_distanc\":1}", "-t", "sim/Ultrasonic", NULL), 1, "",
	     "simctl: the message: ");
	said(stack_ctl("pub", "/u", "{\"minimum_distance\":", "-t", "sim/Ultrasonic", NULL), 1, "",
	     "simctl: the message: ");
	said(stack_ctl("pub", "/u", "{}", "-t", "sim/Ultrasonics", NULL), 1, "",
	     "\"sim/Ultrasonics\" is neither a type of simd's or of a channel, nor a channel");
	said(stack_ctl("pub", "/nowhere", "{}", NULL), 1, "", "a channel that nobody publishes yet needs --type");
	said(stack_ctl("pub", "/u", "{}", "-t", "sim/Ultrasonic", "-r", "-1", NULL), 2, "", "rate");
	said(with_lines("{\"minimum_distance\":1}\\n\\n{\"x\":2}\\n", "/u -t sim/Ultrasonic"), 1, "",
	     "simctl: line 3: ");
	has_distance(1, ""); /* what was right before it was published */
	end();
}

TEST_WITH(pub_reports_missing_subscribers_and_waits_for_one, setup, stack_sweep)
{
	/* again and again: the port of whom simd counts may be connected a moment after simd's own, and miss the first */
	static const char *const argv[] = {
		"simctl", "pub", "/u", "{\"minimum_distance\":4}", "-t", "sim/Ultrasonic", "--wait", "-r", "20", NULL
	};
	pid_t pid;

	/* simd does not say so in its first seconds, when those of an earlier one may come back */
	AWAIT(strstr(stack_ctl("pub", "/u", "{}", "-t", "sim/Ultrasonic", NULL)->err,
		     "nobody had subscribed for 1 of 1 messages (--wait waits for that)"));
	said(stack_ctl("pub", "/u", "{}", "-t", "sim/Ultrasonic", "--wait", "--timeout", "1ms", NULL), 1, "",
	     "nobody has subscribed to /u within the time-out");
	pid = fork();
	if (!pid) {
		execv(BIN "simctl", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	AWAIT(strstr(stack_ctl("list", "--names", NULL)->out, "/u\n"));
	listen_to("/u", &sim_Ultrasonic_type);
	has_distance(4, "");
	assert_int_equal(kill(pid, SIGINT), 0);
	(void)stack_wait(pid);
	end();
}

/* A refused message is reported and makes the exit code 1. */
TEST_WITH(while_time_is_paused_pub_publishes_nothing, setup, stack_sweep)
{
	listen_to("/u", &sim_Ultrasonic_type);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	said(stack_ctl("pub", "/u", "{}", "-t", "sim/Ultrasonic", "-n", "2", NULL), 1, "",
	     "2 of 2 messages were not delivered");
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	said(stack_ctl("pub", "/u", "{\"minimum_distance\":5}", "-t", "sim/Ultrasonic", NULL), 0, "", "");
	has_distance(5, "");
	end();
}

TEST_WITH(channels_are_found_by_their_type, setup, stack_sweep)
{
	struct sim_publisher *p[2];

	assert_int_equal(sim_advertise(client, "/front", &sim_Ultrasonic_type, NULL, &p[0]), 0);
	assert_int_equal(sim_advertise(client, "/words", &sim_String_type, NULL, &p[1]), 0);
	said(stack_ctl("find", "sim/Ultrasonic", NULL), 0, "/front\n", "");
	said(stack_ctl("find", "*/Str*", NULL), 0, "/words\n", "");
	said(stack_ctl("find", "sim/Imu", NULL), 1, "", "no channel has a type like \"sim/Imu\"");
	for (int i = 0; i < 2; i++)
		sim_publisher_destroy(p[i]);
	end();
}

TEST_WITH(echo_prints_the_selected_parts, setup, stack_sweep)
{
	const struct sim_publisher_options o = { .size = sizeof(o), .flags = SIM_PUB_LATCH, .frame_id = "rear" };
	struct sim_Ultrasonic body = { .minimum_distance = 2.5F };
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(client, "/u", &sim_Ultrasonic_type, &o, &p), 0);
	assert_int_equal(sim_publish_local_copy(p, &body, sizeof(body), 1500000000), 0);
	said(stack_ctl("echo", "/u", "--once", "--csv", NULL), 0, "time,minimum_distance\n1.500000000,2.5\n", "");
	said(stack_ctl("echo", "/u", "--once", "--csv", "--time-format", "raw", NULL), 0,
	     "time,minimum_distance\n1500000000,2.5\n", "");
	said(stack_ctl("echo", "/u", "--once", "--format", "{@frame} {minimum_distance:.2}", NULL), 0, "rear 2.50\n",
	     "");
	said(stack_ctl("echo", "/u", "--once", "--csv", "--filter", "minimum_distance > 2 && @frame == 'rear'", NULL),
	     0, "time,minimum_distance\n1.500000000,2.5\n", "");
	said(stack_ctl("echo", "/u", "--once", "--filter", "minimum_distance > 3", "--timeout", "50ms", NULL), 1, "",
	     "0 of 1 messages came on /u within the time-out");
	said(stack_ctl("echo", "/u", "--once", "--time-format", "date", "--field", "minimum_distance", NULL), 0,
	     "2.5\n", "");
	said(stack_ctl("echo", "/u", "--filter", "distance > 3", NULL), 1, "", "simctl: --filter: at character 1: ");
	said(stack_ctl("echo", "/u", "--format", "{x}", NULL), 1, "", "simctl: --format: {x}: ");
	said(stack_ctl("echo", "/u", "--csv", "--json", NULL), 1, "", "one of them");
	said(stack_ctl("echo", "/u", "--time-format", "iso", NULL), 1, "", "seconds, raw or date");
	sim_publisher_destroy(p);
	end();
}

/* Its exit code and output. Without a file name it writes into the current folder. */
static int snapshot(const char *options, char said_[1024])
{
	char command[4096], cwd[2048];
	size_t n;
	int status;
	FILE *f;

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(command, sizeof(command), "cd /tmp/pictures && %s/" BIN "simctl snapshot %s 2>&1",
		 *BIN == '/' ? "" : cwd, options);
	f = popen(command, "r"); /* NOLINT(cert-env33-c) */
	assert_non_null(f);
	n = fread(said_, 1, 1023, f);
	said_[n] = 0;
	status = pclose(f);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void has(const char *path, const char *head)
{
	char begin[8] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(begin, 1, strlen(head), f) == strlen(head));
	assert_memory_equal(begin, head, strlen(head));
	fclose(f);
	assert_int_equal(unlink(path), 0);
}

TEST_WITH(a_snapshot_is_written_as_an_image_file, setup, stack_sweep)
{
	const struct sim_publisher_options o = { .size = sizeof(o), .flags = SIM_PUB_LATCH, .max_body = 4096 };
	static _Alignas(64) uint8_t body[4096];
	static const char image[] = "{\"encoding\":\"rgb8\",\"width\":1,\"height\":1,\"step\":3,\"data\":[1,2,3]}";
	struct sim_publisher *p;
	char text[1024];
	size_t size;

	assert_int_equal(mkdir("/tmp/pictures", 0755), 0);
	assert_int_equal(sim_msg_from_json(&sim_Image_type, image, strlen(image), body, sizeof(body), &size), 0);
	assert_int_equal(sim_advertise(client, "/camera/front", &sim_Image_type, &o, &p), 0);
	assert_int_equal(sim_publish_local_copy(p, body, size, 1500000000), 0);
	if (snapshot("/camera/front", text) || strcmp(text, "camera_front.png: 1 x 1, rgb8 at 1.500000000 s\n"))
		fail_msg("%s", text);
	assert_int_equal(snapshot("/camera/front", text), 1);
	assert_non_null(strstr(text, "camera_front.png: File exists; remove it, or give another one with -o"));
	has("/tmp/pictures/camera_front.png", "\x89PNG");
	assert_int_equal(snapshot("/camera/front -o image.json", text), 0);
	has("/tmp/pictures/image.json", "{\n");
	assert_int_equal(snapshot("/camera/front -o image.pcd", text), 1);
	assert_non_null(strstr(text, "a sim/Image cannot be saved as .pcd"));
	assert_int_equal(sim_publish_local_copy(p, body, size - 1, 1500000000), 0);
	assert_int_equal(snapshot("/camera/front", text), 1);
	assert_int_equal(access("/tmp/pictures/camera_front.png", F_OK), -1);
	assert_int_equal(snapshot("/nowhere", text), 1);
	sim_publisher_destroy(p);
	assert_int_equal(rmdir("/tmp/pictures"), 0);
	end();
}

TEST_WITH(the_graph_shows_clients_and_channels, setup, stack_sweep)
{
	struct sim_publisher *p, *loose;
	char want[200];
	const struct ctl_result *r;

	assert_int_equal(sim_advertise(client, "/u", &sim_Ultrasonic_type, NULL, &p), 0);
	assert_int_equal(sim_advertise(client, "/words", &sim_String_type, NULL, &loose), 0);
	listen_to("/u", &sim_Ultrasonic_type);
	r = stack_ctl("graph", NULL);
	snprintf(want, sizeof(want),
		 "test (pid %d)\n  -> /u  sim/Ultrasonic  0.0 Hz\n  -> /words  sim/String  0.0 Hz\n  <- /u  ",
		 getpid());
	if (r->code || !strstr(r->out, want) || !strstr(r->out, "/words: nobody subscribes to it\n") ||
	    strstr(r->out, "/u: nobody"))
		fail_msg("%s", r->out);
	r = stack_ctl("graph", "words", NULL);
	assert_true(r->code == 0 && strstr(r->out, "/words") && !strstr(r->out, "/u"));
	r = stack_ctl("graph", "--dot", NULL);
	assert_non_null(strstr(r->out, "digraph simd {\n"));
	assert_non_null(strstr(r->out, " -> \"channel:/u\";\n"));
	assert_non_null(strstr(r->out, "  \"channel:/words\" [shape=box, label=\"/words\nsim/String, 0.0 Hz\"];\n"));
	r = stack_ctl("--json", "graph", NULL);
	assert_non_null(strstr(r->out, "{\"from\":\"channel:/u\",\"to\":\"process:"));
	assert_int_equal(stack_ctl("--json", "graph", "--dot", NULL)->code, 1);
	sim_publisher_destroy(p);
	sim_publisher_destroy(loose);
	end();
}
