/* SPDX-License-Identifier: Apache-2.0 */
/* See peer.h. */
#include "peer.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

_Noreturn void peer_fail(struct peer *p, const char *file, int line, const char *what)
{
	snprintf(p->why, sizeof(p->why), "%s:%d: %s: %s", file, line, what, sim_why());
	fprintf(stderr, "peer %llu: %s\n", (unsigned long long)p->number, p->why);
	atomic_store(&p->failed, 1);
	_exit(1);
}

struct peer *peer_new(void)
{
	static uint64_t number;
	struct peer *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	p->number = ++number;
	return p;
}

void peer_free(struct peer *p)
{
	munmap(p, sizeof(*p));
}

/* Otherwise cmocka's handlers would let a child that crashes go on with the next test. */
static void default_signals(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

	for (unsigned i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		signal(crashes[i], SIG_DFL);
}

pid_t peer_fork(struct peer *p, int (*fn)(struct peer *p))
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "peer");
	default_signals();
	exit(fn(p));
}

void peer_tell(struct peer *p, int command)
{
	atomic_store(&p->command, command);
	bell_ring(&p->bell);
}

void peer_join(struct peer *p, pid_t pid)
{
	int status = -1;
	pid_t ended;

	atomic_store(&p->stop, 1);
	bell_ring(&p->bell);
	AWAIT((ended = waitpid(pid, &status, WNOHANG)) != 0);
	assert_int_equal(ended, pid);
	if (status)
		fail_msg("peer %llu ended with status %#x: %s", (unsigned long long)p->number, (unsigned)status,
			 p->why);
}

struct sim_client *peer_connect(struct peer *p, const char *name)
{
	struct sim_client_options o = { .size = sizeof(o), .name = name, .timeout_ms = PATIENT_MS };
	struct sim_client *c;

	PEER(p, sim_connect(&o, &c) == 0);
	return c;
}

struct sim_publisher *peer_advertise(struct peer *p, struct sim_client *c, const char *channel, size_t max_body,
				     unsigned flags)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = max_body, .flags = flags };
	struct sim_publisher *pub;
	int r;

	while ((r = sim_advertise(c, channel, &sim_Ultrasonic_type, &o, &pub)) == -ESTALE)
		pace_us(2000); /* simd replaces the data plane: another process may have broken it */
	PEER(p, r == 0);
	return pub;
}

struct call { /* what a callback is given: the peer and the number of the message */
	struct peer *p;
	uint64_t n;
};

static void done(void *user, bool ok, enum sim_reason reason)
{
	struct call *k = user;
	struct peer_message *m = &k->p->message[k->n];

	atomic_store(&m->ok, ok);
	atomic_store(&m->reason, (uint8_t)reason);
	if (ok)
		atomic_fetch_add(&k->p->ok, 1);
	atomic_fetch_add(&k->p->reasons[reason], 1);
	atomic_fetch_add(&m->calls, 1);
	atomic_fetch_add(&k->p->called, 1);
	bell_ring(&k->p->bell);
	/* k is not freed, so that a second call is noticed */
}

int peer_queue(struct peer *p, struct sim_publisher *pub, size_t body, struct sim_token *token)
{
	uint64_t n = atomic_load(&p->offered);
	struct peer_message *m = &p->message[n];
	struct sim_slot *slot;
	struct call *k;
	int r = sim_loan(pub, body, &slot);

	if (r < 0)
		return r;
	PEER(p, n < PEER_MESSAGES);
	k = calloc(1, sizeof(*k));
	PEER(p, k);
	*k = (struct call){ p, n };
	((struct sim_Ultrasonic *)sim_slot_body_mut(slot))->minimum_distance = (float)n;
	atomic_store(&m->state, 1);
	atomic_fetch_add(&p->offered, 1);
	r = sim_try_queue(pub, slot, token, done, k);
	if (r == 0) {
		atomic_fetch_add(&p->accepted, 1);
	} else {
		atomic_fetch_add(&p->refused, 1);
		atomic_fetch_sub(&p->reasons[atomic_load(&m->reason)], 1);
		atomic_fetch_add(&p->refusals[atomic_load(&m->reason)], 1);
	}
	atomic_store(&m->state, r == 0 ? 2 : 3);
	return r;
}

bool peer_settled(struct peer *p)
{
	return atomic_load(&p->called) >= atomic_load(&p->accepted) + atomic_load(&p->refused);
}

void peer_settle(struct peer *p)
{
	PEER_AWAIT(p, peer_settled(p));
}

int peer_leave(struct peer *p, struct sim_client *c, struct sim_publisher *pub)
{
	peer_settle(p);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

void peer_check(struct peer *p, bool lost)
{
	for (uint64_t n = 0; n < atomic_load(&p->offered); n++) {
		const struct peer_message *m = &p->message[n];
		unsigned calls = atomic_load(&m->calls), state = atomic_load(&m->state);

		if (calls > 1 || (!calls && !lost))
			fail_msg("peer %llu: message %llu (state %u) had %u callbacks", (unsigned long long)p->number,
				 (unsigned long long)n, state, calls);
		if (state == 3 && (atomic_load(&m->ok) || !atomic_load(&m->reason)))
			fail_msg("peer %llu: message %llu was refused, and called back with true or without a reason",
				 (unsigned long long)p->number, (unsigned long long)n);
		if (calls && atomic_load(&m->ok) == (atomic_load(&m->reason) != SIM_REASON_NONE))
			fail_msg("peer %llu: message %llu: ok and reason %u contradict each other",
				 (unsigned long long)p->number, (unsigned long long)n, atomic_load(&m->reason));
	}
}

/* A test is not as fast as some machine's publisher: what it has come to see has been published by then. */
static bool full(const struct peer *p)
{
	return atomic_load(&p->offered) == PEER_MESSAGES;
}

int peer_publisher(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "publisher");
	struct sim_publisher *pub;
	char name[32];

	snprintf(name, sizeof(name), "/t/%llu", (unsigned long long)p->number);
	pub = peer_advertise(p, c, name, 64, 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		int rate = atomic_load(&p->command);

		if (rate < 0 || full(p)) {
			PEER_AWAIT(p, (atomic_load(&p->command) >= 0 && !full(p)) || atomic_load(&p->stop));
			continue;
		}
		if (peer_queue(p, pub, 64, NULL) < 0)
			pace_us(1000);
		else if (rate > 0)
			pace_us(1000000 / (unsigned)rate);
	}
	return peer_leave(p, c, pub);
}

int peer_exchange(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "exchange");
	struct sim_subscriber *sub;
	struct sim_publisher *pub;
	const struct sim_message *got;
	struct sim_slot *loan;
	char name[32];

	snprintf(name, sizeof(name), "/p/%llu", (unsigned long long)p->number);
	PEER(p, sim_subscribe(c, name, NULL, NULL, &sub) == 0);
	pub = peer_advertise(p, c, name, 64, SIM_PUB_LOCAL);
	while (!atomic_load(&p->stop)) {
		if (sim_loan(pub, 64, &loan) == 0 && sim_publish_local(pub, loan) == -EINVAL)
			PEER(p, false);
		if (sim_wait(sub, 2 * NS_PER_MS) == 1) {
			while (sim_take(sub, &got) == 0) {
				atomic_store(&p->generation, got->header.iox_generation);
				atomic_fetch_add(&p->received, 1);
				sim_release(sub, got);
				atomic_store(&p->ready, 1);
			}
		}
		pace_us(50); /* that it goes on is looked at, not how fast; who never waits starves others on some kernels */
	}
	sim_subscriber_destroy(sub);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}
