/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of the ROS 2 bridge against a DDS program in another process that asks as rmw_cyclonedds does: names, types, hashes
 * and identities of the endpoints, requests and replies byte for byte, replies to one whose reader comes late, and peers that
 * send what is too short, too long or nonsense, or that vanish. Each test's asker is one process; the host is the test's.
 */

#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <sim/msg/Vector3.h>
#include <sim/srv/Empty.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/Trigger.h>

#include "asker.h"
#include "host.h"
#include "reader.h"
#include "ros/ros_type.h"

#define AT_ONCE  100
#define CROWD    30
#define ROUNDS   100
#define FEW      4 /* requests that /few has at a time */
#define HUGE_LEN (5u << 20)

/* ---- types of this test alone ---- */

struct ask_vector {
	struct ask_id id;
	double x, y, z;
};
struct ask_bytes {
	struct ask_id id;
	dds_sequence_t data;
};

#define F8(s, m)    DDS_OP_ADR | DDS_OP_TYPE_8BY | DDS_OP_FLAG_FP, offsetof(struct s, m)
#define BYTES(s, m) DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_1BY, offsetof(struct s, m)

static const uint32_t vector_ops[] = { ASK_ID(ask_vector), F8(ask_vector, x), F8(ask_vector, y), F8(ask_vector, z),
				       DDS_OP_RTS };
static const uint32_t short_ops[] = { ASK_B8(ask_byte, id.client), DDS_OP_RTS };
static const uint32_t bytes_ops[] = { ASK_ID(ask_bytes), BYTES(ask_bytes, data), DDS_OP_RTS };

static const dds_topic_descriptor_t sum_request = ASK_DESC(ask_vector, vector_ops, "demo::srv::dds_::Sum_Request_");
static const dds_topic_descriptor_t sum_response = ASK_DESC(ask_vector, vector_ops, "demo::srv::dds_::Sum_Response_");
/* what is not what it says to be */
static const dds_topic_descriptor_t short_request = ASK_DESC(ask_byte, short_ops, ASK_STD "SetBool_Request_");
static const dds_topic_descriptor_t bytes_request = ASK_DESC(ask_bytes, bytes_ops, ASK_STD "SetBool_Request_");

static const struct sim_service_type sum_service = { .abi = SIM_TYPE_ABI,
						     .size = sizeof(sum_service),
						     .name = "demo/Sum",
						     .comment = "",
						     .request = &sim_Vector3_type,
						     .response = &sim_Vector3_type };

/* ---- the host ---- */

struct held {
	sim_answer_fn fn;
	void *user;
};

static struct {
	int gate[2]; /* a byte lets one request that is held be answered */
	int seen[2]; /* a byte: the asker has seen the service, or what was held has its answer */
	_Atomic unsigned calls;
	pthread_mutex_t lock;
	struct held held[64];
	unsigned n_held;
	pthread_t few_thread;
	pthread_cond_t few_changed;
	struct held few[FEW];
	unsigned n_few, refused_few;
	bool few_stop;
} side;

static void answer_text(sim_answer_fn fn, void *user, bool success, const char *text)
{
	_Alignas(64) uint8_t out[256];
	struct sim_builder b;
	struct sim_SetBoolResponse *m = sim_SetBoolResponse_init(out, sizeof(out), &b);

	m->success = success;
	sim_SetBoolResponse_message_set(&b, text);
	fn(user, 0, "", out, sim_builder_size(&b));
}

static void answer_sum(const void *request, sim_answer_fn fn, void *user)
{
	const struct sim_Vector3 *q = request;
	struct sim_Vector3 a = { .x = q->x + q->y + q->z, .y = -1, .z = 0.5 };

	fn(user, 0, "", &a, sizeof(a));
}

static void hold(sim_answer_fn fn, void *user)
{
	pthread_mutex_lock(&side.lock);
	if (side.n_held < 64)
		side.held[side.n_held++] = (struct held){ fn, user };
	pthread_mutex_unlock(&side.lock);
}

/* A provider that has no room for more than a few: the others are told so, at once or as an answer, by turns. */
static int few(sim_answer_fn fn, void *user)
{
	bool full;
	unsigned n;

	pthread_mutex_lock(&side.lock);
	full = side.n_few == FEW;
	n = side.refused_few += full;
	if (!full)
		side.few[side.n_few++] = (struct held){ fn, user };
	pthread_cond_signal(&side.few_changed);
	pthread_mutex_unlock(&side.lock);
	if (full && n % 2)
		return -EBUSY;
	if (full)
		fn(user, -EBUSY, "too many wait already", NULL, 0);
	return 0;
}

/* None is answered before one was told to wait: who asks is not faster everywhere than who answers. */
static void *few_main(void *arg)
{
	pthread_mutex_lock(&side.lock);
	while (!side.few_stop) {
		struct held h;

		if (!side.n_few || !side.refused_few) {
			pthread_cond_wait(&side.few_changed, &side.lock);
			continue;
		}
		h = side.few[0];
		memmove(side.few, side.few + 1, --side.n_few * sizeof(h));
		pthread_mutex_unlock(&side.lock);
		answer_text(h.fn, h.user, true, "at last");
		pthread_mutex_lock(&side.lock);
	}
	pthread_mutex_unlock(&side.lock);
	return arg;
}

/* By name: /lamp is answered at once, /broken has lost its provider, /held waits for the gate. */
static int on_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		   size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	(void)ctx;
	(void)timeout_dur_ns;
	if (!strcmp(service, "/full"))
		return -EBUSY;
	if (!strcmp(service, "/few"))
		return few(fn, user);
	atomic_fetch_add(&side.calls, 1);
	if (size < type->request->fixed_size)
		abort();
	if (!strcmp(service, "/car/lamp"))
		answer_text(fn, user, true, *(const uint8_t *)request ? "on" : "off");
	else if (!strcmp(service, "/broken"))
		fn(user, -EPIPE, "its provider has gone", NULL, 0);
	else if (!strcmp(service, "/held"))
		hold(fn, user);
	else if (!strcmp(service, "/sum"))
		answer_sum(request, fn, user);
	else
		fn(user, 0, "", (const uint8_t[1]){ 0 }, 1);
	return 0;
}

static struct held take_held(void)
{
	struct held h;

	pthread_mutex_lock(&side.lock);
	h = side.n_held ? side.held[--side.n_held] : (struct held){ NULL, NULL };
	pthread_mutex_unlock(&side.lock);
	return h;
}

/* Answers what is held, one for each byte. */
static void *gate_main(void *arg)
{
	char c;

	(void)arg;
	while (read(side.gate[0], &c, 1) == 1) {
		struct held h;

		AWAIT((h = take_held()).fn);
		answer_text(h.fn, h.user, true, "at last");
		if (write(side.seen[1], "", 1) != 1)
			abort();
	}
	return NULL;
}

/* ---- those who ask ---- */

static void peer_asks(dds_entity_t p)
{
	struct asker lamp = asker_open(p, "/car/lamp", &ask_set_request, &ask_set_response, "1.2.3");
	struct asker broken = asker_open(p, "/broken", &ask_set_request, &ask_set_response, "1.2.4");
	struct asker full = asker_open(p, "/full", &ask_set_request, &ask_set_response, "1.2.7");
	struct asker empty = asker_open(p, "/nothing", &ask_empty_request, &ask_empty_response, "");
	struct asker sum = asker_open(p, "/sum", &sum_request, &sum_response, "1.2.6");
	struct ask_byte q = { { ASK_CLIENT, -5 }, 0 }, r = { { 0, 0 }, 9 };
	struct ask_vector v = { { 1, INT64_MAX }, 1.5, 2.25, -8 }, s = { { 0, 0 }, 0, 0, 0 };

	for (int64_t i = 1; i <= 50; i++)
		asker_set(&lamp, i, i % 2, true, i % 2 ? "on" : "off");
	asker_set(&broken, 1, 1, false, "its provider has gone");
	asker_set(&full, 1, 1, false, "too many requests are unanswered");
	EXPECT(dds_write(empty.writer, &q) == 0 && reader_take(empty.reader, &r) == 0);
	EXPECT(r.id.client == ASK_CLIENT && r.id.sequence == -5 && r.data == 0);
	EXPECT(dds_write(sum.writer, &v) == 0 && reader_take(sum.reader, &s) == 0);
	EXPECT(s.id.client == 1 && s.id.sequence == INT64_MAX && s.x == -4.25 && s.y == -1 && s.z == 0.5);
}

/*
 * ROS has no answer that says "later": each has its own. With ROS' depth it would have to take ten in the time in which the bridge
 * sends eight more, which no machine promises.
 */
static void peer_asks_at_once(dds_entity_t p)
{
	struct asker a = { .reader = ask_reader(p, "/few", &ask_set_response, "1.2.8", AT_ONCE) };
	bool seen[AT_ONCE] = { false };

	a.writer = ask_writer(p, "/few", &ask_set_request, "1.2.8");
	for (int i = 0; i < AT_ONCE; i++) {
		struct ask_byte q = { { ASK_CLIENT, i }, 1 };

		EXPECT(dds_write(a.writer, &q) == 0);
	}
	for (int i = 0; i < AT_ONCE; i++) {
		struct ask_text r = { { 0, 0 }, 0, NULL };

		EXPECT(reader_take(a.reader, &r) == 0);
		EXPECT(r.id.sequence >= 0 && r.id.sequence < AT_ONCE && !seen[r.id.sequence] && r.success);
		seen[r.id.sequence] = true;
	}
}

static struct burst {
	_Atomic unsigned seen, left;
} * burst; /* replies that were sent, and those that are left in the reader */

/*
 * The whole client is as ROS makes it, and takes nothing until all are answered: another reader sees that each has been. What is missing
 * then was in its own queue, and pushed out of it.
 */
static void peer_bursts(dds_entity_t p)
{
	dds_entity_t all = ask_reader(p, "/car/lamp", &ask_set_response, "1.3.1", 2 * AT_ONCE);
	struct asker a = { .reader = ask_reader(p, "/car/lamp", &ask_set_response, "1.3.2", ASK_DEPTH) };
	bool seen[AT_ONCE + 1] = { false };
	dds_sample_info_t info;
	struct ask_text r;
	void *sample = &r;

	a.writer = ask_writer_of(p, "/car/lamp", &ask_set_request, "1.3.2", ASK_DEPTH);
	asker_set(&a, AT_ONCE, true, true, "on"); /* both sides know each other: before, a writer may not be heard */
	for (int i = 0; i < AT_ONCE; i++) {
		struct ask_byte q = { { ASK_CLIENT, i }, 1 };

		EXPECT(dds_write(a.writer, &q) == 0);
	}
	while (burst->seen <= AT_ONCE) {
		r = (struct ask_text){ .message = NULL };
		EXPECT(reader_take(all, &r) == 0 && r.id.sequence >= 0 && r.id.sequence <= AT_ONCE);
		burst->seen += !seen[r.id.sequence];
		seen[r.id.sequence] = true;
	}
	while (r.message = NULL, dds_take(a.reader, &sample, &info, 1, 1) == 1)
		burst->left += info.valid_data;
}

static bool took(const struct asker *a, uint64_t client, int64_t sequence)
{
	struct ask_text r = { { 0, 0 }, 0, NULL };

	EXPECT(reader_take(a->reader, &r) == 0);
	dds_free(r.message);
	return r.id.client == client && r.id.sequence == sequence;
}

/* The same of all that there is, without waiting. */
static bool has(const struct asker *a, uint64_t client, int64_t sequence)
{
	struct ask_text r = { { 0, 0 }, 0, NULL };
	void *sample = &r;
	dds_sample_info_t info;
	bool found = false;

	while (!found && dds_take(a->reader, &sample, &info, 1, 1) == 1)
		found = info.valid_data && r.id.client == client && r.id.sequence == sequence;
	dds_free(r.message);
	return found;
}

static void calls(const struct asker *a, const struct ask_byte *q)
{
	EXPECT(dds_write(a->writer, q) == 0);
	while (!took(a, q->id.client, q->id.sequence))
		continue;
}

static _Atomic unsigned *crowds; /* rounds of the one below */

/*
 * Its reader remembers ten replies, of all clients, and has its own pushed out by those to another one. What comes again, within
 * 1.3 s of wall time, can be pushed out too where the machine is busy: so it asks until it has one.
 */
static void peer_is_slow(dds_entity_t p)
{
	struct asker slow = asker_open(p, "/car/lamp", &ask_set_request, &ask_set_response, "1.2.3");
	struct asker busy = asker_open(p, "/car/lamp", &ask_set_request, &ask_set_response, "1.2.4");
	dds_entity_t set = dds_create_waitset(p);
	bool answered = false;

	EXPECT(dds_set_status_mask(slow.reader, DDS_DATA_AVAILABLE_STATUS) == 0);
	EXPECT(dds_waitset_attach(set, slow.reader, 0) == 0);
	while (!answered) {
		int first = (int)(*crowds)++ * CROWD;
		struct ask_byte q = { { ASK_CLIENT, 2 * first },
				      1 }; /* not the next number, which would say that it has the last one */

		EXPECT(dds_write(slow.writer, &q) == 0 && dds_waitset_wait(set, NULL, 0, DDS_INFINITY) == 1);
		for (int i = 1; i <= CROWD; i++) {
			struct ask_byte other = { { ASK_CLIENT + 1, first + i }, 1 };

			EXPECT(dds_write(busy.writer, &other) == 0);
		}
		while (!took(&busy, ASK_CLIENT + 1, first + CROWD))
			continue;
		do
			answered = has(&slow, ASK_CLIENT, 2 * first);
		while (!answered && dds_waitset_wait(set, NULL, 0, DDS_SECS(5)) == 1);
	}
}

static _Atomic unsigned *slow_rounds; /* of the one below, in which it was slow in truth */

/* Between two calls of it another client has ten: its reply may be pushed out, but it asks again, so it has it. */
static void peer_is_in_time(dds_entity_t p)
{
	struct asker calm = asker_open(p, "/car/lamp", &ask_set_request, &ask_set_response, "1.2.3");
	struct asker busy = asker_open(p, "/car/lamp", &ask_set_request, &ask_set_response, "1.2.4");
	dds_time_t begin = dds_time();

	for (int i = 0; i <= ROUNDS; i++) {
		dds_time_t now = dds_time();

		calls(&calm, &(struct ask_byte){ { ASK_CLIENT, i }, 1 });
		*slow_rounds += dds_time() - begin > DDS_MSECS(150);
		begin = now;
		for (int k = 1; k <= 10 && i < ROUNDS; k++)
			calls(&busy, &(struct ask_byte){ { ASK_CLIENT + 1, 10 * i + k }, 1 });
	}
}

/*
 * Asks, and is answered, before it can hear: without a bridge that waits none of these would ever hear anything. It waits for 100 ms
 * of wall time, in which a machine that is busy may not come to it: so it tries until one has.
 */
static void peer_asks_early(dds_entity_t p)
{
	for (int i = 0;; i++) {
		struct ask_byte q = { { ASK_CLIENT, 100 + i }, 1 };
		struct ask_text r = { { 0, 0 }, 0, NULL };
		char client[32], c;
		dds_entity_t w, rd;
		dds_sample_info_t info;
		void *sample = &r;

		snprintf(client, sizeof(client), "7.%d", i);
		w = ask_writer(p, "/held", &ask_set_request, client);
		EXPECT(dds_write(w, &q) == 0);
		EXPECT(write(side.gate[1], "", 1) == 1 && read(side.seen[0], &c, 1) == 1);
		rd = ask_reader(p, "/held", &ask_set_response, client, ASK_DEPTH);
		if (HOLDS_WITHIN(500, dds_take(rd, &sample, &info, 1, 1) > 0 && info.valid_data &&
					      r.id.sequence == q.id.sequence))
			return;
		dds_delete(w);
		dds_delete(rd);
	}
}

/* Everything that is wrong, each from a writer of its own, then somebody honest. */
static void peer_is_hostile(dds_entity_t p)
{
	static uint8_t huge[HUGE_LEN];
	struct ask_byte q = { { ASK_CLIENT, 1 }, 2 }; /* no bool */
	struct ask_bytes b = { { ASK_CLIENT, 2 }, { 0 } };
	struct asker a;

	EXPECT(dds_write(ask_writer(p, "/car/lamp", &short_request, "9.1"), &q) == 0);
	EXPECT(dds_write(ask_writer(p, "/car/lamp", &ask_set_request, "9.2"), &q) == 0);
	memset(huge, 0xff, sizeof(huge));
	b.data = (dds_sequence_t){ 3000, 3000, huge, false };
	EXPECT(dds_write(ask_writer(p, "/car/lamp", &bytes_request, "9.3"), &b) == 0);
	b.data = (dds_sequence_t){ HUGE_LEN, HUGE_LEN, huge, false };
	EXPECT(dds_write(ask_writer(p, "/car/lamp", &bytes_request, "9.4"), &b) == 0);
	a = asker_open(p, "/car/lamp", &ask_set_request, &ask_set_response, "9.5");
	asker_set(&a, 3, 1, true, "on");
}

/* Asks and has gone before it is answered, and another one is answered as ever. go: lets the first be answered. */
static void peer_vanishes(dds_entity_t p)
{
	struct ask_byte q = { { ASK_CLIENT, 1 }, 1 };
	dds_entity_t w = ask_writer(p, "/held", &ask_set_request, "5.1");
	struct asker a;

	EXPECT(dds_write(w, &q) == 0);
	EXPECT(dds_wait_for_acks(w, DDS_INFINITY) == 0);
	dds_delete(w);
	EXPECT(write(side.gate[1], "", 1) == 1);
	a = asker_open(p, "/held", &ask_set_request, &ask_set_response, "5.2");
	EXPECT(write(side.gate[1], "", 1) == 1);
	asker_set(&a, 2, 1, true, "at last");
}

static void peer_looks(dds_entity_t p)
{
	struct reader_watch w = { .topic = "rq/car/lampRequest" };
	char type_name[128], user_data[256], want[128];

	EXPECT(reader_discover(p, "rr/car/lampReply", type_name, user_data) == 0);
	EXPECT(!strcmp(type_name, ASK_STD "SetBool_Response_"));
	snprintf(want, sizeof(want), "typehash=%s;", ros_type_find(ros2_types, "std_srvs/SetBool_Response")->hash);
	EXPECT(!strncmp(user_data, "serviceid=", 10));
	EXPECT(strchr(user_data, ';') && !strcmp(strchr(user_data, ';') + 1, want));
	EXPECT(reader_discover(p, "rr/sumReply", type_name, user_data) == 0);
	EXPECT(!strcmp(type_name, "demo::srv::dds_::Sum_Response_"));
	EXPECT(strstr(user_data, ";typehash=RIHS01_") && strlen(strstr(user_data, ";typehash=")) == 10 + 71 + 1);
	EXPECT(reader_watch(p, &w, true) == 0 && write(side.seen[1], "", 1) == 1);
	EXPECT(reader_watch(p, &w, false) == 0); /* it has gone */
}

/* Our node has the service's endpoints. */
static void peer_graph(dds_entity_t p)
{
	dds_entity_t r = reader_open(p, &seen_graph24_desc, "ros_discovery_info", true);
	uint32_t readers = 0, writers = 0;

	while (readers != NODE_READERS + 6 || writers != NODE_WRITERS + 6) {
		struct seen_graph24 *g = calloc(1, sizeof(*g));
		const struct seen_node *n;

		EXPECT(reader_take(r, g) == 0 && g->nodes._length == 1);
		n = (const struct seen_node *)(const void *)g->nodes._buffer;
		readers = n->readers._length;
		writers = n->writers._length;
	}
}

static pid_t start(void (*fn)(dds_entity_t p))
{
	pid_t pid = fork();
	dds_entity_t p;

	if (pid)
		return pid;
	p = reader_participant();
	EXPECT(p > 0);
	fn(p);
	dds_delete(p);
	_exit(0);
}

/* ---- the tests ---- */

static const char *const options[] = { "ros_distro", "humble", "localhost", "true", NULL };

struct bridge {
	struct host h;
	struct sim_bridge *b;
	pthread_t gate;
};

static void begin(struct bridge *k)
{
	static const char *const set[] = { "/car/lamp", "/broken", "/full", "/held" };

	host_init(&k->h, PLUGIN, options);
	k->h.host.call = on_call;
	k->b = host_create(&k->h);
	for (unsigned i = 0; i < 4; i++)
		k->h.ops->service(k->b, set[i], &sim_SetBool_service);
	k->h.ops->service(k->b, "/nothing", &sim_Empty_service);
	k->h.ops->service(k->b, "/sum", &sum_service);
	assert_int_equal(pthread_create(&k->gate, NULL, gate_main, NULL), 0);
}

static void end(struct bridge *k, pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(side.gate[1]);
	pthread_join(k->gate, NULL);
	close(side.gate[0]);
	for (unsigned i = 0; i < side.n_held; i++)
		side.held[i].fn(side.held[i].user, -ECANCELED, "the end", NULL, 0);
	k->h.ops->disconnect(k->b);
	k->h.ops->destroy(k->b);
}

static int setup(void **state)
{
	(void)state;
	memset(&side, 0, sizeof(side));
	pthread_mutex_init(&side.lock, NULL);
	return pipe(side.gate) + pipe(side.seen);
}

/* Zero, of this process and of its peer. */
static _Atomic unsigned *shared_number(void)
{
	void *at = mmap(NULL, sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

TEST_WITH(requests_are_answered, setup, NULL)
{
	static struct bridge k;
	pid_t pid = start(peer_asks);

	begin(&k);
	end(&k, pid);
	assert_int_equal(atomic_load(&side.calls), 53);
	assert_null(strstr(k.h.log, "dropped"));
}

TEST_WITH(a_hundred_at_once, setup, NULL)
{
	static struct bridge k;
	pid_t pid = start(peer_asks_at_once);

	pthread_cond_init(&side.few_changed, NULL);
	assert_int_equal(pthread_create(&side.few_thread, NULL, few_main, NULL), 0);
	begin(&k);
	k.h.ops->service(k.b, "/few", &sim_SetBool_service);
	end(&k, pid);
	assert_true(side.refused_few > 0);
	pthread_mutex_lock(&side.lock);
	side.few_stop = true;
	pthread_cond_signal(&side.few_changed);
	pthread_mutex_unlock(&side.lock);
	pthread_join(side.few_thread, NULL);
}

/* Each is answered, and none is lost on its way; of a client that takes none meanwhile ten replies are left, its depth. */
TEST_WITH(a_burst_of_a_client_of_depth_ten, setup, NULL)
{
	static struct bridge k;
	pid_t pid;

	burst = mmap(NULL, sizeof(*burst), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(burst != MAP_FAILED);
	pid = start(peer_bursts);
	begin(&k);
	end(&k, pid);
	assert_int_equal(burst->seen, atomic_load(&side.calls));
	assert_int_equal(burst->left, ASK_DEPTH);
	assert_null(strstr(k.h.log, "dropped"));
}

TEST_WITH(a_reply_that_others_push_out_comes_again, setup, NULL)
{
	static struct bridge k;
	pid_t pid;

	crowds = shared_number();
	pid = start(peer_is_slow);
	begin(&k);
	end(&k, pid);
	assert_int_equal(atomic_load(&side.calls), *crowds * (CROWD + 1));
	assert_non_null(strstr(k.h.log, "/car/lamp: a reply is sent again"));
}

TEST_WITH(who_asks_again_has_its_reply, setup, NULL)
{
	static struct bridge k;
	pid_t pid;

	slow_rounds = shared_number();
	pid = start(peer_is_in_time);
	begin(&k);
	end(&k, pid);
	assert_int_equal(atomic_load(&side.calls), 11 * ROUNDS + 1);
	if (!*slow_rounds)
		assert_null(strstr(k.h.log, "is sent again"));
}

TEST_WITH(a_reply_waits_for_its_reader, setup, NULL)
{
	static struct bridge k;
	pid_t pid = start(peer_asks_early);

	begin(&k);
	end(&k, pid);
}

TEST_WITH(hostile_peers_are_survived, setup, NULL)
{
	static struct bridge k;
	pid_t pid = start(peer_is_hostile);

	begin(&k);
	end(&k, pid);
	assert_int_equal(atomic_load(&side.calls), 1);
	assert_non_null(strstr(k.h.log, "service /car/lamp: a request is dropped"));
	assert_non_null(strstr(k.h.log, "(4 so far)"));
}

TEST_WITH(a_peer_that_vanishes, setup, NULL)
{
	static struct bridge k;
	pid_t pid = start(peer_vanishes);

	begin(&k);
	end(&k, pid);
	assert_int_equal(atomic_load(&side.calls), 2);
}

TEST_WITH(endpoints_are_seen, setup, NULL)
{
	static struct bridge k;
	pid_t graph = start(peer_graph), pid = start(peer_looks);
	int status;
	char c;

	begin(&k);
	close(side.seen[1]);
	assert_int_equal(read(side.seen[0], &c, 1), 1);
	assert_int_equal(waitpid(graph, &status, 0), graph);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	k.h.ops->service(k.b, "/car/lamp", NULL);
	end(&k, pid);
}

/* What cannot be offered is said, and harms nothing. */
TEST_WITH(refused_services_are_named, setup, NULL)
{
	static const struct sim_service_type other = { .abi = SIM_TYPE_ABI,
						       .size = sizeof(other),
						       .name = "sim/SetBool",
						       .comment = "",
						       .request = &sim_Vector3_type,
						       .response = &sim_SetBoolResponse_type };
	static struct host h;
	struct sim_bridge *b;
	char name[32];

	host_init(&h, PLUGIN, options);
	h.host.call = NULL;
	b = host_create(&h);
	h.ops->service(b, "/lamp", &sim_SetBool_service);
	assert_non_null(strstr(h.log, "service /lamp is not offered: this simbridge cannot call services"));
	h.ops->destroy(b);
	host_init(&h, PLUGIN, options);
	h.host.call = on_call;
	b = host_create(&h);
	h.ops->service(b, "/a-b", &sim_SetBool_service);
	assert_non_null(strstr(h.log, "service /a-b (sim/SetBool) is offered as /a_b"));
	h.ops->service(b, "/a_b", &sim_SetBool_service);
	assert_non_null(strstr(h.log, "service /a_b is not offered: it would go out as /a_b, as service /a-b does"));
	h.ops->service(b, "/-", &sim_SetBool_service);
	h.ops->service(b, "/1", &sim_SetBool_service);
	assert_non_null(strstr(h.log, "service /1 (sim/SetBool) is offered as /n1"));
	h.ops->service(b, "/-", NULL);
	h.ops->service(b, "/1", NULL);
	h.ops->service(b, "/other", &other);
	assert_non_null(strstr(h.log, "sim/SetBool has other fields than std_srvs/SetBool has in ROS"));
	h.ops->service(b, "/a-b", NULL);
	for (int i = 0; i < 65; i++) {
		h.log[0] = '\0';
		snprintf(name, sizeof(name), "/s%d", i);
		h.ops->service(b, name, &sim_Trigger_service);
	}
	assert_non_null(strstr(h.log, "service /s64 is not offered: more than 64 services"));
	h.ops->service(b, "/s3", NULL);
	h.ops->disconnect(b);
	h.ops->destroy(b);
}

TEST_PROCESSES()
