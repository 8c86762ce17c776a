/* SPDX-License-Identifier: Apache-2.0 */
/* Files of logs: read at given offsets, appended to. Thread: as log.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log_private.h"

#define RESERVE_STEP ((uint64_t)8 << 20) /* reserved at a time, as a system call for each message would be expensive */

int log_fail(char *why, size_t why_size, int r, const char *fmt, ...)
{
	va_list ap;

	if (!why || !why_size)
		return r;
	va_start(ap, fmt);
	vsnprintf(why, why_size, fmt, ap);
	va_end(ap);
	return r;
}

ssize_t log_pread(int fd, uint64_t at, void *buf, size_t n)
{
	size_t got = 0;

	if (at > INT64_MAX)
		return 0;
	while (got < n) {
		ssize_t k = pread(fd, (char *)buf + got, n - got, (off_t)(at + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (!k)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

/* Removes `done` bytes from the front; returns the index of the first remaining piece. */
static int advance(struct iovec *iov, int n, size_t done)
{
	int i = 0;

	for (; i < n && done >= iov[i].iov_len; i++)
		done -= iov[i].iov_len;
	if (i < n) {
		iov[i].iov_base = (char *)iov[i].iov_base + done;
		iov[i].iov_len -= done;
	}
	return i;
}

/* Writes one batch at an offset; modifies iov. */
static int write_all(int fd, uint64_t at, struct iovec *iov, int n)
{
	int i = advance(iov, n, 0);

	while (i < n) {
		ssize_t k = pwritev(fd, iov + i, n - i, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? -errno : -EIO;
		at += (uint64_t)k;
		i += advance(iov + i, n - i, (size_t)k);
	}
	return 0;
}

int log_out_put(struct log_out *o, const struct iovec *pieces, int n)
{
	struct iovec iov[64];
	uint64_t at = o->size;

	for (int i = 0; i < n;) {
		uint64_t bytes = 0;
		int k = 0, r;

		for (; k < 64 && i < n; k++, i++) {
			iov[k] = pieces[i];
			bytes += iov[k].iov_len;
		}
		r = write_all(o->fd, at, iov, k);
		if (r < 0) { /* undo a partly written message, which would be damage */
			if (ftruncate(o->fd, (off_t)o->size) < 0)
				return -errno;
			o->reserved = o->size;
			return r;
		}
		at += bytes;
	}
	o->size = at;
	return 0;
}

int log_out_bytes(struct log_out *o, const void *data, size_t n)
{
	return log_out_put(o, &(struct iovec){ .iov_base = (void *)data, .iov_len = n }, 1);
}

int log_out_patch(struct log_out *o, uint64_t at, const void *data, size_t n)
{
	return write_all(o->fd, at, &(struct iovec){ .iov_base = (void *)data, .iov_len = n }, 1);
}

static int reserve_to(struct log_out *o, uint64_t end)
{
	uint64_t from = o->reserved > o->size ? o->reserved : o->size;

	while (!o->no_reserve && fallocate(o->fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(end - from)) < 0) {
		if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
			return -errno;
		o->no_reserve = errno != EINTR;
	}
	o->reserved = end;
	return 0;
}

/* Not every file system refuses to reserve above its limit. */
static uint64_t size_limit(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur < INT64_MAX ? l.rlim_cur : INT64_MAX;
}

int log_out_reserve(struct log_out *o, uint64_t n)
{
	uint64_t end = o->size + n, limit;

	if (n <= INT64_MAX && end <= o->reserved)
		return 0;
	limit = size_limit();
	if (n > INT64_MAX || end > limit)
		return -EFBIG;
	if (!reserve_to(o, limit - end > RESERVE_STEP ? end + RESERVE_STEP : limit))
		return 0;
	return reserve_to(o, end); /* the disk is nearly full: reserve no more than needed */
}

int log_out_sync(struct log_out *o)
{
	int r = 0;

	if (o->reserved > o->size && ftruncate(o->fd, (off_t)o->size) < 0)
		r = -errno;
	return fdatasync(o->fd) < 0 ? -errno : r;
}
