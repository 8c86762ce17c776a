/* SPDX-License-Identifier: Apache-2.0 */
/* See peer.h. */
#include "unit/control/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf.h"
#include "control/control.h"
#include "config/config.h"
#include "registry/admission.h"
#include "registry/dataplane.h"
#include "registry/registry.h"
#include "registry/simd.h"
#include "err.h"
#include "fd.h"
#include "ipc.h"
#include "ipc_mem.h"
#include "log.h"

static const struct ipc_mem_pool pools[] = { { 512, 1000 }, { 65536, 64 } };

static const char *const base =
	"{\"backend\": \"mem\", \"TimeSource\": \"unity\", \"pools\": [{\"size\": 512, \"count\": 1000}, "
	"{\"size\": 65536, \"count\": 64}], \"rigs\": [{\"name\": \"car\", \"channels\": [{\"name\": \"narrow\", \"window\": 2}], "
	"\"bridges\": [{\"name\": \"log\", \"plugin\": \"null\", \"start\": \"external\", \"channels\": [\"*\"], "
	"\"services\": [\"*\", \"!secret/*\"], \"converters\": [\"units\"]}], "
	"\"inbound\": [\"cmd\"]}]%s}";

static void on_shutdown(void *user)
{
	((struct desk *)user)->shut = true;
}

void desk_open(struct desk *d, const char *extra)
{
	struct ipc_mem_options bus = { .pools = pools, .n_pools = 2, .virtual_time = true };
	struct ipc_options io = { .backend = "mem", .app = "simd" };
	struct registry_options so = { .runtime_dir = "/test", .id = 1ull << 40, .ops = &d->ops, .user = d };
	struct config_sources src = { 0 };
	struct pools p;
	struct ipc *ipc;
	char text[2048];

	memset(d, 0, sizeof(*d));
	d->ops.shutdown = on_shutdown;
	log_set_spec("none");
	mem_stats(&d->before);
	snprintf(text, sizeof(text), base, extra);
	src.text = text;
	assert_ok(exec_sim_create(1, 10 * S, &d->x));
	assert_ok(ipc_mem_bus_create(&bus, &d->bus));
	assert_ok(config_load(&src, &d->conf));
	assert_ok(pools_compute(d->conf, -1, &p));
	so.x = so.dx = d->x;
	so.conf = d->conf;
	so.pools = &p;
	assert_ok(registry_create(&so, &d->simd));
	assert_ok(control_create(d->simd, &d->control));
	io.bus = d->bus;
	assert_ok(ipc_attach(&io, &ipc));
	assert_ok(dataplane_up(d->simd, ipc, 1));
}

void desk_close(struct desk *d)
{
	struct mem_stats now;

	control_destroy(d->control);
	registry_destroy(d->simd);
	exec_sim_settle(d->x);
	exec_destroy(d->x);
	conf_destroy(d->conf);
	ipc_mem_bus_destroy(d->bus);
	mem_stats(&now);
	assert_int_equal(now.blocks, d->before.blocks);
}

void desk_run(struct desk *d, int64_t dur_ns)
{
	assert_true(exec_sim_run(d->x, exec_now(d->x) + dur_ns) >= 0);
}

void peer_open(struct desk *d, struct peer *p)
{
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv), 0);
	memset(p, 0, sizeof(*p));
	p->d = d;
	p->fd = sv[0];
	assert_ok(varlink_create(NULL, &p->v));
	assert_ok(control_serve(d->control, sv[1]));
}

void peer_close(struct peer *p)
{
	varlink_msg_finish(&p->msg);
	varlink_destroy(p->v);
	close(p->fd);
	desk_run(p->d, MS);
}

void peer_send(struct peer *p, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(p->fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return; /* it has closed the connection already */
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
		exec_sim_settle(p->d->x);
	}
}

json_t *peer_next(struct peer *p, bool *ret_closed)
{
	bool closed = false;

	varlink_msg_finish(&p->msg);
	memset(&p->msg, 0, sizeof(p->msg));
	for (int left = 4; left; left--) {
		int r = varlink_next(p->v, &p->msg);

		if (r > 0)
			break;
		desk_run(p->d, MS);
		r = varlink_read(p->v, p->fd);
		closed = r == -ECONNRESET;
		left += r > 0; /* a part of a long one */
	}
	if (ret_closed)
		*ret_closed = closed;
	return p->msg.json;
}

int peer_call(struct peer *p, const char *method, const char *params, json_t **ret)
{
	char text[65536];
	struct varlink_answer a;
	json_t *j;

	snprintf(text, sizeof(text), "{\"method\": \"io.simd.Control.%s\", \"parameters\": %s}", method, params);
	peer_send(p, text, strlen(text) + 1);
	j = peer_next(p, NULL);
	if (!j)
		return err_set(-EPIPE, "no answer to %s", method);
	assert_int_equal(varlink_msg_answer(&p->msg, &a), 0);
	if (ret)
		*ret = a.params;
	return varlink_answer_errno(&a);
}

void peer_hello(struct peer *p, const char *name, const char *role)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"name\": \"%s\", \"role\": \"%s\", \"abi\": 5, \"version\": \"t\"}", name,
		 role);
	assert_ok(peer_call(p, "Hello", text, NULL));
}
