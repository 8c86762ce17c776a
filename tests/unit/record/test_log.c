/* SPDX-License-Identifier: Apache-2.0 */
/* log.h: files that are no logs, and the limits of what is kept. Formats have tests of their own. */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/log.h"
#include "record/log_private.h"

static char why[512];

static const char *at(const char *name)
{
	static char path[TEST_PATH_MAX];

	return test_path(path, name);
}

static const char *file_of(const char *bytes, size_t n)
{
	FILE *f = fopen(at("file"), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
	return at("file");
}

static int open_bytes(const char *bytes, size_t n)
{
	struct log_reader *r;

	why[0] = '\0';
	return log_reader_open(file_of(bytes, n), NULL, &r, why, sizeof(why));
}

TEST(a_file_that_is_not_a_log_is_refused_with_an_error)
{
	struct log_reader *r;

	assert_int_equal(open_bytes("", 0), -EBADMSG);
	assert_non_null(strstr(why, "empty"));
	assert_int_equal(open_bytes("#!/bin/sh\n", 10), -EBADMSG);
	assert_non_null(strstr(why, "MCAP"));
	assert_int_equal(log_reader_open(at("none"), NULL, &r, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "No such file"));
	assert_int_equal(mkdir(at("folder"), 0755), 0);
	assert_int_equal(log_reader_open(at("folder"), NULL, &r, why, sizeof(why)), -EBADMSG);
	assert_non_null(strstr(why, "metadata.yaml"));
}

TEST(a_read_only_format_is_not_written)
{
	struct log_write_options o = { .format = LOG_DB3 };
	struct log_writer *w;

	assert_int_equal(log_writer_create(at("out"), &o, &w, why, sizeof(why)), -ENOTSUP);
	assert_non_null(strstr(why, "db3"));
	assert_int_equal(access(at("out"), F_OK), -1);
	o.format = (enum log_format)99;
	assert_int_equal(log_writer_create(at("out"), &o, &w, why, sizeof(why)), -ENOTSUP);
}

static void out_open(struct log_out *o)
{
	memset(o, 0, sizeof(*o));
	o->fd = open(at("out"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(o->fd >= 0);
}

TEST(any_number_of_pieces_is_written_in_order)
{
	struct iovec piece[150];
	uint8_t got[256];
	struct log_out o;

	out_open(&o);
	for (int i = 0; i < 150; i++)
		piece[i] = (struct iovec){ .iov_base = (char *)"0123456789" + i % 10, .iov_len = i % 3 ? 1 : 0 };
	assert_int_equal(log_out_put(&o, piece, 150), 0);
	assert_int_equal(o.size, 100);
	assert_int_equal(log_pread(o.fd, 0, got, sizeof(got)), 100);
	for (int i = 0, k = 0; i < 150; i++)
		if (i % 3)
			assert_int_equal(got[k++], '0' + i % 10);
	close(o.fd);
}

TEST(a_failed_write_leaves_the_file_unchanged)
{
	struct rlimit old, limit;
	struct log_out o;
	struct stat st;
	char *big = calloc(1, 100000);

	signal(SIGXFSZ, SIG_IGN);
	out_open(&o);
	assert_int_equal(log_out_bytes(&o, "before", 6), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 50000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(log_out_bytes(&o, big, 100000), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(fstat(o.fd, &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(o.size, 6);
	assert_int_equal(log_out_bytes(&o, "after", 5), 0);
	assert_int_equal(o.size, 11);
	close(o.fd);
	free(big);
}

TEST(unused_reserved_space_is_freed)
{
	struct log_out o;
	struct stat st;

	out_open(&o);
	assert_int_equal(log_out_reserve(&o, 100000), 0);
	assert_int_equal(log_out_bytes(&o, "few", 3), 0);
	assert_int_equal(log_out_sync(&o), 0);
	assert_int_equal(fstat(o.fd, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_true(st.st_blocks * 512 < 100000);
	close(o.fd);
}
