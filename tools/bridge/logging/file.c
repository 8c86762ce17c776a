/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered gzip files: see file.h. */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX     ".txt.gz"
#define NUMBER_MAX 999999999u
#define TRIES      1000              /* further numbers to try when other writers hold the next ones */
#define ENOUGH     ((size_t)1 << 18) /* buffered bytes at which the buffer is written to the file */
#define SPARE_MAX  ((size_t)8 << 20) /* keep at most so many bytes of buffer */
#define GZIP       (15 + 16)         /* zlib: largest window, gzip's header and trailer */

/* ---- names ---- */

static void name_file(struct log_file *f, const char *stem, unsigned number)
{
	f->number = number;
	if (number > 1)
		snprintf(f->path, sizeof(f->path), "%s.%u" SUFFIX, stem, number);
	else
		snprintf(f->path, sizeof(f->path), "%s" SUFFIX, stem);
}

/* Number of a file, from the part of its name after the stem; 0: not a file of the stem. */
static unsigned number_of(const char *rest)
{
	unsigned long n = 0;
	const char *p = rest + 1;

	if (strcmp(rest, SUFFIX) == 0)
		return 1;
	if (*rest != '.' || *p < '1' || *p > '9')
		return 0;
	for (; *p >= '0' && *p <= '9' && n <= NUMBER_MAX; p++)
		n = n * 10 + (unsigned long)(*p - '0');
	return n > 1 && n < NUMBER_MAX && strcmp(p, SUFFIX) == 0 ? (unsigned)n : 0;
}

/* Finds the highest number of a file that is not empty, or not a regular file; 0: none. */
static int highest(const char *stem, unsigned *ret)
{
	const char *slash = strrchr(stem, '/'), *base = slash ? slash + 1 : stem;
	size_t len = strlen(base);
	char dir[STEM_MAX + 2];
	const struct dirent *e;
	struct stat st;
	DIR *d;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(base - stem) : 1, slash ? stem : ".");
	d = opendir(dir);
	if (!d)
		return -errno;
	*ret = 0;
	while ((e = readdir(d))) {
		unsigned n = strncmp(e->d_name, base, len) == 0 ? number_of(e->d_name + len) : 0;

		if (n > *ret && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (!S_ISREG(st.st_mode) || st.st_size > 0))
			*ret = n;
	}
	closedir(d);
	return 0;
}

/* Opens and locks the file; returns its descriptor. -EEXIST: another writer holds it, or it is not empty. */
static int take_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
	struct stat st;

	if (fd < 0)
		return -errno;
	/* where locks are unavailable other writers cannot be detected, but a file that is not empty can */
	if ((flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) || fstat(fd, &st) < 0 || st.st_size > 0) {
		close(fd);
		return -EEXIST;
	}
	return fd;
}

static int take_next(struct log_file *f, const char *stem)
{
	unsigned n;
	int fd;

	name_file(f, stem, 1);
	fd = highest(stem, &n);
	if (fd < 0)
		return fd;
	fd = -EEXIST;
	for (unsigned i = 1; i <= TRIES && fd == -EEXIST; i++) {
		name_file(f, stem, n + i);
		fd = take_file(f->path);
	}
	return fd;
}

/* ---- writing ---- */

static int make_room(struct log_file *f, size_t len)
{
	size_t cap = f->cap ? f->cap : 2 * ENOUGH;
	unsigned char *p;

	if (len <= f->cap - f->n)
		return 0;
	while (cap - f->n < len)
		cap *= 2;
	p = realloc(f->out, cap);
	if (!p)
		return -ENOMEM;
	f->out = p;
	f->cap = cap;
	return 0;
}

/* Compresses data; the caller has made room. */
static void pack(struct log_file *f, const char *data, size_t len, int how)
{
	f->z.next_in = (const unsigned char *)data;
	f->z.avail_in = (unsigned)len;
	f->z.next_out = f->out + f->n;
	f->z.avail_out = (unsigned)(f->cap - f->n);
	(void)deflate(&f->z, how);
	f->n = (size_t)(f->z.next_out - f->out);
}

static int end_member(struct log_file *f)
{
	if (!f->inside)
		return 0;
	if (make_room(f, ENOUGH) < 0) /* more than deflate keeps internally */
		return -ENOMEM;
	pack(f, NULL, 0, Z_FINISH);
	(void)deflateReset(&f->z);
	f->inside = false;
	return 0;
}

/* Writes all finished members or none. Negative errno: they are kept. */
static int put_members(struct log_file *f)
{
	size_t done = 0;

	while (done < f->n) {
		ssize_t n = write(f->fd, f->out + done, f->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = n < 0 ? -errno : -EIO;

			return done && ftruncate(f->fd, f->size) < 0 ? -EIO : r;
		}
		done += (size_t)n;
	}
	f->size += (off_t)f->n;
	f->n = 0;
	if (f->cap > SPARE_MAX) {
		free(f->out);
		f->out = NULL;
		f->cap = 0;
	}
	return 0;
}

static void drop_fd(struct log_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int log_file_flush(struct log_file *f)
{
	if (f->fd < 0 || (end_member(f) == 0 && put_members(f) == 0))
		return 0;
	drop_fd(f);
	return -EIO;
}

int log_file_write(struct log_file *f, const char *data, size_t len, bool packs)
{
	int want = packs ? Z_DEFAULT_STRATEGY : Z_HUFFMAN_ONLY;

	if (f->fd < 0)
		return -ENOTCONN;
	if (want != f->strategy && end_member(f) < 0)
		return -ENOMEM;
	if (make_room(f, deflateBound(&f->z, len) + ENOUGH) < 0) /* and for what deflate keeps internally */
		return -ENOMEM;
	if (want != f->strategy && deflateParams(&f->z, f->level, want) == Z_OK)
		f->strategy = want;
	pack(f, data, len, Z_NO_FLUSH);
	f->inside = true;
	return f->n < ENOUGH ? 0 : log_file_flush(f);
}

/* ---- open and close ---- */

int log_file_init(struct log_file *f, int level)
{
	*f = (struct log_file){ .fd = -1, .level = level, .strategy = Z_DEFAULT_STRATEGY };
	return deflateInit2(&f->z, level, Z_DEFLATED, GZIP, 8, f->strategy) == Z_OK ? 0 : -ENOMEM;
}

int log_file_open(struct log_file *f, const char *stem)
{
	int r;

	f->fd = take_next(f, stem);
	if (f->fd < 0) {
		r = f->fd;
		f->fd = -1;
		return r;
	}
	f->size = 0;
	r = put_members(f);
	if (r < 0)
		drop_fd(f);
	return r;
}

int log_file_close(struct log_file *f)
{
	int r = log_file_flush(f);

	drop_fd(f);
	return r;
}

size_t log_file_finish(struct log_file *f)
{
	size_t lost;

	(void)log_file_close(f);
	lost = f->n;
	(void)deflateEnd(&f->z);
	free(f->out);
	f->out = NULL;
	return lost;
}
