/* SPDX-License-Identifier: Apache-2.0 */
/* dial.h */
#include "dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "fd.h"

/* Splits HOST:PORT into host, without brackets, and port. */
static bool cut(const char *text, char host[256], char port[8])
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0, digits = colon ? strspn(colon + 1, "0123456789") : 0;

	if (!n || n > 255 || !digits || digits > 5 || colon[1 + digits])
		return false;
	if (text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	snprintf(host, 256, "%.*s", (int)n, text);
	snprintf(port, 8, "%s", colon + 1);
	return true;
}

static bool is_this_machine(const struct sockaddr *a)
{
	const struct sockaddr_in6 *six = (const void *)a;
	const struct sockaddr_in *four = (const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

int dial_parse(const char *text, bool this_machine, struct dial_address *ret)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char port[8];
	int r;

	if (!cut(text, ret->host, port))
		return err_set(-EINVAL, "%s is not an address: give HOST:PORT, e.g. 127.0.0.1:8082", text);
	r = getaddrinfo(ret->host, port, &want, &found);
	if (r)
		return err_set(r == EAI_SERVICE ? -EINVAL : -ENOENT, "%s: %s", text, gai_strerror(r));
	memcpy(&ret->at, found->ai_addr, found->ai_addrlen);
	ret->len = found->ai_addrlen;
	snprintf(ret->text, sizeof(ret->text), "%s", text);
	freeaddrinfo(found);
	if (this_machine && !is_this_machine((const struct sockaddr *)&ret->at))
		return err_set(-EACCES,
			       "%s is another machine, and plain text is allowed on this one only; give keys, for TLS",
			       text);
	return 0;
}

/* So that a machine that vanishes is noticed within seconds. */
static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },         { SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 2 },        { IPPROTO_TCP, TCP_KEEPINTVL, 1 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 5000 },
	};

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

int dial_begin(const struct dial_address *a)
{
	int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	set_options(fd);
	if (connect(fd, (const struct sockaddr *)&a->at, a->len) < 0 && errno != EINPROGRESS) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	return fd;
}

int dial_datagrams(const struct dial_address *a, uint16_t port)
{
	struct sockaddr_storage at = a->at;
	int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	if (at.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&at)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)(void *)&at)->sin_port = htons(port);
	if (connect(fd, (const struct sockaddr *)&at, a->len) == 0)
		return fd;
	r = -errno;
	fd_close(fd);
	return r;
}

int dial_result(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
}
