/* SPDX-License-Identifier: Apache-2.0 */
/* What those who connect may cost: a listener that cannot accept rests for a moment instead of spinning. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "net_private.h"
#include "timeutil.h"

LOG_TOPIC("world");

#define REST_DUR_NS (NS_PER_S / 10)

static int watch_listener(const struct net *n, uint32_t events)
{
	struct epoll_event e = { .events = events };

	return epoll_ctl(n->epoll_fd, EPOLL_CTL_MOD, n->listen_fd, &e);
}

void net_rest(struct net *n, int why, int64_t now_mono_ns)
{
	if (why == EAGAIN || why == EINTR || why == ECONNABORTED || why == EPROTO)
		return;
	log_limited(&n->rested, now_mono_ns, LOG_LEVEL_WARN, "no client can be accepted for now: %s", strerror(why));
	if (watch_listener(n, 0) == 0)
		n->rest_mono_ns = now_mono_ns + REST_DUR_NS;
}

int64_t net_listen_again(struct net *n, int64_t now_mono_ns)
{
	if (n->rest_mono_ns <= now_mono_ns)
		n->rest_mono_ns = watch_listener(n, EPOLLIN) == 0 ? INT64_MAX : now_mono_ns + REST_DUR_NS;
	return n->rest_mono_ns;
}
