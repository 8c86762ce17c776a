/* SPDX-License-Identifier: Apache-2.0 */
/* See ros1_link.h. Threads: one a process, and those of the masters in the first reader. */
#include "ros1_link.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <sim/msg/Image.h>
#include <sim/sim.h>

#include "system/ros1/fake.h"

#define MD5_IMAGE "060021388200f6f0f447d0fcd9c64743"
#define BODY_MAX  (ROS1_DATA_24 + 4096u)
#define SOCKETS   (ROS1_TOPICS + 2) /* ours, the raw one, roscpp's */

static const char *const topic_names[ROS1_TOPICS] = { "/ros1/six", ROS1_TOPIC_24, "/ros1/six_for_all" };
static const unsigned heights[ROS1_TOPICS] = { ROS1_HEIGHT_6, ROS1_HEIGHT_24, ROS1_HEIGHT_6 };

struct role {
	struct ros1_link *l;
	struct ros1_arena *a;
	unsigned number; /* of a reader */
};

/* ---- readers ---- */

static int connect_topic(unsigned port, const char *topic)
{
	int fd = fake_connect(port, 0);

	fake_subscribe(fd, "/reader", topic, MD5_IMAGE, "sensor_msgs/Image");
	if (strcmp(fake_field(fd, "md5sum"), MD5_IMAGE) == 0)
		return fd;
	fprintf(stderr, "bench: %s is refused\n", topic);
	return -1;
}

/* The node's port, when the topic is there. 0: it does not come. */
static unsigned await_topic(struct fake_master *m, const char *topic)
{
	if (!HOLDS_WITHIN(20000, fake_master_calls(m, "registerPublisher", topic) > 0))
		return 0;
	return fake_request_topic(m, topic);
}

/* The first one, whose process has the masters, gives the others the port of TCPROS. */
static int connect_first(struct role *r, int fd[SOCKETS])
{
	static struct fake_master ours, theirs;
	struct ros1_arena *a = r->a;
	unsigned port;

	fake_master_start(&ours, 0);
	fake_master_start(&theirs, 0);
	a->master_port[0] = ours.port;
	a->master_port[1] = theirs.port;
	ros1_add(&a->ready);
	if (!HOLDS_WITHIN(20000, ros1_load(&a->raw_port)))
		return -1;
	fd[ROS1_TOPICS] = fake_connect(a->raw_port, 0);
	for (int i = 0; i < ROS1_TOPICS; i++) {
		port = await_topic(&ours, topic_names[i]);
		fd[i] = port ? connect_topic(port, topic_names[i]) : -1;
		if (fd[i] < 0)
			return -1;
	}
	__atomic_store_n(&a->tcpros_port, port, __ATOMIC_SEQ_CST);
	if (!r->l->roscpp)
		return 0;
	port = await_topic(&theirs, ROS1_TOPIC_24);
	fd[ROS1_TOPICS + 1] = port ? connect_topic(port, ROS1_TOPIC_24) : -1;
	return fd[ROS1_TOPICS + 1] < 0 ? -1 : 0;
}

static int connect_other(struct role *r, int fd[SOCKETS])
{
	if (!HOLDS_WITHIN(40000, ros1_load(&r->a->tcpros_port)))
		return -1;
	fd[ROS1_ALL] = connect_topic(r->a->tcpros_port, topic_names[ROS1_ALL]);
	return fd[ROS1_ALL];
}

static int read_some(int fd, uint8_t *to, size_t n)
{
	while (n) {
		ssize_t got = recv(fd, to, n, 0);

		if (got <= 0)
			return -1;
		to += got;
		n -= (size_t)got;
	}
	return 0;
}

static int take(struct role *r, int fd, uint8_t *buffer)
{
	struct ros1_arena *a = r->a;
	uint8_t len[4];
	uint32_t n;

	if (read_some(fd, len, 4) < 0 || fake_u32(len) > BODY_MAX || read_some(fd, buffer, fake_u32(len)) < 0)
		return -1;
	n = ros1_load(&a->taken);
	if (!r->number)
		a->sample[n % ROS1_SAMPLES] =
			(double)(ros1_now() - __atomic_load_n(&a->sent_mono_ns, __ATOMIC_SEQ_CST));
	ros1_add(&a->taken);
	return 0;
}

static int reader_main(void *arg)
{
	struct role *r = arg;
	struct pollfd p[SOCKETS];
	int fd[SOCKETS] = { -1, -1, -1, -1, -1 }, e;
	uint8_t *buffer = malloc(BODY_MAX);

	e = r->number ? connect_other(r, fd) : connect_first(r, fd);
	bench_pin(1);
	if (e < 0 || !buffer)
		ros1_add(&r->a->failed);
	ros1_add(&r->a->ready);
	memset(buffer, 0, BODY_MAX);
	for (int i = 0; i < SOCKETS; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	for (;;) /* ends with its parent's signal */
		if (poll(p, SOCKETS, -1) > 0)
			for (int i = 0; i < SOCKETS; i++)
				if (p[i].revents && take(r, p[i].fd, buffer) < 0)
					return 1;
}

/* ---- writers ---- */

struct ours {
	struct ros1_arena *a;
	struct sim_publisher *pub[ROS1_TOPICS];
	_Atomic unsigned undelivered;
};

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct ours *o = user;

	if (!ok && !atomic_fetch_add(&o->undelivered, 1))
		fprintf(stderr, "bench: a message was not delivered: %s\n", sim_reason_name(reason));
}

/* The image is what the slot held before: filling it is the sensor's, here as with the others. */
static int send_ours(void *ctx)
{
	struct ours *o = ctx;
	unsigned height = heights[o->a->topic];
	size_t n = (size_t)height * ROS1_WIDTH * 3;
	struct sim_publisher *p = o->pub[o->a->topic];
	struct sim_Image *m;
	struct sim_builder b;
	struct sim_slot *s;
	int r = sim_loan(p, sim_Image_size(4, n), &s);

	if (r < 0)
		return r;
	m = sim_Image_init(sim_slot_body_mut(s), s->body_size, &b);
	m->width = ROS1_WIDTH;
	m->height = height;
	m->step = ROS1_WIDTH * 3;
	r = sim_Image_encoding_set(&b, "rgb8");
	if (r < 0 || !sim_Image_data_alloc(&b, (uint32_t)n))
		return -EINVAL;
	r = sim_try_queue(p, s, NULL, on_done, o);
	return r < 0 ? r : atomic_load(&o->undelivered) ? -EIO : 0;
}

static int ours_main(void *arg)
{
	struct role *r = arg;
	struct ours o = { .a = r->a };
	struct sim_client *c = bench_connect(r->l->b, "images");
	int e;

	bench_pin(0);
	for (int i = 0; i < ROS1_TOPICS; i++) {
		struct sim_publisher_options po = { .size = sizeof(po),
						    .max_body = sim_Image_size(4, (size_t)heights[i] * ROS1_WIDTH * 3),
						    .frame_id = "camera" };

		e = sim_advertise(c, topic_names[i], &sim_Image_type, &po, &o.pub[i]);
		if (e < 0) {
			fprintf(stderr, "bench: %s: %s: %s\n", topic_names[i], strerror(-e), sim_why());
			return 1;
		}
		bench_await_bridge(o.pub[i]);
	}
	e = ros1_serve(r->a, ROS1_OURS, send_ours, &o);
	if (e < 0)
		fprintf(stderr, "bench: images: %s\n", strerror(-e));
	sim_disconnect(c);
	return e < 0;
}

struct raw {
	struct ros1_arena *a;
	int fd;
	uint8_t *message;
};

static int send_raw(void *ctx)
{
	struct raw *w = ctx;
	uint32_t n = w->a->topic == ROS1_24MIB ? ROS1_DATA_24 : ROS1_DATA_6, left = n + 4;

	memcpy(w->message, &n, 4);
	for (const uint8_t *at = w->message; left;) {
		ssize_t sent = send(w->fd, at, left, MSG_NOSIGNAL);

		if (sent < 0)
			return -errno;
		at += sent;
		left -= (uint32_t)sent;
	}
	return 0;
}

static int raw_main(void *arg)
{
	struct role *r = arg;
	struct raw w = { .a = r->a, .message = malloc(ROS1_DATA_24 + 4) };
	unsigned port;
	int door = fake_listen(&port), e;

	bench_pin(0);
	if (!w.message)
		return 1;
	memset(w.message, 7, ROS1_DATA_24 + 4);
	__atomic_store_n(&r->a->raw_port, port, __ATOMIC_SEQ_CST);
	w.fd = fake_accept(door);
	e = ros1_serve(r->a, ROS1_RAW, send_raw, &w);
	if (e < 0)
		fprintf(stderr, "bench: raw: %s\n", strerror(-e));
	return e < 0;
}

static int roscpp_main(void *arg)
{
	struct role *r = arg;
	char program[BENCH_PATH + 32], number[16], uri[64];

	bench_pin(0);
	snprintf(program, sizeof(program), "%s/bench-roscpp", r->l->b->bin);
	snprintf(number, sizeof(number), "%d", r->l->fd);
	snprintf(uri, sizeof(uri), "http://127.0.0.1:%u", r->a->master_port[1]);
	setenv("ROS_MASTER_URI", uri, 1);
	setenv("ROS_IP", "127.0.0.1", 1);
	setenv("ROS_HOME", r->l->b->dir, 1);
	execl(program, "bench-roscpp", number, (char *)NULL);
	return 127;
}

/* ---- the orchestrator ---- */

static int await_ready(struct ros1_arena *a, uint32_t n)
{
	BENCH_UNTIL(60, ros1_load(&a->ready) >= n || ros1_load(&a->failed));
	return ros1_load(&a->failed) ? -EIO : 0;
}

static int open_arena(struct ros1_link *l)
{
	l->fd = memfd_create("ros1", 0); /* inherited */
	if (l->fd < 0 || ftruncate(l->fd, sizeof(*l->arena)) < 0)
		return -errno;
	l->arena = mmap(NULL, sizeof(*l->arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, l->fd, 0);
	return l->arena == MAP_FAILED ? -errno : 0;
}

static int start_simd(struct ros1_link *l)
{
	char rigs[512];

	snprintf(rigs, sizeof(rigs),
		 "{\"name\":\"bench\",\"bridges\":[{\"name\":\"ros1\",\"plugin\":\"ros1\",\"channels\":[\"/ros1/*\"],"
		 "\"connection\":\"http://127.0.0.1:%u\"}]}",
		 l->arena->master_port[0]);
	return bench_simd(l->b, rigs);
}

/* simd and the bridge beside the others that send. */
static int pin_ours(struct ros1_link *l)
{
	char *text = NULL;
	json_t *reply, *first;

	if (bench_call(l->b, "io.simd.Control.ListBridges", "{}", &text) < 0)
		return -EIO;
	reply = json_loads(text, 0, NULL);
	first = json_array_get(json_object_get(reply, "bridges"), 0);
	l->bridge = (pid_t)json_integer_value(json_object_get(first, "pid"));
	json_decref(reply);
	free(text);
	if (l->bridge <= 0)
		return -EIO;
	bench_pin_process(l->bridge, 0);
	bench_pin_process(l->b->simd_pid, 0);
	return 0;
}

static void start_readers(struct ros1_link *l)
{
	for (unsigned i = 0; i < ROS1_READERS; i++) {
		struct role r = { .l = l, .a = l->arena, .number = i };

		l->reader[i] = bench_fork(reader_main, &r);
	}
}

static void start_writers(struct ros1_link *l)
{
	static int (*const mains[ROS1_WRITERS])(void *) = { ours_main, raw_main, roscpp_main };

	for (int i = 0; i < ROS1_WRITERS; i++) {
		struct role r = { .l = l, .a = l->arena };

		if (i != ROS1_ROSCPP || l->roscpp)
			l->writer[i] = bench_fork(mains[i], &r);
	}
}

int ros1_link_start(struct bench *b, struct ros1_link *ret)
{
	char program[BENCH_PATH + 32];
	int r;

	snprintf(program, sizeof(program), "%s/bench-roscpp", b->bin);
	*ret = (struct ros1_link){ .b = b, .roscpp = access(program, X_OK) == 0 };
	r = open_arena(ret);
	if (r < 0)
		return r;
	start_readers(ret);
	r = await_ready(ret->arena, 1); /* the masters are there */
	if (r == 0)
		r = start_simd(ret);
	if (r == 0)
		start_writers(ret);
	if (r == 0)
		r = await_ready(ret->arena, 1 + ROS1_READERS + 2 + ret->roscpp);
	return r < 0 ? r : pin_ours(ret);
}

void ros1_link_stop(struct ros1_link *l)
{
	for (unsigned i = 0; i < ROS1_WRITERS + ROS1_READERS; i++) {
		pid_t pid = i < ROS1_WRITERS ? l->writer[i] : l->reader[i - ROS1_WRITERS];

		if (pid <= 0)
			continue;
		kill(pid, SIGKILL);
		bench_wait(pid);
	}
	if (l->arena && l->arena != MAP_FAILED)
		munmap(l->arena, sizeof(*l->arena));
	close(l->fd);
}

int ros1_link_run(struct ros1_link *l, enum ros1_writer who, enum ros1_topic topic, unsigned count, unsigned window,
		  struct ros1_run *ret)
{
	struct ros1_arena *a = l->arena;
	uint32_t done = ros1_load(&a->done);
	int64_t cpu_ns = bench_cpu_ns(l->bridge);

	a->topic = topic;
	a->count = count < ROS1_SAMPLES ? count : ROS1_SAMPLES;
	a->window = window;
	a->readers = topic == ROS1_ALL ? ROS1_READERS : 1;
	__atomic_store_n(&a->taken, 0, __ATOMIC_SEQ_CST);
	ros1_add(&a->command[who]);
	BENCH_UNTIL(60, ros1_load(&a->done) != done || ros1_load(&a->failed));
	if (ros1_load(&a->failed))
		return -EIO;
	cpu_ns = bench_cpu_ns(l->bridge) - cpu_ns;
	*ret = (struct ros1_run){ .latency_ns = bench_median(a->sample, a->count),
				  .rate = a->count / ((double)a->elapsed_dur_ns / 1e9),
				  .cpu_ns = (double)cpu_ns / a->count / a->readers };
	return 0;
}
