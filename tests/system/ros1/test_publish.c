/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This node's publications as subscribers see them: headers, bytes, queues, and the handling of peers and masters that
 * misbehave. All without any part of ROS: test_peers.c has that.
 */
#include "support/test.h"

#include <errno.h>
#include <sys/socket.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/CorrectedImu.h>
#include <sim/msg/Image.h>
#include <sim/msg/RadarObjects.h>
#include <sim/msg/String.h>
#include <sim/msg/Transforms.h>
#include <sim/srv/SetBool.h>

#include "../ros2/host.h"
#include "fake.h"
#include "support/message.h"

#define MD5_STRING "992ce8a1687cec8c8bd883ec73ca41d1"
#define MD5_IMAGE  "060021388200f6f0f447d0fcd9c64743"

static const char *const no_options[] = { NULL };
static struct fake_master master;
static struct host h;
static struct sim_bridge *b;

static void up(const char *const *options)
{
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
}

static int setup(void **state)
{
	(void)state;
	unsetenv("ROS_IP");
	unsetenv("ROS_HOSTNAME");
	fake_master_start(&master, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_master_stop(&master);
	return 0;
}

static void down(void)
{
	h.ops->disconnect(b);
	h.ops->destroy(b);
}

/* A channel, when the master knows of it. Returns the port of TCPROS. */
static unsigned open_topic(const char *name, const struct sim_type *type, const char *options,
			   struct sim_bridge_topic **ret)
{
	*ret = host_open(&h, b, name, type, options);
	AWAIT(fake_master_calls(&master, "registerPublisher", name));
	return fake_request_topic(&master, name);
}

static struct sim_slot *text_slot(const char *text)
{
	struct sim_slot *s = host_slot(sim_String_size(strlen(text)), "");
	struct sim_builder builder;

	assert_non_null(sim_String_init(sim_slot_body_mut(s), s->body_size, &builder));
	assert_int_equal(sim_String_data_set(&builder, text), 0);
	s->body_size = sim_builder_size(&builder);
	return s;
}

static int publish_text(struct sim_bridge_topic *t, const char *text)
{
	struct sim_slot *s = text_slot(text);
	int r = h.ops->publish(b, t, MESSAGE_OF(s), NULL);

	free(s);
	return r;
}

static void expect_text(int fd, const char *text)
{
	uint32_t len;
	uint8_t *m = fake_message(fd, &len);

	assert_non_null(m);
	assert_int_equal(len, 4 + strlen(text));
	assert_int_equal(fake_u32(m), strlen(text));
	assert_memory_equal(m + 4, text, strlen(text));
	free(m);
}

static int subscriber(unsigned port, const char *topic, const char *md5, const char *type, int room)
{
	int fd = fake_connect(port, room);

	fake_subscribe(fd, "/listener", topic, md5, type);
	return fd;
}

/* ---- messages ---- */

TEST_WITH(messages_follow_the_connection_header, setup, teardown)
{
	struct sim_bridge_topic *t;
	unsigned port;
	int fd, any;

	up(no_options);
	port = open_topic("/chat", &sim_String_type, "{}", &t);
	assert_int_equal(publish_text(t, "nobody listens"), 0);
	fd = subscriber(port, "/chat", MD5_STRING, "std_msgs/String", 0);
	assert_string_equal(fake_field(fd, "md5sum"), MD5_STRING);
	any = subscriber(port, "/chat", "*", "*", 0);
	assert_string_equal(fake_field(any, "message_definition"), "string data\n");
	assert_int_equal(publish_text(t, "hello"), 0);
	assert_int_equal(publish_text(t, ""), 0);
	expect_text(fd, "hello");
	expect_text(any, "hello");
	expect_text(fd, "");
	h.ops->close(b, t);
	assert_null(fake_message(fd, &(uint32_t){ 0 })); /* it ends with its topic */
	AWAIT(fake_master_calls(&master, "unregisterPublisher", "/chat"));
	close(fd);
	close(any);
	down();
}

/* A radar's object: the array's header is 4 + 4 + 4 + 4 bytes, then its count, then its number. */
static uint32_t radar_number(int fd)
{
	uint32_t len, n;
	uint8_t *m = fake_message(fd, &len);

	assert_non_null(m);
	assert_int_equal(fake_u32(m + 16), 1);
	n = fake_u32(m + 20);
	free(m);
	return n;
}

/* Under Apollo's name, and as a string of ROS: protobuf behind its length. An image stays one of ROS. */
TEST_WITH(apollo_channels_are_sent_as_protobuf, setup, teardown)
{
	static const char *const options[] = { "apollo", "true", NULL };
	struct sim_slot *s = host_slot(sizeof(struct sim_CanBus), "");
	struct sim_CanBus *m = sim_slot_body_mut(s);
	struct sim_bridge_channel again = { .id = 2, .name = "/other/can", .type = &sim_CanBus_type, .options = "{}" };
	struct sim_bridge_topic *t, *u, *v, *none;
	unsigned port;
	uint8_t *data;
	uint32_t len;
	int fd;

	up(options);
	t = host_open(&h, b, "/vehicle/can", &sim_CanBus_type, "{}");
	u = host_open(&h, b, "/camera", &sim_Image_type, "{}");
	v = host_open(&h, b, "/second", &sim_CorrectedImu_type,
		      "{\"ros1\":{\"type\":\"pb_msgs/Imu\",\"topic\":\"/imu\"}}");
	host_wait_log(&h, "/camera: sim/Image goes out as sensor_msgs/Image");
	host_wait_log(&h, "/second: sim/CorrectedImu goes out as pb_msgs/Imu");
	assert_int_equal(h.ops->open(b, &again, &none), -EINVAL);
	host_wait_log(&h, "/other/can: it would be published as /apollo/canbus/chassis, like channel /vehicle/can");
	AWAIT(fake_master_calls(&master, "registerPublisher", "/apollo/canbus/chassis"));
	port = fake_request_topic(&master, "/apollo/canbus/chassis");
	fd = subscriber(port, "/apollo/canbus/chassis", "d6a21658031a6a4615858d76f8b5178e", "pb_msgs/Chassis", 0);
	assert_string_equal(fake_field(fd, "message_definition"), "protobuf");
	*m = (struct sim_CanBus){ .speed = 2, .orientation.w = 1 };
	assert_int_equal(host_publish(&h, b, t, s), 0);
	data = fake_message(fd, &len);
	assert_non_null(data);
	assert_int_equal(fake_u32(data), len - 4);
	assert_non_null(memmem(data + 4, len - 4, "\x2d\0\0\0\x40", 5)); /* speed_mps */
	free(data);
	close(fd);
	free(s);
	h.ops->close(b, t);
	h.ops->close(b, u);
	h.ops->close(b, v);
	down();
}

TEST_WITH(compat_reproduces_the_mistakes_of_svl, setup, teardown)
{
	static const char *const options[] = { "compat", "svl2021.3", NULL };
	struct sim_slot *s = host_slot(sim_RadarObjects_size(1), "");
	struct sim_builder builder;
	struct sim_bridge_topic *t;
	unsigned port;
	int old, new;

	assert_non_null(sim_RadarObjects_init(sim_slot_body_mut(s), s->body_size, &builder));
	sim_RadarObjects_objects_alloc(&builder, 1)->id = 7;
	s->body_size = sim_builder_size(&builder);
	up(options);
	port = open_topic("/old", &sim_RadarObjects_type,
			  "{\"ros1\":[{\"topic\":\"/old\"},{\"topic\":\"/new\",\"compat\":\"none\"}]}", &t);
	new = subscriber(fake_request_topic(&master, "/new"), "/new", "*", "*", 0);
	old = subscriber(port, "/old", "*", "*", 0);
	assert_string_equal(fake_field(old, "type"), "lgsvl_msgs/DetectedRadarObjectArray");
	assert_string_equal(fake_field(new, "type"), "lgsvl_msgs/DetectedRadarObjectArray");
	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
	assert_int_equal(radar_number(old), 0);
	assert_int_equal(radar_number(new), 7);
	free(s);
	close(old);
	close(new);
	h.ops->close(b, t);
	down();
}

TEST_WITH(a_latched_message_reaches_a_late_subscriber, setup, teardown)
{
	struct sim_bridge_topic *t;
	unsigned port;
	int fd;

	up(no_options);
	port = open_topic("/map", &sim_String_type, "{\"ros1\":{\"latch\":true}}", &t);
	assert_int_equal(publish_text(t, "old"), 0);
	assert_int_equal(publish_text(t, "new"), 0);
	fd = subscriber(port, "/map", MD5_STRING, "std_msgs/String", 0);
	assert_string_equal(fake_field(fd, "latching"), "1");
	expect_text(fd, "new");
	close(fd);
	h.ops->close(b, t);
	down();
}

/* A sensor that says each second where it is. */
static void repeat_frame(struct sim_bridge_topic *t, const char *child)
{
	struct sim_slot *s = host_slot(512, "");
	struct sim_builder builder;
	struct sim_Transform *f;

	assert_non_null(sim_Transforms_init(sim_slot_body_mut(s), s->body_size, &builder));
	f = sim_Transforms_transforms_alloc(&builder, 1);
	assert_int_equal(sim_Transform_parent_frame_set_in(&builder, f, "base_link"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&builder, f, child), 0);
	s->body_size = sim_builder_size(&builder);
	for (int i = 0; i < 5; i++)
		assert_int_equal(host_publish(&h, b, t, s), 0);
	free(s);
}

static uint32_t frames_heard(int fd)
{
	uint32_t len, n;
	uint8_t *m = fake_message(fd, &len);

	assert_non_null(m);
	n = fake_u32(m);
	free(m);
	return n;
}

/* Whoever comes, when ever, gets them once: of all channels that are this topic. */
TEST_WITH(fixed_frames_are_sent_once, setup, teardown)
{
	struct sim_bridge_topic *t, *u;
	unsigned port;
	int early, late;

	up(no_options);
	port = open_topic("/tf_static", &sim_Transforms_type, "{}", &t);
	u = host_open(&h, b, "/other", &sim_Transforms_type, "{\"ros1\":{\"topic\":\"/tf_static\"}}");
	early = subscriber(port, "/tf_static", "*", "*", 0);
	assert_string_equal(fake_field(early, "latching"), "1");
	repeat_frame(t, "one");
	repeat_frame(t, "two");
	assert_int_equal(frames_heard(early), 1);
	assert_int_equal(frames_heard(early), 2);
	late = subscriber(port, "/tf_static", "*", "*", 0);
	assert_string_equal(fake_field(late, "latching"), "1");
	repeat_frame(t, "one");
	repeat_frame(u, "three");
	repeat_frame(u, "four");
	assert_int_equal(frames_heard(late), 2);
	for (uint32_t n = 3; n <= 4; n++) {
		assert_int_equal(frames_heard(early), n);
		assert_int_equal(frames_heard(late), n);
	}
	close(late);
	late = subscriber(port, "/tf_static", "*", "*", 0);
	assert_string_equal(fake_field(late, "latching"), "1");
	assert_int_equal(frames_heard(late), 4);
	close(late);
	close(early);
	h.ops->close(b, t);
	h.ops->close(b, u);
	down();
}

/* Where the rig does not want them latched, each message goes. */
TEST_WITH(fixed_frames_are_repeated_without_a_latch, setup, teardown)
{
	struct sim_bridge_topic *t;
	unsigned port;
	int fd;

	up(no_options);
	port = open_topic("/tf_static", &sim_Transforms_type, "{\"ros1\":{\"latch\":false}}", &t);
	repeat_frame(t, "one");
	fd = subscriber(port, "/tf_static", "*", "*", 0);
	assert_string_equal(fake_field(fd, "latching"), "0");
	repeat_frame(t, "one");
	for (int i = 0; i < 5; i++)
		assert_int_equal(frames_heard(fd), 1);
	close(fd);
	h.ops->close(b, t);
	down();
}

/* Two channels, or one as two topics of the same name, are one publication. */
TEST_WITH(channels_with_one_topic_name_are_one_publication, setup, teardown)
{
	struct sim_bridge_topic *t, *u;
	unsigned port;
	int fd;

	up(no_options);
	port = open_topic("/chat", &sim_String_type, "{}", &t);
	u = host_open(&h, b, "/other", &sim_String_type, "{\"ros1\":{\"topic\":\"/chat\"}}");
	fd = subscriber(port, "/chat", "*", "*", 0);
	assert_string_equal(fake_field(fd, "topic"), "/chat");
	assert_int_equal(publish_text(t, "one"), 0);
	assert_int_equal(publish_text(u, "two"), 0);
	expect_text(fd, "one");
	expect_text(fd, "two");
	h.ops->close(b, t);
	assert_int_equal(publish_text(u, "three"), 0);
	expect_text(fd, "three");
	h.ops->close(b, u);
	assert_int_equal(fake_master_calls(&master, "registerPublisher", ""), 1);
	close(fd);
	down();
}

/* ---- lock-step ---- */

static char tasks[2];
static pthread_barrier_t converted, may_write;

static struct sim_task *task_of(int i)
{
	return (struct sim_task *)(void *)&tasks[i];
}

/* The second one is converted, and waits until the first one is out. */
static void in_order(struct sim_task *task)
{
	if (task != task_of(1))
		return;
	pthread_barrier_wait(&converted);
	pthread_barrier_wait(&may_write);
}

struct lane {
	struct sim_bridge_topic *t;
	struct sim_slot *s;
	pthread_t thread;
};

static void *lane_main(void *arg)
{
	struct lane *l = arg;

	assert_true(h.ops->publish(b, l->t, MESSAGE_OF(l->s), task_of(1)) >= 0);
	return NULL;
}

/* On a lane of its own; returns when it waits for its turn. */
static struct lane second(struct sim_bridge_topic *t, struct sim_slot *s)
{
	static struct lane l;

	l = (struct lane){ .t = t, .s = s };
	pthread_barrier_init(&converted, NULL, 2);
	pthread_barrier_init(&may_write, NULL, 2);
	assert_int_equal(pthread_create(&l.thread, NULL, lane_main, &l), 0);
	pthread_barrier_wait(&converted);
	return l;
}

static void go_on(const struct lane *l)
{
	pthread_barrier_wait(&may_write);
	pthread_join(l->thread, NULL);
	pthread_barrier_destroy(&converted);
	pthread_barrier_destroy(&may_write);
}

TEST_WITH(lanes_convert_side_by_side_and_write_in_order, setup, teardown)
{
	struct sim_slot *one, *two, *frames;
	struct sim_bridge_topic *t, *u;
	struct lane l;
	int fd;

	up(no_options);
	assert_true(h.ops->flags & SIM_BRIDGE_IN_ORDER);
	h.in_order = in_order;
	fd = subscriber(open_topic("/chat", &sim_String_type, "{}", &t), "/chat", "*", "*", 0);
	assert_string_equal(fake_field(fd, "topic"), "/chat");
	one = text_slot("one");
	two = text_slot("two");
	l = second(t, two);
	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(one), task_of(0)), 0);
	expect_text(fd, "one");
	go_on(&l);
	expect_text(fd, "two");
	/* what all frames together are sent with is no lock that the first one waits for */
	(void)open_topic("/tf_static", &sim_Transforms_type, "{}", &u);
	frames = host_slot(sim_Transforms_size(0, 0), "");
	assert_non_null(sim_Transforms_init(sim_slot_body_mut(frames), frames->body_size, &(struct sim_builder){ 0 }));
	l = second(u, frames);
	assert_int_equal(h.ops->publish(b, u, MESSAGE_OF(frames), task_of(0)), 0);
	go_on(&l);
	free(one);
	free(two);
	free(frames);
	close(fd);
	h.ops->close(b, t);
	h.ops->close(b, u);
	down();
}

/* ---- large ones, and slow subscribers ---- */

#define WIDTH  2048u
#define HEIGHT 1024u
#define BYTES  (WIDTH * HEIGHT * 3) /* 6 MiB: more than the sockets of a machine hold */
#define IMAGES 8u

static struct sim_slot *image(uint32_t number)
{
	struct sim_slot *s = host_image(WIDTH, HEIGHT);
	const struct sim_Image *m = sim_Image_from(sim_slot_body_mut(s), s->body_size);
	uint32_t n;
	uint8_t *data = (uint8_t *)(uintptr_t)sim_Image_data(m, s->body_size, &n);

	for (uint32_t i = 0; i < n; i += 4096)
		data[i] = (uint8_t)(number + i / 4096);
	s->sequence = number;
	return s;
}

static void expect_image(int fd, uint32_t number)
{
	uint32_t len = 0;
	uint8_t *m = fake_message(fd, &len), *data;

	assert_non_null(m);
	assert_true(len > BYTES);
	assert_int_equal(fake_u32(m), number);
	data = m + len - BYTES;
	for (uint32_t i = 0; i < BYTES; i += 4096)
		assert_int_equal(data[i], (uint8_t)(number + i / 4096));
	free(m);
}

/* It is another owner's now. */
static void goes_back(struct sim_slot **s)
{
	memset(sim_slot_body_mut(*s), 0, (*s)->body_size);
	free(*s);
	*s = NULL;
}

/*
 * One subscriber reads each image, the other none: the first misses nothing, every slot is answered, and then the other
 * gets the newest image.
 */
TEST_WITH(a_slow_subscriber_delays_no_other, setup, teardown)
{
	struct sim_slot *s[IMAGES + 1] = { NULL };
	struct sim_bridge_topic *t;
	unsigned port, pending = 0;
	char task[IMAGES + 1];
	int fast, slow;

	up(no_options);
	port = open_topic("/camera", &sim_Image_type, "{\"ros1\":{\"queue\":2}}", &t);
	fast = subscriber(port, "/camera", MD5_IMAGE, "sensor_msgs/Image", 0);
	slow = subscriber(port, "/camera", MD5_IMAGE, "sensor_msgs/Image", 65536);
	assert_string_equal(fake_field(fast, "type"), "sensor_msgs/Image");
	assert_string_equal(fake_field(slow, "type"), "sensor_msgs/Image");
	for (uint32_t i = 1; i <= IMAGES; i++) {
		int r;

		s[i] = image(i);
		r = h.ops->publish(b, t, MESSAGE_OF(s[i]), (struct sim_task *)(void *)&task[i]);
		assert_true(r == 0 || r == 1);
		pending += r == 1;
		expect_image(fast, i);
		if (r ==
		    0) /* what the slow one has not been sent for a moment is copied, here before the call had returned */
			goes_back(&s[i]);
	}
	for (; pending; pending--) {
		struct host_done d = host_next_done(&h);
		ptrdiff_t i = (char *)d.task - task;

		assert_int_equal(d.result, 0);
		assert_true(i >= 1 && i <= (ptrdiff_t)IMAGES && s[i]);
		goes_back(&s[i]);
	}
	host_wait_log(&h, "; messages dropped for slow subscribers: /listener on /camera 5");
	expect_image(slow, 1);
	expect_image(slow, IMAGES - 1);
	expect_image(slow, IMAGES);
	close(fast);
	close(slow);
	h.ops->close(b, t);
	down();
}

TEST_WITH(a_subscriber_that_leaves_in_the_middle_leaks_nothing, setup, teardown)
{
	struct sim_bridge_topic *t;
	struct sim_slot *s;
	unsigned port;
	char task;
	int fd, other;

	up(no_options);
	port = open_topic("/camera", &sim_Image_type, "{}", &t);
	fd = subscriber(port, "/camera", "*", "*", 65536);
	other = subscriber(port, "/camera", "*", "*", 65536);
	assert_string_equal(fake_field(fd, "topic"), "/camera");
	assert_string_equal(fake_field(other, "topic"), "/camera");
	s = image(1);
	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), (struct sim_task *)(void *)&task), 1);
	close(fd);
	expect_image(other, 1);
	assert_int_equal(host_next_done(&h).result, 0);
	free(s);
	s = image(2);
	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), (struct sim_task *)(void *)&task), 1);
	h.ops->close(b, t); /* with it half sent */
	assert_ptr_equal(host_next_done(&h).task, &task);
	free(s);
	close(other);
	down();
}

static unsigned lines_with(const char *text)
{
	unsigned n = 0;

	pthread_mutex_lock(&h.log_lock);
	for (const char *p = h.log; (p = strstr(p, text)); p++)
		n++;
	pthread_mutex_unlock(&h.log_lock);
	return n;
}

TEST_WITH(subscribers_that_reconnect_often_do_not_fill_the_log, setup, teardown)
{
	int64_t start_ms = wait_now_ms();
	struct sim_bridge_topic *t;
	unsigned port;

	up(no_options);
	port = open_topic("/camera", &sim_Image_type, "{}", &t);
	for (int i = 0; i < 300; i++) {
		int fd = subscriber(port, "/camera", "*", "*", 0);

		assert_string_equal(fake_field(fd, "topic"), "/camera");
		close(fd);
	}
	/* a hundred, and one more each second that this takes */
	assert_in_range(lines_with("/camera: subscriber "), 20, 102 + (wait_now_ms() - start_ms) / 1000);
	h.ops->close(b, t);
	down();
}

/* ---- wrong peers ---- */

static void refused(unsigned port, const char *topic, const char *md5, const char *type, const char *why)
{
	int fd = subscriber(port, topic, md5, type, 0);
	const char *error = fake_field(fd, "error");

	if (!strstr(error, why))
		fail_msg("\"%s\" does not say \"%s\"", error, why);
	assert_null(fake_message(fd, &(uint32_t){ 0 }));
	close(fd);
}

static void ends(unsigned port, const void *data, size_t n)
{
	int fd = fake_connect(port, 0);
	char some[4096];

	fake_send(fd, data, n);
	while (recv(fd, some, sizeof(some), 0) > 0)
		;
	close(fd);
}

TEST_WITH(invalid_peers_get_the_reason, setup, teardown)
{
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4 }, odd[] = { 5, 0, 0, 0, 1, 0, 0, 0, 'a' };
	struct sim_bridge_topic *t;
	unsigned port, node_port = 0;
	int fd, idle;

	up(no_options);
	port = open_topic("/chat", &sim_String_type, "{}", &t);
	idle = fake_connect(port, 0); /* says nothing */
	refused(port, "/chat", "00000000000000000000000000000000", "std_msgs/String", "md5sum " MD5_STRING);
	refused(port, "/chat", "*", "std_msgs/Int8", "is std_msgs/String, not std_msgs/Int8");
	refused(port, "/none", "*", "*", "does not publish /none");
	refused(port, "", "*", "*", "names neither a topic nor a service");
	ends(port, huge, sizeof(huge));
	ends(port, odd, sizeof(odd));
	fd = fake_connect(port, 0); /* half a header */
	fake_send(fd, "\x40\0\0\0\x10\0\0\0topic", 13);
	close(fd);
	ends(port, "GET / HTTP/1.1\r\n\r\n", 18);
	assert_int_equal(sscanf(master.node_uri, "http://127.0.0.1:%u/", &node_port), 1);
	ends(node_port, "\x10\x00\x00\x00\x0c\x00\x00\x00topic=/chat", 20);
	ends(node_port, "GET / HTTP/1.0\r\n\r\n", 18);
	ends(node_port, "POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n<a/>\n", 43);
	fd = subscriber(port, "/chat", "*", "*", 0);
	assert_string_equal(fake_field(fd, "topic"), "/chat");
	assert_int_equal(publish_text(t, "still here"), 0);
	expect_text(fd, "still here");
	close(fd);
	close(idle);
	h.ops->close(b, t);
	down();
}

/* ---- what others ask the node ---- */

static struct xmlrpc_doc *ask(const char *method)
{
	struct xmlrpc_writer w = { .text = NULL };

	xmlrpc_call(&w, method);
	xmlrpc_put_text(&w, "/asker");
	xmlrpc_put_text(&w, "because");
	return fake_ask(&master, &w);
}

static int64_t code_of(const struct xmlrpc_doc *d)
{
	return xmlrpc_int(xmlrpc_at(xmlrpc_at(d->params, 0), 0), -9);
}

#define SILENT 300 /* more than either port has places */

/* Silent connections used to hold a place until their time-out, and no other client was admitted. */
TEST_WITH(silent_connections_hold_no_place, setup, teardown)
{
	static const char *const begun[] = { "", "POST / HTTP/1.0\r\nContent-Le" };
	unsigned port, node_port = 0;
	struct sim_bridge_topic *t;
	struct xmlrpc_doc *d;
	int fd, silent[2 * SILENT];

	up(no_options);
	port = open_topic("/chat", &sim_String_type, "{}", &t);
	assert_int_equal(sscanf(master.node_uri, "http://127.0.0.1:%u/", &node_port), 1);
	for (int i = 0; i < SILENT; i++) {
		silent[2 * i] = fake_connect(node_port, 0);
		fake_send(silent[2 * i], begun[i % 2], strlen(begun[i % 2]));
		silent[2 * i + 1] = fake_connect(port, 0);
	}
	d = ask("getPid");
	assert_int_equal(code_of(d), 1);
	xmlrpc_free(d);
	fd = subscriber(port, "/chat", "*", "*", 0);
	assert_string_equal(fake_field(fd, "topic"), "/chat");
	close(fd);
	for (int i = 0; i < 2 * SILENT; i++)
		close(silent[i]);
	h.ops->close(b, t);
	down();
}

TEST_WITH(the_node_reports_its_connections, setup, teardown)
{
	const struct xmlrpc_value *v;
	struct sim_bridge_topic *t;
	struct xmlrpc_doc *d;
	int fd;

	up(no_options);
	fd = subscriber(open_topic("/chat", &sim_String_type, "{}", &t), "/chat", "*", "*", 0);
	assert_string_equal(fake_field(fd, "topic"), "/chat");
	assert_int_equal(publish_text(t, "four"), 0);
	expect_text(fd, "four");
	d = ask("getPid");
	assert_int_equal(xmlrpc_int(xmlrpc_at(xmlrpc_at(d->params, 0), 2), 0), getpid());
	xmlrpc_free(d);
	d = ask("getBusInfo");
	v = xmlrpc_at(xmlrpc_at(xmlrpc_at(d->params, 0), 2), 0);
	assert_string_equal(xmlrpc_text(xmlrpc_at(v, 1)), "/listener");
	assert_string_equal(xmlrpc_text(xmlrpc_at(v, 2)), "o");
	assert_string_equal(xmlrpc_text(xmlrpc_at(v, 4)), "/chat");
	xmlrpc_free(d);
	d = ask("getBusStats");
	v = xmlrpc_at(xmlrpc_at(xmlrpc_at(xmlrpc_at(xmlrpc_at(d->params, 0), 2), 0), 0), 2);
	assert_int_equal(xmlrpc_int(xmlrpc_at(xmlrpc_at(v, 0), 2), 0), 1); /* one message */
	xmlrpc_free(d);
	d = ask("getPublications");
	v = xmlrpc_at(xmlrpc_at(xmlrpc_at(d->params, 0), 2), 0);
	assert_string_equal(xmlrpc_text(xmlrpc_at(v, 0)), "/chat");
	assert_string_equal(xmlrpc_text(xmlrpc_at(v, 1)), "std_msgs/String");
	xmlrpc_free(d);
	d = ask("getMasterUri");
	assert_string_equal(xmlrpc_text(xmlrpc_at(xmlrpc_at(d->params, 0), 2)), master.uri);
	xmlrpc_free(d);
	d = ask("requestTopic"); /* without its protocols */
	assert_int_equal(code_of(d), -1);
	xmlrpc_free(d);
	close(fd);
	h.ops->close(b, t);
	down();
}

/* ---- the master ---- */

TEST_WITH(the_node_registers_again_with_a_master_that_forgot_it, setup, teardown)
{
	struct sim_bridge_topic *t, *u;
	int fd;

	up(no_options);
	fd = subscriber(open_topic("/chat", &sim_String_type, "{}", &t), "/chat", "*", "*", 0);
	assert_string_equal(fake_field(fd, "topic"), "/chat");
	(void)open_topic("/other", &sim_String_type, "{}", &u);
	fake_master_forget(&master);
	AWAIT(fake_master_calls(&master, "registerPublisher", "/chat") &&
	      fake_master_calls(&master, "registerPublisher", "/other"));
	assert_int_equal(publish_text(t, "connected all the time"), 0);
	expect_text(fd, "connected all the time");
	close(fd);
	h.ops->close(b, t);
	h.ops->close(b, u);
	AWAIT(fake_master_calls(&master, "unregisterPublisher", "/chat") &&
	      fake_master_calls(&master, "unregisterPublisher", "/other"));
	down();
}

TEST_WITH(the_master_may_start_later, setup, NULL)
{
	unsigned port = master.port;
	struct sim_bridge_topic *t;

	fake_master_stop(&master);
	up(no_options);
	host_wait_log(&h, "connecting: no master at http://127.0.0.1");
	fake_master_start(&master, port);
	AWAIT(h.ops->status(b) == SIM_BRIDGE_CONNECTED);
	(void)open_topic("/chat", &sim_String_type, "{}", &t);
	h.ops->close(b, t);
	down();
	fake_master_stop(&master);
}

/*
 * A misbehaving master never hangs the bridge: it exits while its call is open. How long it waits for a master that
 * hangs: ../../unit/ros1/test_master.c.
 */
TEST_WITH(a_master_that_misbehaves_is_named, setup, teardown)
{
	atomic_store(&master.mode, FAKE_HTML);
	up(no_options);
	host_wait_log(&h, "an element that XML-RPC does not have there");
	atomic_store(&master.mode, FAKE_GOOD);
	AWAIT(h.ops->status(b) == SIM_BRIDGE_CONNECTED);
	down();
	atomic_store(&master.mode, FAKE_NUMBER);
	up(no_options);
	host_wait_log(&h, "is it a ROS master?");
	down();
	atomic_store(&master.mode, FAKE_HANGS);
	up(no_options);
	down();
}

/* lookupNode names another node under our name: that is how ROS ends the first of two. */
TEST_WITH(a_master_with_the_state_of_another_is_abandoned, setup, teardown)
{
	struct sim_bridge_topic *t;

	up(no_options);
	(void)open_topic("/chat", &sim_String_type, "{}", &t);
	pthread_mutex_lock(&master.lock);
	snprintf(master.node_uri, sizeof(master.node_uri), "http://192.0.2.7:5/");
	pthread_mutex_unlock(&master.lock);
	host_wait_log(&h, "node /simd was shut down: another node has our name at the master");
	AWAIT(h.ops->status(b) == SIM_BRIDGE_DISCONNECTED);
	h.ops->close(b, t);
	down();
}

TEST_WITH(the_shutdown_call_ends_the_node, setup, teardown)
{
	struct sim_bridge_topic *t;
	unsigned port;
	int fd;

	up(no_options);
	port = open_topic("/chat", &sim_String_type, "{}", &t);
	fd = subscriber(port, "/chat", "*", "*", 0);
	assert_string_equal(fake_field(fd, "topic"), "/chat");
	xmlrpc_free(ask("shutdown"));
	host_wait_log(&h, "node /simd was shut down: because");
	AWAIT(h.ops->status(b) == SIM_BRIDGE_DISCONNECTED);
	assert_null(fake_message(fd, &(uint32_t){ 0 }));
	assert_int_equal(publish_text(t, "to nobody"), 0);
	/* and again, when the master has forgotten it */
	fake_master_forget(&master);
	assert_int_equal(h.ops->connect(b, master.uri), 0);
	AWAIT(fake_master_calls(&master, "registerPublisher", "/chat"));
	close(fd);
	h.ops->close(b, t);
	down();
}

TEST_WITH(use_sim_time_is_set_on_request, setup, teardown)
{
	static const char *const options[] = { "set_use_sim_time", "true", "node", "car", "namespace", "/rig", NULL };

	up(options);
	AWAIT(h.ops->status(b) == SIM_BRIDGE_CONNECTED);
	assert_int_equal(fake_master_calls(&master, "setParam", "/use_sim_time"), 1);
	host_wait_log(&h, "node /rig/car is http://127.0.0.1:");
	down();
}

/* ---- options ---- */

static int check(const char *const *options, const char *connection)
{
	host_init(&h, PLUGIN, options);
	return h.ops->check(&h.host, connection);
}

TEST(wrong_options_are_named)
{
	static const char *const node[] = { "node", "1a", NULL }, *const space[] = { "namespace", "a", NULL },
				 *const queue[] = { "queue", "0", NULL },
				 *const time[] = { "set_use_sim_time", "yes", NULL },
				 *const apollo[] = { "apollo", "maybe", NULL },
				 *const remap[] = { "remap", "[\"a:b\"]", NULL };

	assert_int_equal(check(no_options, ""), 0);
	assert_int_equal(check(no_options, "http://robot:11311"), 0);
	assert_int_equal(check(no_options, "robot:11311"), -EINVAL);
	host_wait_log(&h, "connection: \"robot:11311\" is not of the form");
	assert_int_equal(check(node, ""), -EINVAL);
	assert_int_equal(check(space, ""), -EINVAL);
	assert_int_equal(check(queue, ""), -EINVAL);
	assert_int_equal(check(remap, ""), -EINVAL);
	host_wait_log(&h, "options.remap[0]: \"a:b\" is not of the form");
	assert_int_equal(check(time, ""), -EINVAL);
	host_wait_log(&h, "options.set_use_sim_time: \"yes\"");
	assert_int_equal(check(apollo, ""), -EINVAL);
	host_wait_log(&h, "options.apollo: \"maybe\" is not true or false");
}

static void subscribe_is(const char *text, const char *why)
{
	const char *const options[] = { "apollo", "true", "subscribe", text, NULL };

	assert_int_equal(check(options, ""), *why ? -EINVAL : 0);
	host_wait_log(&h, why);
}

TEST(invalid_subscribe_options_are_named)
{
	subscribe_is("{\"/a\":{\"channel\":\"/a\"},\"/b\":{\"channel\":\"/b\",\"type\":\"car_msgs/Thing\"}}", "");
	subscribe_is("{\"/a\":{\"type\":\"car_msgs/Thing\"}}", "\"channel\" is missing");
	subscribe_is("{\"/a\":{\"channel\":\"/a\",\"definition\":\"/x.msg\"}}", "\"definition\" needs a \"type\"");
	subscribe_is("{\"/a\":{\"channel\":\"/a\",\"type\":\"Thing\"}}", "\"Thing\" is not of the form package/Name");
	subscribe_is("{\"/a\":{\"channel\":\"/a\",\"type\":\"sensor_msgs/Imu\",\"as\":\"sim/Imu\",\"raw\":true}}",
		     "\"raw\" and \"as\" exclude each other");
	subscribe_is("{\"/a\":{\"channel\":\"/a\",\"type\":\"pb_msgs/Imu\",\"as\":\"sim/CanBus\"}}",
		     "that type cannot be made from pb_msgs/Imu");
	subscribe_is("{\"/a\":{\"channel\":\"/a\",\"type\":\"pb_msgs/Monitor\"}}",
		     "pb_msgs/Monitor: this message has no mapping, and Apollo 5 has no message of that name");
	subscribe_is("{\"/a\":{\"channel\":\"/a\",\"type\":\"pb_msgs/LatencyStats\"}}",
		     "Apollo 5 has several messages of that name");
}

/* Topics both ways, services, and the node itself. */
TEST_WITH(names_are_resolved_and_remapped_as_in_ros, setup, teardown)
{
	static const char *const options[] = {
		"remap", "[\"/chat:=talk\", \"__ns:=/rig\", \"~say:=/said\", \"/lamp:=~lamp\"]", "subscribe",
		"{\"~say\":{\"type\":\"std_msgs/String\",\"channel\":\"/heard\"}}", NULL
	};
	struct sim_bridge_topic *t, *u;
	int fd;

	up(options);
	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	u = host_open(&h, b, "/other", &sim_String_type, "{\"ros1\":{\"topic\":\"~own\"}}");
	h.ops->service(b, "/lamp", &sim_SetBool_service);
	AWAIT(fake_master_calls(&master, "registerPublisher", "/rig/talk"));
	AWAIT(fake_master_calls(&master, "registerPublisher", "/rig/simd/own"));
	AWAIT(fake_master_calls(&master, "registerSubscriber", "/said"));
	AWAIT(fake_master_calls(&master, "registerService", "/rig/simd/lamp"));
	fd = subscriber(fake_request_topic(&master, "/rig/talk"), "/rig/talk", "*", "*", 0);
	assert_string_equal(fake_field(fd, "callerid"), "/rig/simd");
	assert_int_equal(publish_text(t, "hello"), 0);
	expect_text(fd, "hello");
	close(fd);
	h.ops->service(b, "/lamp", NULL);
	h.ops->close(b, t);
	h.ops->close(b, u);
	down();
}

TEST_WITH(the_listen_address_follows_the_options, setup, teardown)
{
	static const char *const wrong[] = { "listen", "192.0.2.1", NULL }; /* not an address of this machine */
	struct sim_bridge *none = NULL;
	struct sim_bridge_topic *t;
	unsigned port;

	host_init(&h, PLUGIN, wrong);
	assert_int_equal(h.ops->create(&h.host, &none), -EADDRNOTAVAIL);
	host_wait_log(&h, "cannot listen at 192.0.2.1");
	setenv("ROS_HOSTNAME", "localhost", 1);
	up(no_options);
	port = open_topic("/chat", &sim_String_type, "{}", &t);
	assert_true(port > 0);
	assert_non_null(strstr(master.node_uri, "http://localhost:"));
	h.ops->close(b, t);
	down();
}
