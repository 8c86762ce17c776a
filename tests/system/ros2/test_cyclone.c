/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ROS 2 bridge against a plain DDS program in another process, over loopback: it must decode what we send with types of its
 * own, and discovery must say what ROS commands ask for. Nothing waits for a match: what is compared is kept by its writer.
 */

#include "tests/support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <sim/bridge.h>
#include <sim/introspect.h>
#include <sim/msg/Clock.h>
#include <sim/msg/Gear.h>
#include <sim/msg/GearCommand.h>
#include <sim/msg/Image.h>
#include <sim/msg/Transforms.h>

#include "reader.h"
#include "ros/ros_type.h"
#include "support/message.h"
#include "typed.h"

#define WIDTH  640u
#define HEIGHT 480u
#define STAMP  INT64_C(1640995200123456768)

/* ---- the host, as far as a plug-in sees it ---- */

struct fake {
	const char *distro, *use_sim_time;
	char log[4096];
	enum sim_bridge_status status;
	const char *subscribe; /* NULL: nothing */
	unsigned offers;
	int dropped[2]; /* pipe: one byte for each warning while it comes in */
	int came[2];    /* pipe: one byte for each message that came in, its gear */
};

__attribute__((format(printf, 3, 4))) static void fake_log(void *ctx, int level, const char *fmt, ...)
{
	struct fake *f = ctx;
	size_t n = strlen(f->log);
	va_list ap;

	(void)level;
	va_start(ap, fmt);
	vsnprintf(f->log + n, sizeof(f->log) - n, fmt, ap);
	va_end(ap);
	if ((strstr(f->log + n, "dropped") || strstr(f->log + n, "do not agree")) && write(f->dropped[1], "", 1) != 1)
		abort();
}

static const struct sim_bridge_ops *load(void);

static const char *default_of(const char *name)
{
	const struct sim_bridge_option *o = load()->options;

	while (o->name && strcmp(o->name, name) != 0)
		o++;
	return o->deflt;
}

static const char *fake_option(void *ctx, const char *name)
{
	const struct fake *f = ctx;

	return !strcmp(name, "ros_distro")     ? f->distro
	       : !strcmp(name, "node")         ? "simd"
	       : !strcmp(name, "namespace")    ? "/"
	       : !strcmp(name, "domain")       ? "0"
	       : !strcmp(name, "subscribe")    ? f->subscribe ? f->subscribe : "{}"
	       : !strcmp(name, "localhost")    ? "auto"
	       : !strcmp(name, "names")        ? "strict"
	       : !strcmp(name, "use_sim_time") ? f->use_sim_time ? f->use_sim_time : "false"
					       : default_of(name);
}

static void fake_status(void *ctx, enum sim_bridge_status status, const char *detail)
{
	(void)detail;
	((struct fake *)ctx)->status = status;
}
static int64_t fake_now(void *ctx)
{
	(void)ctx;
	return STAMP;
}

static int fake_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	const struct fake *f = ctx;
	const struct sim_GearCommand *m = body;
	uint8_t gear = !strcmp(channel, "gear") && sim_type_equal(type, &sim_GearCommand_type) && size == sizeof(*m) &&
				       m->stamp == STAMP
			       ? m->gear
			       : 99;

	return write(f->came[1], &gear, 1) == 1 ? 0 : -EIO;
}

static int fake_offer(void *ctx, const char *channel, const struct sim_type *type)
{
	struct fake *f = ctx;

	assert_true(!strcmp(channel, "gear") || !strcmp(channel, "secret"));
	assert_true(sim_type_equal(type, &sim_GearCommand_type));
	if (!strcmp(channel, "secret"))
		return -EACCES;
	return f->offers++ ? -EALREADY : 0;
}

static const struct sim_bridge_ops *load(void)
{
	void *handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL), *sym = handle ? dlsym(handle, SIM_BRIDGE_SYMBOL) : NULL;
	sim_bridge_plugin_fn entry;

	if (!sym)
		fail_msg("%s", dlerror());
	memcpy(&entry, &sym, sizeof(entry));
	return entry();
}

static struct sim_bridge_host host_of(struct fake *f)
{
	return (struct sim_bridge_host){ .abi = SIM_BRIDGE_ABI,
					 .size = sizeof(struct sim_bridge_host),
					 .ctx = f,
					 .log = fake_log,
					 .option = fake_option,
					 .status = fake_status,
					 .now = fake_now,
					 .publish = fake_publish,
					 .offer = fake_offer };
}

static struct sim_slot *new_image(void)
{
	size_t room = sim_Image_size(8, (size_t)WIDTH * HEIGHT * 3);
	struct sim_slot *s = aligned_alloc(128, (sizeof(*s) + room + 127) / 128 * 128);
	struct sim_builder b;
	struct sim_Image *m;
	uint8_t *data;

	assert_non_null(s);
	memset(s, 0, sizeof(*s));
	m = sim_Image_init(sim_slot_body_mut(s), room, &b);
	m->height = HEIGHT;
	m->width = WIDTH;
	m->step = WIDTH * 3;
	assert_int_equal(sim_Image_encoding_set(&b, "bgr8"), 0);
	data = sim_Image_data_alloc(&b, m->step * m->height);
	assert_non_null(data);
	for (uint32_t i = 0; i < m->step * m->height; i++)
		data[i] = (uint8_t)(i * 7);
	s->body_size = sim_builder_size(&b);
	s->stamp_sim_ns = STAMP;
	strcpy(s->frame_id, "camera");
	return s;
}

/* ---- the other side ---- */

static void peer_image(dds_entity_t p)
{
	struct seen_image *m = calloc(1, sizeof(*m));
	char type_name[128], user_data[256], want[128];

	EXPECT(reader_take(reader_open(p, &seen_image_desc, "rt/camera/image", true), m) == 0);
	EXPECT(m->stamp.sec == 1640995200 && m->stamp.nanosec == 123456768);
	EXPECT(!strcmp(m->frame_id, "camera") && !strcmp(m->encoding, "bgr8"));
	EXPECT(m->height == HEIGHT && m->width == WIDTH && m->step == WIDTH * 3 && !m->is_bigendian);
	EXPECT(m->data._length == WIDTH * HEIGHT * 3);
	for (uint32_t i = 0; i < m->data._length; i++)
		EXPECT(m->data._buffer[i] == (uint8_t)(i * 7));
	EXPECT(reader_take(reader_open(p, &seen_image_desc, "rt/camera/swapped", true), m) == 0);
	EXPECT(!strcmp(m->encoding, "rgb8") && m->data._length == WIDTH * HEIGHT * 3);
	for (uint32_t i = 0; i < m->data._length; i++)
		EXPECT(m->data._buffer[i] == (uint8_t)((i + 2 - i % 3 * 2) * 7));
	EXPECT(reader_discover(p, "rt/camera/image", type_name, user_data) == 0);
	EXPECT(!strcmp(type_name, "sensor_msgs::msg::dds_::Image_"));
	snprintf(want, sizeof(want), "typehash=%s;", ros_type_find(ros2_types, "sensor_msgs/Image")->hash);
	EXPECT(!strcmp(user_data, want));
}

/* The graph comes whole with each sample: read until the node has the writers of the channels, of which one has two, and of the clock. */
static void peer_graph(dds_entity_t p, bool humble)
{
	dds_entity_t r = reader_open(p, humble ? &seen_graph24_desc : &seen_graph16_desc, "ros_discovery_info", true);
	uint32_t writers = 0;

	while (writers != NODE_WRITERS + 4) {
		struct seen_graph24 *a = calloc(1, sizeof(*a));
		struct seen_graph16 *b = calloc(1, sizeof(*b));
		const dds_sequence_t *nodes = humble ? &a->nodes : &b->nodes;
		const struct seen_node *n;

		EXPECT(reader_take(r, humble ? (void *)a : (void *)b) == 0);
		EXPECT(nodes->_length == 1);
		n = (const struct seen_node *)(const void *)nodes->_buffer;
		EXPECT(!strcmp(n->node_namespace, "/") && !strcmp(n->name, "simd"));
		EXPECT(n->readers._length == NODE_READERS);
		writers = n->writers._length;
	}
}

/* Reads the graph until our node has so many readers. */
static int graph_readers(dds_entity_t graph, uint32_t want)
{
	struct seen_graph16 *g = calloc(1, sizeof(*g));
	uint32_t n = UINT32_MAX;

	while (n != want && reader_take(graph, g) == 0)
		n = g->nodes._length == 1
			    ? ((const struct seen_node *)(const void *)g->nodes._buffer)->readers._length - NODE_READERS
			    : UINT32_MAX;
	return n == want ? 0 : -1;
}

static void peer_clock(dds_entity_t p)
{
	struct seen_time t = { 0, 0 };

	EXPECT(reader_take(reader_open(p, &seen_clock_desc, "rt/clock", false), &t) == 0);
	EXPECT(t.sec == 1640995200 && t.nanosec == 123456768);
}

static pid_t start_peer(bool humble)
{
	pid_t pid = fork();
	dds_entity_t p;

	if (pid)
		return pid;
	p = reader_participant();
	EXPECT(p > 0);
	peer_image(p);
	peer_graph(p, humble);
	peer_clock(p);
	_exit(0);
}

/* Writes a gear that there is not, then neutral, then reverse, each when `go` says so; tells when neutral has arrived. */
static pid_t start_commander(int go, int arrived)
{
	pid_t pid = fork();
	struct seen_gear m = { { 1640995200, 123456768 }, 200 };
	dds_entity_t w;
	char c;

	if (pid)
		return pid;
	w = reader_write_to(reader_participant(), &seen_gear_desc, "rt/control/command/gear_cmd");
	EXPECT(w > 0 && dds_write(w, &m) == 0 && read(go, &c, 1) == 1);
	m.command = 1;
	EXPECT(dds_write(w, &m) == 0 && dds_wait_for_acks(w, DDS_INFINITY) == 0 && write(arrived, "", 1) == 1);
	m.command = 20;
	EXPECT(read(go, &c, 1) == 1 && dds_write(w, &m) == 0 && read(go, &c, 1) == 1);
	_exit(0);
}

/* Sees the reader of the topic come, and go again; and the same in the graph. Tells on `tell` when it has seen the first. */
static pid_t start_watcher(int tell)
{
	struct reader_watch w = { .topic = "rt/control/command/gear_cmd" };
	pid_t pid = fork();
	dds_entity_t p, graph;

	if (pid)
		return pid;
	p = reader_participant();
	EXPECT(reader_watch(p, &w, true) == 0);
	graph = reader_open(p, &seen_graph16_desc, "ros_discovery_info", true);
	EXPECT(graph_readers(graph, 1) == 0 && write(tell, "", 1) == 1);
	EXPECT(graph_readers(graph, 0) == 0);
	EXPECT(reader_watch(p, &w, false) == 0);
	_exit(0);
}

/* Keeps two writers that nobody can read, of the kind that ROS has by default, until it is killed. */
static pid_t start_volatile_writers(void)
{
	pid_t pid = fork();
	dds_entity_t p;

	if (pid)
		return pid;
	p = reader_participant();
	EXPECT(reader_write_volatile(p, &seen_gear_desc, "rt/control/command/gear_cmd") > 0);
	EXPECT(reader_write_volatile(p, &seen_gear_desc, "rt/control/command/gear_cmd") > 0);
	EXPECT(reader_open(p, &seen_image_desc, "rt/camera/image", true) > 0); /* asks more than is offered */
	pause();
	_exit(1);
}

#define LIVELINESS 20000 /* messages: more than 2 MiB in what receives them */

/* Says that it lives, again and again, when `go` says so; tells when a command behind all that is acknowledged. */
static pid_t start_chatterer(int go, int done)
{
	pid_t pid = fork();
	struct seen_gear m = { { 1640995200, 123456768 }, 1 };
	dds_entity_t p, w;
	char c;

	if (pid)
		return pid;
	p = reader_participant();
	w = reader_write_to(p, &seen_gear_desc, "rt/control/command/gear_cmd");
	EXPECT(w > 0 && read(go, &c, 1) == 1);
	for (int i = 0; i < LIVELINESS; i++)
		EXPECT(dds_assert_liveliness(p) == 0);
	EXPECT(dds_write(w, &m) == 0 && dds_wait_for_acks(w, DDS_INFINITY) == 0 && write(done, "", 1) == 1);
	_exit(0);
}

/* tf2's listener, started when `go` says that all was sent: one message must tell it both frames, each as it was said last. */
static pid_t start_listener(int go)
{
	pid_t pid = fork();
	dds_entity_t p, topic, reader;
	const char *first, *second;
	double x;
	dds_sample_info_t info;
	struct typed *t;
	dds_qos_t *qos;
	void *sample;
	char c;

	if (pid)
		return pid;
	EXPECT(read(go, &c, 1) == 1);
	p = reader_participant();
	t = typed_new(ros_type_find(ros2_types, "tf2_msgs/TFMessage"));
	EXPECT(p > 0 && t);
	qos = dds_create_qos();
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 100);
	topic = dds_create_topic(p, typed_descriptor(t), "rt/tf_static", NULL, NULL);
	reader = dds_create_reader(p, topic, qos, NULL);
	sample = typed_sample(t);
	EXPECT(reader_take(reader, sample) == 0);
	EXPECT(json_unpack(typed_tree(t, sample), "{s[{ss,s{s{sf}}},{ss}!]}", "transforms", "child_frame_id", &first,
			   "transform", "translation", "x", &x, "child_frame_id", &second) == 0);
	EXPECT(!strcmp(first, "lidar_top") && x == 3 && !strcmp(second, "lidar_front"));
	EXPECT(dds_take(reader, &sample, &info, 1, 1) == 0); /* nothing else is kept */
	_exit(0);
}

/* ---- the tests ---- */

TEST(commands_come_in)
{
	struct fake f = { .distro = "humble",
			  .subscribe =
				  "{\"/control/command/gear_cmd\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\","
				  "\"channel\":\"gear\"}}" };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops;
	struct sim_bridge *b = NULL;
	int go[2], arrived[2], status = -1;
	uint8_t gear = 0;
	pid_t peer;

	assert_int_equal(pipe(f.came), 0);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(arrived), 0);
	assert_int_equal(pipe(f.dropped), 0);
	peer = start_commander(go[0], arrived[1]);
	ops = load();
	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->connect(b, ""), 0);
	assert_int_equal(f.offers, 1);
	ops->listen(b, "gear", 1);
	assert_int_equal(read(f.dropped[0], &gear, 1), 1); /* the first one is refused, with a line in the log */
	ops->disconnect(b);                                /* what is sent now is for nobody */
	assert_int_equal(write(go[1], "1", 1), 1);
	assert_int_equal(read(arrived[0], &gear, 1), 1);
	assert_int_equal(ops->connect(b, ""), 0);
	assert_int_equal(write(go[1], "1", 1), 1);
	assert_int_equal(read(f.came[0], &gear, 1), 1);
	assert_int_equal(gear, SIM_GEAR_REVERSE);
	assert_int_equal(write(go[1], "2", 1), 1);
	assert_int_equal(waitpid(peer, &status, 0), peer);
	assert_int_equal(status, 0);
	ops->destroy(b);
	assert_non_null(
		strstr(f.log, "gear: a message is dropped: a number in it is not valid for the command (1 so far)"));
}

/* Of this process alone, KiB. */
static long own_memory(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "RssAnon: %ld", &kib) != 1)
		;
	fclose(f);
	assert_true(kib > 0);
	return kib;
}

#define SUBSCRIBE_GEAR \
	"{\"/control/command/gear_cmd\":{\"type\":\"autoware_vehicle_msgs/GearCommand\",\"channel\":\"gear\"}," \
	"\"/other\":{\"type\":\"autoware_vehicle_msgs/GearCommand\",\"channel\":\"secret\"}}"

TEST(a_topic_is_read_while_somebody_listens)
{
	struct fake f = { .distro = "jazzy", .subscribe = SUBSCRIBE_GEAR };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops;
	struct sim_bridge *b = NULL;
	int told[2], status = -1;
	pid_t peer;
	char c;

	assert_int_equal(pipe(told), 0);
	peer = start_watcher(told[1]);
	ops = load();
	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->connect(b, ""), 0);
	assert_int_equal(ops->connect(b, ""), 0); /* again: what is offered stays so */
	assert_non_null(
		strstr(f.log, "/other is not read: secret: the rig does not list this channel under \"inbound\""));
	ops->listen(b, "gear", 1);
	ops->listen(b, "gear", 1);
	assert_int_equal(read(told[0], &c, 1), 1);
	ops->listen(b, "gear", 0);
	assert_int_equal(waitpid(peer, &status, 0), peer);
	assert_int_equal(status, 0);
	ops->listen(b, "gear", 1); /* and once more, to the end */
	ops->destroy(b);
}

/* Cyclone's buffer for what is received is used from its begin to its end before it is freed: a small one. */
TEST(what_is_received_takes_little_memory)
{
	struct fake f = { .distro = "jazzy", .subscribe = SUBSCRIBE_GEAR };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops;
	struct sim_bridge *b = NULL;
	int go[2], done[2], status = -1;
	long before;
	pid_t peer;
	char c;

	assert_int_equal(pipe(f.came), 0);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(done), 0);
	peer = start_chatterer(go[0], done[1]);
	ops = load();
	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->connect(b, ""), 0);
	ops->listen(b, "gear", 1);
	before = own_memory();
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(read(done[0], &c, 1), 1);
	assert_true(own_memory() - before < 512);
	assert_int_equal(waitpid(peer, &status, 0), peer);
	assert_int_equal(status, 0);
	ops->destroy(b);
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static struct sim_bridge_topic *open_channel(const struct sim_bridge_ops *ops, struct sim_bridge *b, const char *name,
					     const char *options)
{
	struct sim_bridge_channel ch = { .id = 1, .name = name, .type = &sim_Image_type, .options = options };
	struct sim_bridge_topic *t = NULL;

	assert_int_equal(ops->open(b, &ch, &t), 0);
	return t;
}

TEST(sides_that_do_not_agree_are_named_once)
{
	struct fake f = { .distro = "jazzy", .subscribe = SUBSCRIBE_GEAR };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops;
	struct sim_bridge_topic *t;
	struct sim_bridge *b = NULL;
	pid_t peer;
	char c;

	assert_int_equal(pipe(f.dropped), 0);
	peer = start_volatile_writers();
	ops = load();
	assert_int_equal(ops->create(&host, &b), 0);
	t = open_channel(ops, b, "/camera/image", "{\"ros2\":{\"durability\":\"transient_local\"}}");
	ops->listen(b, "gear", 1);
	assert_int_equal(read(f.dropped[0], &c, 1), 1);
	assert_int_equal(read(f.dropped[0], &c, 1), 1);
	kill(peer, SIGKILL);
	assert_int_equal(waitpid(peer, NULL, 0), peer);
	ops->close(b, t);
	ops->destroy(b);
	assert_int_equal(count(f.log,
			       "/control/command/gear_cmd: the sides do not agree on QoS: durability; a publisher"),
			 1);
	assert_int_equal(count(f.log, "/camera/image: the sides do not agree on QoS: reliability; a subscriber"), 1);
	assert_int_equal(count(f.log, "do not agree"), 2);
}

static struct sim_bridge_topic *open_clock(const struct sim_bridge_ops *ops, struct sim_bridge *b)
{
	struct sim_bridge_channel ch = { .id = 2, .name = "/clock", .type = &sim_Clock_type, .options = "{}" };
	struct sim_bridge_topic *t = NULL;

	assert_int_equal(ops->open(b, &ch, &t), 0);
	return t;
}

/* Ticks until the peer has ended; its status. */
static int tick_until_gone(const struct sim_bridge_ops *ops, struct sim_bridge *b, struct sim_bridge_topic *clock,
			   pid_t peer)
{
	_Alignas(128) uint8_t memory[256] = { 0 };
	struct sim_slot *s = (struct sim_slot *)(void *)memory;
	int status = -1;

	s->body_size = sizeof(struct sim_Clock);
	((struct sim_Clock *)sim_slot_body_mut(s))->clock = STAMP;
	while (waitpid(peer, &status, WNOHANG) == 0) {
		assert_int_equal(ops->publish(b, clock, MESSAGE_OF(s), NULL), 0);
		pace_us(5000);
	}
	return status;
}

static void reaches_a_peer(const char *distro)
{
	struct fake f = { .distro = distro };
	struct sim_bridge_host host = host_of(&f);
	pid_t peer = start_peer(!strcmp(distro, "humble")); /* before Cyclone has threads here */
	const struct sim_bridge_ops *ops = load();
	struct sim_slot *image = new_image();
	struct sim_bridge_topic *kept, *unheard, *clock;
	struct sim_bridge *b = NULL;

	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->connect(b, "somewhere"), -EINVAL);
	assert_int_equal(ops->connect(b, ""), 0);
	assert_int_equal(f.status, SIM_BRIDGE_CONNECTED);
	kept = open_channel(ops, b, "/camera/image",
			    "{\"ros2\":{\"reliability\":\"reliable\",\"durability\":\"transient_local\"}}");
	unheard = open_channel(
		ops, b, "/other",
		"{\"ros2\":[{\"topic\":\"/unheard\",\"depth\":1},{\"topic\":\"/camera/swapped\",\"encoding\":"
		"\"rgb8\",\"reliability\":\"reliable\",\"durability\":\"transient_local\"}]}");
	assert_int_equal(ops->publish(b, kept, MESSAGE_OF(image), NULL), 0);
	assert_int_equal(ops->publish(b, unheard, MESSAGE_OF(image), NULL), 0);
	clock = open_clock(ops, b);
	assert_int_equal(tick_until_gone(ops, b, clock, peer), 0);
	ops->close(b, clock);
	ops->close(b, unheard);
	ops->close(b, kept);
	ops->disconnect(b);
	f.log[0] = '\0';
	ops->destroy(b);
	assert_non_null(strstr(f.log, "messages converted"));
	assert_null(strstr(f.log, ", 0 not")); /* the unheard one, and the clock before the peer came */
	free(image);
}

TEST(a_humble_peer_reads_it)
{
	reaches_a_peer("humble");
}
TEST(a_jazzy_peer_reads_it)
{
	reaches_a_peer("jazzy");
}

static void send_frame(const struct sim_bridge_ops *ops, struct sim_bridge *b, struct sim_bridge_topic *t,
		       const char *child, double x)
{
	static _Alignas(128) uint8_t room[1024];
	struct sim_slot *s = (struct sim_slot *)(void *)room;
	struct sim_builder builder;
	struct sim_Transform *f;

	memset(room, 0, sizeof(room));
	assert_non_null(sim_Transforms_init(sim_slot_body_mut(s), sizeof(room) - sizeof(*s), &builder));
	f = sim_Transforms_transforms_alloc(&builder, 1);
	assert_int_equal(sim_Transform_child_frame_set_in(&builder, f, child), 0);
	f->translation.x = x;
	s->body_size = sim_builder_size(&builder);
	assert_int_equal(ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
}

TEST(fixed_frames_are_kept_for_later)
{
	struct fake f = { .distro = "humble" };
	struct sim_bridge_host host = host_of(&f);
	struct sim_bridge_channel ch = { .name = "/tf_static", .type = &sim_Transforms_type, .options = "{}" };
	const struct sim_bridge_ops *ops;
	struct sim_bridge_topic *t = NULL;
	struct sim_bridge *b = NULL;
	int go[2], status = -1;
	pid_t peer;

	assert_int_equal(pipe(go), 0);
	peer = start_listener(go[0]);
	ops = load();
	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->open(b, &ch, &t), 0);
	for (int i = 0; i < 100; i++) {
		send_frame(ops, b, t, "lidar_top", i < 99 ? 1 : 3);
		send_frame(ops, b, t, "lidar_front", 2);
	}
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(peer, &status, 0), peer);
	assert_int_equal(status, 0);
	ops->close(b, t);
	ops->destroy(b);
}

/* tf2's listener, from `go` on: of each message that comes, how many frames it has. Ends with the one of four. */
static pid_t start_counter(int go, int out)
{
	pid_t pid = fork();
	dds_entity_t p, reader;
	struct typed *t;
	uint8_t n = 0;
	void *sample;
	json_t *got;

	if (pid)
		return pid;
	EXPECT(read(go, &n, 1) == 1);
	n = 0;
	p = reader_participant();
	t = typed_new(ros_type_find(ros2_types, "tf2_msgs/TFMessage"));
	EXPECT(p > 0 && t);
	reader = reader_of_all(p, typed_descriptor(t), "rt/tf_static");
	sample = typed_sample(t);
	while (n != 4) {
		EXPECT(reader_take(reader, sample) == 0);
		got = typed_tree(t, sample);
		n = (uint8_t)json_array_size(json_object_get(got, "transforms"));
		json_decref(got);
		EXPECT(write(out, &n, 1) == 1);
	}
	_exit(0);
}

static unsigned frames_heard(int fd)
{
	uint8_t n = 0;

	assert_int_equal(read(fd, &n, 1), 1);
	return n;
}

/* A sensor that says each second where it is, as all do, so that a bridge that is started again learns it. */
static void repeat_frame(const struct sim_bridge_ops *ops, struct sim_bridge *b, struct sim_bridge_topic *t,
			 const char *child)
{
	for (int i = 0; i < 20; i++)
		send_frame(ops, b, t, child, 1);
}

/* Whoever comes, when ever, gets them once; also from a bridge that was started again. */
TEST(fixed_frames_are_sent_once)
{
	static const char *const names[] = { "one", "two", "three", "four" };
	struct fake f = { .distro = "humble" };
	struct sim_bridge_host host = host_of(&f);
	struct sim_bridge_channel ch = { .name = "/tf_static", .type = &sim_Transforms_type, .options = "{}" };
	const struct sim_bridge_ops *ops;
	struct sim_bridge_topic *t = NULL;
	struct sim_bridge *b = NULL;
	int go[2], begin[2], early[2], late[2], status = -1;
	pid_t peer[2];

	assert_int_equal(pipe(early), 0);
	assert_int_equal(pipe(late), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe(go), 0);
		peer[i] = start_counter(go[0], i ? late[1] : early[1]);
		begin[i] = go[1];
	}
	assert_int_equal(write(begin[0], "", 1), 1);
	ops = load();
	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->open(b, &ch, &t), 0);
	repeat_frame(ops, b, t, "one");
	assert_int_equal(frames_heard(early[0]), 1); /* from here on it gets all that is sent */
	repeat_frame(ops, b, t, "one");
	send_frame(ops, b, t, "two", 1);
	repeat_frame(ops, b, t, "one");
	assert_int_equal(frames_heard(early[0]), 2);
	assert_int_equal(write(begin[1], "", 1), 1);
	assert_int_equal(frames_heard(late[0]), 2);
	repeat_frame(ops, b, t, "one");
	repeat_frame(ops, b, t, "two");
	send_frame(ops, b, t, "three", 1);
	assert_int_equal(frames_heard(early[0]), 3);
	assert_int_equal(frames_heard(late[0]), 3);
	ops->close(b, t);
	ops->destroy(b);
	assert_int_equal(ops->create(&host, &b), 0); /* the bridge is started again: they are there again, once */
	assert_int_equal(ops->open(b, &ch, &t), 0);
	for (unsigned n = 1; n <= 4; n++) {
		repeat_frame(ops, b, t, names[n - 1]);
		assert_int_equal(frames_heard(early[0]), n);
		assert_int_equal(frames_heard(late[0]), n);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(peer[i], &status, 0), peer[i]);
		assert_int_equal(status, 0);
	}
	ops->close(b, t);
	ops->destroy(b);
}

TEST(nothing_is_converted_when_nobody_listens)
{
	struct fake f = { .distro = "iron" };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops = load();
	struct sim_slot *image = new_image();
	struct sim_bridge *b = NULL;
	struct sim_bridge_topic *t;

	assert_int_equal(ops->create(&host, &b), 0);
	t = open_channel(ops, b, "/camera/image", "{}");
	for (int i = 0; i < 5; i++)
		assert_int_equal(ops->publish(b, t, MESSAGE_OF(image), NULL), 0);
	ops->close(b, t);
	/* the same name twice, as SVL has two sentences of one receiver */
	t = open_channel(ops, b, "/camera/image", "{\"ros2\":[{\"topic\":\"/two\"},{\"topic\":\"/two\"}]}");
	assert_int_equal(ops->publish(b, t, MESSAGE_OF(image), NULL), 0);
	ops->close(b, t);
	f.log[0] = '\0';
	ops->destroy(b);
	assert_string_equal(f.log, "0 messages converted, 7 not, without a subscriber");
	free(image);
}

/* What ROS would ignore with a warning, we do too; the rest of the same variable holds. */
TEST(odd_words_of_the_environment_are_named)
{
	struct fake f = { .distro = "jazzy" };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops = load();
	struct sim_bridge *b = NULL;

	setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "MARS", 1);
	setenv("ROS_STATIC_PEERS", "127.0.0.1;10.0.0.1 10.0.0.2;;<x>", 1);
	assert_int_equal(ops->create(&host, &b), 0);
	assert_non_null(strstr(f.log, "ROS_AUTOMATIC_DISCOVERY_RANGE: \"MARS\" is not LOCALHOST"));
	assert_non_null(strstr(f.log, "ROS_STATIC_PEERS: \"10.0.0.1 10.0.0.2\" is not an address"));
	assert_non_null(strstr(f.log, "ROS_STATIC_PEERS: \"<x>\" is not an address"));
	assert_null(strstr(f.log, "\"127.0.0.1\" is"));
	ops->destroy(b);
	f.log[0] = '\0';
	setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST", 1);
	unsetenv("ROS_STATIC_PEERS");
	assert_int_equal(ops->create(&host, &b), 0);
	assert_null(strstr(f.log, "ROS_"));
	ops->destroy(b);
	unsetenv("ROS_AUTOMATIC_DISCOVERY_RANGE");
}

TEST(wrong_options_are_named)
{
	static const struct {
		const char *options, *sentence;
	} bad[] = {
#define MUST "/camera/image: options.ros2"
		{ "{\"ros2\":{\"topic\":\"no_slash\"}}", MUST ": \"no_slash\" is not the name of a topic" },
		{ "{\"ros2\":{\"topic\":\"/a//b\"}}", MUST ": \"/a//b\" is not the name of a topic" },
		{ "{\"ros2\":{\"topic\":\"/a/2\"}}", MUST ": \"/a/2\" is not the name of a topic" },
		{ "{\"ros2\":{\"topic\":\"/a-b\"}}", MUST ": \"/a-b\" is not the name of a topic" },
		{ "{\"ros2\":{\"topic\":\"/\"}}", MUST ": \"/\" is not the name of a topic" },
		{ "{\"ros2\":{\"topic\":\"\"}}", MUST ": \"topic\" must be a text that is not empty" },
		{ "{\"ros2\":{\"points\":\"round\"}}",
		  MUST ": \"points\" must be one of native, awsim24, awsim48, svl32" },
		{ "{\"ros2\":{\"encoding\":\"jpeg\"}}",
		  MUST ": \"encoding\" must be one of rgb8, bgr8, mono16, 32SC1" },
		{ "{\"ros2\":{\"origin\":[1]}}", MUST ": \"origin\" must be [easting, northing]" },
		{ "{\"ros2\":{\"origin\":[1,\"2\"]}}", MUST ": \"origin\" must be [easting, northing]" },
		{ "{\"ros2\":{\"position\":\"here\"}}", MUST ": \"position\" must be one of message, map, utm, mgrs" },
		{ "{\"ros2\":{\"depth\":-1}}", MUST ": \"depth\" must be a whole number from 1 to 10000" },
		{ "{\"ros2\":{\"depth\":\"1\"}}", MUST ": \"depth\" must be a whole number from 1 to 10000" },
		{ "{\"ros2\":{\"covariance\":0}}", MUST ": \"covariance\" must be a number above 0" },
		{ "{\"ros2\":{\"reliability\":\"maybe\"}}",
		  MUST ": \"reliability\" must be one of best_effort, reliable" },
		{ "{\"ros2\":{\"durability\":1}}", MUST ": \"durability\" must be one of volatile, transient_local" },
		{ "{\"ros2\":{\"colour\":\"red\"}}", MUST
		  ": \"colour\" is not a key here; keys are topic, type, frame, child_frame, encoding, points, position, origin, sentence, "
		  "compat, covariance, orientation, reliability, durability, depth, undulation" },
		{ "{\"ros2\":true}", MUST ": an object is needed" },
		{ "{\"ros2\":[]}", MUST ": a list must have 1 to 16 topics" },
		{ "{\"ros2\":[{},{\"topic\":\"x\"}]}", MUST "[1]: \"x\" is not the name of a topic" },
	};
	struct fake f = { .distro = "iron" };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops = load();
	struct sim_bridge *b = NULL;
	struct sim_bridge_channel ch = { .name = "/camera/image", .type = &sim_Image_type };
	struct sim_bridge_topic *t = NULL;

	assert_int_equal(ops->create(&host, &b), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ch.options = bad[i].options;
		f.log[0] = '\0';
		assert_int_equal(ops->open(b, &ch, &t), -EINVAL);
		if (!strstr(f.log, bad[i].sentence))
			fail_msg("%s: \"%s\"", bad[i].options, f.log);
	}
	ch.options = "{\"ros2\":{\"type\":\"sensor_msgs/msg/Imu\"}}";
	f.log[0] = '\0';
	assert_int_equal(ops->open(b, &ch, &t), -ENOTSUP);
	assert_string_equal(f.log, "/camera/image: sim/Image has no mapping and no converter to sensor_msgs/msg/Imu");
	ch.name = "/camera-1"; /* a channel may have it, a topic not */
	ch.options = "{}";
	f.log[0] = '\0';
	assert_int_equal(ops->open(b, &ch, &t), -EINVAL);
	assert_non_null(strstr(f.log, "/camera-1: \"/camera-1\" is not the name of a topic"));
	assert_null(t);
	ops->destroy(b);
}

TEST(wrong_subscriptions_are_named)
{
#define GEAR "\"type\":\"autoware_vehicle_msgs/msg/GearCommand\""
	static const struct {
		const char *subscribe, *sentence;
	} bad[] = {
		{ "[", "options.subscribe: not a JSON object: " },
		{ "{\"/image\":{\"type\":\"JointState\",\"channel\":\"c\"}}",
		  "options.subscribe[\"/image\"]: \"JointState\" is not of the form package/Name" },
		{ "{\"gear\":{" GEAR ",\"channel\":\"gear\"}}",
		  "options.subscribe[\"gear\"]: \"gear\" is not the name of a topic: words of letters, digits and '_', "
		  "none with a digit first in ROS 2, each after a '/', at most 247 bytes in all" },
		{ "{\"/gear\":{" GEAR "}}", "options.subscribe[\"/gear\"]: \"channel\" is missing" },
		{ "{\"/gear\":{\"channel\":\"gear\",\"definition\":\"/x\"}}",
		  "options.subscribe[\"/gear\"]: \"definition\" needs a \"type\"" },
		{ "{\"/gear\":\"gear\"}", "options.subscribe[\"/gear\"]: an object is needed" },
		{ "{\"/gear\":{" GEAR ",\"channel\":\"gear\",\"topic\":\"x\"}}",
		  "options.subscribe[\"/gear\"]: \"topic\" is not a key here; keys are type, channel, definition, as, raw, max_body, origin, reliability, "
		  "durability, depth, undulation" },
		{ "{\"/a\":{" GEAR ",\"channel\":\"gear\"},\"/b\":{\"type\":\"autoware_vehicle_msgs/Engage\","
		  "\"channel\":\"gear\"}}",
		  "options.subscribe[\"/b\"]: it gives sim/EngageCommand, but channel \"gear\" is sim/GearCommand already" },
	};
	struct fake f = { .distro = "iron" };
	struct sim_bridge_host host = host_of(&f);
	const struct sim_bridge_ops *ops = load();
	struct sim_bridge *b = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f.subscribe = bad[i].subscribe;
		f.log[0] = '\0';
		assert_int_equal(ops->create(&host, &b), -EINVAL);
		if (!strstr(f.log, bad[i].sentence))
			fail_msg("%s: \"%s\"", bad[i].subscribe, f.log);
	}
	f.subscribe = NULL;
	f.use_sim_time = "perhaps";
	f.log[0] = '\0';
	assert_int_equal(ops->create(&host, &b), -EINVAL);
	assert_non_null(strstr(f.log, "options.use_sim_time: \"perhaps\" is not true or false"));
	f.use_sim_time = NULL;
	f.distro = "noetic";
	assert_int_equal(ops->create(&host, &b), -EINVAL);
	assert_non_null(strstr(f.log, "noetic"));
}

TEST_PROCESSES()
