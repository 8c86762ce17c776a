/* SPDX-License-Identifier: Apache-2.0 */
/* sim/world.h: the datagram socket beside the connection. */
#include <sys/epoll.h>
#include <sys/socket.h>

#include "fd.h"
#include "timeutil.h"
#include "host_private.h"

#define ROOM (4 << 20)

void host_udp_open(struct sim_world *w, uint16_t port)
{
	struct epoll_event e = { .events = EPOLLIN };
	const int room = ROOM;
	int fd = dial_datagrams(&w->address, port);

	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	e.data.fd = fd;
	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		fd = fd_close(fd);
	w->udp_fd = fd;
	w->udp_mono_ns = 0;
}

void host_udp_close(struct sim_world *w)
{
	w->udp_fd = fd_close(w->udp_fd);
	w->info.datagrams = false;
}

bool host_udp_read(struct sim_world *w)
{
	uint8_t data[PACKET_MAX + 1];
	ssize_t n = w->udp_fd < 0 ? -1 : recv(w->udp_fd, data, sizeof(data), MSG_DONTWAIT);

	if (n < 0) /* also if no process listens there, which may change */
		return false;
	if (side_datagram(w->side, data, (size_t)n, mono_now_ns()) == 0) {
		w->info.datagrams_in++;
		w->info.bytes_in += (uint64_t)n;
	}
	return true;
}

void host_udp_flush(struct sim_world *w)
{
	struct datagram_out out;
	size_t n;

	if (w->udp_fd < 0 || side_datagrams(w->side, mono_now_ns(), &out) < 0)
		return;
	for (size_t at = 0; at < out.len; at += n) {
		n = out.len - at < out.segment ? out.len - at : out.segment;
		/* an unsent datagram counts as lost */
		(void)!send(w->udp_fd, out.data + at, n, MSG_DONTWAIT);
		w->info.datagrams_out++;
		w->info.bytes_out += n;
	}
}

void host_udp_set_timer(struct sim_world *w)
{
	int64_t now = mono_now_ns(), next;

	if (w->udp_fd < 0)
		return;
	next = side_turn(w->side, now);
	if (next <= now)
		host_udp_flush(w);
	next = side_turn(w->side, now);
	w->info.datagrams = side_has_datagrams(w->side);
	if (next == w->udp_mono_ns)
		return;
	w->udp_mono_ns = next;
	host_set_timer(w, next > now ? next - now : 1);
}
