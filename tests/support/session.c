/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h. */
#include "session.h"

#include "stack.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "varlink_call.h"

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = STACK_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		return -errno;
	}
	return fd < 0 ? -errno : fd;
}

static void *map(const struct varlink_msg *m, const char *name, int prot, size_t size)
{
	const json_t *names = json_object_get(json_object_get(m->json, "parameters"), "fds"), *n;
	size_t i;

	json_array_foreach(names, i, n)
		if (!strcmp(json_string_value(n), name) && i < m->n_fds) {
			void *p = mmap(NULL, size, prot, MAP_SHARED, m->fds[i], 0);

			return p == MAP_FAILED ? NULL : p;
		}
	return NULL;
}

int session_open(const char *name, struct session *ret)
{
	struct session s = { .sock = dial() };
	struct varlink_msg m = { 0 };
	int r;

	if (s.sock < 0)
		return s.sock;
	r = varlink_create(NULL, &s.v);
	if (r == 0)
		r = varlink_call(s.v, s.sock, "io.simd.Control.Hello",
				 json_pack("{s:s, s:s, s:i}", "name", name, "role", "client", "abi", (int)WIRE_ABI), -1,
				 &m);
	if (r < 0) {
		session_close(&s);
		return r;
	}
	s.layout = map(&m, "layout", PROT_READ, sizeof(*s.layout));
	s.dispatch = map(&m, "dispatch", PROT_READ | PROT_WRITE, sizeof(*s.dispatch));
	s.counters = map(&m, "counters", PROT_READ | PROT_WRITE, sizeof(*s.counters));
	varlink_msg_finish(&m);
	if (!s.layout || !s.dispatch || !s.counters) {
		session_close(&s);
		return -EPROTO;
	}
	*ret = s;
	return 0;
}

void session_close(struct session *s)
{
	if (s->layout)
		munmap((void *)(uintptr_t)s->layout, sizeof(*s->layout));
	if (s->dispatch)
		munmap(s->dispatch, sizeof(*s->dispatch));
	if (s->counters)
		munmap(s->counters, sizeof(*s->counters));
	varlink_destroy(s->v);
	close(s->sock);
	*s = (struct session){ .sock = -1 };
}

int session_call(struct session *s, const char *method, json_t *params)
{
	return varlink_call(s->v, s->sock, method, params, -1, NULL);
}

unsigned session_cells(const struct session *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WIRE_TOKENS_MAX; i++)
		n += atomic_load(&s->dispatch->token[i]) != 0;
	for (unsigned c = 0; c < WIRE_CHANNELS_MAX; c++)
		for (unsigned i = 0; i < atomic_load(&s->layout->info[c].window); i++)
			n += atomic_load(&s->dispatch->channel[c].cell[i]) != 0;
	return n;
}
