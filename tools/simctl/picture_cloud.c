/* SPDX-License-Identifier: Apache-2.0 */
/* See picture.h: clouds, with any layout of points. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/PointField.h>

#include "picture_private.h"

#define FIELDS_MAX 64u

struct field {
	char name[32];
	uint32_t offset, size, count; /* size: of one element, bytes */
	char type;                    /* as PCD names it: I U F */
	uint8_t datatype;
};

struct cloud {
	const struct sim_PointCloud *m;
	const uint8_t *data;
	struct field fields[FIELDS_MAX]; /* ascending by offset, without overlaps */
	unsigned n_fields;
	const struct field *xyz[3]; /* NULL: no such field */
};

/* ---- layout ---- */

static const struct {
	uint32_t size;
	char type;
} datatypes[] = { { 0, 0 },   { 1, 'I' }, { 1, 'U' }, { 2, 'I' }, { 2, 'U' },
		  { 4, 'I' }, { 4, 'U' }, { 4, 'F' }, { 8, 'F' } };

static int by_offset(const void *a, const void *b)
{
	const struct field *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool name_is_plain(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(s);
}

static int read_field(const struct sim_PointField *f, const char *name, uint32_t point_step, struct field *ret)
{
	const uint32_t n = sizeof(datatypes) / sizeof(datatypes[0]);

	*ret = (struct field){ .offset = f->offset, .count = f->count ? f->count : 1, .datatype = f->datatype };
	if (!name || strlen(name) >= sizeof(ret->name) || !name_is_plain(name) || !f->datatype || f->datatype >= n)
		return -EINVAL;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->size = datatypes[f->datatype].size;
	ret->type = datatypes[f->datatype].type;
	return f->offset + (uint64_t)ret->count * ret->size <= point_step ? 0 : -EINVAL;
}

static int read_fields(struct cloud *c, size_t size)
{
	uint32_t n = 0;
	const struct sim_PointField *f = sim_PointCloud_fields(c->m, size, &n);
	int r = n <= FIELDS_MAX ? 0 : -EINVAL;

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = read_field(&f[i], sim_PointField_name_in(c->m, size, &f[i]), c->m->point_step,
			       &c->fields[c->n_fields++]);
	qsort(c->fields, c->n_fields, sizeof(c->fields[0]), by_offset);
	for (unsigned i = 1; i < c->n_fields && r == 0; i++)
		if (c->fields[i].offset <
		    c->fields[i - 1].offset + (uint64_t)c->fields[i - 1].count * c->fields[i - 1].size)
			r = -EINVAL;
	return r;
}

static void find_xyz(struct cloud *c)
{
	for (unsigned i = 0; i < c->n_fields; i++)
		for (int k = 0; k < 3; k++)
			if (!c->fields[i].name[1] && c->fields[i].name[0] == "xyz"[k])
				c->xyz[k] = &c->fields[i];
}

static int cloud_read(struct cloud *c, const struct sim_PointCloud *m, size_t size, char why[PICTURE_WHY])
{
	uint32_t n = 0;

	*c = (struct cloud){ .m = m, .data = sim_PointCloud_data(m, size, &n) };
	if (!m->point_step || m->row_step < (uint64_t)m->point_step * m->width || (uint64_t)m->row_step * m->height > n)
		return snprintf(why, PICTURE_WHY,
				"%u rows of %u points of %u bytes, %u bytes a row, do not match its %u bytes",
				m->height, m->width, m->point_step, m->row_step, n),
		       -EINVAL;
	if (read_fields(c, size) < 0)
		return snprintf(why, PICTURE_WHY, "its fields overlap, have no plain name, or are not within a point"),
		       -EINVAL;
	find_xyz(c);
	return 0;
}

static const uint8_t *point_at(const struct cloud *c, uint32_t row, uint32_t i)
{
	return c->data + (size_t)row * c->m->row_step + (size_t)i * c->m->point_step;
}

static double value_of(const struct field *f, const uint8_t *point)
{
	const uint8_t *at = point + f->offset;
	float f32;
	double f64;

	if (f->datatype == SIM_POINT_FIELD_FLOAT64) {
		memcpy(&f64, at, sizeof(f64));
		return f64;
	}
	if (f->datatype != SIM_POINT_FIELD_FLOAT32)
		return NAN; /* coordinates must be floats */
	memcpy(&f32, at, sizeof(f32));
	return (double)f32;
}

/* Returns the point's coordinates; false: not finite. */
static bool place_of(const struct cloud *c, uint32_t row, uint32_t i, double ret[3])
{
	bool there = true;

	for (int k = 0; k < 3; k++) {
		ret[k] = c->xyz[k] ? value_of(c->xyz[k], point_at(c, row, i)) : NAN;
		there &= isfinite(ret[k]);
	}
	return there;
}

/* ---- from above ---- */

static int by_size(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

struct extent {
	double metres, low, high; /* of 49 in 50 points: distance from the sensor, range of z */
};

/* Extent of the points without the outermost 2 %. */
static int find_extent(const struct cloud *c, char why[PICTURE_WHY], struct extent *ret)
{
	const size_t all = (size_t)c->m->width * c->m->height;
	float *far = malloc((2 * all + 1) * sizeof(*far)), *z = far + all;
	size_t n = 0;
	double at[3];

	if (!far)
		return snprintf(why, PICTURE_WHY, "out of memory"), -ENOMEM;
	for (uint32_t row = 0; row < c->m->height; row++)
		for (uint32_t i = 0; i < c->m->width; i++)
			if (place_of(c, row, i, at)) {
				far[n] = (float)fmax(fabs(at[0]), fabs(at[1]));
				z[n++] = (float)at[2];
			}
	*ret = (struct extent){ 10, 0, 1 };
	if (n) {
		qsort(far, n, sizeof(*far), by_size);
		qsort(z, n, sizeof(*z), by_size);
		*ret = (struct extent){ fmax(1, (double)far[(n - 1) * 49 / 50] * 1.05), (double)z[(n - 1) / 50],
					(double)z[(n - 1) * 49 / 50] };
	}
	free(far);
	return 0;
}

static void put(struct picture *p, double x, double y, double metres, const uint8_t rgb[3])
{
	const double scale = p->width / (2 * metres);
	const double column = p->width / 2.0 - y * scale, line = p->height / 2.0 - x * scale;

	if (column >= 0 && line >= 0 && column < p->width && line < p->height)
		memcpy(p->data + 3 * ((size_t)line * p->width + (size_t)column), rgb, 3);
}

static void draw_lines(struct picture *p, double metres)
{
	static const uint8_t grey[3] = { 52, 52, 60 }, white[3] = { 255, 255, 255 };
	const double each = metres > 200 ? 100 : 10, step = 2 * metres / p->width;

	for (double at = -floor(metres / each) * each; at <= metres && metres < 1e5; at += each)
		for (double along = -metres; along < metres; along += step) {
			put(p, at, along, metres, grey);
			put(p, along, at, metres, grey);
		}
	for (int i = -4; i <= 4; i++) { /* a cross at the sensor */
		put(p, i * step, 0, metres, white);
		put(p, 0, i * step, metres, white);
	}
}

static void draw_points(const struct cloud *c, const struct extent *e, double metres, struct picture *p)
{
	uint8_t rgb[3];
	double at[3];

	for (uint32_t row = 0; row < c->m->height; row++)
		for (uint32_t i = 0; i < c->m->width; i++)
			if (place_of(c, row, i, at)) {
				const double part = e->high > e->low ? (e->high - at[2]) / (e->high - e->low) : 0.5;

				/* the darkest colours would be invisible on black */
				picture_colour(0.1 + 0.75 * fmin(1, fmax(0, part)), rgb);
				put(p, at[0], at[1], metres, rgb);
			}
}

int picture_of_cloud(const struct sim_PointCloud *m, size_t size, uint32_t pixels, double metres, char why[PICTURE_WHY],
		     struct picture *ret, double *ret_metres)
{
	struct extent e;
	struct cloud c;
	int r = cloud_read(&c, m, size, why);

	*ret = (struct picture){ .data = NULL };
	if (r < 0)
		return r;
	if (!c.xyz[0] || !c.xyz[1] || !c.xyz[2])
		return snprintf(why, PICTURE_WHY, "its points have no fields x, y and z"), -EINVAL;
	r = find_extent(&c, why, &e);
	if (r == 0)
		r = picture_room(pixels, pixels, 3, 8, why, ret);
	if (r < 0)
		return r;
	*ret_metres = metres > 0 ? metres : e.metres;
	draw_lines(ret, *ret_metres);
	draw_points(&c, &e, *ret_metres, ret);
	ret->least = e.low;
	ret->most = e.high;
	ret->coloured = true;
	return 0;
}

/* ---- PCD ---- */

/* Calls fn for each field, and for each gap as a field "_" of bytes. */
static void each_field(const struct cloud *c, void (*fn)(FILE *to, const struct field *f), FILE *to)
{
	uint32_t at = 0;

	for (unsigned i = 0; i <= c->n_fields; i++) {
		const struct field *f = i < c->n_fields ? &c->fields[i] : NULL;
		const uint32_t next = f ? f->offset : c->m->point_step;

		if (next > at)
			fn(to, &(struct field){ .name = "_", .size = 1, .count = next - at, .type = 'U' });
		if (!f)
			return;
		fn(to, f);
		at = f->offset + f->count * f->size;
	}
}

static void put_name(FILE *to, const struct field *f)
{
	fprintf(to, " %s", f->name);
}

static void put_size(FILE *to, const struct field *f)
{
	fprintf(to, " %u", f->size);
}

static void put_type(FILE *to, const struct field *f)
{
	fprintf(to, " %c", f->type);
}

static void put_count(FILE *to, const struct field *f)
{
	fprintf(to, " %u", f->count);
}

int cloud_write_pcd(const struct sim_PointCloud *m, size_t size, char why[PICTURE_WHY], FILE *to)
{
	struct cloud c;
	int r = cloud_read(&c, m, size, why);

	if (r < 0)
		return r;
	fputs("# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS", to);
	each_field(&c, put_name, to);
	fputs("\nSIZE", to);
	each_field(&c, put_size, to);
	fputs("\nTYPE", to);
	each_field(&c, put_type, to);
	fputs("\nCOUNT", to);
	each_field(&c, put_count, to);
	fprintf(to, "\nWIDTH %u\nHEIGHT %u\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS %llu\nDATA binary\n", m->width, m->height,
		(unsigned long long)m->width * m->height);
	for (uint32_t row = 0; row < m->height; row++)
		fwrite(point_at(&c, row, 0), m->point_step, m->width, to);
	if (!ferror(to))
		return 0;
	snprintf(why, PICTURE_WHY, "it cannot be written");
	return -EIO;
}
