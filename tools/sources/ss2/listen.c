/* SPDX-License-Identifier: Apache-2.0 */
/* A socket that listens. See listen.h. */
#include "listen.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"

#define BACKLOG 100

static socklen_t length_of(int family)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static bool of_interface(const char *name, struct sockaddr_storage *ret)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		found = strcmp(i->ifa_name, name) == 0 && i->ifa_addr && i->ifa_addr->sa_family == AF_INET;
		if (found)
			memcpy(ret, i->ifa_addr, length_of(AF_INET));
	}
	freeifaddrs(all);
	return found;
}

static int resolve(const char *bind_to, int port, struct sockaddr_storage *ret)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
					.ai_family = strchr(bind_to, ':') ? AF_INET6 : AF_INET,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char service[16];

	memset(ret, 0, sizeof(*ret));
	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(strcmp(bind_to, "*") == 0 ? NULL : bind_to, service, &hints, &found) == 0) {
		memcpy(ret, found->ai_addr, found->ai_addrlen);
		freeaddrinfo(found);
		return 0;
	}
	if (!of_interface(bind_to, ret))
		return err_set(-ENODEV,
			       "--bind: \"%.60s\" is neither a numeric address nor an interface with an address",
			       bind_to);
	((struct sockaddr_in *)ret)->sin_port = htons((uint16_t)port);
	return 0;
}

static int open_at(const struct sockaddr_storage *at)
{
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1, no = 0;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (at->ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, (const struct sockaddr *)at, length_of(at->ss_family)) < 0 || listen(fd, BACKLOG) < 0) {
		int r = -errno;

		fd_close(fd);
		return r;
	}
	return fd;
}

int listen_at(const char *bind_to, int port)
{
	struct sockaddr_storage at;
	int fd, r = resolve(bind_to, port, &at);

	if (r < 0)
		return r;
	fd = open_at(&at);
	if (fd == -EADDRINUSE)
		return err_set(fd, "port %d is in use by another program; choose another with --port", port);
	return fd < 0 ? err_sys(fd, "cannot listen on %.60s, port %d", bind_to, port) : fd;
}

void listen_name(const struct sockaddr_storage *at, char *ret, size_t size)
{
	char host[64], port[8];

	*ret = '\0';
	if (getnameinfo((const struct sockaddr *)at, sizeof(*at), host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(ret, size, "%s:%s", host, port);
}
