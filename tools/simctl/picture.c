/* SPDX-License-Identifier: Apache-2.0 */
/* See picture.h: images, colours, PNG. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "picture_private.h"

#define SIDE_MAX 65535u

/* ---- common ---- */

int picture_room(uint32_t width, uint32_t height, unsigned channels, unsigned bits, char why[PICTURE_WHY],
		 struct picture *ret)
{
	*ret = (struct picture){ .width = width, .height = height, .channels = channels, .bits = bits };
	ret->data = calloc((size_t)width * height, (size_t)channels * bits / 8);
	if (ret->data)
		return 0;
	snprintf(why, PICTURE_WHY, "out of memory");
	return -ENOMEM;
}

void picture_finish(struct picture *p)
{
	free(p->data);
	p->data = NULL;
}

void picture_colour(double part, uint8_t ret[3])
{
	static const double stops[][3] = { { 128, 0, 0 },   { 255, 32, 0 },  { 255, 224, 0 }, { 64, 255, 64 },
					   { 0, 192, 255 }, { 32, 32, 255 }, { 24, 0, 96 } };
	const unsigned last = sizeof(stops) / sizeof(stops[0]) - 1;
	double at = part < 0 ? 0 : part > 1 ? last : part * last, below = floor(at), rest = at - below;
	unsigned i = isnan(part) ? 0 : (unsigned)below;

	for (int c = 0; c < 3; c++) {
		double next = stops[i < last ? i + 1 : i][c];

		ret[c] = isnan(part) ? 0 : (uint8_t)lround(stops[i][c] + (next - stops[i][c]) * rest);
	}
}

/* ---- encodings ---- */

enum how { HOW_COPY, HOW_SWAP, HOW_GREY16, HOW_DEPTH16, HOW_DEPTH32, HOW_BAYER };

static const struct encoding {
	const char *name;
	enum how how;
	unsigned bytes, channels; /* bytes per pixel; the picture's channels */
	unsigned red, blue;       /* Bayer: index of red and blue within a block of 2 x 2 */
} encodings[] = {
	{ "rgb8", HOW_COPY, 3, 3, 0, 0 },         { "bgr8", HOW_SWAP, 3, 3, 0, 0 },
	{ "rgba8", HOW_COPY, 4, 4, 0, 0 },        { "bgra8", HOW_SWAP, 4, 4, 0, 0 },
	{ "mono8", HOW_COPY, 1, 1, 0, 0 },        { "8UC1", HOW_COPY, 1, 1, 0, 0 },
	{ "8UC3", HOW_SWAP, 3, 3, 0, 0 },         { "8UC4", HOW_SWAP, 4, 4, 0, 0 },
	{ "mono16", HOW_GREY16, 2, 1, 0, 0 },     { "16UC1", HOW_DEPTH16, 2, 3, 0, 0 },
	{ "32FC1", HOW_DEPTH32, 4, 3, 0, 0 },     { "bayer_rggb8", HOW_BAYER, 1, 3, 0, 3 },
	{ "bayer_bggr8", HOW_BAYER, 1, 3, 3, 0 }, { "bayer_gbrg8", HOW_BAYER, 1, 3, 2, 1 },
	{ "bayer_grbg8", HOW_BAYER, 1, 3, 1, 2 },
};

struct source {
	const struct sim_Image *m;
	const uint8_t *data;
	const struct encoding *e;
};

static const uint8_t *pixel(const struct source *s, uint32_t x, uint32_t y)
{
	return s->data + (size_t)y * s->m->step + (size_t)x * s->e->bytes;
}

static uint16_t get_u16(const struct source *s, const uint8_t *at)
{
	return (uint16_t)(s->m->is_bigendian ? at[0] << 8 | at[1] : at[1] << 8 | at[0]);
}

/* NaN: not finite, or not measured (0 in 16 bits). */
static double number(const struct source *s, uint32_t x, uint32_t y)
{
	const uint8_t *at = pixel(s, x, y);
	uint8_t turned[4];
	float v;

	if (s->e->how == HOW_DEPTH16) {
		uint16_t mm = get_u16(s, at);

		return mm ? mm / 1e3 : NAN;
	}
	for (int i = 0; i < 4; i++)
		turned[i] = at[s->m->is_bigendian ? 3 - i : i];
	memcpy(&v, turned, sizeof(v));
	return isfinite(v) ? (double)v : NAN;
}

/* ---- into a picture ---- */

static void copy_row(const struct source *s, uint32_t y, uint8_t *to)
{
	const unsigned n = s->e->bytes;
	const uint8_t *from = pixel(s, 0, y);

	memcpy(to, from, (size_t)s->m->width * n);
	for (uint32_t x = 0; s->e->how == HOW_SWAP && x < s->m->width; x++) {
		to[(size_t)x * n] = from[(size_t)x * n + 2];
		to[(size_t)x * n + 2] = from[(size_t)x * n];
	}
}

static void grey_row(const struct source *s, uint32_t y, uint8_t *to)
{
	for (uint32_t x = 0; x < s->m->width; x++) {
		uint16_t v = get_u16(s, pixel(s, x, y));

		to[2 * (size_t)x] = (uint8_t)(v >> 8);
		to[2 * (size_t)x + 1] = (uint8_t)v;
	}
}

/* Each pixel gets the colours of its block of 2 x 2: half the resolution, but no interpolated colours. */
static void bayer_row(const struct source *s, uint32_t y, uint8_t *to)
{
	const uint32_t top = y & ~1u, down = top + 1 < s->m->height ? top + 1 : top;

	for (uint32_t x = 0; x < s->m->width; x++) {
		const uint32_t left = x & ~1u, right = left + 1 < s->m->width ? left + 1 : left;
		const uint8_t four[4] = { *pixel(s, left, top), *pixel(s, right, top), *pixel(s, left, down),
					  *pixel(s, right, down) };
		unsigned green = 0;

		for (unsigned i = 0; i < 4; i++)
			green += i != s->e->red && i != s->e->blue ? four[i] : 0;
		to[3 * (size_t)x] = four[s->e->red];
		to[3 * (size_t)x + 1] = (uint8_t)(green / 2);
		to[3 * (size_t)x + 2] = four[s->e->blue];
	}
}

static void find_range(const struct source *s, struct picture *p)
{
	p->least = INFINITY;
	p->most = -INFINITY;
	for (uint32_t y = 0; y < s->m->height; y++)
		for (uint32_t x = 0; x < s->m->width; x++) {
			double v = number(s, x, y);

			p->least = v < p->least ? v : p->least;
			p->most = v > p->most ? v : p->most;
		}
	p->coloured = p->least <= p->most;
}

static void depth_row(const struct source *s, const struct picture *p, uint32_t y, uint8_t *to)
{
	const double span = p->most - p->least;

	for (uint32_t x = 0; x < s->m->width; x++) {
		double v = number(s, x, y);

		picture_colour(span > 0 ? (v - p->least) / span : v - p->least, to + 3 * (size_t)x);
	}
}

static void convert(const struct source *s, struct picture *p)
{
	const size_t row = (size_t)p->width * p->channels * p->bits / 8;

	if (s->e->how == HOW_DEPTH16 || s->e->how == HOW_DEPTH32)
		find_range(s, p);
	for (uint32_t y = 0; y < p->height; y++) {
		uint8_t *to = p->data + y * row;

		if (s->e->how == HOW_COPY || s->e->how == HOW_SWAP)
			copy_row(s, y, to);
		else if (s->e->how == HOW_GREY16)
			grey_row(s, y, to);
		else if (s->e->how == HOW_BAYER)
			bayer_row(s, y, to);
		else
			depth_row(s, p, y, to);
	}
}

static const struct encoding *encoding_of(const char *name)
{
	for (unsigned i = 0; name && i < sizeof(encodings) / sizeof(encodings[0]); i++)
		if (!strcmp(name, encodings[i].name))
			return &encodings[i];
	return NULL;
}

int picture_of_image(const struct sim_Image *m, size_t size, char why[PICTURE_WHY], struct picture *ret)
{
	const char *name = sim_Image_encoding(m, size);
	struct source s = { .m = m, .e = encoding_of(name) };
	uint32_t n = 0;
	int r;

	*ret = (struct picture){ .data = NULL };
	s.data = sim_Image_data(m, size, &n);
	if (!s.e)
		return snprintf(why, PICTURE_WHY, "its encoding \"%.40s\" is not known", name ? name : ""), -EINVAL;
	if (!m->width || !m->height || m->width > SIDE_MAX || m->height > SIDE_MAX)
		return snprintf(why, PICTURE_WHY, "it is %u x %u", m->width, m->height), -EINVAL;
	if (m->step < (uint64_t)m->width * s.e->bytes || (uint64_t)m->step * m->height > n)
		return snprintf(why, PICTURE_WHY, "%u rows of %u pixels need %llu bytes of %u a row, and it has %u",
				m->height, m->width, (unsigned long long)m->step * m->height, m->step, n),
		       -EINVAL;
	r = picture_room(m->width, m->height, s.e->channels, s.e->how == HOW_GREY16 ? 16 : 8, why, ret);
	if (r == 0)
		convert(&s, ret);
	return r;
}

/* ---- PNG ---- */

/* libpng's error callback: must not return. */
static void on_error(png_structp png, png_const_charp message)
{
	(void)message;
	longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
	(void)png;
	(void)message;
}

static int colour_type(unsigned channels)
{
	return channels == 1 ? PNG_COLOR_TYPE_GRAY : channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA;
}

int picture_write_png(const struct picture *p, FILE *to)
{
	const size_t row = (size_t)p->width * p->channels * p->bits / 8;
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (!info || setjmp(png_jmpbuf(png))) {
		png_destroy_write_struct(&png, &info);
		return -EIO;
	}
	png_init_io(png, to);
	png_set_compression_level(png, 3);
	png_set_IHDR(png, info, p->width, p->height, (int)p->bits, colour_type(p->channels), PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (uint32_t y = 0; y < p->height; y++)
		png_write_row(png, p->data + y * row);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return ferror(to) ? -EIO : 0;
}
