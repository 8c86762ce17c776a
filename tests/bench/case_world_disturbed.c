/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world with clients that keep time, beside others that do it harm: the server on CPU 0, all others on CPU 1.
 *   world_stalled     ticks a second of 90 clients while 10 more are stopped, against before
 *   world_slow        ticks a second of 10 clients beside sixteen that say Hello and never Done, against before: eight come again under another name when
 *                     they are put out, eight go after 12 ms and come again
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "timeutil.h"
#include "world_server.h"

/* ---- stopped clients ---- */

/* Measures once more, unless that has failed before, and ends all. */
static int measure_disturbed(int r, struct load *l, int64_t dur_ns, const pid_t pid[2], struct world_server *s,
			     struct bench_pair *ret)
{
	struct world_measured m = { 0 };

	if (r == 0)
		r = world_measure(l, dur_ns, &m);
	ret->ours = m.ticks_per_s;
	for (int i = 0; i < 2; i++)
		world_end(pid[i]);
	world_server_stop(s);
	return r;
}

static int measure_stalled(struct bench *b, struct load *l, int64_t dur_ns, struct bench_pair *ret)
{
	struct load *stopped = l + 1;
	struct world_server s = { .pid = 0 };
	struct world_measured m = { 0 };
	pid_t pid[2];
	int r = world_server_start(b, &s, "10ms", "1", NULL);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		memset(&l[i].n, 0, sizeof(l[i].n));
		l[i].o = (struct load_options){
			.port = s.port, .clients = i ? 10 : 90, .first = i ? 1000 : 0, .objects = 1, .cpu = 1
		};
		pid[i] = bench_fork(load_main, &l[i]);
	}
	BENCH_UNTIL(60, world_loaded(&stopped->n.here) == 10);
	r = world_measure(l, dur_ns, &m);
	ret->reference = m.ticks_per_s;
	kill(pid[1], SIGSTOP);
	return measure_disturbed(r, l, dur_ns, pid, &s, ret);
}

/* ---- clients that never send Done ---- */

#define SLOW      8 /* that stay until they are dropped, */
#define QUICK     8 /* and that go after */
#define QUICK_MS  12
#define STRANGERS (SLOW + QUICK)

/* Another one each time. */
static int come_slowly(const struct world_server *s)
{
	static const char hello[] = "\x1b\0\0\0\x20\x08\x01\x12\x04slow\x22\x10";
	char text[sizeof(hello) - 1 + 16];
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(s->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(text, hello, sizeof(hello) - 1);
	if (getrandom(text + sizeof(hello) - 1, 16, 0) != 16 ||
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
	    send(fd, text, sizeof(text), MSG_NOSIGNAL) != (ssize_t)sizeof(text)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int slow_main(void *arg)
{
	static char gone[65536];
	struct pollfd p[STRANGERS];
	int64_t until[STRANGERS];

	bench_pin(1);
	for (unsigned i = 0; i < STRANGERS; i++) {
		p[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
		until[i] = 0;
	}
	for (;;) {
		int64_t now = mono_now_ns();

		for (unsigned i = 0; i < STRANGERS; i++) {
			if (p[i].fd >= 0 && now < until[i] &&
			    (!p[i].revents || recv(p[i].fd, gone, sizeof(gone), MSG_DONTWAIT) > 0))
				continue;
			if (p[i].fd >= 0)
				close(p[i].fd);
			p[i].fd = come_slowly(arg);
			until[i] = i < SLOW ? INT64_MAX : now + QUICK_MS * NS_PER_MS;
		}
		(void)poll(p, STRANGERS, 2);
	}
	return 0;
}

static int measure_slow(struct bench *b, struct load *l, int64_t dur_ns, struct bench_pair *ret)
{
	struct world_server s = { .pid = 0 };
	struct world_measured m = { 0 };
	pid_t pid[2];
	int r = world_server_start(b, &s, "10ms", "1", NULL);

	if (r < 0)
		return r;
	memset(&l->n, 0, sizeof(l->n));
	l->o = (struct load_options){ .port = s.port, .clients = 10, .objects = 1, .cpu = 1 };
	pid[0] = bench_fork(load_main, l);
	r = world_measure(l, dur_ns, &m);
	ret->reference = m.ticks_per_s;
	pid[1] = bench_fork(slow_main, &s);
	return measure_disturbed(r, l, dur_ns, pid, &s, ret);
}

/* One server's rate without a disturbance, and with it. */
struct disturbance {
	const char *name, *reference;
	int (*measure)(struct bench *b, struct load *l, int64_t dur_ns, struct bench_pair *ret);
	int64_t smoke_dur_ns;
	double bar;
};

static const struct disturbance slow = { "world_slow", "before they came", measure_slow, 300 * NS_PER_MS, 0.9 };
static const struct disturbance stalled = { "world_stalled", "before they were", measure_stalled, 500 * NS_PER_MS,
					    0.95 };

static int run_disturbed(struct bench *b, struct load *l, const struct disturbance *d)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);
	int r = 0;

	for (unsigned i = 0; i < n && r == 0; i++)
		r = d->measure(b, l, b->smoke ? d->smoke_dur_ns : 10 * NS_PER_S, &pairs[i]);
	if (r == 0)
		bench_report(b, d->name, "ticks/s", d->reference, BENCH_RATE, pairs, n, d->bar);
	return r;
}

static int run_world_disturbed(struct bench *b)
{
	struct load *l = bench_arena(2 * sizeof(*l));
	int r = run_disturbed(b, l, &stalled);

	if (r == 0)
		r = run_disturbed(b, l, &slow);
	bench_arena_free(l, 2 * sizeof(*l));
	return r;
}

const struct bench_case bench_world_disturbed = { "world_disturbed", run_world_disturbed, "world_stalled world_slow" };
