/* SPDX-License-Identifier: Apache-2.0 */
/* Cameras, and what is seen in their images. See map.h. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "map_private.h"
#include "sim/msg/CameraInfo.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Detected2DObjects.h"
#include "sim/msg/Image.h"

/* rgb8 to bgr8 or back: swaps the first and third byte. */
static void swap_plain(uint8_t *restrict to, const uint8_t *restrict from, size_t pixels)
{
	for (size_t i = 0; i < pixels; i++) {
		to[3 * i] = from[3 * i + 2];
		to[3 * i + 1] = from[3 * i + 1];
		to[3 * i + 2] = from[3 * i];
	}
}

#if defined(__x86_64__)
/* Five pixels per step; the next step overwrites the sixteenth byte that is stored. */
__attribute__((target("ssse3"))) static void swap_ssse3(uint8_t *restrict to, const uint8_t *restrict from,
							size_t pixels)
{
	const __m128i order = _mm_setr_epi8(2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 14, 13, 12, 15);

	for (; pixels >= 6; pixels -= 5, from += 15, to += 15) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)from);

		_mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(v, order));
	}
	swap_plain(to, from, pixels);
}
#endif

static void swap_channels(uint8_t *to, const uint8_t *from, size_t pixels)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("ssse3")) {
		swap_ssse3(to, from, pixels);
		return;
	}
#endif
	swap_plain(to, from, pixels);
}

static bool is_swap(const char *from, const char *to)
{
	return (!strcmp(from, "rgb8") && !strcmp(to, "bgr8")) || (!strcmp(from, "bgr8") && !strcmp(to, "rgb8"));
}

static void swapped_data(struct sim_enc *e, const struct sim_Image *m, const uint8_t *data, uint32_t n)
{
	uint8_t *to = e->ops->room(e, "data", SIM_KIND_UINT8, n, 0);

	if (!to)
		return;
	for (uint32_t row = 0; row < m->height; row++) {
		size_t at = (size_t)row * m->step, used = (size_t)m->width * 3;

		swap_channels(to + at, data + at, m->width);
		memset(to + at + used, 0, m->step - used);
	}
}

/* 32-bit object ids to 16 bits: negative values become 0, larger ones 65535. */
static void narrowed_data(struct sim_enc *e, const struct sim_Image *m, const uint8_t *data)
{
	uint8_t *to = e->ops->room(e, "data", SIM_KIND_UINT8, 2 * m->width * m->height, 0);

	for (uint32_t row = 0; to && row < m->height; row++, data += m->step) {
		for (uint32_t i = 0; i < m->width; i++, to += 2) {
			uint16_t small;
			int32_t v;

			memcpy(&v, data + 4 * (size_t)i, sizeof(v));
			small = v < 0 ? 0 : v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
			memcpy(to, &small, sizeof(small));
		}
	}
}

/* Conversion of the pixels. */
enum pixels { AS_THEY_ARE, SWAPPED, NARROWED, NO_WAY };

/* *want: the rig's encoding; by default that of the image, or mono16 for 32SC1, which viewers do not support. */
static enum pixels pixels_of(const struct sim_Image *m, const char *encoding, const char **want)
{
	bool numbers = !strcmp(encoding, "32SC1") && !m->is_bigendian;

	if (!*want)
		*want = numbers && m->width <= m->step / 4 ? "mono16" : encoding;
	if (!strcmp(*want, encoding))
		return AS_THEY_ARE;
	if (numbers && m->width <= m->step / 4 && !strcmp(*want, "mono16"))
		return NARROWED;
	return is_swap(encoding, *want) && (uint64_t)m->width * 3 <= m->step ? SWAPPED : NO_WAY;
}

MAP(Image, sensor_msgs, Image)
{
	const char *encoding = sim_Image_encoding(m, in->size), *want = in->options->encoding;
	uint32_t n = 0;
	const uint8_t *data = sim_Image_data(m, in->size, &n);
	struct sim_Image head = *m; /* read once: a peer may still change it */
	enum pixels how = pixels_of(&head, encoding, &want);

	if ((uint64_t)head.step * head.height != n)
		return -EBADMSG;
	if (how == NO_WAY)
		return -ENOTSUP;
	map_header(e, in);
	sim_enc_u32(e, "height", head.height);
	sim_enc_u32(e, "width", head.width);
	if (how == AS_THEY_ARE)
		map_text(e, "encoding", in, encoding);
	else
		sim_enc_text(e, "encoding", want);
	sim_enc_u8(e, "is_bigendian", head.is_bigendian != 0);
	sim_enc_u32(e, "step", how == NARROWED ? 2 * head.width : head.step);
	if (how == SWAPPED)
		swapped_data(e, &head, data, n);
	else if (how == NARROWED)
		narrowed_data(e, &head, data);
	else
		sim_enc_array(e, "data", SIM_KIND_UINT8, data, n);
	return 0;
}

MAP(CompressedImage, sensor_msgs, CompressedImage)
{
	uint32_t n;
	const uint8_t *data = sim_CompressedImage_data(m, in->size, &n);

	map_header(e, in);
	map_text(e, "format", in, sim_CompressedImage_format(m, in->size));
	sim_enc_array(e, "data", SIM_KIND_UINT8, data, n);
	return 0;
}

MAP(CameraInfo, sensor_msgs, CameraInfo)
{
	uint32_t n;
	const double *d = sim_CameraInfo_d(m, in->size, &n);
	bool turned = in->options->compat == MAP_COMPAT_SVL_ROS2; /* SVL had the width before the height */

	map_header(e, in);
	sim_enc_u32(e, "height", turned ? m->width : m->height);
	sim_enc_u32(e, "width", turned ? m->height : m->width);
	map_text(e, "distortion_model", in, sim_CameraInfo_distortion_model(m, in->size));
	sim_enc_array(e, "d", SIM_KIND_FLOAT64, d, n);
	sim_enc_f64s(e, "k", m->k, 9);
	sim_enc_f64s(e, "r", m->r, 9);
	sim_enc_f64s(e, "p", m->p, 12);
	sim_enc_u32(e, "binning_x", m->binning_x);
	sim_enc_u32(e, "binning_y", m->binning_y);
	sim_enc_begin(e, "roi"); /* all zero: the whole image */
	sim_enc_u32(e, "x_offset", 0);
	sim_enc_u32(e, "y_offset", 0);
	sim_enc_u32(e, "height", 0);
	sim_enc_u32(e, "width", 0);
	sim_enc_bool(e, "do_rectify", 0);
	sim_enc_end(e);
	return 0;
}

static void detection(struct sim_enc *e, const struct map_message *in, const struct sim_Detected2DObject *o)
{
	sim_enc_begin(e, NULL);
	map_header(e, in);
	sim_enc_u32(e, "id", o->id);
	map_text(e, "label", in, sim_Detected2DObject_label_in(in->body, in->size, o));
	sim_enc_f32(e, "score", o->score);
	sim_enc_begin(e, "bbox");
	sim_enc_f32(e, "x", o->center_x);
	sim_enc_f32(e, "y", o->center_y);
	sim_enc_f32(e, "width", o->width);
	sim_enc_f32(e, "height", o->height);
	sim_enc_end(e);
	map_twist(e, "velocity", &o->linear_velocity, &o->angular_velocity);
	sim_enc_end(e);
}

MAP(Detected2DObjects, lgsvl_msgs, Detection2DArray)
{
	uint32_t n;
	const struct sim_Detected2DObject *o = sim_Detected2DObjects_objects(m, in->size, &n);

	MAP_HEADED_LIST("detections", o, n, detection);
	return 0;
}
