/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_1000_doubles, json_float_array, base64, cbor_cloud: what rosbridge's formats cost, against jansson and against
 * memcpy(). The numbers are random, so that doubles have 16 and 17 digits and floats 7 to 9: json_float_array is the scan of a
 * lidar, ranges up to 100 m. One thread.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <sim/point_cloud.h>

#include "base64.h"
#include "bench.h"
#include "support/enc_cbor.h"
#include "enc_json.h"
#include "map.h"

#define NUMBERS 1000u
#define BYTES   (3u << 20)
#define POINTS  196608u /* 6 MiB as they lie in the slot */
#define PASSES  40      /* best of: a preempted pass says nothing about the code */

struct json_job {
	double doubles[NUMBERS];
	float floats[NUMBERS];
	struct iov_buf out;
	struct map_message in;
	uint8_t *from, *to;
	size_t size;
};

/* ns of one pass; 0: failed */
typedef double pass(struct json_job *j);

static double best(pass *p, struct json_job *j)
{
	double least = 1e18;

	for (int i = 0; i < PASSES; i++) {
		double ns = p(j);

		if (ns <= 0)
			return -1;
		least = ns < least ? ns : least;
	}
	return least;
}

static double since(int64_t start_mono_ns)
{
	return (double)(mono_now_ns() - start_mono_ns);
}

/* ---- numbers ---- */

static double jansson_ns(struct json_job *j, bool floats)
{
	int64_t start_mono_ns = mono_now_ns();
	json_t *all = json_object(), *list = json_array();
	char *text;
	double ns;

	for (unsigned i = 0; i < NUMBERS; i++)
		json_array_append_new(list, json_real(floats ? (double)j->floats[i] : j->doubles[i]));
	json_object_set_new(all, "data", list);
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	ns = text ? since(start_mono_ns) : -1;
	free(text);
	return ns;
}

static double jansson_doubles(struct json_job *j)
{
	return jansson_ns(j, false);
}
static double jansson_floats(struct json_job *j)
{
	return jansson_ns(j, true);
}

static double ours_ns(struct json_job *j, enum sim_kind kind, const void *data)
{
	int64_t start_mono_ns = mono_now_ns();
	struct enc_json e;

	iov_buf_reset(&j->out);
	json_begin(&e, ROS_GENERIC_ROS1, JSON_NAN_WORD, NULL, &j->out);
	sim_enc_array(&e.enc, "data", kind, data, NUMBERS);
	return json_finish(&e) < 0 ? -1 : since(start_mono_ns);
}

static double ours_doubles(struct json_job *j)
{
	return ours_ns(j, SIM_KIND_FLOAT64, j->doubles);
}
static double ours_floats(struct json_job *j)
{
	return ours_ns(j, SIM_KIND_FLOAT32, j->floats);
}

/* ---- bytes ---- */

static double copy(struct json_job *j)
{
	int64_t start_mono_ns = mono_now_ns();

	memcpy(j->to, j->from, j->size);
	__asm__ volatile("" : : "r"(j->to) : "memory");
	return since(start_mono_ns);
}

static double base64(struct json_job *j)
{
	int64_t start_mono_ns = mono_now_ns();

	base64_write((char *)j->to, j->from, j->size);
	return since(start_mono_ns);
}

/* A whole frame, in one piece as a WebSocket wants it: the encoder's pieces, gathered. */
static double cloud(struct json_job *j)
{
	int64_t start_mono_ns = mono_now_ns();
	const struct map *m = map_find("sim/PointCloud", NULL);
	struct iovec iov[IOV_BUF_PIECES];
	struct enc_cbor e;
	size_t at = 0;

	iov_buf_reset(&j->out);
	cbor_begin(&e, ROS_GENERIC_ROS1, ros_type_find(ros1_types, m->ros), &j->out);
	if (m->emit(&j->in, &e.enc) < 0 || cbor_finish(&e) < 0)
		return -1;
	for (unsigned i = 0, n = iov_buf_iov(&j->out, iov); i < n; at += iov[i++].iov_len)
		memcpy(j->to + at, iov[i].iov_base, iov[i].iov_len);
	__asm__ volatile("" : : "r"(j->to) : "memory");
	return since(start_mono_ns);
}

/* ---- cases ---- */

/* rate: a share of the reference's speed, else how many times it */
static int measure(struct bench *b, const char *name, const char *against, struct json_job *j, pass *reference,
		   pass *ours, bool rate, double bar)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 11);

	for (unsigned i = 0; i < n; i++) {
		pairs[i] = (struct bench_pair){ .reference = best(reference, j), .ours = best(ours, j) };
		if (pairs[i].reference < 0 || pairs[i].ours < 0)
			return -1;
		if (rate) /* bytes a ns */
			pairs[i] = (struct bench_pair){ .reference = (double)j->size / pairs[i].reference,
							.ours = (double)j->size / pairs[i].ours };
	}
	bench_report(b, name, rate ? "GB/s" : "ns", against, rate ? BENCH_RATE : BENCH_TIMES, pairs, n, bar);
	return 0;
}

static int measure_cloud(struct bench *b, struct json_job *j)
{
	static const struct map_options options;
	size_t room = POINTS * sizeof(struct sim_Point) + 4096;
	struct sim_builder build;
	void *body = aligned_alloc(64, room);
	struct sim_Point *p = body ? sim_point_cloud_begin(body, room, POINTS, &build) : NULL;
	int r = -1;

	for (uint32_t i = 0; p && i < POINTS; i++)
		p[i] = (struct sim_Point){ .x = (float)i, .ring = (uint8_t)i, .time_offset = i };
	if (p) {
		j->in = (struct map_message){
			.body = body, .size = sim_builder_size(&build), .header.frame = "lidar", .options = &options
		};
		j->from = (uint8_t *)p;
		j->size = POINTS * sizeof(*p);
		r = measure(b, "cbor_cloud", "memcpy of the payload", j, copy, cloud, true, 0.8);
	}
	free(body);
	return r;
}

static int run_json(struct bench *b)
{
	struct json_job j = { .size = BYTES };
	uint8_t *bytes = malloc(BYTES);
	int r = 0;

	iov_buf_init(&j.out);
	srand48(1);
	for (unsigned i = 0; i < NUMBERS; i++) {
		j.doubles[i] = drand48() * 200 - 100;
		j.floats[i] = (float)(drand48() * 100);
	}
	j.from = bytes;
	j.to = malloc(POINTS * sizeof(struct sim_Point) + 4096);
	if (!bytes || !j.to)
		r = -1;
	for (unsigned i = 0; r == 0 && i < BYTES; i++)
		bytes[i] = (uint8_t)mrand48();
	if (r == 0)
		r = measure(b, "json_1000_doubles", "jansson", &j, jansson_doubles, ours_doubles, false, 15);
	if (r == 0)
		r = measure(b, "json_float_array", "jansson", &j, jansson_floats, ours_floats, false, 40);
	if (r == 0)
		r = measure(b, "base64", "memcpy of the bytes", &j, copy, base64, true, 0.4);
	if (r == 0)
		r = measure_cloud(b, &j);
	free(bytes);
	free(j.to);
	iov_buf_finish(&j.out);
	return r;
}

const struct bench_case bench_json = { "json", run_json, "base64 cbor_cloud" };
