/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that outlive this process. See keep.h. */
#include "keep.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "err.h"
#include "number.h"

#define MESSAGES 1024 /* more than fit into a socket's buffer */
/* bytes of each message: the number of messages follows from the bytes that wait */
#define SIZE sizeof(((struct keep_set *)0)->word)

static bool is_packet_socket(int fd)
{
	int type, domain;
	socklen_t len = sizeof(type), domain_len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) == 0 && domain == AF_UNIX;
}

bool keep_open(struct keep *k)
{
	const char *text = getenv("SIMD_KEEP");
	uint64_t in, out;

	*k = (struct keep){ .in = -1, .out = -1 };
	if (!text || number_take_u64(&text, NUMBER_DEC, INT_MAX, &in) < 0 || *text != ',' ||
	    number_u64(text + 1, NUMBER_DEC, INT_MAX, &out) < 0 || !is_packet_socket((int)in) ||
	    !is_packet_socket((int)out))
		return false;
	*k = (struct keep){ .in = (int)in, .out = (int)out };
	(void)unsetenv("SIMD_KEEP");
	(void)fcntl(k->in, F_SETFD, FD_CLOEXEC);
	(void)fcntl(k->out, F_SETFD, FD_CLOEXEC);
	return true;
}

static int sets(const struct keep *k)
{
	int bytes = 0;

	if (k->out < 0 || ioctl(k->out, FIONREAD, &bytes) < 0)
		return 0;
	return (int)((size_t)bytes / SIZE);
}

static int receive(struct keep *k, struct keep_set *ret, int flags)
{
	ssize_t n = fd_recv(k->out, ret->word, SIZE, ret->fd, KEEP_FDS, &ret->n, MSG_DONTWAIT | flags);

	if (n >= 0 && n != (ssize_t)SIZE) {
		for (unsigned i = 0; i < ret->n; i++)
			fd_close(ret->fd[i]);
		return err_set(-EBADMSG, "the kept set is not from this program");
	}
	return n < 0 ? (int)n : 0;
}

/* Take out the oldest sets until `but` sets are left. */
static void take_out(struct keep *k, int but)
{
	struct keep_set old;

	while (sets(k) > but && receive(k, &old, 0) == 0) {
		for (unsigned i = 0; i < old.n; i++)
			fd_close(old.fd[i]);
	}
}

/* A process that was killed while it replaced its set has left two. */
int keep_look(struct keep *k, struct keep_set *ret)
{
	int r;

	take_out(k, 1);
	if (sets(k) == 0)
		return 0;
	r = receive(k, ret, MSG_PEEK);
	return r < 0 ? err_prefix(r, "what the previous process has left") : 1;
}

int keep_put(struct keep *k, const struct keep_set *set)
{
	ssize_t n;

	if (k->in < 0)
		return err_set(-ENOTCONN, "nothing is kept for this process");
	n = fd_send(k->in, set->word, SIZE, set->fd, set->n, MSG_DONTWAIT);
	if (n < 0)
		return err_prefix((int)n, "keeping %u descriptors", set->n);
	take_out(k, 1);
	return 0;
}

/* Receives messages instead of counting sets, since a message of another size is not counted. */
void keep_clear(struct keep *k)
{
	struct keep_set old;
	int r = k->out < 0 ? -EAGAIN : 0;

	for (int n = 0; r != -EAGAIN && n < MESSAGES; n++) {
		old.n = 0;
		r = receive(k, &old, 0);
		for (unsigned i = 0; r == 0 && i < old.n; i++)
			fd_close(old.fd[i]);
	}
}

void keep_close(struct keep *k)
{
	k->in = fd_close(k->in);
	k->out = fd_close(k->out);
}
