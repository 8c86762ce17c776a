/* SPDX-License-Identifier: Apache-2.0 */
/* world_server.h */
#include "world_server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeutil.h"

void world_server_stop(struct world_server *s)
{
	if (s->pid <= 0)
		return;
	kill(s->pid, SIGKILL);
	bench_wait(s->pid);
	fclose(s->log);
	s->pid = 0;
}

/* Of the line that says where it listens, which has this. */
static int server_port(struct world_server *s, const char *said)
{
	char line[512];
	const char *at;

	while (fgets(line, sizeof(line), s->log)) {
		at = strstr(line, said);
		if (!at)
			continue;
		s->port = (uint16_t)atoi(at + strlen(said));
		snprintf(s->address, sizeof(s->address), "127.0.0.1:%u", s->port);
		return 0;
	}
	return -EIO;
}

/* options: up to NULL. */
static int start(const struct bench *b, struct world_server *s, const char *const *options, const char *said)
{
	const char *argv[16] = { "sim-world", "--listen", "127.0.0.1:0" };
	char program[BENCH_PATH + 16];
	int log[2];

	for (unsigned i = 3; *options && i < 15; i++)
		argv[i] = *options++;
	snprintf(program, sizeof(program), "%s/sim-world", b->bin);
	if (pipe(log) < 0)
		return -errno;
	s->pid = fork();
	if (!s->pid) {
		dup2(log[1], STDERR_FILENO);
		close(log[0]);
		execv(program, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(log[1]);
	s->log = fdopen(log[0], "r");
	bench_pin_process(s->pid, 0);
	return server_port(s, said);
}

int world_server_start(const struct bench *b, struct world_server *s, const char *step, const char *pace,
		       const char *keys)
{
	return start(b, s,
		     (const char *const[]){ "--step", step, "--pace", pace, "--clients", "2100", keys ? "--keys" : NULL,
					    keys, NULL },
		     "listening on 127.0.0.1:");
}

int world_server_start_old(const struct bench *b, struct world_server *s)
{
	return start(b, s, (const char *const[]){ "--compat", "tr2016", "--compat-listen", "127.0.0.1:0", NULL },
		     "clients of tr2016 connect to 127.0.0.1:");
}

uint64_t world_loaded(_Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

int world_measure(struct load *l, int64_t dur_ns, struct world_measured *ret)
{
	uint64_t beats, late;
	int64_t begin;

	BENCH_UNTIL(60, world_loaded(&l->n.here) == l->o.clients + l->o.looks_on || world_loaded(&l->n.ended));
	BENCH_UNTIL(60, world_loaded(&l->n.heartbeats) >= 2 * l->o.clients || world_loaded(&l->n.ended));
	atomic_fetch_add(&l->n.window, 1);
	beats = world_loaded(&l->n.heartbeats);
	late = world_loaded(&l->n.late);
	begin = mono_now_ns();
	mono_sleep_until(begin + dur_ns);
	BENCH_UNTIL(60, world_loaded(&l->n.heartbeats) > beats || world_loaded(&l->n.ended));
	beats = world_loaded(&l->n.heartbeats) - beats;
	late = world_loaded(&l->n.late) - late;
	if (world_loaded(&l->n.ended) || world_loaded(&l->n.stale) || !beats) {
		fprintf(stderr,
			"bench: world: %llu clients ended, %llu sections were not what was sent, %llu heartbeats\n",
			(unsigned long long)world_loaded(&l->n.ended), (unsigned long long)world_loaded(&l->n.stale),
			(unsigned long long)beats);
		return -EIO;
	}
	ret->ticks_per_s = (double)beats / l->o.clients / ((double)(mono_now_ns() - begin) / 1e9);
	ret->late_percent = 100.0 * (double)late / (double)beats;
	return 0;
}

void world_end(pid_t pid)
{
	kill(pid, SIGKILL);
	bench_wait(pid);
}
