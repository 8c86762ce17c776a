/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incoming point clouds: the points keep the layout of their driver, with the fields that describe it, and are copied
 * once. See map_in.h.
 */
#include "map_in_private.h"
#include "sim/msg/PointCloud.h"

#define FIELD_MIN (4 + 4 + 1 + 4) /* bytes of a PointField without a name */
#define NAME_MAX_ 31u             /* limit of sim/PointField */

static uint64_t bytes_of(uint8_t datatype)
{
	static const uint8_t bytes[] = {
		[SIM_POINT_FIELD_INT8] = 1,    [SIM_POINT_FIELD_UINT8] = 1,   [SIM_POINT_FIELD_INT16] = 2,
		[SIM_POINT_FIELD_UINT16] = 2,  [SIM_POINT_FIELD_INT32] = 4,   [SIM_POINT_FIELD_UINT32] = 4,
		[SIM_POINT_FIELD_FLOAT32] = 4, [SIM_POINT_FIELD_FLOAT64] = 8,
	};

	return datatype < sizeof(bytes) ? bytes[datatype] : 0;
}

/* A count of 0, as of some drivers, means 1. */
static void field(struct sim_dec *d, struct sim_builder *b, struct sim_PointField *f)
{
	sim_dec_begin(d, NULL);
	map_in_text(d, b, "name", &f->name, NAME_MAX_);
	f->offset = sim_dec_u32(d, "offset");
	f->datatype = sim_dec_u8(d, "datatype");
	f->count = sim_dec_u32(d, "count");
	f->count = f->count ? f->count : 1;
	sim_dec_end(d);
}

/* Whether every field is within the point and of a known datatype. */
static bool fits(const struct sim_PointField *f, uint32_t n, uint32_t point_step)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t bytes = bytes_of(f[i].datatype);

		if (!bytes || f[i].offset + bytes * f[i].count > point_step)
			return false;
	}
	return true;
}

/* Copies rows without the gaps between them and after the last one. */
static void copy_rows(uint8_t *at, const uint8_t *data, uint32_t height, size_t row, size_t step)
{
	if (row == step) {
		map_in_copy(at, data, height * row);
		return;
	}
	for (uint32_t i = 0; at && i < height; i++)
		map_in_copy(at + i * row, data + i * step, row);
}

/* Copies the bytes of all rows, without gaps; a step of 0 is accepted if the rows have no gaps. */
static void points(struct sim_dec *d, struct sim_builder *b, struct sim_PointCloud *m, uint32_t step,
		   const uint8_t *data, uint32_t n)
{
	uint64_t row = (uint64_t)m->point_step * m->width, all = row * m->height;

	if (m->height <= 1 || (step == 0 && all == n))
		step = (uint32_t)row;
	if (row > UINT32_MAX || all > n || step < row || (m->height && (uint64_t)step * (m->height - 1) + row > n)) {
		sim_dec_fail(d, -EBADMSG);
		return;
	}
	m->row_step = (uint32_t)row;
	copy_rows(sim_PointCloud_data_alloc_in(b, m, (uint32_t)all), data, m->height, (size_t)row, step);
}

MAP_IN(sensor_msgs, PointCloud2, PointCloud)
{
	struct sim_PointField *f;
	const uint8_t *data;
	uint32_t n, n_data, step;

	START(PointCloud);
	map_in_header(d, to);
	m->height = sim_dec_u32(d, "height");
	m->width = sim_dec_u32(d, "width");
	n = sim_dec_list(d, "fields", FIELD_MIN);
	f = sim_PointCloud_fields_alloc(&builder, n);
	for (uint32_t i = 0; f && i < n && !d->err; i++)
		field(d, &builder, &f[i]);
	sim_dec_list_end(d);
	if (!f)
		return map_in_finish(&builder, to);
	if (sim_dec_bool(d, "is_bigendian"))
		sim_dec_fail(d, -ENOTSUP);
	m->point_step = sim_dec_u32(d, "point_step");
	step = sim_dec_u32(d, "row_step");
	data = map_in_array(d, "data", SIM_KIND_UINT8, &n_data);
	if (!fits(f, n, m->point_step))
		sim_dec_fail(d, -EBADMSG);
	if (!d->err)
		points(d, &builder, m, step, data, n_data);
	m->is_dense = sim_dec_bool(d, "is_dense");
	return map_in_finish(&builder, to);
}
