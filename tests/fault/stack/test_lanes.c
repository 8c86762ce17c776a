/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes that open and close: bursts that need the maximum number of lanes, and pauses in which they close, repeated.
 * Neither simd nor the bridge has more threads, descriptors or memory than after the first bursts. FAULT_KILLS=n times
 * ten lane changes (5000).
 */
#include "peer.h"
#include "stack.h"
#include "usage.h"

#define LANES 48
#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"dispatch\":{\"cycle_ms\":1,\"idle_ms\":100,\"lanes\":48},\"rigs\":[{\"name\":\"car\"," \
	"\"channels\":[{\"name\":\"/t/1\",\"window\":128,\"ordered\":false}],\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY \
	"\"," \
	"\"channels\":[\"/t/1\"],\"options\":{\"mode\":\"slow\",\"delay_us\":20000}}]}]"

/* Of the most that there were malloc may keep: 192 KiB of tasks, a packet, lists and buffers of each, in arenas of which it gives back whole ends. */
#define KEPT_KIB (LANES * 400)
#define OPENED   stack_count("bridge b: ", "deliveries queued")

static const char *const names[2] = { "simd", "bridge" };

/* Whether both have as much as before; `kib` more of memory may be. */
static bool as_before(const pid_t pid[2], const struct usage before[2], long kib, struct usage ret[2])
{
	bool same = true;

	for (int i = 0; i < 2; i++) {
		same &= usage_of(pid[i], &ret[i]) == 0;
		same &= ret[i].threads <= before[i].threads && ret[i].descriptors <= before[i].descriptors &&
			ret[i].anon_kib <= before[i].anon_kib + kib;
	}
	return same;
}

static void print_usage(const char *when, const struct usage before[2], const struct usage now[2])
{
	for (int i = 0; i < 2; i++)
		print_message("%s: %s: %ld -> %ld KiB, %ld -> %ld descriptors, %ld -> %ld threads\n", when, names[i],
			      before[i].anon_kib, now[i].anon_kib, before[i].descriptors, now[i].descriptors,
			      before[i].threads, now[i].threads);
}

TEST_WITH(lanes_leave_nothing, NULL, stack_sweep)
{
	const char *n = getenv("FAULT_KILLS");
	unsigned wanted = n ? 10 * (unsigned)atoi(n) : 5000;
	pid_t pid[2] = { stack_start(CONF) }, publisher;
	struct peer *p = peer_new();
	struct usage before[2], now[2];

	p->number = 1;
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	pid[1] = (pid_t)stack_bridge("b", "pid");
	peer_tell(p, -1);
	publisher = peer_fork(p, peer_publisher);
	AWAIT(p->ready);
	for (int i = 0; i < 2; i++)
		before[i] = usage(pid[i]);
	for (unsigned i = 0; 2 * OPENED < wanted; i++) {
		peer_tell(p, 0);
		AWAIT(stack_bridge("b", "lanes") == LANES);
		peer_tell(p, -1);
		AWAIT(stack_bridge("b", "lanes") == 1);
		if (i == 1) { /* what a process keeps for the next burst is there now */
			AWAIT(as_before(pid, before, LONG_MAX / 2, now));
			memcpy(before, now, sizeof(before));
		}
	}
	for (unsigned looks = 0; !as_before(pid, before, KEPT_KIB, now); looks++) {
		if (looks == WAIT_SAYS)
			print_usage("not yet", before, now);
		wait_look_again();
	}
	print_usage("after", before, now);
	print_message("%u lanes opened and closed, %llu messages\n", OPENED, (unsigned long long)p->accepted);
	assert_int_equal(stack_bridge("b", "pid"), pid[1]);
	peer_join(p, publisher);
	peer_check(p, false);
	assert_int_equal(p->ok, p->accepted);
	stack_stop(pid[0]);
	peer_free(p);
}
