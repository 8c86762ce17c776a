/* SPDX-License-Identifier: Apache-2.0 */
/* A PNG in a file: written completely, or the earlier file is kept. */
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <png.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "picture.h"

static const uint8_t RGBA[2][3][4] = { { { 255, 0, 0, 9 }, { 0, 255, 0, 9 }, { 0, 0, 255, 9 } },
				       { { 1, 2, 3, 0 }, { 4, 5, 6, 0 }, { 7, 8, 9, 0 } } };
static char dir[TEST_PATH_MAX], why[300];

static const char *path(void)
{
	static char p[TEST_PATH_MAX + 8];

	test_path(dir, "pictures");
	(void)mkdir(dir, 0700);
	snprintf(p, sizeof(p), "%s/a.png", dir);
	return p;
}

static unsigned files(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

TEST(the_file_has_the_pixels_of_the_picture)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	uint8_t back[2][3][3];
	struct stat st;

	umask(027);
	assert_int_equal(picture_write(path(), RGBA[0][0], 3, 2, sizeof(RGBA[0]), why, sizeof(why)), 0);
	assert_int_equal(stat(path(), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_true(png_image_begin_read_from_file(&image, path()));
	assert_true(image.width == 3 && image.height == 2 && image.format == PNG_FORMAT_RGB);
	assert_true(png_image_finish_read(&image, NULL, back, 0, NULL));
	for (unsigned y = 0; y < 2; y++)
		for (unsigned x = 0; x < 3; x++)
			assert_memory_equal(back[y][x], RGBA[y][x], 3);
	assert_int_equal(files(), 1);
}

TEST(another_picture_replaces_the_file)
{
	FILE *f = fopen(path(), "w");

	fputs("was here", f);
	fclose(f);
	assert_int_equal(picture_write(path(), RGBA[0][0], 3, 2, sizeof(RGBA[0]), why, sizeof(why)), 0);
	f = fopen(path(), "r");
	assert_int_equal(fgetc(f), 0x89);
	fclose(f);
}

TEST(a_failed_write_leaves_no_file)
{
	(void)path();
	assert_int_equal(picture_write("/nowhere/at/all.png", RGBA[0][0], 3, 2, sizeof(RGBA[0]), why, sizeof(why)),
			 -ENOENT);
	assert_non_null(strstr(why, "/nowhere/at/all.png: No such file"));
	assert_int_equal(picture_write(dir, RGBA[0][0], 3, 2, sizeof(RGBA[0]), why, sizeof(why)), -EISDIR);
	assert_true(files() <= 1);
}

/* A full disk, as far as a process can have one of its own. */
TEST(a_full_disk_keeps_the_old_file)
{
	struct rlimit was;
	FILE *f = fopen(path(), "w");

	fputs("was here", f);
	fclose(f);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 10, was.rlim_max }), 0);
	assert_int_equal(picture_write(path(), RGBA[0][0], 3, 2, sizeof(RGBA[0]), why, sizeof(why)), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_non_null(strstr(why, "a.png: File too large"));
	assert_int_equal(files(), 1);
	f = fopen(path(), "r");
	assert_int_equal(fgetc(f), 'w');
	fclose(f);
}
