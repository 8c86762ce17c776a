/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2_service_call_out: a call from a program of simd to a node of ROS 2 and back, through simd and the ros2 bridge, against a client in C on
 * Cyclone that calls the same node, and a call between two programs of simd, which is handed over twice: there and back. Nothing is pinned.
 * Processes: the node, the program that serves the other call, and for each repetition the one that calls.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/sim.h>
#include <sim/srv/SetBool.h>

#include "bench.h"
#include "system/ros2/asker.h"
#include "system/ros2/reader.h"
#include "timeutil.h"

#define CALLS_MAX 2000
#define WARM_UP   50
#define RIG \
	"{\"name\":\"bench\",\"bridges\":[{\"name\":\"ros\",\"plugin\":\"ros2\",\"options\":{\"localhost\":\"true\",\"call\":" \
	"{\"/lamp\":{\"type\":\"std_srvs/srv/SetBool\",\"service\":\"far\"}}}}]}"

struct arena {
	const struct bench *b;
	const char *service; /* of simd, that is called */
	unsigned count;
	double median_ns;
	_Atomic int ready; /* who serves: two */
};

/* ---- the node ---- */

struct endpoint_of {
	dds_entity_t entity, set;
};

/* With what it waits by: made once. */
static struct endpoint_of attach(dds_entity_t participant, dds_entity_t reader)
{
	struct endpoint_of r = { reader, dds_create_waitset(participant) };

	EXPECT(dds_waitset_attach(r.set, dds_create_readcondition(reader, DDS_ANY_STATE), 0) == 0);
	return r;
}

static void take(const struct endpoint_of *r, void *sample)
{
	dds_sample_info_t info = { .valid_data = false };

	while (dds_take(r->entity, &sample, &info, 1, 1) <= 0 || !info.valid_data)
		EXPECT(dds_waitset_wait(r->set, NULL, 0, DDS_INFINITY) >= 0);
}

static int node_main(void *arg)
{
	static const char id[] = "serviceid=1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.10;";
	dds_entity_t p = reader_participant(), writer;
	struct arena *a = arg;
	dds_qos_t *qos = dds_create_qos();
	struct endpoint_of reader;
	struct ask_byte q;

	EXPECT(p > 0);
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, ASK_DEPTH);
	dds_qset_userdata(qos, id, strlen(id));
	writer = dds_create_writer(p, dds_create_topic(p, &ask_set_response, "rr/lampReply", NULL, NULL), qos, NULL);
	reader = attach(p, dds_create_reader(p, dds_create_topic(p, &ask_set_request, "rq/lampRequest", NULL, NULL),
					     qos, NULL));
	EXPECT(writer > 0 && reader.entity > 0);
	atomic_fetch_add(&a->ready, 1);
	for (;;) {
		take(&reader, &q);
		EXPECT(dds_write(writer, &(struct ask_text){ q.id, q.data, (char *)(uintptr_t) "on" }) == 0);
	}
	return 0;
}

/* ---- the program that serves ---- */

static int on_near(void *user, struct sim_request *req)
{
	struct sim_builder b;

	(void)user;
	sim_SetBoolResponse_init(req->response, req->response_capacity, &b)->success = true;
	sim_SetBoolResponse_message_set(&b, "on");
	req->response_size = sim_builder_size(&b);
	return 0;
}

static int provider_main(void *arg)
{
	struct arena *a = arg;
	struct sim_client *c = bench_connect(a->b, "near");
	struct sim_service *sv;

	if (sim_service_offer(c, "near", &sim_SetBool_service, NULL, on_near, NULL, &sv) < 0)
		return 1;
	atomic_fetch_add(&a->ready, 1);
	for (;;)
		pause();
}

/* ---- those who call ---- */

static double sample[CALLS_MAX];

static int plain_main(void *arg)
{
	struct arena *a = arg;
	dds_entity_t p = reader_participant();
	struct asker x = asker_open(p, "/lamp", &ask_set_request, &ask_set_response, "1.2.3");
	struct endpoint_of reader = attach(p, x.reader);

	for (unsigned i = 0; i < WARM_UP + a->count; i++) {
		int64_t begin_mono_ns = mono_now_ns();
		struct ask_text r = { .message = NULL };

		EXPECT(dds_write(x.writer, &(struct ask_byte){ { ASK_CLIENT, i + 1 }, 1 }) == 0);
		do
			take(&reader, &r); /* and those to others */
		while (r.id.client != ASK_CLIENT || r.id.sequence != i + 1);
		if (i >= WARM_UP)
			sample[i - WARM_UP] = (double)(mono_now_ns() - begin_mono_ns);
		dds_free(r.message);
	}
	a->median_ns = bench_median(sample, a->count);
	dds_delete(p);
	return 0;
}

static int call(struct sim_client *c, const char *service)
{
	const struct sim_SetBoolRequest q = { .data = true };
	uint8_t out[256] __attribute__((aligned(8)));

	return sim_service_call(c, service, &sim_SetBool_service, &q, sizeof(q), 0, out, sizeof(out), NULL);
}

static int caller_main(void *arg)
{
	struct arena *a = arg;
	struct sim_client *c = bench_connect(a->b, "caller");

	BENCH_UNTIL(BENCH_PATIENCE, call(c, a->service) == 0);
	for (unsigned i = 0; i < WARM_UP + a->count; i++) {
		int64_t begin_mono_ns = mono_now_ns();

		if (call(c, a->service) < 0) {
			fprintf(stderr, "bench: %s: %s\n", a->service, sim_why());
			return 1;
		}
		if (i >= WARM_UP)
			sample[i - WARM_UP] = (double)(mono_now_ns() - begin_mono_ns);
	}
	a->median_ns = bench_median(sample, a->count);
	sim_disconnect(c);
	return 0;
}

/* us; below 0: it failed. */
static double measure(struct arena *a, int (*who)(void *arg), const char *service)
{
	a->service = service;
	return bench_wait(bench_fork(who, a)) == 0 ? a->median_ns / 1e3 : -1;
}

static int run_pairs(struct bench *b, struct arena *a)
{
	struct bench_pair p[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 7);

	BENCH_UNTIL(BENCH_PATIENCE, atomic_load(&a->ready) == 2);
	for (unsigned i = 0; i < n; i++) {
		double plain = measure(a, plain_main, NULL), near = measure(a, caller_main, "near");

		p[i] = (struct bench_pair){ measure(a, caller_main, "far"), plain + near };
		if (plain < 0 || near < 0 || p[i].ours < 0)
			return -1;
		printf("  %.0f us; C on Cyclone %.0f, between two programs %.0f\n", p[i].ours, plain, near);
	}
	bench_report(b, "ros2_service_call_out", "us", "C on Cyclone, and a call of simd", BENCH_COST, p, n, 1.3);
	return 0;
}

static int run_ros2_service(struct bench *b)
{
	struct arena *a = bench_arena(sizeof(*a));
	pid_t node, provider;
	int r;

	a->b = b;
	a->count = b->smoke ? 20 : CALLS_MAX;
	r = bench_simd(b, RIG);
	node = bench_fork(node_main, a);
	provider = bench_fork(provider_main, a);
	if (r == 0)
		r = run_pairs(b, a);
	kill(node, SIGKILL);
	kill(provider, SIGKILL);
	(void)bench_wait(node);
	(void)bench_wait(provider);
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_ros2_service = { "ros2_service", run_ros2_service, NULL };
