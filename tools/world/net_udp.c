/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams of all clients: one socket, on the server's listening address. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "err.h"
#include "net_private.h"
#include "world/datagram.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define READS_MAX    64u /* reads per turn of the loop */
#define SEGMENTS_MAX 54u /* per call: 65 507 bytes at most */
#define ROOM         (4 << 20)

static void on_datagrams(void *arg, uint32_t events)
{
	struct net *n = arg;

	(void)events;
	net_soon(n);
	for (unsigned i = 0; i < READS_MAX; i++) {
		struct session_address from = { .len = 0 };
		struct sockaddr_in a;
		socklen_t len = sizeof(a);
		uint8_t data[PACKET_MAX + 1];
		ssize_t r = recvfrom(n->udp_fd, data, sizeof(data), 0, (struct sockaddr *)&a, &len);

		if (r < 0)
			return;
		memcpy(from.bytes, &a.sin_addr, sizeof(a.sin_addr));
		memcpy(from.bytes + sizeof(a.sin_addr), &a.sin_port, sizeof(a.sin_port));
		from.len = sizeof(a.sin_addr) + sizeof(a.sin_port);
		(void)!world_datagram(n->w, data, (size_t)r, &from, exec_now(n->x));
	}
}

int net_udp_open(struct net *n, const char *host)
{
	const int room = ROOM;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(net_port(n)) };

	(void)inet_pton(AF_INET, host, &a.sin_addr);
	n->udp_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->udp_fd < 0)
		return err_sys(-errno, "the server's socket");
	(void)setsockopt(n->udp_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	(void)setsockopt(n->udp_fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (bind(n->udp_fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return err_sys(-errno, "UDP port %u (--tcp-only does without)", net_port(n));
	return exec_io_add(n->x, &n->udp, n->udp_fd, EPOLLIN, on_datagrams, n);
}

static struct sockaddr_in address_of(const struct session_address *to)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	memcpy(&a.sin_addr, to->bytes, sizeof(a.sin_addr));
	memcpy(&a.sin_port, to->bytes + sizeof(a.sin_addr), sizeof(a.sin_port));
	return a;
}

/* Sends many datagrams of one size in one call; the kernel cuts them (UDP_SEGMENT). */
static int send_cut(const struct net *n, const struct sockaddr_in *to, const uint8_t *data, size_t len, size_t segment)
{
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr m = { .msg_name = (void *)(uintptr_t)to,
			    .msg_namelen = sizeof(*to),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	const uint16_t size = (uint16_t)segment;

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	return sendmsg(n->udp_fd, &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static void send_each(const struct net *n, const struct sockaddr_in *to, const uint8_t *data, size_t len,
		      size_t segment)
{
	for (size_t at = 0; at < len; at += segment)
		(void)!sendto(n->udp_fd, data + at, len - at < segment ? len - at : segment, MSG_DONTWAIT,
			      (const struct sockaddr *)to, sizeof(*to));
}

static void send_some(struct net *n, const struct sockaddr_in *to, const uint8_t *data, size_t len, size_t segment)
{
	int r = len <= segment || n->one_by_one ? -EIO : send_cut(n, to, data, len, segment);

	if (r == 0 || r == -EAGAIN)
		return;
	/* a kernel or a route that does not cut: EINVAL, EIO, EOPNOTSUPP, EMSGSIZE */
	n->one_by_one |= len > segment && r != -ECONNREFUSED;
	send_each(n, to, data, len, segment);
}

void net_udp_write(struct net *n, struct session *s, int64_t now_mono_ns)
{
	const struct session_address *to;
	struct datagram_out out;
	struct sockaddr_in a;

	if (n->udp_fd < 0 || !s || !session_datagrams(s, now_mono_ns, &out, &to))
		return;
	a = address_of(to);
	for (size_t at = 0, most = SEGMENTS_MAX * out.segment; at < out.len; at += most)
		send_some(n, &a, out.data + at, out.len - at < most ? out.len - at : most, out.segment);
}
