/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large messages are sent in parts: on a thread of their own, which nothing small waits for; not when they are sent again; none
 * into a buffer that is full; and acknowledgements are not waited for where none come. This program's nanosleep(), sendmsg() and
 * dds_wait_for_acks() stand before the libraries'.
 */
#include "test.h"

#include <dlfcn.h>
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <sim/msg/Clock.h>
#include <sim/msg/Image.h>

#include "support/message.h"
#include "host.h"
#include "reader.h"

#define BYTES    (2u << 20)
#define PAUSE_NS 950000 /* of a message that is sent by time */
#define FRAGMENT 50000  /* bytes: a packet of more is a part of a large message */
#define LOOK_NS  100000 /* between two looks at a buffer that is full */

struct sim_task { /* the host's: here a name */
	int number;
};

static _Atomic unsigned pauses, elsewhere, acks; /* pauses of this thread and of ros2-large; of other threads */
static _Atomic bool hold;                        /* ros2-large stays in its next pause */
static _Atomic unsigned fragments, unseen;       /* sent; before it was first waited for `full` */
static _Atomic int full = -1;                    /* a socket that is read when somebody waits for it */
static sem_t held, go_on;
static pthread_t self;

static bool is_large_thread(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	return strcmp(name, "ros2-large") == 0;
}

static void read_full(void)
{
	static char data[65536];

	atomic_store(&unseen, atomic_load(&fragments));
	while (recv(atomic_load(&full), data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	atomic_store(&full, -1);
}

typedef int nanosleep_fn(const struct timespec *dur, struct timespec *left);

__attribute__((visibility("default"), used)) int nanosleep(const struct timespec *dur, struct timespec *left)
{
	nanosleep_fn *next;

	if (dur->tv_sec == 0 && dur->tv_nsec == PAUSE_NS) {
		bool large = is_large_thread();

		atomic_fetch_add(large || pthread_equal(pthread_self(), self) ? &pauses : &elsewhere, 1);
		if (large && atomic_exchange(&hold, false)) {
			sem_post(&held);
			while (sem_wait(&go_on) < 0 && errno == EINTR)
				;
		}
	}
	if (dur->tv_sec == 0 && dur->tv_nsec == LOOK_NS && atomic_load(&full) >= 0)
		read_full();
	memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "nanosleep") }, sizeof(next));
	return next(dur, left);
}

typedef ssize_t sendmsg_fn(int fd, const struct msghdr *m, int flags);

__attribute__((visibility("default"), used)) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	sendmsg_fn *next;
	ssize_t n;

	memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "sendmsg") }, sizeof(next));
	n = next(fd, m, flags);
	atomic_fetch_add(&fragments, n > FRAGMENT);
	return n;
}

/* Nobody acknowledges anything. */
__attribute__((visibility("default"), used)) dds_return_t dds_wait_for_acks(dds_entity_t entity, dds_duration_t timeout)
{
	(void)entity;
	(void)timeout;
	atomic_fetch_add(&acks, 1);
	return DDS_RETCODE_TIMEOUT;
}

static struct sim_slot *image(uint32_t bytes)
{
	struct sim_slot *s = host_slot(sim_Image_size(8, bytes), "camera");
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(sim_slot_body_mut(s), s->body_size, &b);

	m->height = bytes / 4096;
	m->width = 4096;
	m->step = 4096;
	assert_int_equal(sim_Image_encoding_set(&b, "mono8"), 0);
	memset(sim_Image_data_alloc(&b, bytes), 7, bytes);
	s->body_size = sim_builder_size(&b);
	return s;
}

static const char *const by_time[] = { "ros_distro", "humble", "pacing", "time", NULL };
static const char kept[] = "{\"ros2\":{\"reliability\":\"reliable\",\"durability\":\"transient_local\",\"depth\":1}}";

/* A program that reads a topic from when it is told to: a byte on `out` for each message. */
struct peer {
	pid_t pid;
	int go, out;
};

static struct peer peer_fork(const dds_topic_descriptor_t *desc, const char *topic)
{
	int go[2], out[2];
	struct peer p;
	char c;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(out), 0);
	p = (struct peer){ fork(), go[1], out[0] };
	if (p.pid == 0) {
		void *sample = calloc(1, 4096);
		dds_entity_t r;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		r = reader_open(reader_participant(), desc, topic, true);
		while (reader_take(r, sample) == 0 && write(out[1], "", 1) == 1)
			;
		_exit(1);
	}
	return p;
}

static void peer_go(const struct peer *p)
{
	assert_int_equal(write(p->go, "", 1), 1);
}

static void peer_next(const struct peer *p)
{
	char c;

	assert_int_equal(read(p->out, &c, 1), 1);
}

static void peer_end(const struct peer *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	close(p->go);
	close(p->out);
}

static struct sim_bridge *start_with(struct host *h, const char *const *options)
{
	self = pthread_self();
	atomic_store(&pauses, 0);
	atomic_store(&elsewhere, 0);
	atomic_store(&acks, 0);
	host_init(h, PLUGIN, options);
	return host_create(h);
}

static struct sim_bridge *start(struct host *h)
{
	return start_with(h, by_time);
}

/* A late reader gets what is kept, which Cyclone's threads send again. */
TEST(what_is_sent_again_does_not_pause)
{
	static struct host h;
	struct peer late = peer_fork(&seen_image_desc, "rt/kept");
	struct sim_bridge *b = start(&h);
	struct sim_bridge_topic *t = host_open(&h, b, "/kept", &sim_Image_type, kept);
	struct sim_slot *s = image(BYTES);

	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
	peer_go(&late);
	peer_next(&late);
	assert_int_equal(atomic_load(&elsewhere), 0);
	assert_int_equal(atomic_load(&pauses), 0); /* there was nobody to send to */
	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
	peer_next(&late);
	assert_int_equal(atomic_load(&elsewhere), 0);
	assert_true(atomic_load(&pauses) > 0);
	peer_end(&late);
	h.ops->destroy(b);
	free(s);
}

static bool answered(const struct host *h)
{
	struct pollfd p = { .fd = h->done[0], .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* An image stays half sent for as long as this test likes: /small goes past it, what is small on its own channel does not. */
TEST(small_messages_do_not_wait_for_large_ones)
{
	static struct host h;
	struct peer images = peer_fork(&seen_image_desc, "rt/large"), clocks = peer_fork(&seen_clock_desc, "rt/small");
	struct sim_bridge *b = start(&h);
	struct sim_bridge_topic *large = host_open(&h, b, "/large", &sim_Image_type, kept),
				*small = host_open(&h, b, "/small", &sim_Clock_type, kept);
	struct sim_slot *s = image(BYTES), *little = image(4096), *tick = host_slot(sizeof(struct sim_Clock), "");
	struct sim_task task[4];

	((struct sim_Clock *)sim_slot_body_mut(tick))->clock = HOST_STAMP;
	peer_go(&images);
	peer_go(&clocks);
	assert_int_equal(h.ops->publish(b, large, MESSAGE_OF(s), &task[0]), 1);
	peer_next(&images);
	assert_ptr_equal(host_next_done(&h).task, &task[0]);

	atomic_store(&hold, true);
	assert_int_equal(h.ops->publish(b, large, MESSAGE_OF(s), &task[1]), 1);
	sem_wait(&held);
	assert_int_equal(h.ops->publish(b, large, MESSAGE_OF(little), &task[2]), 1);
	assert_int_equal(h.ops->publish(b, small, MESSAGE_OF(tick), &task[3]), 0);
	peer_next(&clocks);
	assert_false(answered(&h));
	sem_post(&go_on);
	assert_ptr_equal(host_next_done(&h).task, &task[1]);
	assert_ptr_equal(host_next_done(&h).task, &task[2]);

	peer_end(&images);
	peer_end(&clocks);
	h.ops->destroy(b);
	free(tick);
	free(little);
	free(s);
}

/* What is pending is written before its channel closes. */
TEST(a_channel_closes_behind_its_messages)
{
	static struct host h;
	struct sim_bridge *b = start(&h);
	struct sim_bridge_topic *t = host_open(&h, b, "/large", &sim_Image_type, kept);
	struct sim_slot *s = image(BYTES);
	const struct sim_message *m = MESSAGE_OF(s);
	struct sim_task task[100]; /* more than wait without holding up a lane */

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(h.ops->publish(b, t, m, &task[i]), 1);
	h.ops->close(b, t);
	for (unsigned i = 0; i < 100; i++) {
		struct host_done d = host_next_done(&h);

		assert_ptr_equal(d.task, &task[i]);
		assert_int_equal(d.result, 0);
	}
	h.ops->destroy(b);
	free(s);
}

/* Bound, and more than half full. */
static int full_socket(void)
{
	static const char data[FRAGMENT];
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&a, &len), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(sendto(s, data, sizeof(data), 0, (struct sockaddr *)&a, len), sizeof(data));
	return s;
}

/* The first part neither: what came before may be unread. */
TEST(no_part_is_sent_into_a_full_buffer)
{
	static const char *const patient[] = { "ros_distro", "humble", "pacing_ms", "60000", NULL };
	static struct host h;
	struct peer images = peer_fork(&seen_image_desc, "rt/large");
	struct sim_bridge *b = start_with(&h, patient);
	struct sim_bridge_topic *t = host_open(&h, b, "/large", &sim_Image_type, kept);
	struct sim_slot *s = image(BYTES);

	peer_go(&images);
	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
	peer_next(&images);
	for (unsigned i = 0; i < 3; i++) {
		int socket = full_socket();

		atomic_store(&fragments, 0);
		atomic_store(&unseen, UINT_MAX);
		atomic_store(&full, socket);
		assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
		peer_next(&images);
		assert_int_equal(atomic_load(&unseen), 0);
		close(socket);
	}
	peer_end(&images);
	h.ops->destroy(b);
	free(s);
}

/* Three times in vain, then not for a second. */
TEST(acknowledgements_that_do_not_come_are_not_waited_for)
{
	static struct host h;
	struct sim_bridge *b = start(&h);
	struct sim_bridge_topic *t = host_open(&h, b, "/large", &sim_Image_type, kept);
	struct sim_slot *s = image(BYTES);

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
	assert_int_equal(atomic_load(&acks), 3);
	h.ops->destroy(b);
	free(s);
}

static int prepare(void **state)
{
	(void)state;
	sem_init(&held, 0, 0);
	sem_init(&go_on, 0, 0);
	return 0;
}

TEST_GROUP(prepare, NULL)
TEST_PROCESSES()
