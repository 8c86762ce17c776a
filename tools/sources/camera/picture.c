/* SPDX-License-Identifier: Apache-2.0 */
/* See picture.h. */
#include "picture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "mem.h"

#define NAMES 16u /* of temporary files that are tried */

static int fail(int e, const char *path, const char *text, char *why, size_t cap)
{
	snprintf(why, cap, "%s: %s", path, text);
	return -e;
}

/* libpng's simplified API needs rows of RGB without padding. */
static int write_png(FILE *f, const uint8_t *rgb, uint32_t width, uint32_t height, const char *path, char *why,
		     size_t cap)
{
	png_image image = { .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGB };
	int e;

	errno = 0;
	if (png_image_write_to_stdio(&image, f, 0, rgb, (png_int_32)(3 * width), NULL) && fflush(f) == 0 &&
	    fsync(fileno(f)) == 0)
		return 0;
	e = errno ? errno : EIO;
	png_image_free(&image);
	return fail(e, path, errno ? strerror(e) : image.message, why, cap);
}

static uint8_t *without_alpha(const uint8_t *rgba, uint32_t width, uint32_t height, size_t pitch)
{
	uint8_t *rgb = mem_calloc((size_t)width * height, 3), *to = rgb;

	for (uint32_t y = 0; rgb && y < height; y++)
		for (uint32_t x = 0; x < width; x++, to += 3)
			memcpy(to, rgba + y * pitch + (size_t)x * 4, 3);
	return rgb;
}

/* Creates a temporary file in the same directory, with a unique name and the usual mode. */
static FILE *open_beside(const char *path, char *ret, size_t cap)
{
	int fd = -1;
	FILE *f;

	for (unsigned tries = 0; fd < 0 && tries < NAMES; tries++) {
		uint64_t name;
		int n;

		if (getrandom(&name, sizeof(name), GRND_NONBLOCK) != sizeof(name))
			name = (uint64_t)getpid() << 32 | tries;
		n = snprintf(ret, cap, "%s.%016llx", path, (unsigned long long)name);
		if (n < 0 || (size_t)n >= cap) {
			errno = ENAMETOOLONG;
			return NULL;
		}
		fd = open(ret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			return NULL;
	}
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "wb");
	if (!f) {
		close(fd);
		unlink(ret);
	}
	return f;
}

int picture_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height, size_t pitch, char *why,
		  size_t cap)
{
	char beside[PATH_MAX];
	uint8_t *rgb = without_alpha(rgba, width, height, pitch);
	FILE *f = rgb ? open_beside(path, beside, sizeof(beside)) : NULL;
	int r;

	if (!f) {
		r = rgb ? errno : ENOMEM;
		mem_free(rgb);
		return fail(r, path, strerror(r), why, cap);
	}
	r = write_png(f, rgb, width, height, path, why, cap);
	if (fclose(f) != 0 && r == 0)
		r = fail(errno, path, strerror(errno), why, cap);
	if (r == 0 && rename(beside, path) < 0)
		r = fail(errno, path, strerror(errno), why, cap);
	if (r < 0)
		unlink(beside);
	mem_free(rgb);
	return r;
}
