/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients killed while they publish in a hot loop. Now and then one dies inside iceoryx's publish lock, and RouDi is
 * stuck for good (facts §6.4). In every case all calls here are bounded, the watchdog's probe is right (checked by
 * whether a new process can attach), and everything works again with a new RouDi. KILLS=n for more rounds. Under ns.sh.
 */
#include "ipc_child.h"
#include "roudi.h"

static const struct ipc_mem_pool pools[] = { { 256, 2000 } };
static struct roudi roudi;
static int from_victim[2];

static void victim(void)
{
	struct ipc *ipc = attach_as("victim");
	struct ipc_pub *pub = NULL;
	struct ipc_sub *sub[4];
	void *slot;

	for (int i = 0; i < 4; i++)
		CHECK_IS(ipc_sub_create(ipc, "hot", &(struct ipc_sub_options){ .depth = 4 }, &sub[i]), 0);
	CHECK_IS(ipc_pub_create(ipc, "hot", &(struct ipc_pub_options){ .history = 1 }, &pub), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	CHECK(write(from_victim[1], "v", 1) == 1);
	for (;;)
		if (ipc_loan(pub, 64, &slot) == 0)
			ipc_publish(pub, slot);
}

/* Exit 0 attached, 1 RouDi did not answer. */
static void newcomer(void)
{
	struct ipc_options o = { .app = "newcomer", .timeout_ms = 1000 };
	struct ipc *ipc = NULL;
	int r = ipc_attach(&o, &ipc);

	if (r == -ETIMEDOUT)
		_exit(1);
	CHECK_IS(r, 0);
	exit(0);
}

/* Kills one; returns whether RouDi is stuck, as the probe says. */
static bool kill_one(void)
{
	pid_t pid = child_start(victim);
	bool stuck;
	char c;
	int r;

	assert_int_equal(read(from_victim[0], &c, 1), 1);
	moment_us(1000 + (unsigned)rand() % 3000); /* somewhere in the loop */
	kill(pid, SIGKILL);
	assert_int_equal(child_status(pid), SIGKILL);
	r = ipc_free_app(NULL, "victim");
	assert_true(r == 0 || r == -ETIMEDOUT);
	do { /* until both say the same: a slow machine may make either late */
		r = ipc_probe(NULL, 1500);
		assert_true(r == 0 || r == -ETIMEDOUT);
		stuck = r == -ETIMEDOUT;
		r = child_status(child_start(newcomer));
		assert_true(WIFEXITED(r));
	} while (stuck != (WEXITSTATUS(r) == 1));
	return stuck;
}

TEST(a_client_killed_while_it_publishes_is_survived)
{
	int kills = getenv("KILLS") ? atoi(getenv("KILLS")) : 12, stuck = 0, n;
	struct ipc *ipc = attach_as("watchdog");

	for (n = 0; n < kills && stuck < 9; n++) { /* 9: lives of this process */
		if (!kill_one())
			continue;
		stuck++;
		ipc_abandon(ipc);
		ipc_detach(ipc);
		assert_int_equal(roudi_restart(&roudi, pools, 1), 0);
		ipc = attach_as("watchdog");
	}
	print_message("%d kills, RouDi stuck %d times\n", n, stuck);
	ipc_detach(ipc);
}

static int start(void **state)
{
	(void)state;
	srand(getenv("SEED") ? (unsigned int)atoi(getenv("SEED")) : 1);
	return pipe(from_victim) < 0 ? -1 : roudi_restart(&roudi, pools, 1);
}

static int stop(void **state)
{
	(void)state;
	roudi_kill(&roudi);
	return 0;
}

TEST_GROUP(start, stop)
