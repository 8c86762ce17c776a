/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of killed processes are freed in time, and never too early: in virtual time, on a data plane that knows who
 * holds each slot (ipc_mem_wrongly_freed()).
 */
#include "scenario/client/imu.h"

#include <sys/socket.h>

#include "libclient/src/publisher.h"
#include "registry/simd.h"
#include "registry/slot_reclaim.h"

#define SOON (500 * MS)
#define SLOT 400

static struct world w;
static bool stopped;
static uint32_t before;

static bool process_stopped(void *user, pid_t pid)
{
	(void)user;
	assert_int_equal(pid, getpid());
	return stopped;
}

static const struct simd_ops ops = { .process_stopped = process_stopped };

static int begin(void **state)
{
	(void)state;
	stopped = false;
	world_create(&w, test_seed(1), "");
	w.simd->ops = &ops;
	before = ipc_mem_slots_used(w.bus);
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_int_equal(ipc_mem_wrongly_freed(w.bus), 0);
	world_destroy(&w);
	return 0;
}

static void lose(struct sim_publisher *p, unsigned n, enum ipc_mem_loss how)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(ipc_mem_lose(p->reg->port->pub, SLOT, how), 0);
}

/* As by SIGKILL: no Goodbye, and its ports stay until they are freed. */
static void die(struct sim_client *c, struct sim_publisher *p, struct sim_subscriber *s)
{
	ipc_mem_kill(c->att->ipc);
	(void)shutdown(c->session->sock, SHUT_RDWR);
	world_run(&w, MS);
	sim_publisher_destroy(p);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
}

static void expect_lost(uint32_t n)
{
	uint32_t used = ipc_mem_slots_used(w.bus);

	if (used != before + n)
		fail_msg("at %lld ms: %d slots are in use beyond those of the start, not %u",
			 (long long)(exec_now(w.x) / MS), (int)(used - before), n);
}

static void expect_back(uint64_t reclaimed)
{
	expect_lost(0);
	assert_int_equal(slot_reclaim_count(w.simd), reclaimed);
}

/* Asserts that n lost slots are freed once they have settled, after 10 s, and not before. */
static void expect_settling(uint32_t n)
{
	world_run(&w, 9 * S);
	expect_lost(n);
	world_run(&w, 4 * S);
	expect_lost(0);
}

static void sensor_dies(const char *channel, unsigned flags, unsigned n, enum ipc_mem_loss how)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, channel, flags);

	lose(p, n, how);
	die(c, p, NULL);
}

TEST_WITH(slots_of_a_dead_publisher_come_back_at_once, begin, end)
{
	sensor_dies("imu", 0, 3, IPC_MEM_LOSS_ORIGIN);
	world_run(&w, SOON);
	expect_back(3);
}

/* simd may hold slots of it that dispatch does not know of. */
TEST_WITH(slots_of_a_dead_local_publisher_are_freed_after_settling, begin, end)
{
	sensor_dies("alone", SIM_PUB_LOCAL, 2, IPC_MEM_LOSS_ORIGIN);
	expect_settling(2);
	expect_back(2);
}

/* Another publisher may have pushed a slot out of simd's queue, and hold it. */
TEST_WITH(slots_of_a_dead_publisher_on_a_shared_channel_are_freed_after_settling, begin, end)
{
	struct sim_client *other = world_client(&w, "other", 0);
	struct sim_publisher *p = imu_advertise(other, "imu", 0);

	before = ipc_mem_slots_used(w.bus);
	sensor_dies("imu", 0, 2, IPC_MEM_LOSS_ORIGIN);
	expect_settling(2);
	expect_back(2);
	sim_publisher_destroy(p);
	sim_disconnect(other);
	before = ipc_mem_slots_used(w.bus);
}

TEST_WITH(a_slot_without_an_owner_is_freed_after_settling, begin, end)
{
	sensor_dies("imu", 0, 2, IPC_MEM_LOSS_NOBODYS);
	expect_settling(2);
	expect_back(2);
}

TEST_WITH(no_slot_is_freed_while_a_process_is_stopped, begin, end)
{
	struct sim_client *other = world_client(&w, "other", 0);

	stopped = true;
	sensor_dies("imu", 0, 1, IPC_MEM_LOSS_NOBODYS);
	world_run(&w, 60 * S);
	expect_lost(1);
	stopped = false;
	world_run(&w, 5 * S);
	stopped = true; /* one stop in between is enough: the settling time starts again */
	world_run(&w, 2 * S);
	stopped = false;
	expect_settling(1);
	sim_disconnect(other);
}

/* simctl, suspended in its terminal. */
TEST_WITH(a_stopped_tool_does_not_delay_freeing, begin, end)
{
	struct sim_client *tool = world_client(&w, "tool", SIM_CLIENT_NO_DATA);

	stopped = true;
	sensor_dies("imu", 0, 1, IPC_MEM_LOSS_NOBODYS);
	expect_settling(1);
	sim_disconnect(tool);
}

/*
 * The subscriber may have them in its queue, or on loan: after a settling time only slots that no port refers to are
 * freed.
 */
TEST_WITH(slots_are_freed_late_while_a_subscriber_of_the_channel_lives, begin, end)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *l = world_client(&w, "listener", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_subscriber *s = imu_subscribe(l, "imu", 0);
	const struct sim_message *got;

	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_take(s, &got), 0);
	lose(p, 2, IPC_MEM_LOSS_ORIGIN);
	die(c, p, NULL);
	world_run(&w, 9 * S);
	expect_lost(4); /* with one that the subscriber holds, and one in its queue */
	world_run(&w, 4 * S);
	expect_lost(2);
	world_run(&w, 60 * S);
	expect_lost(2);
	assert_int_equal(sim_release(s, got), 0);
	imu_expect(s, 2);
	expect_back(2);
	sim_subscriber_destroy(s);
	sim_disconnect(l);
}

TEST_WITH(a_subscriber_of_another_channel_does_not_delay_freeing, begin, end)
{
	struct sim_client *l = world_client(&w, "listener", 0);
	struct sim_subscriber *s = imu_subscribe(l, "else", 0);

	sensor_dies("imu", 0, 2, IPC_MEM_LOSS_ORIGIN);
	world_run(&w, SOON);
	expect_back(2);
	sim_subscriber_destroy(s);
	sim_disconnect(l);
}

TEST_WITH(no_slot_is_freed_while_a_bridge_holds_a_message, begin, end)
{
	struct bridge_peer b;
	struct sim_client *c;
	struct sim_publisher *p;
	struct outcome done = { 0 };

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	c = world_client(&w, "sensor", 0);
	p = imu_advertise(c, "imu", 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	lose(p, 2, IPC_MEM_LOSS_ORIGIN);
	assert_int_equal(bridge_next(&b, 100), 1);
	die(c, p, NULL);
	world_run(&w, 900 * MS);
	expect_lost(3);
	bridge_answer(&b, 0);
	world_run(&w, SOON);
	expect_lost(0);
	bridge_end(&b);
	expect_back(2);
}

static int exit_pipe[2]; /* stands for a pidfd */

static int peer_exit_fd(void *user, int sock, int64_t connected_mono_ns)
{
	(void)user;
	(void)sock;
	(void)connected_mono_ns;
	return dup(exit_pipe[0]);
}

static const struct simd_ops ops_of_processes = { .peer_exit_fd = peer_exit_fd };

/* The session ends, but the process lives on: it may still publish the slots that it has on loan. */
TEST_WITH(no_slot_is_freed_while_the_process_lives_after_its_session, begin, end)
{
	struct sim_client *c;
	struct sim_publisher *p;
	struct sim_slot *slot;

	/* a dead client, so that simd looks for lost slots for some time */
	sensor_dies("else", 0, 1, IPC_MEM_LOSS_NOBODYS);
	assert_int_equal(pipe(exit_pipe), 0);
	w.simd->ops = &ops_of_processes;
	c = world_client(&w, "sensor", 0);
	p = imu_advertise(c, "imu", 0);
	slot = imu_loan(p);
	lose(p, 2, IPC_MEM_LOSS_ORIGIN);
	(void)shutdown(c->session->sock, SHUT_RDWR);
	world_run(&w, 60 * S);
	expect_lost(1); /* the slots that it has on loan */
	assert_int_equal(sim_unloan(p, slot), 0);
	ipc_mem_kill(c->att->ipc);
	close(exit_pipe[1]);
	world_run(&w, SOON);
	expect_back(3);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	close(exit_pipe[0]);
}

/* A message that such a process publishes after its session is not freed either: simd has it in its queue. */
TEST_WITH(messages_published_after_the_session_are_not_freed_early, begin, end)
{
	struct sim_client *c;
	struct sim_publisher *p;
	struct sim_slot *slot;

	assert_int_equal(pipe(exit_pipe), 0);
	w.simd->ops = &ops_of_processes;
	c = world_client(&w, "sensor", 0);
	p = imu_advertise(c, "imu", 0);
	slot = imu_loan(p);
	lose(p, 2, IPC_MEM_LOSS_ORIGIN);
	(void)shutdown(c->session->sock, SHUT_RDWR);
	world_run(&w, 2 * S);
	assert_int_equal(ipc_publish(p->reg->port->pub, slot), 0);
	ipc_mem_kill(c->att->ipc);
	close(exit_pipe[1]);
	world_run(&w, SOON);
	expect_back(2);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	close(exit_pipe[0]);
}

static struct ipc *foreigner(struct ipc_pub **ret)
{
	struct ipc_options o = { .backend = "mem", .app = "foreigner", .bus = w.bus };
	struct ipc *ipc = NULL;

	assert_int_equal(ipc_attach(&o, &ipc), 0);
	assert_int_equal(ipc_pub_create(ipc, "/elsewhere", NULL, ret), 0);
	return ipc;
}

TEST_WITH(no_slot_is_freed_while_an_unknown_process_is_attached, begin, end)
{
	struct ipc_pub *p;
	struct ipc *ipc = foreigner(&p);

	sensor_dies("imu", 0, 2, IPC_MEM_LOSS_ORIGIN);
	sensor_dies("imu", 0, 2, IPC_MEM_LOSS_NOBODYS);
	world_run(&w, 60 * S);
	expect_lost(4);
	ipc_pub_destroy(p);
	ipc_detach(ipc);
	world_run(&w, 2 * S);
	expect_lost(2);
	world_run(&w, 12 * S);
	expect_back(4);
}

TEST_WITH(no_slot_is_freed_while_an_unknown_dead_process_is_not_freed, begin, end)
{
	struct ipc_pub *p;
	struct ipc *ipc = foreigner(&p);

	assert_int_equal(ipc_mem_lose(p, SLOT, IPC_MEM_LOSS_ORIGIN), 0);
	ipc_mem_kill(ipc);
	sensor_dies("imu", 0, 2, IPC_MEM_LOSS_ORIGIN);
	world_run(&w, 60 * S);
	expect_lost(3);
	assert_int_equal(ipc_free_peer(w.simd->dataplane.ipc, "foreigner"), 0);
	ipc_pub_destroy(p);
	ipc_detach(ipc);
	world_run(&w, 2 * S);
	expect_lost(1); /* its own, which simd has never heard of */
	sensor_dies("imu", 0, 0, IPC_MEM_LOSS_ORIGIN);
	world_run(&w, 14 * S);
	expect_back(3); /* now that simd is alone */
}

/* A client that claims another's port, by a bug or by intent. */
TEST_WITH(a_forged_origin_does_not_free_slots_of_another_client, begin, end)
{
	struct sim_client *good = world_client(&w, "good", 0), *bad = world_client(&w, "bad", 0);
	struct sim_publisher *g = imu_advertise(good, "imu", 0), *b = imu_advertise(bad, "other", 0);
	struct sim_slot *slot = imu_loan(g);

	atomic_store(&b->reg->counters->origin, ipc_pub_origin(g->reg->port->pub));
	die(bad, b, NULL);
	world_run(&w, 60 * S);
	assert_int_equal(ipc_mem_wrongly_freed(w.bus), 0);
	assert_int_equal(sim_unloan(g, slot), 0);
	sim_publisher_destroy(g);
	sim_disconnect(good);
}

TEST_WITH(a_new_data_plane_starts_without_lost_slots, begin, end)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);

	sensor_dies("imu", 0, 2, IPC_MEM_LOSS_NOBODYS);
	world_run(&w, 5 * S);
	world_kill_roudi(&w);
	world_start_roudi(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	world_process(&w, c);
	world_run(&w, 20 * S);
	assert_int_equal(slot_reclaim_count(w.simd), 0);
	assert_int_equal(sim_unloan(p, imu_loan(p)), 0); /* it takes its new port */
	lose(p, 1, IPC_MEM_LOSS_ORIGIN);
	die(c, p, NULL);
	world_run(&w, SOON);
	assert_int_equal(slot_reclaim_count(w.simd), 1);
}
