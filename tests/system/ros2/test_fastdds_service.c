/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of the ROS 2 bridge for nodes of rmw_fastrtps and of rmw_cyclonedds at once: two of each call the same service, each in a
 * process of its own, and each call has its answer, whatever it is long, although packets get lost or are garbled on purpose.
 * This program's sendmsg() and dladdr() stand before the C library's. With FULL=1 there are 10 000 calls; CALLS=n of each
 * client where packets are lost.
 */
#include "test.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <sim/msg/Vector3.h>
#include <sim/srv/SetBool.h>

#include <dds/ddsrt/log.h>

#include "asker.h"
#include "host.h"
#include "reader.h"

#define SERVICE  "/echo"
#define TEXT_MAX 100000u
#define ASKERS   4u

struct ask_vector {
	struct ask_id id;
	double x, y, z;
};
#define F8(s, m) DDS_OP_ADR | DDS_OP_TYPE_8BY | DDS_OP_FLAG_FP, offsetof(struct s, m)

static const uint32_t vector_ops[] = { ASK_ID(ask_vector), F8(ask_vector, x), F8(ask_vector, y), F8(ask_vector, z),
				       DDS_OP_RTS };
static const uint32_t text_ops[] = ASK_TEXT_OPS;
static const dds_topic_descriptor_t echo_request = ASK_DESC(ask_vector, vector_ops, "demo::srv::dds_::Echo_Request_");
static const dds_topic_descriptor_t echo_response = ASK_DESC(ask_text, text_ops, "demo::srv::dds_::Echo_Response_");

static const struct sim_service_type echo_service = { .abi = SIM_TYPE_ABI,
						      .size = sizeof(echo_service),
						      .name = "demo/Echo",
						      .comment = "",
						      .request = &sim_Vector3_type,
						      .response = &sim_SetBoolResponse_type };

/* ---- what becomes of the packets of this process and of its forks ---- */

static _Atomic unsigned loss, packets; /* each loss-th is lost; 0: none */

__attribute__((visibility("default"), used)) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	const struct sockaddr_in *to = m->msg_name;
	unsigned every = atomic_load(&loss);

	if (every && to && to->sin_family == AF_INET && atomic_fetch_add(&packets, 1) % every == 0) {
		ssize_t n = 0;

		for (size_t i = 0; i < m->msg_iovlen; i++)
			n += (ssize_t)m->msg_iov[i].iov_len;
		return n;
	}
	return syscall(SYS_sendmsg, fd, m, flags);
}

static const char *pretend; /* where Cyclone is; NULL: the truth */

typedef int dladdr_fn(const void *address, Dl_info *info);

__attribute__((visibility("default"), used)) int dladdr(const void *address, Dl_info *info)
{
	dladdr_fn *next;
	int r;

	memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "dladdr") }, sizeof(next));
	r = next(address, info);
	if (r && pretend)
		info->dli_fname = pretend;
	return r;
}

/* ---- the service ---- */

static _Atomic unsigned calls;

/* "ASKER NUMBER ", then as many z as make it long enough. */
static void text_of(const struct sim_Vector3 *q, char *out, size_t room)
{
	size_t n = (size_t)snprintf(out, room, "%.0f %.0f ", q->x, q->y), want = q->z < 0 ? 0 : (size_t)q->z;

	if (want >= room)
		want = room - 1;
	if (want > n) {
		memset(out + n, 'z', want - n);
		out[want] = '\0';
	}
}

static int on_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		   size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	size_t room = TEXT_MAX + 4096;
	char *text = malloc(room);
	void *out = aligned_alloc(64, (room + 63) / 64 * 64);
	struct sim_SetBoolResponse *m;
	struct sim_builder b;

	(void)ctx;
	(void)service;
	(void)type;
	(void)timeout_dur_ns;
	if (!text || !out || size < sizeof(struct sim_Vector3))
		abort();
	atomic_fetch_add(&calls, 1);
	text_of(request, text, room);
	m = sim_SetBoolResponse_init(out, room, &b);
	m->success = true;
	sim_SetBoolResponse_message_set(&b, text);
	fn(user, 0, "", out, sim_builder_size(&b));
	free(out);
	free(text);
	return 0;
}

/* ---- those who ask ---- */

struct run {
	unsigned calls, size, open, loss;
};

/* more: another argument of fastdds_asker.cpp. */
static pid_t start_fast(unsigned asker, const struct run *run, const char *more)
{
	char args[5][32];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(args[0], 32, "asker=%u", asker);
	snprintf(args[1], 32, "calls=%u", run->calls);
	snprintf(args[2], 32, "size=%u", run->size);
	snprintf(args[3], 32, "open=%u", run->open);
	snprintf(args[4], 32, "loss=%u", run->loss);
	execl(ASKER, "fastdds-asker", "call", SERVICE, args[0], args[1], args[2], args[3], args[4], more, (char *)NULL);
	_exit(127);
}

static void one_call(const struct asker *a, unsigned asker, unsigned number, unsigned size)
{
	struct ask_vector q = { { ASK_CLIENT + asker, number }, asker, number, size };
	const struct sim_Vector3 v = { .x = asker, .y = number, .z = size };
	static char want[TEXT_MAX + 4096];
	struct ask_text r;

	text_of(&v, want, sizeof(want));
	EXPECT(dds_write(a->writer, &q) == 0);
	for (;;) { /* those of the others come, too, and some once more */
		memset(&r, 0, sizeof(r));
		EXPECT(reader_take(a->reader, &r) == 0);
		if (r.id.client == q.id.client && r.id.sequence >= number)
			break;
		dds_free(r.message);
	}
	EXPECT(r.id.sequence == number && r.success && strcmp(r.message, want) == 0);
	dds_free(r.message);
}

/* A reply to the other kind of asker is none for a typed reader, which Cyclone says each time. */
static void on_cyclone_log(void *arg, const dds_log_data_t *data)
{
	(void)arg;
	(void)data;
}

/* It remembers more than ROS' ten: how soon it gets to the processor to take its reply from among the others' is not the subject. */
static struct asker start_asker(unsigned asker)
{
	struct asker a;
	char client[16];
	dds_entity_t p;

	snprintf(client, sizeof(client), "4.%u", asker);
	dds_set_log_sink(on_cyclone_log, NULL);
	p = reader_participant();
	EXPECT(p > 0);
	a.reader = ask_reader(p, SERVICE, &echo_response, client, 1000);
	a.writer = ask_writer(p, SERVICE, &echo_request, client);
	return a;
}

static pid_t start_cyclone(unsigned asker, const struct run *run)
{
	struct asker a;
	pid_t pid = fork();

	if (pid)
		return pid;
	a = start_asker(asker);
	atomic_store(&loss, run->loss);
	for (unsigned i = 0; i < run->calls; i++)
		one_call(&a, asker, i, run->size);
	dds_delete(dds_get_participant(a.reader));
	_exit(0);
}

static struct sim_bridge *begin(struct host *h)
{
	static const char *const options[] = { "ros_distro", "humble", NULL };
	struct sim_bridge *b;

	atomic_store(&calls, 0);
	host_init(h, PLUGIN, options);
	h->host.call = on_call;
	b = host_create(h);
	h->ops->service(b, SERVICE, &echo_service);
	return b;
}

static void wait_for(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status))
		fprintf(stderr, "calls %u\n", calls);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void all_are_answered(const struct run *run)
{
	static struct host h;
	pid_t pids[ASKERS];
	struct sim_bridge *b;

	for (unsigned i = 0; i < ASKERS; i++) /* before Cyclone's threads are there */
		pids[i] = i % 2 ? start_cyclone(i + 1, run) : start_fast(i + 1, run, i ? "async=1" : "async=0");
	b = begin(&h);
	atomic_store(&loss, run->loss);
	for (unsigned i = 0; i < ASKERS; i++)
		wait_for(pids[i]);
	atomic_store(&loss, 0);
	assert_int_equal(atomic_load(&calls), ASKERS * run->calls);
	assert_null(strstr(h.log, "dropped"));
	assert_null(strstr(h.log, "alone"));
	h.ops->disconnect(b);
	h.ops->destroy(b);
}

/* ---- the tests ---- */

static unsigned many(unsigned quick, unsigned full)
{
	return test_full() ? full : quick;
}

static int have_peer(void **state)
{
	(void)state;
	if (access(ASKER, X_OK) == 0)
		return 0;
	print_message("no Fast DDS when this was built: run tools/dev/deps.sh check\n");
	if (getenv("FULL"))
		return -1;
	exit(77);
}

TEST(both_kinds_of_clients_are_answered)
{
	all_are_answered(&(struct run){ .calls = many(200, 2500), .size = 20, .open = 1 });
}

TEST(long_replies_come_whole)
{
	all_are_answered(&(struct run){ .calls = many(50, 1000), .size = TEXT_MAX, .open = 1 });
}

TEST(one_packet_in_seven_is_lost)
{
	const char *n = getenv("CALLS"); /* each waits for what is sent again: 70 ms */

	all_are_answered(
		&(struct run){ .calls = n ? (unsigned)atoi(n) : many(50, 500), .size = 20, .open = 1, .loss = 7 });
}

TEST(long_replies_with_loss)
{
	all_are_answered(&(struct run){ .calls = many(20, 300), .size = TEXT_MAX, .open = 1, .loss = 7 });
}

/* Ten in all, as many as a reader of ROS remembers: each gets the replies to the others too. */
TEST(several_at_once)
{
	all_are_answered(&(struct run){ .calls = many(200, 2500), .size = 300, .open = 4 });
}

/* It knows our reader, and we do not know its writer, nor that it has asked already. */
TEST(a_first_request_before_we_know_who_asks)
{
	static struct host h;
	pid_t pid = start_fast(1, &(struct run){ .calls = 3, .open = 1 }, "early=1");
	struct sim_bridge *b = begin(&h);

	wait_for(pid);
	assert_int_equal(atomic_load(&calls), 3);
	h.ops->disconnect(b);
	h.ops->destroy(b);
}

/* Lengths, numbers, vendors: whatever becomes of those requests, others are answered, and so is who stops it. */
TEST(garbled_inline_qos)
{
	const struct run run = { .calls = many(50, 500), .open = 1 };
	static struct host h;
	pid_t bad = start_fast(1, &run, "garble=300"), good = start_fast(2, &run, "async=0"),
	      other = start_cyclone(3, &run);
	struct sim_bridge *b = begin(&h);

	wait_for(bad);
	wait_for(good);
	wait_for(other);
	h.ops->disconnect(b);
	h.ops->destroy(b);
}

/*
 * It takes part, and acknowledges nothing more: others are answered, if later, and no reply is written over. With what the
 * other two ask at a time there are ten replies at the most: a reader that has no time to take more would forget its own.
 */
TEST(one_that_hangs)
{
	const struct run one = { .calls = 1 }, run = { .calls = 100, .size = 300, .open = 8 };
	static struct host h;
	pid_t hangs = fork(), fast, other;
	struct sim_bridge *b;
	int status;

	if (!hangs) {
		struct asker a = start_asker(9);

		one_call(&a, 9, 1, one.size);
		raise(SIGSTOP);
		_exit(0);
	}
	fast = start_fast(1, &run, "async=0");
	other = start_cyclone(2, &one);
	b = begin(&h);
	assert_int_equal(waitpid(hangs, &status, WUNTRACED), hangs);
	assert_true(WIFSTOPPED(status));
	wait_for(fast);
	wait_for(other);
	fast = start_fast(3, &run, "async=1");
	wait_for(fast);
	assert_int_equal(kill(hangs, SIGKILL), 0);
	assert_int_equal(waitpid(hangs, &status, 0), hangs);
	h.ops->disconnect(b);
	h.ops->destroy(b);
}

/* Nothing of it is touched, one sentence says so, and those of rmw_cyclonedds are served. */
TEST(another_cyclone_is_refused)
{
	const struct run run = { .calls = 20 };
	pid_t pid = start_cyclone(1, &run);
	static struct host h;
	struct sim_bridge *b;

	pretend = "/opt/ros/humble/lib/libddsc.so.0";
	b = begin(&h);
	h.ops->service(b, "/other", &echo_service);
	wait_for(pid);
	pretend = NULL;
	h.ops->disconnect(b);
	h.ops->destroy(b);
	assert_non_null(strstr(h.log, "nodes that use a network interface of this machine are neither seen nor heard"));
	assert_non_null(strstr(h.log, "services are for nodes of rmw_cyclonedds alone"));
	assert_non_null(strstr(h.log, "/opt/ros/humble/lib/libddsc.so.0 is in use"));
	assert_null(strstr(strstr(h.log, "alone") + 1, "alone"));
}

TEST_GROUP(have_peer, NULL)
TEST_PROCESSES()
