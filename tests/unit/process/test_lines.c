/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a child, line by line. Thread: one. */
#include "tests/support/test.h"

#include "fd.h"
#include "lines.h"

#include <fcntl.h>

static struct {
	char text[8192];
	unsigned n;
} got;

static void on_line(void *user, enum log_level level, const char *text, size_t len)
{
	size_t n = strlen(got.text);

	assert_ptr_equal(user, &got);
	got.n++;
	snprintf(got.text + n, sizeof(got.text) - n, "%d:%.*s|", (int)level, (int)len, text);
}

static void begin(int fds[2], struct lines *l)
{
	memset(&got, 0, sizeof(got));
	l->len = 0;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

TEST(lines_have_levels_and_may_come_in_parts)
{
	struct lines l;
	int fds[2];

	begin(fds, &l);
	put(fds[1], "one\n<3>tw");
	assert_true(lines_read(&l, fds[0], 4, on_line, &got));
	put(fds[1], "o\n\n<4>three\n<9>four\n<7>\n<7>five");
	assert_true(lines_read(&l, fds[0], 4, on_line, &got));
	close(fds[1]);
	assert_false(lines_read(&l, fds[0], 4, on_line, &got));
	lines_end(&l, on_line, &got);
	lines_end(&l, on_line, &got);
	assert_string_equal(got.text, "3:one|1:two|2:three|3:<9>four|4:five|");
	close(fds[0]);
}

TEST(a_long_line_is_split)
{
	char text[2 * LINES_MAX + 12];
	struct lines l;
	int fds[2];

	begin(fds, &l);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 2] = '\n';
	text[sizeof(text) - 1] = '\0';
	put(fds[1], text);
	assert_true(lines_read(&l, fds[0], 8, on_line, &got));
	assert_int_equal(got.n, 3);
	assert_string_equal(strrchr(got.text, ':'), ":xxxxxxxxxx|");
	close(fds[0]);
	close(fds[1]);
}

/* A process that writes without end does not keep the reader. */
TEST(the_number_of_reads_at_a_time_is_bounded)
{
	struct lines l;
	int fds[2];

	begin(fds, &l);
	for (int i = 0; i < 40; i++)
		put(fds[1], "0123456789012345678901234567890123456789012345678901234567890123456789\n");
	assert_true(lines_read(&l, fds[0], 1, on_line, &got));
	assert_int_equal(got.n, LINES_MAX / 71);
	close(fds[0]);
	close(fds[1]);
}
