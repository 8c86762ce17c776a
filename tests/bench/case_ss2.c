/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ss2_frame: an UpdateFrame of scenario_simulator_v2 with 50 entities and the ego's vehicle on board of sim-ss2, in lock-step (ZeroMQ,
 * sim-ss2, simd, sim-ss2's turn, and back) against a bare ZeroMQ REQ/REP echo of the same bytes between two processes. ss2_frame_apart:
 * with sim-vehicle, whose turn is before sim-ss2's. ss2_frame_500, ss2_frame_7000: what one takes with so many cars, each turning on a
 * slope, and the ego's sensors attached.
 * vehicle_step: 10 ms of the vehicle model itself, its wheels turning.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <sim/sim.h>

#include "fd.h"
#include "support/ss2_peer.h"
#include "tools/sources/vehicle/model.h"

#include "bench.h"

#define ENTITIES 50
#define CROWD    7000 /* the most of them */
#define FRAMES   2000
#define STEP_NS  INT64_C(33333333)
#define ECHO     "tcp://127.0.0.1:45557"
#define CAR      "{\"wheel_base\":2.79}"

struct scenario {
	struct bench *b;
	void *zmq, *req, *echo;
	struct peer_buf q, status;
	int64_t t_ns;
	double sample[FRAMES];
};

static struct scenario *s;

/* ---- the floor ---- */

static int echo_main(void *arg)
{
	void *zmq = zmq_ctx_new(), *rep = zmq_socket(zmq, ZMQ_REP);
	char bytes[65536]; /* of a frame */
	int n;

	(void)arg;
	if (zmq_bind(rep, ECHO) < 0)
		return 1;
	while ((n = zmq_recv(rep, bytes, sizeof(bytes), 0)) >= 0 && zmq_send(rep, bytes, (size_t)n, 0) >= 0)
		continue;
	return 1;
}

static void *connected(void *zmq, const char *to)
{
	int limit = 20000, linger = 0;
	void *req = zmq_socket(zmq, ZMQ_REQ);

	zmq_setsockopt(req, ZMQ_RCVTIMEO, &limit, sizeof(limit));
	zmq_setsockopt(req, ZMQ_LINGER, &linger, sizeof(linger));
	return req && zmq_connect(req, to) == 0 ? req : NULL;
}

/* Nanoseconds until the answer; negative: none, or a refusal. */
static double ask(void *req, const struct peer_buf *q)
{
	static uint8_t bytes[2 << 20];
	static struct peer_answer a;
	int64_t start = mono_now_ns();
	int n = zmq_send(req, q->data, q->len, 0) < 0 ? -1 : zmq_recv(req, bytes, sizeof(bytes), 0);
	double took = (double)(mono_now_ns() - start);

	if (n < 0 || (req == s->req && (!peer_read(bytes, (size_t)n, &a) || !a.success))) {
		fprintf(stderr, "bench: ss2: %s\n", n < 0 ? zmq_strerror(zmq_errno()) : a.description);
		return -1;
	}
	return took;
}

static double floor_run(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		s->sample[i] = ask(s->echo, &s->q);
		if (s->sample[i] < 0)
			return -1;
	}
	return bench_median(s->sample, count);
}

/* ---- ours ---- */

static double frames_run(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		s->t_ns += STEP_NS;
		peer_frame(&s->q, (double)s->t_ns / 1e9, 0, s->t_ns);
		if (ask(s->req, &s->status) < 0)
			return -1;
		s->sample[i] = ask(s->req, &s->q);
		if (s->sample[i] < 0)
			return -1;
	}
	return bench_median(s->sample, count);
}

static int attach_all(void)
{
	static const uint32_t sensors[] = { PEER_ATTACH_LIDAR, PEER_ATTACH_DETECTION, PEER_ATTACH_GRID };

	for (size_t i = 0; i < sizeof(sensors) / sizeof(sensors[0]); i++) {
		peer_attach(&s->q, sensors[i], "ego");
		if (ask(s->req, &s->q) < 0)
			return -1;
	}
	return 0;
}

static double crowd_run(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		double status, frame;

		s->t_ns += STEP_NS;
		peer_frame(&s->q, (double)s->t_ns / 1e9, 0, s->t_ns);
		status = ask(s->req, &s->status);
		frame = status < 0 ? -1 : ask(s->req, &s->q);
		if (frame < 0)
			return -1;
		s->sample[i] = status + frame;
	}
	return bench_median(s->sample, count);
}

static int spawn_all(int n)
{
	static char names[CROWD][16];
	static struct peer_status all[CROWD];

	peer_initialize(&s->q, 1.0 / 30, 0);
	if (ask(s->req, &s->q) < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		const struct peer_pose at = { .x = 5 * i, .qw = 1 };

		snprintf(names[i], sizeof(names[i]), i ? "car_%d" : "ego", i);
		all[i] = n > ENTITIES
				 ? peer_turning(names[i], i)
				 : (struct peer_status){ .name = names[i], .type = i > 0, .subtype = 1, .pose = at };
		peer_spawn_vehicle(&s->q, names[i], i == 0, &at);
		if (ask(s->req, &s->q) < 0)
			return -1;
	}
	peer_update_status(&s->status, 250020, all, (size_t)n, true, false);
	return n > ENTITIES ? attach_all() : 0;
}

static bool has_participant(struct bench *b)
{
	char *reply = NULL;
	bool there = bench_call(b, "io.simd.Control.GetClock", "{}", &reply) == 0 && strstr(reply, "\"rank\"");

	free(reply);
	return there;
}

/* apart: the vehicle is a process of the rig. */
static int start_simd(struct bench *b, bool apart)
{
	char params[BENCH_PATH + 16], rig[3 * BENCH_PATH];

	snprintf(params, sizeof(params), "%s/car.json", b->dir);
	if (fd_write_file(params, CAR, strlen(CAR), 0644) < 0)
		return -1;
	snprintf(
		rig, sizeof(rig),
		"{\"name\":\"ss2\",\"processes\":[{\"name\":\"car\",\"command\":[\"%s/sim-vehicle\",\"--params\",\"%s\"]}]}",
		b->bin, params);
	b->ss2_vehicle = apart ? NULL : params;
	if (bench_simd(b, apart ? rig : "{\"name\":\"ss2\"}") < 0 ||
	    bench_call(b, "io.simd.Control.SetSource", "{\"source\":\"ss2\"}", NULL) < 0)
		return -1;
	b->ss2_vehicle = NULL;
	BENCH_UNTIL(20, !apart || has_participant(b));
	return 0;
}

static int open_scenario(struct bench *b, bool apart, int n_entities)
{
	char to[64];

	if (start_simd(b, apart) < 0)
		return -1;
	snprintf(to, sizeof(to), "tcp://127.0.0.1:%d", BENCH_SS2_PORT);
	s->zmq = zmq_ctx_new();
	s->req = connected(s->zmq, to);
	s->echo = connected(s->zmq, ECHO);
	return s->req && s->echo ? spawn_all(n_entities) : -1;
}

static void close_scenario(void)
{
	if (s->req)
		zmq_close(s->req);
	if (s->echo)
		zmq_close(s->echo);
	if (s->zmq)
		zmq_ctx_term(s->zmq);
	s->req = s->echo = s->zmq = NULL;
}

static int measure_frames(struct bench *b, const char *name, double bar)
{
	unsigned n = bench_runs(b, 7), count = b->smoke ? 20 : FRAMES;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	int r = 0;

	if (frames_run(20) < 0) /* ports find each other */
		return -1;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		pairs[i].reference = floor_run(count);
		pairs[i].ours = frames_run(count);
		r = pairs[i].reference < 0 || pairs[i].ours < 0 ? -1 : 0;
	}
	if (r == 0)
		bench_report(b, name, "ns", "bare ZeroMQ echo", BENCH_COST, pairs, n, bar);
	return r;
}

/* Both requests of a frame, and all answers: what a scenario waits for. */
static int measure_crowd(struct bench *b, const char *name, int n_entities, double bar_ns)
{
	unsigned n = bench_runs(b, 5), count = b->smoke ? 4 : 100;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	int r = open_scenario(b, false, n_entities);

	for (unsigned i = 0; r == 0 && i < n; i++) {
		pairs[i].ours = crowd_run(count);
		r = pairs[i].ours < 0 ? -1 : 0;
	}
	if (r == 0)
		bench_report(b, name, "ns", NULL, BENCH_VALUE, pairs, n, bar_ns);
	close_scenario();
	s->t_ns = 0;
	return r;
}

/* ---- the model alone ---- */

static int measure_model(struct bench *b, const char *name, const char *json)
{
	unsigned n = bench_runs(b, 5), count = b->smoke ? 100 : 100000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	static struct model m;
	struct vehicle_params p;

	if (params_parse("bench", json, &p) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		int64_t start;

		model_init(&m, &p);
		model_put(&m, &(struct model_place){ .speed = 10 });
		start = mono_now_ns();
		for (unsigned k = 0; k < count; k++) {
			model_order(&m, &(struct model_order){ .steer = k & 64 ? 0.1 : -0.1, .gear = GEAR_DRIVE });
			model_advance(&m, 10 * NS_PER_MS);
		}
		pairs[i].ours = (double)(mono_now_ns() - start) / count;
	}
	bench_report(b, name, "ns", NULL, BENCH_VALUE, pairs, n, 0);
	return 0;
}

#define TYRES \
	"{\"wheel_base\":2.79,\"bicycle\":\"dynamic\",\"mass\":1500,\"yaw_inertia\":2300,\"front_to_cog\":1.2," \
	"\"cornering_stiffness_front\":120000,\"cornering_stiffness_rear\":140000}"

static int run_ss2(struct bench *b)
{
	pid_t echo;
	int r;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->b = b;
	echo = bench_fork(echo_main, NULL);
	r = open_scenario(b, false, ENTITIES);
	if (r == 0)
		r = measure_frames(b, "ss2_frame", 2);
	close_scenario();
	s->t_ns = 0;
	if (r == 0)
		r = open_scenario(b, true, ENTITIES);
	if (r == 0)
		r = measure_frames(b, "ss2_frame_apart", 0);
	close_scenario();
	s->t_ns = 0;
	if (r == 0)
		r = measure_crowd(b, "ss2_frame_500", 500, 10e6);
	if (r == 0)
		r = measure_crowd(b, "ss2_frame_7000", 7000, 100e6);
	kill(echo, SIGKILL);
	bench_wait(echo);
	free(s);
	if (r == 0)
		r = measure_model(b, "vehicle_step", CAR);
	return r < 0 ? r : measure_model(b, "vehicle_step_tyres", TYRES);
}

const struct bench_case bench_ss2 = { "ss2", run_ss2, "vehicle_step" };
