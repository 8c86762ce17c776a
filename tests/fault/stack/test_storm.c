/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kill runs over the whole stack: bridges and sensors die at random moments under load. Every accepted message
 * completes exactly once, no slot and no credit is lost, simd stays as small as it was.
 * FAULT_KILLS=n kills of bridges (500), a fifth of it of sensors; SEED=n.
 */
#include "peer.h"
#include "stack.h"
#include "usage.h"

#define BRIDGES 4

#define ONE(n) \
	"{\"name\":\"b" n "\",\"plugin\":\"" FAULTY "\",\"channels\":[\"/t/" n "\"]," \
	"\"options\":{\"mode\":\"slow\",\"delay_us\":100}}"
#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"process\":{\"restart_ms\":1,\"restart_max_ms\":1}," \
	"\"log\":\"*:warn\",\"rigs\":[{\"name\":\"car\",\"bridges\":[" ONE("1") "," ONE("2") "," ONE("3") "," ONE( \
		"4") "]}]"

static unsigned kills(unsigned share)
{
	const char *n = getenv("FAULT_KILLS");
	unsigned all = n ? (unsigned)atoi(n) : 500;

	return all / share ? all / share : 1;
}

static int64_t resident_kib(pid_t pid)
{
	char path[64];
	long pages = 0, size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &pages), 2);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

struct bridge_now {
	pid_t pid;
	bool connected;
};

/* All four with one question. */
static void look(struct bridge_now b[BRIDGES])
{
	json_t *j = stack_call("ListBridges", NULL);
	const json_t *list = json_object_get(j, "bridges");

	assert_non_null(j);
	for (size_t i = 0; i < BRIDGES; i++) {
		const json_t *o = json_array_get(list, i);
		const char *status = json_string_value(json_object_get(o, "status"));

		b[i].pid = (pid_t)json_integer_value(json_object_get(o, "pid"));
		b[i].connected = status && !strcmp(status, "connected") && b[i].pid > 1;
	}
	json_decref(j);
}

static bool all_connected(void)
{
	struct bridge_now b[BRIDGES];

	look(b);
	for (int i = 0; i < BRIDGES; i++)
		if (!b[i].connected)
			return false;
	return true;
}

/* Those that are connected and not the last ones, at most so many; waits until there is one. How many. */
static unsigned kill_bridges(pid_t last[BRIDGES], unsigned most)
{
	struct bridge_now b[BRIDGES];
	bool any = false;
	unsigned n = 0;

	while (!any) {
		look(b);
		for (int i = 0; i < BRIDGES; i++)
			any |= b[i].connected && b[i].pid != last[i];
	}
	moment_us((unsigned)(rand() % 5000));
	for (int i = 0; i < BRIDGES && n < most; i++) {
		if (!b[i].connected || b[i].pid == last[i])
			continue;
		last[i] = b[i].pid;
		kill(b[i].pid, SIGKILL);
		n++;
	}
	return n;
}

TEST_WITH(killed_bridges_come_back, NULL, stack_sweep)
{
	uint64_t seed = test_seed(11), ok, accepted = 0;
	struct peer *p[BRIDGES];
	pid_t simd, pid[BRIDGES], last[BRIDGES] = { 0 };
	unsigned n = 0, wanted = kills(1);
	struct usage early = { 0 };
	uint32_t slots;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	simd = stack_start(CONF);
	AWAIT(all_connected());
	slots = stack_slots();
	for (int i = 0; i < BRIDGES; i++) {
		p[i] = peer_new();
		p[i]->number = (uint64_t)i + 1;
		peer_tell(p[i], 500);
		pid[i] = peer_fork(p[i], peer_publisher);
		AWAIT(p[i]->ok > 0);
	}
	while (n < wanted) {
		n += kill_bridges(last, wanted - n);
		if (!early.anon_kib && n >= wanted / 5)
			early = usage(simd);
	}
	AWAIT(all_connected());
	for (int i = 0; i < BRIDGES; i++) {
		ok = p[i]->ok;
		AWAIT(p[i]->ok > ok + 10);
		peer_tell(p[i], -1);
	}
	for (int i = 0; i < BRIDGES; i++) {
		peer_join(p[i], pid[i]);
		peer_check(p[i], false);
		assert_int_equal(p[i]->called, p[i]->offered);
		accepted += p[i]->accepted;
	}
	print_message("%u kills, %llu messages; own memory of simd %lld KiB, then %lld KiB (%lld KiB resident)\n", n,
		      (unsigned long long)accepted, (long long)early.anon_kib, (long long)usage(simd).anon_kib,
		      (long long)resident_kib(simd));
	AWAIT(stack_slots() <= slots);
	AWAIT(stack_in_flight("/t/1") <= 0 && stack_in_flight("/t/4") <= 0);
	assert_true(usage(simd).anon_kib < early.anon_kib + 1024);
	AWAIT(usage(simd).descriptors <= early.descriptors + 8);
	stack_stop(simd);
	for (int i = 0; i < BRIDGES; i++)
		peer_free(p[i]);
}

/* ---- sensors ---- */

static int sensor(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/1", 64, 0), *own = peer_advertise(p, c, "/t/2", 64, 0);
	struct sim_token *t;

	PEER(p, sim_token_open(c, "sensor", &t) == 0);
	for (int i = 0;; i++) {
		int r = peer_queue(p, i % 2 ? pub : own, 64, i % 3 ? NULL : t);

		PEER(p, r == 0 || r == -EBUSY || r == -ETIMEDOUT || r == -EAGAIN);
		atomic_store(&p->ready, 1);
		pace_us(1000);
	}
}

TEST_WITH(killed_sensors_leave_nothing, NULL, stack_sweep)
{
	uint64_t seed = test_seed(12), accepted = 0;
	struct peer *witness = peer_new();
	unsigned wanted = kills(5);
	int64_t own = 0, fds = 0, clients;
	uint32_t slots, life;
	pid_t simd, pid;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	simd = stack_start(CONF);
	AWAIT(all_connected());
	slots = stack_slots();
	life = stack_life();
	clients = stack_int("GetInfo", "clients");
	witness->number = 1;
	peer_tell(witness, 500);
	pid = peer_fork(witness, peer_publisher);
	AWAIT(witness->ok > 0);
	for (unsigned n = 0; n < wanted; n += 2) {
		struct peer *p[2];
		pid_t victim[2];

		for (int i = 0; i < 2; i++) {
			p[i] = peer_new();
			victim[i] = peer_fork(p[i], sensor);
		}
		for (int i = 0; i < 2; i++) {
			AWAIT(p[i]->ready || p[i]->failed);
			assert_int_equal(p[i]->failed, 0);
			moment_us((unsigned)(rand() % 20000));
			kill(victim[i], SIGKILL);
		}
		for (int i = 0; i < 2; i++) {
			stack_wait(victim[i]);
			peer_check(p[i], true);
			accepted += p[i]->accepted;
			peer_free(p[i]);
		}
		if (!own && n >= wanted / 5) {
			own = usage(simd).anon_kib;
			fds = usage(simd).descriptors;
		}
	}
	peer_tell(witness, -1);
	peer_join(witness, pid);
	peer_check(witness, false);
	if (stack_life() == life) /* seldom one dies in the lock of facts 6.4, and RouDi is replaced */
		assert_int_equal(witness->ok, witness->accepted);
	print_message("%u kills, %llu messages; own memory of simd %lld KiB, then %lld KiB\n", wanted,
		      (unsigned long long)accepted, (long long)own, (long long)usage(simd).anon_kib);
	AWAIT(stack_int("GetInfo", "clients") == clients);
	AWAIT(stack_in_flight("/t/1") <= 0 && stack_in_flight("/t/2") <= 0);
	AWAIT(stack_slots() <= slots);
	assert_true(usage(simd).anon_kib < own + 1024);
	AWAIT(usage(simd).descriptors <= fds + 8);
	stack_stop(simd);
	peer_free(witness);
}
