/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG on a thread of its own. */
#include "support/test.h"

#include <errno.h>
#include <turbojpeg.h>

#include <sim/introspect.h>
#include <sim/msg/CompressedImage.h>

#include "encode.h"

#define WIDTH  64u
#define HEIGHT 48u
#define PITCH  (WIDTH * 4 + 32)

static uint8_t pixels[HEIGHT][PITCH];
static struct encoder *e;

static int make(void **state)
{
	(void)state;
	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++)
			memcpy(&pixels[y][4 * x], (uint8_t[]){ (uint8_t)(4 * x), (uint8_t)(5 * y), 128, 255 }, 4);
	return encoder_create(95, &e);
}

static int end(void **state)
{
	(void)state;
	encoder_destroy(e);
	return 0;
}

static struct encode_job job(void)
{
	size_t cap = encode_body_size(WIDTH, HEIGHT);
	void *body = NULL;

	assert_int_equal(posix_memalign(&body, 64, cap), 0);
	return (struct encode_job){
		.rgba = pixels[0], .width = WIDTH, .height = HEIGHT, .pitch = PITCH, .body = body, .cap = cap
	};
}

static void has_the_pixels(const struct encode_job *j)
{
	const struct sim_CompressedImage *m = sim_CompressedImage_from(j->body, j->size);
	tjhandle t = tjInitDecompress();
	uint8_t back[HEIGHT][WIDTH][4];
	const uint8_t *data;
	uint32_t n;
	int w, h, sub, space;

	assert_int_equal(sim_msg_check(&sim_CompressedImage_type, j->body, j->size), 0);
	assert_string_equal(sim_CompressedImage_format(m, j->size), "jpeg");
	assert_int_equal(m->width, WIDTH);
	assert_int_equal(m->height, HEIGHT);
	data = sim_CompressedImage_data(m, j->size, &n);
	assert_int_equal(tjDecompressHeader3(t, data, n, &w, &h, &sub, &space), 0);
	assert_true(w == WIDTH && h == HEIGHT);
	assert_int_equal(tjDecompress2(t, data, n, back[0][0], w, 0, h, TJPF_RGBA, 0), 0);
	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++)
			for (unsigned c = 0; c < 3; c++)
				assert_in_range(back[y][x][c] + 16 - pixels[y][4 * x + c], 0, 32);
	(void)tjDestroy(t);
}

TEST_WITH(a_decoded_jpeg_equals_the_image, make, end)
{
	struct encode_job j = job(), back;
	int mine;

	j.user = &mine;
	assert_false(encoder_take(e, true, &back));
	assert_int_equal(encoder_put(e, &j), 0);
	AWAIT(encoder_take(e, false, &back));
	assert_int_equal(back.result, 0);
	assert_ptr_equal(back.user, &mine);
	assert_true(back.size < back.cap / 2);
	has_the_pixels(&back);
	assert_false(encoder_take(e, false, &back));
	free(j.body);
}

TEST_WITH(jobs_return_in_order_and_are_bounded, make, end)
{
	struct encode_job j[ENCODE_IN_FLIGHT + 1], back;

	for (unsigned i = 0; i <= ENCODE_IN_FLIGHT; i++) {
		j[i] = job();
		j[i].user = &j[i];
		assert_int_equal(encoder_put(e, &j[i]), i < ENCODE_IN_FLIGHT ? 0 : -EAGAIN);
	}
	for (unsigned i = 0; i < ENCODE_IN_FLIGHT; i++) {
		assert_true(encoder_take(e, true, &back));
		assert_ptr_equal(back.user, &j[i]);
		has_the_pixels(&back);
	}
	assert_false(encoder_take(e, true, &back));
	for (unsigned i = 0; i <= ENCODE_IN_FLIGHT; i++)
		free(j[i].body);
}

TEST_WITH(invalid_jobs_are_refused, make, end)
{
	struct encode_job j = job(), big = j;
	struct encoder *none;

	j.cap--;
	assert_int_equal(encoder_put(e, &j), -EMSGSIZE);
	j.cap++;
	j.pitch = (size_t)j.width * 4 - 1;
	assert_int_equal(encoder_put(e, &j), -EINVAL);
	big.width = UINT16_MAX + 1;
	assert_int_equal(encoder_put(e, &big), -EMSGSIZE);
	assert_int_equal(encode_body_size(0, 1), 0);
	assert_int_equal(encoder_create(0, &none), -EINVAL);
	assert_int_equal(encoder_create(101, &none), -EINVAL);
	free(j.body);
}

TEST_WITH(pending_jobs_are_finished_before_the_end, make, NULL)
{
	struct encode_job j = job();

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(encoder_put(e, &j), 0);
	encoder_destroy(e);
	j.size = sim_msg_size(&sim_CompressedImage_type, j.body, j.cap);
	has_the_pixels(&j);
	free(j.body);
}
