/* SPDX-License-Identifier: Apache-2.0 */
/* emit-native FILE: a native MCAP with a channel for each type of ours, three messages each, every field filled. */
#include <stdio.h>
#include <string.h>

#include <sim/introspect.h>
#include <sim/msg/Image.h>
#include <sim/msg/OccupancyGrid.h>
#include <sim/msg/PointCloud.h>

#include "record/codec_out.h"
#include "unit/convert/sample.h"

static _Alignas(64) uint8_t body[1 << 16];
static char why[512];

/* Samples whose sizes are not those of their data make no sense to others: here they do. */
static size_t sized(const struct sim_type *t)
{
	struct sim_builder b;

	if (sim_type_equal(t, &sim_Image_type)) {
		struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);

		m->height = 20;
		m->width = 30;
		m->step = 90;
		sim_Image_encoding_set(&b, "rgb8");
		memset(sim_Image_data_alloc(&b, 1800), 7, 1800);
		return sim_builder_size(&b);
	}
	if (sim_type_equal(t, &sim_OccupancyGrid_type)) {
		struct sim_OccupancyGrid *m = sim_OccupancyGrid_init(body, sizeof(body), &b);

		m->width = 40;
		m->height = 50;
		m->resolution = 0.5f;
		memset(sim_OccupancyGrid_data_alloc(&b, 2000), 9, 2000);
		return sim_builder_size(&b);
	}
	if (sim_type_equal(t, &sim_PointCloud_type)) {
		struct sim_PointCloud *m = sim_PointCloud_init(body, sizeof(body), &b);
		struct sim_PointField *f = sim_PointCloud_fields_alloc(&b, 3);

		m->height = 1;
		m->width = 100;
		m->point_step = 12;
		m->row_step = 1200;
		for (unsigned i = 0; i < 3; i++) {
			sim_PointField_name_set_in(&b, &f[i], (const char *[]){ "x", "y", "z" }[i]);
			f[i].offset = 4 * i;
			f[i].datatype = SIM_POINT_FIELD_FLOAT32;
			f[i].count = 1;
		}
		for (float *v = (float *)(void *)sim_PointCloud_data_alloc(&b, 1200), *end = v + 300; v < end; v++)
			*v = 1.5f;
		return sim_builder_size(&b);
	}
	return sample_body(t, body, sizeof(body));
}

static int put(struct log_writer *w, const struct sim_type *t)
{
	struct log_message m = { .log_time_ns = 0 };
	struct sim_message sim = { .body = body, .body_size = sized(t) };
	struct iovec iov[IOV_BUF_PIECES];
	char topic[100];
	struct codec_out *c;
	struct iov_buf o;
	int r;

	snprintf(topic, sizeof(topic), "/%s", t->name);
	r = codec_out_create(CODEC_NATIVE, NULL, topic, t, &c, why, sizeof(why));
	if (r < 0)
		return r;
	iov_buf_init(&o);
	r = log_writer_add_channel(w, codec_out_channel(c), &m.channel);
	for (unsigned i = 0; r == 0 && i < 3; i++) {
		sim.header.stamp_sim_ns = INT64_C(1700000000123456000) + i;
		sim.header.sequence = m.sequence = i;
		strcpy(sim.header.frame_id, "base_link");
		m.log_time_ns = m.publish_time_ns = sim.header.stamp_sim_ns;
		r = codec_out_encode(c, &sim, &o, why, sizeof(why));
		if (r == 0)
			r = log_writer_put(w, &m, iov, (int)iov_buf_iov(&o, iov));
	}
	iov_buf_finish(&o);
	codec_out_destroy(c);
	return r;
}

int main(int argc, char **argv)
{
	const struct log_write_options o = { .format = LOG_MCAP };
	struct log_writer *w;
	int r = argc == 2 ? log_writer_create(argv[1], &o, &w, why, sizeof(why)) : -1;

	for (const struct sim_type *const *t = sim_type_builtins(); r == 0 && *t; t++)
		r = put(w, *t);
	if (r == 0)
		r = log_writer_finish(w, why, sizeof(why));
	if (r < 0)
		fprintf(stderr, "emit-native: %d %s\n", r, why);
	return r < 0;
}
