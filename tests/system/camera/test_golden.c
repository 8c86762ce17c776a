/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of the demo's town, compared with those in golden/, which a person has checked. After an intended change of
 * the rendering, write them again: GOLDEN=write tests/support/ns.sh build/test/system-camera-golden; look at them
 * before they go into the tree.
 */
#include "test.h"

#include <png.h>
#include <stdlib.h>
#include <sys/wait.h>

#define CAMERA  BIN "/sim-camera"
#define GOLDEN  "tests/system/camera/golden/"
#define PICTURE "/tmp/picture.png"
#define LENSES  "/tmp/lens.json"

/* Drivers differ in how they round, and at edges by a pixel. */
#define CHANNEL_FAR 32    /* of 255 */
#define FAR_MOST    0.015 /* of all pixels may differ by more than that in a channel */
#define MEAN_MOST   1.5   /* of 255, over all channels */

struct difference {
	double mean, far;
};

static uint8_t *read_picture(const char *path, png_image *ret)
{
	uint8_t *p;

	*ret = (png_image){ .version = PNG_IMAGE_VERSION };
	if (!png_image_begin_read_from_file(ret, path))
		fail_msg("%s: %s", path, ret->message);
	ret->format = PNG_FORMAT_RGB;
	p = malloc(PNG_IMAGE_SIZE(*ret));
	assert_non_null(p);
	if (!png_image_finish_read(ret, NULL, p, 0, NULL))
		fail_msg("%s: %s", path, ret->message);
	return p;
}

static struct difference compare(const char *path, const char *other)
{
	struct difference d = { 0 };
	png_image a, b;
	uint8_t *pa = read_picture(path, &a), *pb = read_picture(other, &b);
	size_t n;

	assert_true(a.width == b.width && a.height == b.height);
	n = (size_t)a.width * a.height;
	for (size_t i = 0; i < n; i++) {
		int most = 0;

		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			int by = abs(pa[k] - pb[k]);

			d.mean += by / (3.0 * (double)n);
			most = by > most ? by : most;
		}
		d.far += most > CHANNEL_FAR ? 1.0 / (double)n : 0;
	}
	free(pa);
	free(pb);
	return d;
}

static bool alike(struct difference d)
{
	return d.mean <= MEAN_MOST && d.far <= FAR_MOST;
}

/* Without simd: the town, its streets and the sky. Returns the exit status. */
static int take_picture(const char *at, const char *hour, const char *lenses)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		execl(CAMERA, CAMERA, "--net", "config/rigs/demo/town.net.xml", "--buildings",
		      "config/rigs/demo/town.buildings.json", "--day", "172", "--samples", "1", "--hour", hour, "--at",
		      at, "--png", PICTURE, "--cameras", lenses, NULL);
		_exit(127);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void write_lens(const char *camera)
{
	FILE *f = fopen(LENSES, "w");

	assert_non_null(f);
	fprintf(f, "{\"cameras\": [%s]}", camera);
	assert_int_equal(fclose(f), 0);
}

#define SIZE "\"channel\": \"camera\", \"width\": 200, \"height\": 150"

static const struct view {
	const char *name, *at, *hour, *camera;
} views[] = {
	{ "street", "440,98.95,180", "9.5", "{" SIZE ", \"hfov\": 90}" },
	{ "evening", "440,98.95,180", "20.2", "{" SIZE ", \"hfov\": 90}" },
	{ "corner", "395,226,150", "12", "{" SIZE ", \"hfov\": 70, \"pitch\": -5}" },
	{ "depth", "440,98.95,180", "9.5", "{" SIZE ", \"hfov\": 90, \"kind\": \"depth\"}" },
	{ "semantic", "440,98.95,180", "9.5", "{" SIZE ", \"hfov\": 90, \"kind\": \"semantic\"}" },
	{ "fisheye", "440,98.95,180", "9.5", "{" SIZE ", \"hfov\": 110, \"distortion_model\": \"equidistant\"}" },
};

static bool drawn(const struct view *v)
{
	int status;

	write_lens(v->camera);
	(void)unlink(PICTURE);
	status = take_picture(v->at, v->hour, LENSES);
	if (status == 78) /* no driver of Vulkan */
		return false;
	assert_int_equal(status, 0);
	return true;
}

TEST(pictures_match_the_golden_files)
{
	const char *write = getenv("GOLDEN");

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		struct difference d;
		char path[128];

		if (!drawn(&views[i]))
			skip();
		snprintf(path, sizeof(path), GOLDEN "%s.png", views[i].name);
		if (write && strcmp(write, "write") == 0) {
			char line[256];

			snprintf(line, sizeof(line), "cp " PICTURE " %s", path);
			assert_int_equal(system(line), 0);
		}
		d = compare(PICTURE, path);
		print_message("%s: mean %.3f, %.2f %% far\n", views[i].name, d.mean, 100 * d.far);
		if (!alike(d))
			fail_msg(
				"%s is not as it was: on average by %.2f of 255, and %.2f %% of its pixels by more than %d",
				path, d.mean, 100 * d.far, CHANNEL_FAR);
	}
}

/* The tolerance is not so wide that it says nothing. */
TEST(another_place_or_hour_is_another_picture)
{
	struct view aside = views[0], later = views[0];

	aside.at = "440,98.45,180";
	later.hour = "11.5";
	if (!drawn(&aside))
		skip();
	assert_false(alike(compare(PICTURE, GOLDEN "street.png")));
	assert_true(drawn(&later));
	assert_false(alike(compare(PICTURE, GOLDEN "street.png")));
}
