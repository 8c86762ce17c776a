/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The foxglove bridge's web page in a browser, beside the whole stack: a client publishes known messages, and the cases
 * of ../page/page.js check what the page shows of them. Through lines of text the cases ask for simd's state, or for an
 * action on simd.
 */
#include "peer.h"
#include "stack.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/msg/String.h>
#include <sim/msg/Transforms.h>
#include <sim/point_cloud.h>

#define TOKEN_FILE "/tmp/foxglove.token"
#define PERIOD_US  40000
#define MARKUP     "<img src=x onerror=injected=1>"

static char conf[4096];
static pid_t simd, sensors;
static struct peer *sensing;

/* ---- publications ---- */

enum {
	WALL_ROWS = 21,
	WALL_COLUMNS = 81,
	WALL_POINTS = WALL_ROWS * WALL_COLUMNS,
	BODY_MAX = 60000,
};

/* 10 m before the lidar, 16 m wide, from the ground up to 2 m; its left half is bright, its right half dark. */
static size_t wall(uint8_t *body)
{
	struct sim_builder b;
	struct sim_Point *p = sim_point_cloud_begin(body, BODY_MAX, WALL_POINTS, &b);

	for (int i = 0; i < WALL_POINTS; i++) {
		memset(&p[i], 0, sizeof(p[i]));
		p[i].x = 10;
		p[i].y = (float)(i % WALL_COLUMNS) * 0.2f - 8;
		p[i].z = (float)(i / WALL_COLUMNS) * 0.1f - 2;
		p[i].intensity = p[i].y > 0 ? 1 : 0;
	}
	return sim_builder_size(&b);
}

/* Quarters of 32 x 24 pixels: red, green, blue, white. */
static size_t picture(uint8_t *body)
{
	static const uint8_t quarters[4][3] = { { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 255, 255, 255 } };
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, BODY_MAX, &b);
	uint8_t *to;

	m->width = 64;
	m->height = 48;
	m->step = 64 * 3;
	if (sim_Image_encoding_set(&b, "rgb8") < 0 || !(to = sim_Image_data_alloc(&b, 64 * 48 * 3)))
		return 0;
	for (int i = 0; i < 64 * 48; i++)
		memcpy(to + 3 * i, quarters[2 * (i / 64 >= 24) + (i % 64 >= 32)], 3);
	return sim_builder_size(&b);
}

/* A car behind the vehicle. */
static size_t objects(uint8_t *body)
{
	struct sim_builder b;
	struct sim_Detected3DObjects *m = sim_Detected3DObjects_init(body, BODY_MAX, &b);
	struct sim_Detected3DObject *o = m ? sim_Detected3DObjects_objects_alloc(&b, 1) : NULL;

	if (!o || sim_Detected3DObject_label_set_in(&b, o, "Car <b>") < 0)
		return 0;
	o->id = 7;
	o->pose.position.x = -10;
	o->pose.position.z = 0.75;
	o->pose.orientation.w = 1;
	o->size = (struct sim_Vector3){ 4.5, 1.9, 1.5 };
	return sim_builder_size(&b);
}

static size_t frame(uint8_t *body, const char *parent, const char *child, struct sim_Transform at)
{
	struct sim_builder b;
	struct sim_Transforms *m = sim_Transforms_init(body, BODY_MAX, &b);
	struct sim_Transform *t = m ? sim_Transforms_transforms_alloc(&b, 1) : NULL;

	if (!t)
		return 0;
	*t = at;
	if (sim_Transform_parent_frame_set_in(&b, t, parent) < 0 || sim_Transform_child_frame_set_in(&b, t, child) < 0)
		return 0;
	return sim_builder_size(&b);
}

/* The vehicle looks north, far from the middle of the map. */
static size_t vehicle(uint8_t *body)
{
	return frame(body, "map", "base_link",
		     (struct sim_Transform){ .translation = { 1000, 500, 0 },
					     .rotation = { 0, 0, 0.70710678, 0.70710678 } });
}

static size_t mounts(uint8_t *body)
{
	size_t n = frame(body, "base_link", "lidar",
			 (struct sim_Transform){ .translation = { 1, 0, 2 }, .rotation.w = 1 });

	((struct sim_Transforms *)(void *)body)->is_static = 1;
	return n;
}

static size_t hostile_mount(uint8_t *body)
{
	size_t n = frame(body, "base_link", MARKUP, (struct sim_Transform){ .rotation.w = 1 });

	((struct sim_Transforms *)(void *)body)->is_static = 1;
	return n;
}

static size_t imu(uint8_t *body)
{
	struct sim_Imu m = { .orientation.w = 1, .linear_acceleration = { 1.5, 0, 9.81 } };

	memcpy(body, &m, sizeof(m));
	return sizeof(m);
}

static size_t text(uint8_t *body)
{
	struct sim_builder b;
	struct sim_String *m = sim_String_init(body, BODY_MAX, &b);

	return m && sim_String_data_set(&b, MARKUP "</script><script>injected=2</script>") == 0 ? sim_builder_size(&b)
												: 0;
}

static const struct source {
	const char *channel, *frame;
	const struct sim_type *type;
	size_t (*make)(uint8_t *body);
} sources[] = {
	{ "lidar", "lidar", &sim_PointCloud_type, wall },
	{ "camera", "camera", &sim_Image_type, picture },
	{ "objects", "base_link", &sim_Detected3DObjects_type, objects },
	{ "tf", "map", &sim_Transforms_type, vehicle },
	{ "tf_static", "base_link", &sim_Transforms_type, mounts },
	{ "tf_more", "base_link", &sim_Transforms_type, hostile_mount },
	{ "imu", MARKUP, &sim_Imu_type, imu },
	{ "text", "", &sim_String_type, text },
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

/* Each of them again and again; refusals while time stands, or without simd, are accepted. */
static int sense(struct peer *p)
{
	static _Alignas(64) uint8_t body[SOURCES][BODY_MAX];
	struct sim_client *c = peer_connect(p, "sensors");
	struct sim_publisher *pub[SOURCES];
	size_t size[SOURCES];

	for (size_t i = 0; i < SOURCES; i++) {
		struct sim_publisher_options o = { .size = sizeof(o), .frame_id = sources[i].frame };

		o.max_body = size[i] = sources[i].make(body[i]);
		PEER(p, size[i] > 0);
		PEER(p, sim_advertise(c, sources[i].channel, sources[i].type, &o, &pub[i]) == 0);
	}
	while (!atomic_load(&p->stop)) {
		for (size_t i = 0; i < SOURCES; i++)
			(void)!sim_try_queue_copy(pub[i], body[i], size[i], 0, NULL, NULL, NULL);
		pace_us(PERIOD_US);
	}
	for (size_t i = 0; i < SOURCES; i++)
		sim_publisher_destroy(pub[i]);
	sim_disconnect(c);
	return 0;
}

/* ---- the stack ---- */

static void start(unsigned port)
{
	snprintf(
		conf, sizeof(conf),
		"\"TimeSource\":\"simulation\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":200}],"
		"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"web\",\"plugin\":\"foxglove\",\"connection\":\"127.0.0.1:%u\","
		"\"options\":{\"control\":\"true\",\"token_file\":\"" TOKEN_FILE "\"}},"
		"{\"name\":\"null\",\"plugin\":\"null\",\"connection\":\"" MARKUP "\"},"
		"{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/page\"}]}]",
		port);
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("web", "status"), "connected"));
	if (sensing)
		return;
	sensing = peer_new();
	sensors = peer_fork(sensing, sense);
}

static unsigned free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static void end_sensors(void)
{
	if (!sensing)
		return;
	kill(sensors, SIGKILL);
	stack_wait(sensors);
	peer_free(sensing);
	sensing = NULL;
}

static int teardown(void **state)
{
	end_sensors();
	return stack_sweep(state);
}

/* ---- what a case asks ---- */

static void say(int fd, json_t *j)
{
	char *line = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_non_null(line);
	assert_true(dprintf(fd, "%s\n", line) > 0);
	free(line);
	json_decref(j);
}

/* {"do": "call", "method": "GetClock", "args": {}}: simd's reply; null: it was refused. */
static json_t *call(json_t *ask)
{
	json_t *args = json_object_get(ask, "args");
	json_t *reply = stack_call(json_string_value(json_object_get(ask, "method")), "O", args);

	return reply ? reply : json_null();
}

static json_t *answer(json_t *ask)
{
	const char *what = json_string_value(json_object_get(ask, "do"));
	unsigned port;

	if (!strcmp(what, "call"))
		return call(ask);
	if (!strcmp(what, "restart the bridge"))
		return json_integer(stack_ctl("bridge", "restart", "web", NULL)->code);
	if (!strcmp(what, "begin again"))
		end_sensors();
	else
		assert_string_equal(what, "restart simd");
	assert_int_equal(sscanf(stack_bridge_text("web", "connection"), "127.0.0.1:%u", &port), 1);
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
	start(port);
	return json_true();
}

static void take_line(char *line, int to)
{
	json_t *ask;

	if (strncmp(line, "ask ", 4) != 0) {
		print_message("case: %s\n", line);
		return;
	}
	ask = json_loads(line + 4, 0, NULL);
	assert_non_null(ask);
	say(to, answer(ask));
	json_decref(ask);
}

/* Until the cases end. */
static void serve(int from, int to)
{
	char text_[65536];
	size_t n = 0;

	for (;;) {
		ssize_t got;
		char *nl;

		got = read(from, text_ + n, sizeof(text_) - n);
		if (got <= 0)
			return;
		n += (size_t)got;
		while ((nl = memchr(text_, '\n', n))) {
			*nl = '\0';
			take_line(text_, to);
			n -= (size_t)(nl + 1 - text_);
			memmove(text_, nl + 1, n);
		}
		assert_true(n < sizeof(text_));
	}
}

/* The address in the bridge's detail: "the web page is http://127.0.0.1:4711/, ..." */
static void page_url(char url[200])
{
	const char *detail = stack_bridge_text("web", "detail"), *at = strstr(detail, "127.0.0.1:");
	unsigned port = 0;

	if (!at || sscanf(at, "127.0.0.1:%u", &port) != 1)
		fail_msg("no address in \"%s\"", detail);
	snprintf(url, 200, "http://127.0.0.1:%u/", port);
}

static void page_token(char token[100])
{
	FILE *f = fopen(TOKEN_FILE, "r");

	assert_non_null(f);
	assert_non_null(fgets(token, 100, f));
	token[strcspn(token, "\n")] = '\0';
	fclose(f);
}

static void need_browser(void)
{
	if (system("command -v node >/dev/null && command -v \"${CHROMIUM:-chromium}\" >/dev/null") == 0)
		return;
	print_message("no node, or no chromium: run tools/dev/deps.sh full\n");
	assert_false(test_full());
	skip();
}

static void see(const char *names)
{
	char url[200], token[100];
	int in[2], out[2], status;
	pid_t pid;

	need_browser();
	start(free_port());
	page_url(url);
	page_token(token);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		execlp("node", "node", "tests/system/page/page.js", names, url, token, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	serve(out[0], in[1]);
	close(in[1]);
	close(out[0]);
	status = stack_wait(pid);
	if (status != 0)
		fail_msg("a case has failed: what it said is above");
}

TEST_WITH(the_overview_lists_the_channels, NULL, teardown)
{
	see("the_overview_lists_the_channels");
}

TEST_FULL_WITH(the_page_shows_clouds_images_plots_and_narrow_windows, NULL, teardown)
{
	see("clouds_and_objects_are_at_their_positions,an_image_has_its_colours,a_plot_draws_the_samples,a_narrow_window_holds_every_view");
}

TEST_FULL_WITH(the_page_controls_the_clock_and_the_bridges, NULL, teardown)
{
	see("with_the_token_the_clock_can_be_controlled,without_the_token_access_is_read_only,a_bridge_connection_can_be_changed,"
	    "names_with_markup_are_shown_as_text,the_page_reconnects");
}
