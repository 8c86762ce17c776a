/* SPDX-License-Identifier: Apache-2.0 */
/* Point clouds: as they are in the slot, or point by point in the layouts that users of AWSIM and SVL expect. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <math.h>

#include "map_private.h"
#include "sim/point_cloud.h"

struct layout {
	uint32_t step;
	uint32_t n;
	struct {
		const char *name;
		uint32_t offset;
		uint8_t datatype;
	} field[10];
	void (*convert)(uint8_t *restrict to, const struct sim_Point *restrict p, size_t n, int64_t stamp_sim_ns);
};

/* Points are assembled in registers and written in order: the target may have any alignment. */
struct awsim24 {
	float x, y, z, pad, intensity;
	uint16_t ring, pad2;
};
struct awsim48 {
	struct awsim24 base;
	float azimuth, distance;
	uint8_t return_type, pad[7];
	double time_stamp;
};
_Static_assert(offsetof(struct sim_Point, y) == 4 &&
		       offsetof(struct sim_Point, distance) == offsetof(struct sim_Point, azimuth) + 4,
	       "copied in pairs");
_Static_assert(sizeof(struct awsim24) == 24 && sizeof(struct awsim48) == 48, "wire layout");

/* x, y, z, a gap, intensity, ring, a gap: three words, so that compilers keep them in registers. */
static inline void put_base(uint8_t *restrict to, const struct sim_Point *restrict p)
{
	uint32_t z, intensity;
	uint64_t w[3];

	memcpy(&w[0], &p->x, 8); /* x and y */
	memcpy(&z, &p->z, 4);
	memcpy(&intensity, &p->intensity, 4);
	w[1] = z;
	w[2] = intensity | (uint64_t)p->ring << 32;
	memcpy(to, w, sizeof(w));
}

#if defined(__x86_64__)
/*
 * For each point one load, one shuffle of its eight words and one store, whose last quarter the next store overwrites.
 * Returns how many points it wrote: not the last one, whose store would exceed the array.
 */
__attribute__((target("avx2"))) static size_t to_awsim24_avx2(uint8_t *restrict to, const struct sim_Point *restrict p,
							      size_t n)
{
	const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 3, 4, 5, 6);
	const __m256i keep = _mm256_setr_epi32(-1, -1, -1, 0, -1, 0xffff, 0, 0);
	size_t i = 0;

	for (; i + 1 < n; i++) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)&p[i]);

		v = _mm256_and_si256(_mm256_permutevar8x32_epi32(v, order), keep);
		_mm256_storeu_si256((__m256i *)(void *)(to + i * sizeof(struct awsim24)), v);
	}
	return i;
}
_Static_assert(sizeof(struct sim_Point) == 32 && offsetof(struct sim_Point, intensity) == 12 &&
		       offsetof(struct sim_Point, ring) == 16,
	       "words are shuffled by number");
#endif

static void to_awsim24(uint8_t *restrict to, const struct sim_Point *restrict p, size_t n, int64_t stamp_sim_ns)
{
	size_t i = 0;

	(void)stamp_sim_ns;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		i = to_awsim24_avx2(to, p, n);
#endif
	for (; i < n; i++)
		put_base(to + i * sizeof(struct awsim24), &p[i]);
}

static void to_awsim48(uint8_t *restrict to, const struct sim_Point *restrict p, size_t n, int64_t stamp_sim_ns)
{
	/* whole seconds first: as a double, nanoseconds since 1970 would be rounded to multiples of 256 */
	double stamp_s = (double)(stamp_sim_ns / 1000000000) + (double)(stamp_sim_ns % 1000000000) * 1e-9;

	for (size_t i = 0; i < n; i++) {
		double time_stamp = stamp_s + (double)p[i].time_offset * 1e-9;
		uint8_t *at = to + i * sizeof(struct awsim48);
		uint64_t w[2];

		put_base(at, &p[i]);
		memcpy(&w[0], &p[i].azimuth, 8); /* and distance */
		w[1] = p[i].return_type;
		memcpy(at + 24, w, sizeof(w));
		memcpy(at + 40, &time_stamp, sizeof(time_stamp));
	}
}

/* Intensity from 0 to 255, as of most lidars. */
static inline uint8_t byte_of(float intensity)
{
	float v = intensity > 0.0f ? intensity : 0.0f; /* NaN: 0 */

	return (uint8_t)(int32_t)((v < 1.0f ? v : 1.0f) * 255.0f);
}

static void to_xyzir(uint8_t *restrict to, const struct sim_Point *restrict p, size_t n, int64_t stamp_sim_ns)
{
	(void)stamp_sim_ns;
	for (size_t i = 0; i < n; i++) {
		struct sim_Point q = p[i];

		q.intensity = byte_of(q.intensity);
		put_base(to + i * sizeof(struct awsim24), &q);
	}
}

static void to_svl32(uint8_t *restrict to, const struct sim_Point *restrict p, size_t n, int64_t stamp_sim_ns)
{
	(void)stamp_sim_ns;
	for (size_t i = 0; i < n; i++) {
		uint8_t *at = to + i * 32;
		uint64_t z_gap, rest = byte_of(p[i].intensity);
		uint32_t z;

		/* word by word: copying them from an array would wait for the stores */
		memcpy(&z, &p[i].z, 4);
		z_gap = z;
		memcpy(at, &p[i].x, 8); /* x and y */
		memcpy(at + 8, &z_gap, 8);
		memcpy(at + 16, &rest, 8);
		memset(at + 24, 0, 8);
	}
}

/* Autoware's point since 2024: the time is relative to the header's stamp, as ours; azimuth is from 0 to 2 pi. */
struct ircaedt {
	float x, y, z;
	uint8_t intensity, return_type;
	uint16_t channel;
	float azimuth, elevation, distance;
	uint32_t time_stamp;
};
_Static_assert(sizeof(struct ircaedt) == 32 && offsetof(struct ircaedt, time_stamp) == 28, "wire layout");

static void to_ircaedt(uint8_t *restrict to, const struct sim_Point *restrict p, size_t n, int64_t stamp_sim_ns)
{
	(void)stamp_sim_ns;
	for (size_t i = 0; i < n; i++) {
		struct ircaedt q = {
			.x = p[i].x,
			.y = p[i].y,
			.z = p[i].z,
			.intensity = byte_of(p[i].intensity),
			.return_type = p[i].return_type,
			.channel = p[i].ring,
			.azimuth = p[i].azimuth < 0 ? p[i].azimuth + 2 * (float)M_PI : p[i].azimuth,
			.elevation = atan2f(p[i].z, sqrtf(p[i].x * p[i].x + p[i].y * p[i].y)),
			.distance = p[i].distance,
			.time_stamp = p[i].time_offset,
		};

		memcpy(to + i * sizeof(q), &q, sizeof(q));
	}
}

#define F32 SIM_POINT_FIELD_FLOAT32
#define F64 SIM_POINT_FIELD_FLOAT64
#define U16 SIM_POINT_FIELD_UINT16
#define U8  SIM_POINT_FIELD_UINT8
#define U32 SIM_POINT_FIELD_UINT32

#define XYZ \
	{ "x", 0, F32 }, { "y", 4, F32 }, \
	{ \
		"z", 8, F32 \
	}

/* clang-format off */
static const struct layout layouts[] = {
	[MAP_POINTS_AWSIM24] = { 24, 5, { XYZ, { "intensity", 16, F32 }, { "ring", 20, U16 } }, to_awsim24 },
	[MAP_POINTS_XYZIR] = { 24, 5, { XYZ, { "intensity", 16, F32 }, { "ring", 20, U16 } }, to_xyzir },
	[MAP_POINTS_AWSIM48] = { 48, 9, { XYZ, { "intensity", 16, F32 }, { "ring", 20, U16 }, { "azimuth", 24, F32 },
		{ "distance", 28, F32 }, { "return_type", 32, U8 }, { "time_stamp", 40, F64 } }, to_awsim48 },
	[MAP_POINTS_SVL32] = { 32, 5, { XYZ, { "intensity", 16, U8 }, { "timestamp", 24, F64 } }, to_svl32 },
	[MAP_POINTS_XYZIRCAEDT] = { 32, 10, { XYZ, { "intensity", 12, U8 }, { "return_type", 13, U8 }, { "channel", 14, U16 },
		{ "azimuth", 16, F32 }, { "elevation", 20, F32 }, { "distance", 24, F32 }, { "time_stamp", 28, U32 } }, to_ircaedt },
};
/* clang-format on */

static void field(struct sim_enc *e, const struct map_message *in, const char *name, uint32_t offset, uint8_t datatype,
		  uint32_t count)
{
	sim_enc_begin(e, NULL);
	map_text(e, "name", in, name);
	sim_enc_u32(e, "offset", offset);
	sim_enc_u8(e, "datatype", datatype);
	sim_enc_u32(e, "count", count);
	sim_enc_end(e);
}

static void size_of(struct sim_enc *e, const struct map_message *in, uint32_t height, uint32_t width)
{
	map_header(e, in);
	sim_enc_u32(e, "height", height);
	sim_enc_u32(e, "width", width);
}

static int native(const struct map_message *in, struct sim_enc *e, const struct sim_PointCloud *m, const uint8_t *data,
		  uint32_t n_data)
{
	uint32_t n;
	const struct sim_PointField *f = sim_PointCloud_fields_in(in->body, in->size, m, &n);

	size_of(e, in, m->height, m->width);
	sim_enc_list(e, "fields", n);
	for (uint32_t i = 0; i < n; i++)
		field(e, in, sim_PointField_name_in(in->body, in->size, &f[i]), f[i].offset, f[i].datatype, f[i].count);
	sim_enc_list_end(e);
	sim_enc_bool(e, "is_bigendian", 0);
	sim_enc_u32(e, "point_step", m->point_step);
	sim_enc_u32(e, "row_step", m->row_step);
	sim_enc_array(e, "data", SIM_KIND_UINT8, data, n_data);
	sim_enc_bool(e, "is_dense", m->is_dense);
	return 0;
}

/* Whether the points are laid out as struct sim_Point, with all its fields and no others. */
static bool is_default(const struct map_message *in, const struct sim_PointCloud *m)
{
	uint32_t n;
	const struct sim_PointField *f = sim_PointCloud_fields(m, in->size, &n);

	if (n != SIM_POINT_N_FIELDS)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct sim_point_field_ want = sim_point_field_at_(i);

		if (strcmp(sim_PointField_name_in(in->body, in->size, &f[i]), want.name) != 0 ||
		    f[i].offset != want.offset || f[i].datatype != want.datatype)
			return false;
	}
	return true;
}

static int converted(const struct map_message *in, struct sim_enc *e, const struct layout *l, uint32_t points,
		     const struct sim_Point *p, bool is_dense)
{
	uint8_t *to;

	if ((uint64_t)points * l->step > UINT32_MAX)
		return -EMSGSIZE;
	size_of(e, in, 1, points);
	sim_enc_list(e, "fields", l->n);
	for (uint32_t i = 0; i < l->n; i++)
		field(e, in, l->field[i].name, l->field[i].offset, l->field[i].datatype, 1);
	sim_enc_list_end(e);
	sim_enc_bool(e, "is_bigendian", 0);
	sim_enc_u32(e, "point_step", l->step);
	sim_enc_u32(e, "row_step", l->step * points);
	to = e->ops->room(e, "data", SIM_KIND_UINT8, l->step * points, 0);
	if (to)
		l->convert(to, p, points, in->header.stamp_sim_ns);
	sim_enc_bool(e, "is_dense", is_dense);
	return 0;
}

MAP(PointCloud, sensor_msgs, PointCloud2)
{
	struct sim_PointCloud head = *m; /* read once: a peer may still change it */
	uint32_t n;
	const uint8_t *data = sim_PointCloud_data(m, in->size, &n);

	if ((uint64_t)head.point_step * head.width != head.row_step || (uint64_t)head.row_step * head.height != n)
		return -EBADMSG;
	if (in->options->points == MAP_POINTS_NATIVE)
		return native(in, e, &head, data, n);
	if ((uintptr_t)data % _Alignof(struct sim_Point))
		return -EBADMSG;
	if (head.point_step != sizeof(struct sim_Point) || !is_default(in, m))
		return -ENOTSUP;
	return converted(in, e, &layouts[in->options->points], head.width * head.height,
			 (const struct sim_Point *)(const void *)data, head.is_dense != 0);
}
