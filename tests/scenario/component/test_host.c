/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts against a whole simd, with real threads: the delivery of messages from writers to readers, and to components.
 */
#include "scenario/client/world.h"

#include "libclient/component/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>
#include <sim/param.h>
#include <sim/srv/NodeInfo.h>

#include "conf.h"
#include "config/config.h"

static struct world w;

static int setup(void **state)
{
	(void)state;
	world_create_threads(&w, "");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_destroy(&w);
	return 0;
}

struct program {
	struct sim_client *c;
	struct sim_host *h;
	struct sim_node *n;
};

static struct program program_new(const char *name)
{
	struct program p = { .c = world_client(&w, name, 0) };
	struct sim_host_options o = { .size = sizeof(o), .client = p.c };

	if (sim_host_create(&o, &p.h) < 0 || sim_node_create(p.h, name, &p.n) < 0)
		fail_msg("%s", sim_why());
	return p;
}

static void program_end(struct program *p)
{
	sim_node_destroy(p->n);
	sim_host_stop(p->h);
	sim_host_destroy(p->h);
	sim_disconnect(p->c);
}

static struct sim_node_writer *writer_new(struct program *p, const char *channel, bool local)
{
	struct sim_node_writer_options o = { .size = sizeof(o), .local = local };
	struct sim_node_writer *wr;

	if (sim_node_writer_create(p->n, channel, &sim_Int32_type, &o, &wr) < 0)
		fail_msg("%s", sim_why());
	return wr;
}

/* ---- to other machines ---- */

static void network_refused(struct program *p, const char *channel, bool local, const char *why)
{
	struct sim_node_writer_options o = { .size = sizeof(o), .transport = SIM_TRANSPORT_NETWORK, .local = local };
	struct sim_node_writer *wr = NULL;

	assert_int_equal(sim_node_writer_create(p->n, channel, &sim_Int32_type, &o, &wr), -EOPNOTSUPP);
	if (!strstr(sim_why(), why))
		fail_msg("\"%s\" says nothing of \"%s\"", sim_why(), why);
	assert_null(wr);
}

TEST(a_writer_to_other_machines_uses_the_rigs_link)
{
	static const char conf[] =
		"{\"backend\":\"mem\",\"pools\":[{\"size\":512,\"count\":4000},{\"size\":65536,\"count\":200}],\"rigs\":[{"
		"\"name\":\"car\",\"prefix\":\"/car\",\"bridges\":[{\"name\":\"far\",\"plugin\":\"link\",\"start\":\"external\","
		"\"channels\":[\"/car/shared*\"]},{\"name\":\"log\",\"plugin\":\"null\",\"start\":\"external\"}]}]}";
	struct sim_node_writer_options o = { .size = sizeof(o), .transport = SIM_TRANSPORT_NETWORK };
	struct sim_node_writer *wr = NULL;
	struct program p;

	world_create_threads(&w, conf);
	p = program_new("p");
	if (sim_node_writer_create(p.n, "/car/shared/x", &sim_Int32_type, &o, &wr) < 0)
		fail_msg("%s", sim_why());
	sim_node_writer_destroy(wr);
	network_refused(&p, "/car/x", false, "add it to \"channels\" of bridge far");
	network_refused(&p, "/car/shared/x", true, "what is local stays on this one");
	program_end(&p);
	world_destroy(&w);
	world_create_threads(&w, "");
	p = program_new("p");
	network_refused(&p, "/car/x", false, "the rig has none: add a bridge with the plug-in link");
	program_end(&p);
	world_destroy(&w);
}

static void send(struct sim_node_writer *wr, int32_t v)
{
	struct sim_Int32 m = { .data = v };

	if (sim_node_write_copy(wr, &m, sizeof(m), 0) < 0)
		fail_msg("%s", sim_why());
}

static int32_t value(const struct sim_message *m)
{
	const struct sim_Int32 *x = sim_Int32_from(m->body, m->body_size);

	return x ? x->data : -1;
}

/* What a reader got: each number one more than the last, or something was lost or overtaken. */
struct count {
	_Atomic int32_t last;
	_Atomic unsigned odd;
};

static void count(void *user, const struct sim_message *m)
{
	struct count *k = user;
	int32_t v = value(m);

	if (v != atomic_load(&k->last) + 1)
		atomic_fetch_add(&k->odd, 1);
	atomic_store(&k->last, v);
}

static struct sim_node_reader *reader_new(struct program *p, const char *channel, struct count *k)
{
	struct sim_node_reader_options o = { .size = sizeof(o), .pending = 64 };
	struct sim_node_reader *r;

	if (sim_node_reader_create(p->n, channel, &sim_Int32_type, &o, count, k, &r) < 0)
		fail_msg("%s", sim_why());
	return r;
}

/* Its history keeps the slots of 256 messages, the most that a subscriber may hold. */
TEST_WITH(a_reader_with_the_longest_history_continues_to_receive, setup, teardown)
{
	struct sim_node_reader_options o = { .size = sizeof(o), .depth = 256, .pending = 256 };
	struct program a = program_new("a"), b = program_new("b");
	struct sim_node_writer *wr = writer_new(&a, "x", false);
	struct sim_node_reader *r;
	struct count k = { 0 };

	assert_int_equal(sim_node_reader_create(b.n, "x", &sim_Int32_type, &o, count, &k, &r), 0);
	assert_int_equal(sim_host_start(b.h), 0);
	for (int32_t v = 1; v <= 600; v++) {
		send(wr, v);
		AWAIT(atomic_load(&k.last) == v);
	}
	assert_int_equal(k.odd, 0);
	sim_node_reader_destroy(r);
	sim_node_writer_destroy(wr);
	program_end(&a);
	program_end(&b);
}

TEST_WITH(a_reader_in_another_process_receives_each_message, setup, teardown)
{
	struct program a = program_new("a"), b = program_new("b");
	struct count k = { 0 };
	struct sim_node_reader *r = reader_new(&b, "x", &k);
	struct sim_node_writer *wr = writer_new(&a, "x", false);

	assert_int_equal(sim_host_start(b.h), 0);
	assert_int_equal(sim_host_start(b.h), -EBUSY);
	for (int i = 1; i <= 200; i++) {
		send(wr, i);
		AWAIT(atomic_load(&k.last) == i);
	}
	assert_int_equal(k.odd, 0);
	sim_node_reader_destroy(r);
	sim_node_writer_destroy(wr);
	program_end(&a);
	program_end(&b);
}

/* Writes one more message. Returns whether a message was delivered without a slot since `before`. */
static bool goes_inside(struct sim_node_writer *wr, struct count *k, int *i, uint64_t before)
{
	struct sim_node_writer_stats st;

	AWAIT(atomic_load(&k->last) == *i);
	send(wr, ++*i);
	sim_node_writer_stats(wr, &st);
	return st.intra > before;
}

/*
 * Within the process while no other process subscribes; through shared memory while one does; no message is overtaken
 * when it switches back.
 */
TEST_WITH(delivery_switches_with_subscribers_in_other_processes, setup, teardown)
{
	struct program a = program_new("a");
	struct sim_client *other = world_client(&w, "other", 0);
	struct count k = { 0 };
	struct sim_node_reader *r = reader_new(&a, "x", &k);
	struct sim_node_writer *wr = writer_new(&a, "x", true);
	struct sim_node_writer_stats st;
	struct sim_subscriber *s;
	int i = 0;

	assert_int_equal(sim_host_start(a.h), 0);
	for (int round = 0; round < 20; round++) {
		uint64_t before;

		sim_node_writer_stats(wr, &st);
		before = st.intra;
		for (int end = i + 16; i < end;)
			send(wr, ++i);
		/* once the writer delivers inside the process again, which its reader does not see */
		AWAIT(goes_inside(wr, &k, &i, before));
		sim_node_writer_stats(wr, &st);
		assert_int_equal(sim_subscribe(other, "x", &sim_Int32_type, NULL, &s), 0);
		before = st.intra;
		for (int end = i + 16; i < end;)
			send(wr, ++i);
		sim_node_writer_stats(wr, &st);
		assert_int_equal(st.intra, before);
		assert_int_equal(sim_wait(s, 10 * S), 1);
		sim_subscriber_destroy(s);
	}
	AWAIT(atomic_load(&k.last) == i);
	assert_int_equal(k.odd, 0);
	assert_int_equal(st.written, i);

	sim_node_reader_destroy(r);
	sim_node_writer_destroy(wr);
	sim_disconnect(other);
	program_end(&a);
}

/* ---- inside the process ---- */

struct seen {
	struct count count;
	struct sim_host *h;
	int64_t last_mono_ns, last_sim_ns;
	_Atomic unsigned bad;
};

static void look(void *user, const struct sim_message *m)
{
	struct seen *k = user;
	const struct sim_slot *h = &m->header;

	if (h->sequence != (uint64_t)value(m) || h->body_size != m->body_size || h->type_hash != sim_Int32_type.hash)
		atomic_fetch_add(&k->bad, 1);
	if (h->publish_mono_ns < k->last_mono_ns || h->publish_mono_ns > sim_mono_now())
		atomic_fetch_add(&k->bad, 1);
	if (h->stamp_sim_ns < k->last_sim_ns || h->stamp_sim_ns > sim_host_now(k->h))
		atomic_fetch_add(&k->bad, 1);
	k->last_mono_ns = h->publish_mono_ns;
	k->last_sim_ns = h->stamp_sim_ns;
	count(&k->count, m);
}

#define READERS 3

/*
 * All readers share one copy, in one order, whichever finishes first; messages are stamped and numbered like those in
 * slots.
 */
TEST_WITH(every_reader_of_the_process_gets_each_message, setup, teardown)
{
	struct program a = program_new("a");
	struct sim_node_writer *wr = writer_new(&a, "x", true);
	struct sim_node_reader_options o = { .size = sizeof(o), .depth = 3, .pending = 256 };
	static const char *const names[READERS] = { "one", "two", "three" };
	struct sim_node_reader *r[READERS], *observed;
	struct sim_node_writer_stats st;
	struct seen seen[READERS] = { 0 };
	struct sim_node *n[READERS];
	int32_t v = 0;

	for (int i = 0; i < READERS; i++) {
		seen[i].h = a.h;
		seen[i].last_mono_ns = sim_mono_now();
		seen[i].last_sim_ns = sim_host_now(a.h);
		assert_int_equal(sim_node_create(a.h, names[i], &n[i]), 0);
		assert_int_equal(sim_node_reader_create(n[i], "x", &sim_Int32_type, &o, look, &seen[i], &r[i]), 0);
	}
	assert_int_equal(sim_node_reader_create(a.n, "x", &sim_Int32_type, &o, NULL, NULL, &observed), 0);
	assert_int_equal(sim_host_start(a.h), 0);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 100; i++)
			send(wr, ++v);
		for (int i = 0; i < READERS; i++)
			AWAIT(atomic_load(&seen[i].count.last) == v);
	}
	sim_node_reader_observe(observed);
	assert_int_equal(sim_node_reader_count(observed), 3);
	assert_int_equal(value(sim_node_reader_get(observed, 0)), v);
	assert_int_equal(value(sim_node_reader_get(observed, 2)), v - 2);
	sim_node_writer_stats(wr, &st);
	assert_int_equal(st.written, v);
	assert_int_equal(st.intra, v);
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(seen[i].count.odd, 0);
		assert_int_equal(seen[i].bad, 0);
		sim_node_reader_destroy(r[i]);
		sim_node_destroy(n[i]);
	}
	sim_node_writer_destroy(wr);
	assert_int_equal(value(sim_node_reader_get(observed, 0)), v); /* it outlives its writer */
	sim_node_reader_destroy(observed);
	program_end(&a);
}

/* ---- a component ---- */

static _Atomic int64_t sum;

static int add(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	atomic_fetch_add(&sum, value(m[0]) * 1000 + value(m[1]));
	return 0;
}

static const struct sim_component_class adder_class = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(adder_class),
	.name = "Adder",
	.n_inputs = 2,
	.inputs = { &sim_Int32_type, &sim_Int32_type },
	.proc = add,
};

TEST_WITH(a_component_runs_on_a_worker, setup, teardown)
{
	struct program a = program_new("a"), b = program_new("b");
	struct sim_component_options o = { .size = sizeof(o),
					   .name = "adder",
					   .n_inputs = 2,
					   .input = { { .channel = "left", .pending = 8 }, { .channel = "right" } } };
	struct sim_node_writer *left = writer_new(&a, "left", false), *right = writer_new(&a, "right", false);
	struct sim_component_stats st = { 0 };
	struct sim_component *c;

	atomic_store(&sum, 0);
	assert_int_equal(sim_component_create(b.h, &adder_class, &o, &c), 0);
	assert_int_equal(sim_host_start(b.h), 0);
	send(right, 5);
	do { /* the two channels are independent: messages of the driving input are dropped until its partner has one */
		send(left, 0);
		sim_component_stats(c, &st);
	} while (st.proc == 0);
	AWAIT((sim_component_stats(c, &st), st.since_mono_ns == 0));
	atomic_store(&sum, 0);
	send(left, 7);
	AWAIT(atomic_load(&sum) % 1000000 >= 7005);
	sim_component_destroy(c);
	send(left, 8);

	sim_node_writer_destroy(left);
	sim_node_writer_destroy(right);
	program_end(&a);
	program_end(&b);
}

/* ---- as many as a DAG file may have ---- */

#define MANY 256u

static _Atomic unsigned runs[MANY];

static int run_one(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)self;
	(void)m;
	atomic_fetch_add(&runs[atoi(strchr(sim_component_name(c), '_') + 1)], 1);
	return 0;
}

static const struct sim_component_class runner_class = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(runner_class),
	.name = "Runner",
	.n_inputs = 1,
	.inputs = { &sim_Int32_type },
	.proc = run_one,
};

static unsigned have_run(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MANY; i++)
		n += atomic_load(&runs[i]) > 0;
	return n;
}

static void make_many(struct sim_host *h, struct sim_component *c[MANY])
{
	struct sim_component_options o = { .size = sizeof(o),
					   .n_inputs = 1,
					   .input = { { .channel = "x", .pending = 4 } } };
	char name[16];

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many_%u", i);
		o.name = name;
		if (sim_component_create(h, &runner_class, &o, &c[i]) < 0)
			fail_msg("component %u: %s", i, sim_why());
	}
}

TEST_WITH(a_host_runs_the_maximum_number_of_components, setup, teardown)
{
	static struct sim_component *c[MANY];
	struct program a = program_new("a"), b = program_new("b");
	struct sim_node_writer *wr = writer_new(&a, "x", false);

	memset(runs, 0, sizeof(runs));
	make_many(b.h, c);
	assert_int_equal(sim_host_start(b.h), 0);
	AWAIT((send(wr, 1), have_run()) == MANY);
	for (unsigned i = 0; i < MANY; i++)
		sim_component_destroy(c[i]);
	make_many(b.h, c); /* their names are free, and the host runs */
	memset(runs, 0, sizeof(runs));
	AWAIT((send(wr, 1), have_run()) == MANY);
	for (unsigned i = MANY; i-- > 0;)
		sim_component_destroy(c[i]);
	sim_node_writer_destroy(wr);
	program_end(&a);
	program_end(&b);
}

/*
 * The name that a conf file of Cyber's scheduler uses: the node and the channel as configured, without the rig's
 * prefix.
 */
TEST_WITH(the_task_of_a_reader_is_named_as_in_cyber, setup, teardown)
{
	struct program a = program_new("a");
	struct count k = { 0 };
	struct sim_node_reader *x = reader_new(&a, "x", &k), *y = reader_new(&a, "/apollo/y", &k);
	struct sched_task_info info;

	sched_task_info(x->task, &info);
	assert_string_equal(info.name, "a_x");
	sched_task_info(y->task, &info);
	assert_string_equal(info.name, "a_/apollo/y");
	sim_node_reader_destroy(x);
	sim_node_reader_destroy(y);
	program_end(&a);
}

/* What `simctl node` asks for. */
TEST_WITH(a_node_describes_its_readers_and_writers, setup, teardown)
{
	struct program a = program_new("a");
	struct count k = { 0 };
	struct sim_node_reader *r = reader_new(&a, "x", &k);
	struct sim_node_writer *wr = writer_new(&a, "x", true);
	struct sim_client *c = world_client(&w, "asks", 0);
	static char request[8] __attribute__((aligned(8))), response[SIM_SERVICE_BODY_MAX] __attribute__((aligned(64)));
	struct sim_node *twin;
	struct sim_host *h;
	char *json;
	size_t size;

	assert_int_equal(sim_host_start(a.h), 0);
	send(wr, 1);
	AWAIT(atomic_load(&k.last) == 1);
	assert_int_equal(sim_service_call(c, "a/node_info", &sim_NodeInfo_service, request, 1, 0, response,
					  sizeof(response), &size),
			 0);
	assert_int_equal(sim_msg_to_json_alloc(&sim_NodeInfoResponse_type, response, size, NULL, &json, NULL), 0);
	assert_non_null(strstr(json, "\"name\":\"a\""));
	assert_non_null(strstr(json, "\"mode\":\"reality\""));
	assert_non_null(strstr(json, "\"channel\":\"/car/x\",\"channel_type\":\"sim/Int32\",\"delivery\":\"intra\""));
	assert_non_null(strstr(json, "\"written\":1,\"refused\":0,\"intra\":1"));
	assert_non_null(strstr(json, "\"parameters\":0,"));
	free(json);

	/* another process's node of that name */
	assert_int_equal(
		sim_host_create(&(struct sim_host_options){ .size = sizeof(struct sim_host_options), .client = c }, &h),
		0);
	assert_int_equal(sim_node_create(h, "a", &twin), -EEXIST);
	assert_non_null(strstr(sim_why(), "node a"));
	sim_host_destroy(h);
	sim_disconnect(c);
	sim_node_reader_destroy(r);
	sim_node_writer_destroy(wr);
	program_end(&a);
}

static uint32_t parameters_of(struct sim_client *c, const char *node)
{
	static char request[8] __attribute__((aligned(8))), response[SIM_SERVICE_BODY_MAX] __attribute__((aligned(64)));
	const struct sim_NodeInfoResponse *x;
	char name[80];
	size_t size;

	snprintf(name, sizeof(name), "%s/node_info", node);
	if (sim_service_call(c, name, &sim_NodeInfo_service, request, 1, 0, response, sizeof(response), &size) < 0)
		fail_msg("%s", sim_why());
	x = sim_NodeInfoResponse_from(response, size);
	assert_non_null(x);
	return x->parameters;
}

static void declare(struct sim_params *p, const char *name)
{
	struct sim_param_value v = sim_param_int(1);

	assert_int_equal(sim_params_declare(p, name, &v, NULL), 0);
}

/* Offered apart from the node, before or after it: what counts is the client and the name. */
TEST_WITH(a_node_counts_its_parameters, setup, teardown)
{
	struct program a = program_new("a"), b = program_new("b");
	struct sim_params *own, *alone;

	assert_int_equal(parameters_of(b.c, "a"), 0);
	assert_int_equal(sim_params_create(a.c, "a", &own), 0);
	assert_int_equal(sim_params_create(NULL, "b", &alone), 0); /* which is not reachable */
	declare(alone, "x");
	assert_int_equal(parameters_of(b.c, "a"), 0);
	declare(own, "x");
	declare(own, "y");
	assert_int_equal(parameters_of(b.c, "a"), 2);
	assert_int_equal(parameters_of(a.c, "b"), 0);
	sim_params_destroy(own);
	assert_int_equal(parameters_of(b.c, "a"), 0);
	sim_params_destroy(alone);
	program_end(&a);
	program_end(&b);
}

struct leaver {
	struct sim_node_reader *r;
	_Atomic unsigned n;
};

static void leave(void *user, const struct sim_message *m)
{
	struct leaver *x = user;

	sim_node_reader_destroy(x->r);
	atomic_fetch_add(&x->n, value(m) == 1 ? 1 : 100);
}

/* The callback runs on a worker; the receiving thread ends with its reader. */
TEST_WITH(a_callback_may_destroy_its_own_reader, setup, teardown)
{
	struct sim_node_reader_options o = { .size = sizeof(o), .pending = 64 };
	struct program a = program_new("a"), b = program_new("b");
	struct sim_node_writer *wr = writer_new(&a, "x", false);
	struct leaver x = { 0 };
	struct count k = { 0 };
	struct sim_node_reader *r;

	assert_int_equal(sim_node_reader_create(b.n, "x", &sim_Int32_type, &o, leave, &x, &x.r), 0);
	assert_int_equal(sim_host_start(b.h), 0);
	for (int32_t v = 1; v <= 5; v++)
		send(wr, v);
	AWAIT(atomic_load(&x.n));
	r = reader_new(&b, "x", &k);
	for (int32_t v = 1; v <= 5; v++)
		send(wr, v);
	AWAIT(atomic_load(&k.last) == 5);
	assert_int_equal(x.n, 1);
	sim_node_reader_destroy(r);
	sim_node_writer_destroy(wr);
	program_end(&a);
	program_end(&b);
}

struct runner {
	struct sim_host *h;
	pthread_t thread;
	int r;
	char why[400];
};

static void *run_host(void *arg)
{
	struct runner *x = arg;

	x->r = sim_host_run(x->h);
	snprintf(x->why, sizeof(x->why), "%s", sim_why());
	return NULL;
}

/* simd comes back with a configuration that has no room for all of them. */
static void restart_with(const char *extra)
{
	struct config_sources src = { .text = w.text };

	world_kill_simd(&w);
	conf_destroy(w.conf);
	w.conf = NULL;
	snprintf(w.text, sizeof(w.text),
		 "{\"backend\": \"mem\", \"TimeSource\": \"unity\", \"pools\": [{\"size\": 512, \"count\": 4000}]%s}",
		 extra);
	assert_int_equal(config_load(&src, &w.conf), 0);
	world_start_simd(&w);
	world_kill_roudi(&w);
	world_start_roudi(&w);
}

/* Otherwise the reader would silently get nothing; the supervisor of the host can start it again. */
TEST_WITH(a_reader_refused_after_a_restart_ends_the_run_with_an_error, setup, teardown)
{
	struct program b = program_new("b");
	struct count k[2] = { 0 };
	struct sim_node_reader *x = reader_new(&b, "x", &k[0]), *y = reader_new(&b, "y", &k[1]);
	struct runner run = { .h = b.h };

	assert_int_equal(sim_host_start(b.h), 0);
	assert_int_equal(pthread_create(&run.thread, NULL, run_host, &run), 0);
	restart_with(", \"limits\": {\"subscribers_per_channel\": 1, \"subscribers\": 1}");
	pthread_join(run.thread, NULL);
	assert_true(run.r < 0);
	if (!strstr(run.why, "node b: its reader of /car/y gets nothing any more: ") ||
	    !strstr(run.why, "limits.subscribers"))
		fail_msg("it says \"%s\"", run.why);
	sim_node_reader_destroy(y);
	sim_node_reader_destroy(x);
	program_end(&b);
}

TEST_WITH(a_host_that_was_stopped_before_does_not_run, setup, teardown)
{
	struct program a = program_new("a");

	sim_host_stop(a.h);
	assert_int_equal(sim_host_run(a.h), 0);
	program_end(&a);
}
