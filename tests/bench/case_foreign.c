/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types made at run time. type_new: cost of a new type, from its definition to the encoder on the far side, including
 * its JSON form for other programs. foreign_cloud: a message of 6 MB by the fields of such a type, from CDR and back,
 * against the same bytes by the mapping. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>
#include <sim/point_cloud.h>

#include "bench.h"
#include "conversion.h"
#include "enc_wire.h"
#include "timeutil.h"

#define POINTS 262144u
#define ROOM   (POINTS * sizeof(struct sim_Point) + 65536)
#define PASSES 15 /* best of these: a preempted one says nothing about the code */

/* ---- a new type ---- */

/* As a bridge, simd, and another bridge do it. */
static int meet(const char *name, const char *definition)
{
	struct conversion_in in;
	struct conversion_out out = { .type = NULL };
	const struct sim_type *there = NULL;
	char *json = NULL, why[256];
	int r = conversion_in_open_text(NULL, ros2_types, name, definition, false, &in, why, sizeof(why));

	if (r < 0)
		return r;
	r = sim_type_to_json(in.sim, &json);
	if (r >= 0)
		r = sim_type_from_json(json, strlen(json), &there);
	if (r >= 0)
		r = conversion_out_open(NULL, ros2_types, there, NULL, &out, why, sizeof(why));
	conversion_out_close(&out);
	sim_type_unref(there);
	free(json);
	conversion_in_close(&in);
	return r;
}

/* visualization_msgs/MarkerArray, which nests twelve types, under an unknown name. */
static int run_new(struct bench *b)
{
	const char *definition = ros_type_find(ros2_types, "visualization_msgs/MarkerArray")->definition;
	unsigned n = bench_runs(b, 11);
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < n; i++) {
		int64_t start_mono_ns = mono_now_ns();

		if (meet("far_msgs/MarkerArray", definition) < 0)
			return -1;
		pairs[i] = (struct bench_pair){ .ours = (double)(mono_now_ns() - start_mono_ns) / 1e3 };
	}
	bench_report(b, "type_new", "us", NULL, BENCH_VALUE, pairs, n, 2000);
	return 0;
}

/* ---- a large message ---- */

struct way {
	struct conversion_in in;
	struct conversion_out out;
	uint8_t *body;
};

static int way_open(struct way *w, bool raw)
{
	const char *name = "sensor_msgs/PointCloud2", *definition = ros_type_find(ros2_types, name)->definition;
	char why[256];
	int r = conversion_in_open_text(NULL, ros2_types, name, definition, raw, &w->in, why, sizeof(why));

	w->body = aligned_alloc(64, ROOM);
	if (r == 0)
		r = conversion_out_open(NULL, ros2_types, w->in.sim, NULL, &w->out, why, sizeof(why));
	return w->body ? r : -ENOMEM;
}

static void way_close(struct way *w)
{
	conversion_out_close(&w->out);
	conversion_in_close(&w->in);
	free(w->body);
}

static int pass(struct way *w, const void *data, size_t size, struct iov_buf *to)
{
	static const struct map_options options;
	struct message_in m = { .buf = w->body, .room = ROOM };
	struct enc_wire wire;
	char why[256];
	int r = conversion_in_read(&w->in, WIRE_CDR, data, size, &m);

	if (r < 0)
		return r;
	wire_begin(&wire, WIRE_CDR, to);
	r = conversion_out_emit(&w->out,
				&(struct map_message){ .body = w->body,
						       .size = m.size,
						       .header = { .frame = m.frame },
						       .options = &options },
				&wire.enc, why, sizeof(why));
	return r < 0 ? r : wire_finish(&wire);
}

static double pass_us(struct way *w, const void *data, size_t size, struct iov_buf *to)
{
	double best = 1e18;

	for (int i = 0; i < PASSES; i++) {
		int64_t start_mono_ns = mono_now_ns();

		if (pass(w, data, size, to) < 0)
			return -1;
		if ((double)(mono_now_ns() - start_mono_ns) < best)
			best = (double)(mono_now_ns() - start_mono_ns);
	}
	return best / 1e3;
}

/* A cloud as the mapping writes it. returns it: free(). */
static uint8_t *make_cloud(size_t *ret_size)
{
	struct conversion_out out;
	struct sim_builder build;
	struct iovec iov[IOV_BUF_PIECES];
	struct enc_wire wire;
	struct iov_buf buf;
	char why[256];
	uint8_t *data = NULL, *body = aligned_alloc(64, ROOM);
	static const struct map_options options;
	unsigned n;

	iov_buf_init(&buf);
	if (!body || !sim_point_cloud_begin(body, ROOM, POINTS, &build) ||
	    conversion_out_open(NULL, ros2_types, &sim_PointCloud_type, NULL, &out, why, sizeof(why)) < 0)
		goto out;
	wire_begin(&wire, WIRE_CDR, &buf);
	if (conversion_out_emit(&out,
				&(struct map_message){ .body = body,
						       .size = sim_builder_size(&build),
						       .header = { .frame = "lidar" },
						       .options = &options },
				&wire.enc, why, sizeof(why)) == 0 &&
	    wire_finish(&wire) == 0 && (data = malloc(buf.total))) {
		*ret_size = 0;
		n = (unsigned)iov_buf_iov(&buf, iov);
		for (unsigned i = 0; i < n; *ret_size += iov[i++].iov_len)
			memcpy(data + *ret_size, iov[i].iov_base, iov[i].iov_len);
	}
	conversion_out_close(&out);
out:
	iov_buf_finish(&buf);
	free(body);
	return data;
}

static int run_cloud(struct bench *b)
{
	unsigned n = bench_runs(b, 11);
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	struct way mapped = { .body = NULL }, made = { .body = NULL };
	struct iov_buf to;
	size_t size = 0;
	uint8_t *data = make_cloud(&size);
	int r = data ? way_open(&mapped, false) : -1;

	iov_buf_init(&to);
	if (r == 0)
		r = way_open(&made, true);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		pairs[i] = (struct bench_pair){ .reference = pass_us(&mapped, data, size, &to),
						.ours = pass_us(&made, data, size, &to) };
		r = pairs[i].reference < 0 || pairs[i].ours < 0 ? -1 : 0;
	}
	if (r == 0)
		bench_report(b, "foreign_cloud", "us", "by the mapping", BENCH_COST, pairs, n, 1.2);
	iov_buf_finish(&to);
	way_close(&made);
	way_close(&mapped);
	free(data);
	return r;
}

static int run_foreign(struct bench *b)
{
	return run_new(b) < 0 || run_cloud(b) < 0 ? -1 : 0;
}

const struct bench_case bench_foreign = { "foreign", run_foreign, "type_new foreign_cloud" };
