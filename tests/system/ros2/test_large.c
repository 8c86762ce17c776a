/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large messages: a best-effort image of 8 MiB comes whole to a reader with the settings that we install for a user's side; where the
 * kernel gives no such buffer, the plug-in says which line to type. This program's getsockopt() and nanosleep() stand before the C library's.
 */
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <sim/msg/Image.h>

#include "host.h"
#include "reader.h"

#define WIDTH  2048u
#define HEIGHT 1366u /* 8 MiB of rgb8 */
#define USER \
	"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces>" \
	"<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>" \
	"<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery>" \
	"</Domain></CycloneDDS>,file://config/ros2/cyclonedds.xml"
#define DEBIAN (2 * 212992)

static int pretend; /* what SO_RCVBUF is said to be; 0: the truth */

typedef int getsockopt_fn(int fd, int level, int name, void *restrict value, socklen_t *restrict len);

__attribute__((visibility("default"), used)) int getsockopt(int fd, int level, int name, void *restrict value,
							    socklen_t *restrict len)
{
	getsockopt_fn *next;
	int r;

	memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "getsockopt") }, sizeof(next));
	r = next(fd, level, name, value, len);
	if (r == 0 && pretend && level == SOL_SOCKET && name == SO_RCVBUF)
		memcpy(value, &pretend, sizeof(pretend));
	return r;
}

#define PART_NS 1000000 /* what a large message waits between its parts */

static pthread_t publisher; /* Cyclone's threads sleep, too */
static unsigned pauses;

typedef int nanosleep_fn(const struct timespec *dur, struct timespec *left);

__attribute__((visibility("default"), used)) int nanosleep(const struct timespec *dur, struct timespec *left)
{
	nanosleep_fn *next;

	memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "nanosleep") }, sizeof(next));
	if (pthread_equal(pthread_self(), publisher))
		pauses += dur->tv_sec == 0 && dur->tv_nsec == PART_NS;
	return next(dur, left);
}

static int buffer(void)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0), ask = 10 << 20, got = 0;
	socklen_t len = sizeof(got);

	setsockopt(s, SOL_SOCKET, SO_RCVBUF, &ask, sizeof(ask));
	getsockopt(s, SOL_SOCKET, SO_RCVBUF, &got, &len);
	close(s);
	return got;
}

/* A byte for an image that has come, 1 when it is as it was sent. */
static pid_t start_reader(int out)
{
	struct seen_image *m = calloc(1, sizeof(*m));
	dds_entity_t domain, r;
	pid_t pid = fork();
	char ok = 1;

	if (pid) {
		free(m);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	domain = dds_create_domain(0, USER);
	r = domain < 0 ? domain
		       : reader_open(dds_create_participant(0, NULL, NULL), &seen_image_desc, "rt/large", false);
	if (r < 0 || reader_take(r, m) < 0 || m->data._length != WIDTH * HEIGHT * 3)
		_exit(1);
	for (uint32_t i = 0; ok && i < m->data._length; i++)
		ok = m->data._buffer[i] == (uint8_t)(i * 7 + i / 4093);
	_exit(write(out, &ok, 1) == 1 && ok ? 0 : 1);
}

static struct sim_slot *image(void)
{
	struct sim_slot *s = host_slot(sim_Image_size(8, WIDTH * HEIGHT * 3), "camera");
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(sim_slot_body_mut(s), s->body_size, &b);
	uint8_t *data;

	m->height = HEIGHT;
	m->width = WIDTH;
	m->step = WIDTH * 3;
	assert_int_equal(sim_Image_encoding_set(&b, "rgb8"), 0);
	data = sim_Image_data_alloc(&b, WIDTH * HEIGHT * 3);
	assert_non_null(data);
	for (uint32_t i = 0; i < WIDTH * HEIGHT * 3; i++)
		data[i] = (uint8_t)(i * 7 + i / 4093);
	s->body_size = sim_builder_size(&b);
	return s;
}

static const char *const options[] = { "ros_distro", "humble", NULL };

/* Ten a second, as a camera sends them, until one has come: the first ones find no reader yet. */
static void eight_mebibytes_come_whole(void **state)
{
	static struct host h;
	struct sim_bridge_topic *t;
	struct sim_slot *s = image();
	struct sim_bridge *b;
	int out[2], status = -1;
	pid_t reader;

	(void)state;
	if (buffer() < 2 * (4 << 20)) {
		print_message("net.core.rmem_max is below 4 MiB here: 8 MiB cannot be expected to arrive\n");
		skip();
	}
	assert_int_equal(pipe(out), 0);
	reader = start_reader(out[1]);
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_null(strstr(h.log, "rmem_max"));
	publisher = pthread_self();
	t = host_open(&h, b, "/large", &sim_Image_type, "{}");
	while (waitpid(reader, &status, WNOHANG) == 0) {
		assert_int_equal(h.ops->publish(b, t, s, NULL), 0);
		usleep(100000); /* a camera's period */
	}
	assert_int_equal(status, 0);
	/* four parts, and a moment for the reader between two */
	assert_true(pauses > 0);
	assert_int_equal(pauses % 3, 0);
	h.ops->destroy(b);
	free(s);
}

static void a_small_buffer_is_named_with_its_remedy(void **state)
{
	static struct host h;
	struct sim_bridge *b;

	(void)state;
	pretend = DEBIAN;
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_non_null(strstr(h.log, "a socket's receive buffer has 212992 bytes at most"));
	assert_non_null(strstr(h.log, "sysctl -w net.core.rmem_max=4194304"));
	pretend = 0;
	h.ops->destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_mebibytes_come_whole),
		cmocka_unit_test(a_small_buffer_is_named_with_its_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
