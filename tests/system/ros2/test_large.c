/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large messages: to a best-effort reader that nobody has tuned all of them come, from a best-effort writer and from a reliable one,
 * even where the kernel gives it a buffer of 3 datagrams; 8 MiB come to a reader with the settings that we install for a user's
 * side. Where the plug-in goes by time and the kernel gives no such buffer, it says which line to type. This program's getsockopt()
 * stands before the C library's.
 */
#include "test.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <sim/msg/Image.h>

#include "support/message.h"
#include "host.h"
#include "reader.h"

#define WIDTH  2048u
#define HEIGHT 1366u /* 8 MiB of rgb8 */
#define IMAGES 20u
#define DEFAULTS \
	"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces>" \
	"<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>" \
	"<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery>"
#define END  "</Domain></CycloneDDS>"
#define USER DEFAULTS END ",file://config/ros2/cyclonedds.xml"
#define SMALL \
	DEFAULTS "<Internal><SocketReceiveBufferSize max=\"212992B\"/></Internal>" END /* as with Debian's rmem_max */
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

static int buffer(void)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0), ask = 10 << 20, got = 0;
	socklen_t len = sizeof(got);

	setsockopt(s, SOL_SOCKET, SO_RCVBUF, &ask, sizeof(ask));
	getsockopt(s, SOL_SOCKET, SO_RCVBUF, &got, &len);
	close(s);
	return got;
}

static bool intact(const struct seen_image *m)
{
	bool ok = m->data._length == WIDTH * HEIGHT * 3;

	for (uint32_t i = 0; ok && i < m->data._length; i++)
		ok = m->data._buffer[i] == (uint8_t)(i * 7 + i / 4093);
	return ok;
}

/* A byte for each image that has come as it was sent. */
static pid_t start_reader(int out, const char *settings)
{
	struct seen_image *m = calloc(1, sizeof(*m));
	dds_entity_t domain, r;
	pid_t pid = fork();

	if (pid) {
		free(m);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	domain = dds_create_domain(0, settings);
	r = domain < 0 ? domain
		       : reader_open(dds_create_participant(0, NULL, NULL), &seen_image_desc, "rt/large", false);
	while (r >= 0 && reader_take(r, m) == 0 && intact(m))
		if (write(out, "", 1) != 1)
			break;
	_exit(1);
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

/* A reader may get no CPU for as long as it likes: it is waited for. */
static const char *const options[] = { "ros_distro", "humble", "pacing_ms", "60000", NULL };
static const char *const by_time[] = { "ros_distro", "humble", "pacing", "time", NULL };

/* ms: -1: however long it takes */
static bool came(int in, int ms)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	char c;

	return poll(&p, 1, ms) == 1 && read(in, &c, 1) == 1;
}

/* The first ones find no reader yet; from then on none is lost, the next one goes out when the last has come. */
static void all_come(const char *channel_options, const char *settings)
{
	static struct host h;
	struct sim_bridge_topic *t;
	struct sim_slot *s = image();
	struct sim_bridge *b;
	int out[2];
	pid_t reader;

	assert_int_equal(pipe(out), 0);
	reader = start_reader(out[1], settings);
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	t = host_open(&h, b, "/large", &sim_Image_type, channel_options);
	do
		assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
	while (!came(out[0], 100));
	for (unsigned i = 0; i < IMAGES; i++) {
		assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
		assert_true(came(out[0], -1));
	}
	assert_null(strstr(h.log, "has lost"));
	kill(reader, SIGKILL);
	assert_int_equal(waitpid(reader, NULL, 0), reader);
	h.ops->destroy(b);
	free(s);
}

TEST(eight_mebibytes_come_whole)
{
	if (buffer() < 2 * (4 << 20)) {
		print_message("net.core.rmem_max is below 4 MiB here: the settings for a user cannot be had\n");
		skip();
	}
	all_come("{}", USER);
}

TEST(large_messages_reach_readers_with_default_buffers)
{
	all_come("{}", DEFAULTS END);
}

TEST(a_reliable_writer_serves_best_effort_readers)
{
	all_come("{\"ros2\":{\"reliability\":\"reliable\"}}", DEFAULTS END);
}

TEST(all_come_to_a_small_buffer)
{
	all_come("{}", SMALL);
}

TEST(a_small_buffer_is_named_with_its_remedy)
{
	static struct host h;
	struct sim_bridge *b;

	pretend = DEBIAN;
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_null(strstr(h.log, "rmem_max")); /* nothing is lost: it is looked how full it is */
	h.ops->destroy(b);
	host_init(&h, PLUGIN, by_time);
	b = host_create(&h);
	assert_non_null(strstr(h.log, "a socket's receive buffer has 212992 bytes at most"));
	assert_non_null(strstr(h.log, "sysctl -w net.core.rmem_max=4194304"));
	pretend = 0;
	h.ops->destroy(b);
}

TEST_PROCESSES()
