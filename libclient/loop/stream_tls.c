/* SPDX-License-Identifier: Apache-2.0 */
/* stream_tls.h */
#include "stream_tls.h"

#include <errno.h>
#include <sys/socket.h>

#include "err.h"
#include "mem.h"
#include "stream_private.h"

#define CIPHER_MAX 16640u /* bytes per read: one record */

struct filter {
	struct stream_filter f; /* first */
	struct tls *t;
	bool unread; /* unread bytes in cipher, or in OpenSSL */
	uint8_t cipher[CIPHER_MAX];
};

/* Returns false, with errno, if the socket has not taken all. */
static bool flush(struct filter *f, int fd)
{
	const void *data;
	size_t len;

	while ((len = tls_output(f->t, &data))) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return false;
		tls_sent(f->t, (size_t)n);
	}
	return true;
}

static ssize_t filter_recv(struct stream_filter *base, int fd, void *to, size_t size)
{
	struct filter *f = (struct filter *)base;
	ssize_t n;

	if (!f->unread) {
		n = recv(fd, f->cipher, sizeof(f->cipher), MSG_DONTWAIT);
		if (n <= 0)
			return n;
		tls_input(f->t, f->cipher, (size_t)n);
	}
	n = tls_read(f->t, to, size);
	f->unread = n > 0;
	(void)flush(f, fd); /* a broken socket fails in the read below, too */
	errno = n < 0 ? EPROTO : EAGAIN;
	return n > 0 ? n : n == -EPIPE ? 0 : -1;
}

static ssize_t filter_send(struct stream_filter *base, int fd, const struct iovec *iov, unsigned n)
{
	struct filter *f = (struct filter *)base;
	ssize_t taken = 0;

	if (!flush(f, fd))
		return -1;
	for (unsigned i = 0; i < n; i++) {
		ssize_t r = tls_write(f->t, iov[i].iov_base, iov[i].iov_len);

		if (r < 0) {
			errno = (int)-r;
			return -1;
		}
		taken += r;
		if ((size_t)r < iov[i].iov_len)
			break;
	}
	return flush(f, fd) || errno == EAGAIN || errno == EINTR ? taken : -1;
}

static unsigned filter_has(const struct stream_filter *base)
{
	const struct filter *f = (const struct filter *)base;
	const void *data;

	return (tls_state(f->t) == TLS_OPEN ? FILTER_OPEN : 0u) | (f->unread ? FILTER_UNREAD : 0u) |
	       (tls_output(f->t, &data) ? FILTER_UNSENT : 0u);
}

static void filter_close(struct stream_filter *base, int fd)
{
	struct filter *f = (struct filter *)base;

	tls_close(f->t);
	(void)flush(f, fd);
}

static void filter_destroy(struct stream_filter *base)
{
	struct filter *f = (struct filter *)base;

	tls_destroy(f->t);
	mem_free(f);
}

static const struct stream_filter_ops ops = { filter_recv, filter_send, filter_has, filter_close, filter_destroy };

int stream_tls(struct stream *s, enum tls_side side, const struct tls_options *o)
{
	struct filter *f = MEM_NEW(struct filter);
	int r;

	if (!f)
		return err_nomem();
	f->f.ops = &ops;
	r = tls_create(side, o, &f->t);
	if (r < 0)
		mem_free(f);
	else
		stream_put_filter(s, &f->f);
	return r;
}

bool stream_tls_peer(const struct stream *s, struct tls_peer *ret)
{
	const struct filter *f = (const struct filter *)stream_filter(s);

	return f && tls_peer(f->t, ret);
}
