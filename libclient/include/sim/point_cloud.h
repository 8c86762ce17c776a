/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point clouds in the default layout, struct sim_Point: 32 bytes, so that sensors fill and bridges
 * convert whole vectors. Other layouts are written with sim/msg/PointCloud.h itself. All inline; a
 * builder is one thread's.
 *
 *   struct sim_Point *p = sim_point_cloud_begin(sim_slot_body_mut(slot), capacity, n_max, &b);
 *   ... fill p[0 .. n-1] ...
 *   sim_point_cloud_trim(&b, n);
 *   publish sim_builder_size(&b) bytes
 */
#ifndef SIM_POINT_CLOUD_H
#define SIM_POINT_CLOUD_H

#include "sim/msg/Point.h"
#include "sim/msg/PointCloud.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/* The values of a sim_Point: X(name, datatype). */
#define SIM_POINT_FIELDS(X) \
	X(x, FLOAT32) X(y, FLOAT32) X(z, FLOAT32) X(intensity, FLOAT32) X(ring, UINT16) X(return_type, UINT8) \
	X(time_offset, UINT32) X(azimuth, FLOAT32) X(distance, FLOAT32)
/* clang-format on */
#define SIM_POINT_N_FIELDS 9u

struct sim_point_field_ {
	const char *name;
	uint32_t offset;
	uint8_t datatype;
};

static inline struct sim_point_field_ sim_point_field_at_(uint32_t i)
{
	static const struct sim_point_field_ fields[] = {
#define X(name, type) { #name, (uint32_t)offsetof(struct sim_Point, name), (uint8_t)SIM_POINT_FIELD_##type },
		SIM_POINT_FIELDS(X)
#undef X
	};
	return fields[i];
}

/* Bytes of a body with up to n points: for the size of a loan. n: 0..134217726 (a span is 32 bits wide). */
static inline size_t sim_point_cloud_size(size_t n)
{
	return sim_PointCloud_size(SIM_POINT_N_FIELDS, n * sizeof(struct sim_Point), SIM_POINT_N_FIELDS * 32u);
}

/*
 * Starts an unordered, dense cloud of n points. Returns the points, contents undefined: fill all of them or trim. NULL
 * if buf is too small (sim_point_cloud_size() gives the size) or misaligned.
 */
static inline struct sim_Point *sim_point_cloud_begin(void *buf, size_t capacity, uint32_t n, struct sim_builder *b)
{
	struct sim_PointCloud *m = sim_PointCloud_init(buf, capacity, b);
	struct sim_PointField *f = m ? sim_PointCloud_fields_alloc(b, SIM_POINT_N_FIELDS) : NULL;

	if (!f || n > SIM_BODY_MAX / sizeof(struct sim_Point))
		return NULL;
	for (uint32_t i = 0; i < SIM_POINT_N_FIELDS; i++) {
		struct sim_point_field_ one = sim_point_field_at_(i);

		if (sim_PointField_name_set_in(b, &f[i], one.name) < 0)
			return NULL;
		f[i].offset = one.offset;
		f[i].count = 1;
		f[i].datatype = one.datatype;
	}
	m->height = 1;
	m->width = n;
	m->point_step = (uint32_t)sizeof(struct sim_Point);
	m->row_step = n * (uint32_t)sizeof(struct sim_Point);
	m->is_dense = 1;
	return (struct sim_Point *)(void *)sim_PointCloud_data_alloc(b, m->row_step);
}

/* Keeps the first n points of a cloud that sim_point_cloud_begin() has started: the body ends after them. */
static inline void sim_point_cloud_trim(struct sim_builder *b, uint32_t n)
{
	struct sim_PointCloud *m = (struct sim_PointCloud *)(void *)b->base;

	if (!b->used || n >= m->width)
		return;
	m->width = n;
	m->row_step = n * (uint32_t)sizeof(struct sim_Point);
	m->data.count = m->row_step;
	b->used = m->data.offset + m->row_step;
}

/* Whether the points are struct sim_Point: each of its values is there, with its type and offset. */
static inline int sim_point_cloud_is_default(const struct sim_PointCloud *m, size_t body_size)
{
	uint32_t n;
	const struct sim_PointField *f = sim_PointCloud_fields(m, body_size, &n);

	if (m->point_step != sizeof(struct sim_Point) || n != SIM_POINT_N_FIELDS)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct sim_point_field_ one = sim_point_field_at_(i);

		if (f[i].offset != one.offset || f[i].datatype != one.datatype || f[i].count != 1 ||
		    strcmp(sim_PointField_name_in(m, body_size, &f[i]), one.name) != 0)
			return 0;
	}
	return 1;
}

/* Returns the points of a cloud in the default layout. NULL and 0: another layout, no points, or an invalid body. */
static inline const struct sim_Point *sim_point_cloud_points(const struct sim_PointCloud *m, size_t body_size,
							     uint32_t *ret_n)
{
	uint32_t bytes, height = m->height, width = m->width;
	const uint8_t *data = sim_PointCloud_data(m, body_size, &bytes);
	uint64_t n = (uint64_t)height * width;

	*ret_n = 0;
	if (!data || !sim_point_cloud_is_default(m, body_size) || n > bytes / sizeof(struct sim_Point) ||
	    (uintptr_t)data % SIM_ALIGNOF(struct sim_Point) ||
	    (height > 1 && m->row_step != width * sizeof(struct sim_Point)))
		return NULL;
	*ret_n = (uint32_t)n;
	return (const struct sim_Point *)(const void *)data;
}

#ifdef __cplusplus
}
#endif
#endif
