/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step where those of equal rank acknowledge in shared memory, and only the last tells simd; and where simd tells them of
 * their turns there.
 */
#include "rig.h"

#include "wire/pages.h"
#include "wire/step.h"

#define PEERS 3

static struct wire_stepper steppers[WIRE_STEPPERS_MAX];
static struct wire_turn page;
static struct wire_grant grant;

struct peer {
	int fd;
	struct step_packet turn, last;
};

static struct rig r;
static struct peer peers[PEERS];
static int driver;

static int setup(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	int result, fds[2];

	(void)state;
	memset(steppers, 0, sizeof(steppers));
	memset(&page, 0, sizeof(page));
	memset(&grant, 0, sizeof(grant));
	rig_init(&r, 1, "unity",
		 (struct time_engine_options){ .steppers = steppers,
					       .turn = &page,
					       .grant = &grant,
					       .step_deadline_dur_ns = NS_PER_S,
					       .step_late = TIME_LATE_DROP });
	driver = rig_attach(&r, 9, &result);
	for (unsigned i = 0; i < PEERS; i++) {
		struct time_participant who = { .client_id = i + 1, .pid = 1, .name = names[i] };

		assert_int_equal(fd_packet_pair(fds, 0), 0);
		assert_int_equal(time_engine_join(r.e, fds[0], &who), 0);
		peers[i] = (struct peer){ .fd = fds[1] };
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_finish(&r);
	close(driver);
	for (int i = 0; i < PEERS; i++)
		fd_close(peers[i].fd);
	return 0;
}

static int got(struct peer *p)
{
	ssize_t n;

	assert_true(exec_sim_settle(r.x) >= 0);
	n = recv(p->fd, &p->last, sizeof(p->last), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(p->last))
		return (int)p->last.op;
	return n < 0 && errno == EAGAIN ? 0 : -1;
}

static void turn(struct peer *p)
{
	assert_int_equal(got(p), STEP_TURN);
	p->turn = p->last;
}

/* A step begins, and all have their turns. */
static void advance(void)
{
	assert_int_equal(rig_advance(&r, driver, 10), 0);
	for (int i = 0; i < PEERS; i++)
		turn(&peers[i]);
}

static void say(struct peer *p, uint32_t op, uint32_t kept)
{
	struct step_packet m = { .op = op, .number = p->turn.number, .kept = kept };

	assert_int_equal(send(p->fd, &m, sizeof(m), MSG_NOSIGNAL), sizeof(m));
	assert_true(exec_sim_settle(r.x) >= 0);
}

/* As libsimclient does; true: it is the last. */
static bool done(struct peer *p, uint32_t kept)
{
	uint64_t with = p->turn.with;

	atomic_store(&steppers[p->turn.stepper].kept, kept);
	atomic_store(&steppers[p->turn.stepper].done, p->turn.number);
	assert_true(exec_sim_settle(r.x) >= 0);
	for (; with; with &= with - 1) {
		uint64_t d = steppers[__builtin_ctzll(with)].done;

		if (d != p->turn.number && d != WIRE_STEPPER_GONE)
			return false;
	}
	return true;
}

static void leave(struct peer *p)
{
	p->fd = fd_close(p->fd);
	assert_true(exec_sim_settle(r.x) >= 0);
}

TEST_WITH(the_last_participant_reports_for_all, setup, teardown)
{
	struct time_participant v[PEERS];

	for (int i = 0; i < 3; i++) {
		advance();
		assert_int_equal(peers[0].turn.with, 7);
		assert_false(done(&peers[i], 0));
		assert_false(done(&peers[(i + 1) % 3], 0));
		assert_int_equal(time_engine_participants(r.e, v, PEERS), PEERS);
		assert_true(!v[i].awaited && !v[(i + 1) % 3].awaited && v[(i + 2) % 3].awaited);
		assert_int_equal(rig_answer(&r, driver), 0);
		assert_true(done(&peers[(i + 2) % 3], 0));
		say(&peers[(i + 2) % 3], STEP_DONE, 0);
		assert_int_equal(rig_answer(&r, driver), 10);
	}
	assert_int_equal(r.left, 0);
}

TEST_WITH(kept_messages_are_released_in_order, setup, teardown)
{
	advance();
	done(&peers[2], 2);
	done(&peers[0], 1);
	assert_true(done(&peers[1], 0));
	say(&peers[1], STEP_DONE, 0);
	assert_int_equal(got(&peers[2]), 0);
	assert_int_equal(got(&peers[0]), STEP_RELEASE);
	say(&peers[0], STEP_RELEASED, 0);
	assert_int_equal(got(&peers[2]), STEP_RELEASE);
	assert_int_equal(rig_answer(&r, driver), 0);
	say(&peers[2], STEP_RELEASED, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
}

/* The third participant dies at each point, in any order: no deadline is waited for. */
TEST_WITH(dead_participants_block_no_step, setup, teardown)
{
	advance();
	done(&peers[0], 0);
	done(&peers[1], 0);
	assert_true(done(&peers[2], 0));
	leave(&peers[2]); /* it was killed before it sent its packet to simd */
	assert_int_equal(rig_answer(&r, driver), 10);

	rig_advance(&r, driver, 10);
	turn(&peers[0]);
	turn(&peers[1]);
	assert_int_equal(peers[0].turn.with, 3);
	assert_false(done(&peers[0], 0));
	leave(&peers[1]); /* without having acknowledged: those that have are not asked again */
	assert_int_equal(rig_answer(&r, driver), 10);
	rig_advance(&r, driver, 10);
	turn(&peers[0]);
	assert_int_equal(peers[0].turn.with, 0); /* alone: by packet */
	say(&peers[0], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(r.lates, 0);
}

TEST_WITH(after_one_leaves_the_last_remaining_reports, setup, teardown)
{
	advance();
	leave(&peers[1]);
	assert_false(done(&peers[0], 0));
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
}

/* Its place is taken again at once: it has no turn in this step. */
TEST_WITH(a_reused_place_is_not_waited_for, setup, teardown)
{
	struct time_participant who = { .client_id = 77, .pid = 1, .name = "new" };
	int fds[2];

	advance();
	leave(&peers[1]);
	assert_int_equal(fd_packet_pair(fds, 0), 0);
	assert_int_equal(time_engine_join(r.e, fds[0], &who), 0);
	peers[1].fd = fds[1];
	assert_false(done(&peers[0], 0));
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	advance();
	assert_int_equal(peers[1].turn.with, 7);
	assert_false(done(&peers[0], 0));
	assert_false(done(&peers[2], 0)); /* the new one takes part */
	assert_true(done(&peers[1], 0));
	say(&peers[1], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
}

/* Two end at once, each sees the other; the second packet is read in the next step only. */
TEST_WITH(two_participants_may_both_be_last, setup, teardown)
{
	struct step_packet late;

	advance();
	done(&peers[0], 0);
	done(&peers[1], 0);
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	say(&peers[1], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	late = (struct step_packet){ .op = STEP_DONE, .number = peers[0].turn.number };
	advance();
	assert_int_equal(send(peers[0].fd, &late, sizeof(late), MSG_NOSIGNAL), sizeof(late));
	assert_int_equal(got(&peers[0]), 0); /* it is not out */
	assert_int_equal(rig_answer(&r, driver), 0);
	for (int i = 0; i < PEERS; i++)
		done(&peers[i], 0);
	say(&peers[1], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(r.left, 0);
}

/* A client without data plane sees no shared memory: simd writes for it. */
TEST_WITH(participants_by_packet_and_by_memory_may_mix, setup, teardown)
{
	advance();
	say(&peers[0], STEP_DONE, 0);
	assert_false(done(&peers[1], 0));
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	advance();
	done(&peers[1], 0);
	done(&peers[2], 0);
	say(&peers[0], STEP_DONE, 0); /* its packet is the last */
	assert_int_equal(rig_answer(&r, driver), 10);
}

/*
 * Stopped between the write to the page and the packet: at the deadline simd reads the page, and counts no participant
 * as late.
 */
TEST_WITH(the_deadline_checks_the_page_first, setup, teardown)
{
	advance();
	for (int i = 0; i < PEERS; i++)
		done(&peers[i], 0);
	assert_int_equal(rig_answer(&r, driver), 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(r.lates, 0);
	advance();
	done(&peers[0], 0);
	done(&peers[2], 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(r.lates, 1); /* only the one that was */
	assert_int_equal(got(&peers[1]), STEP_DROPPED);
	assert_int_equal(rig_answer(&r, driver), 10);
}

/* A participant overwrites the words: a turn ends early, no participant is removed and nothing hangs. */
TEST_WITH(an_overwritten_page_harms_only_its_writer, setup, teardown)
{
	advance();
	atomic_store(&steppers[peers[1].turn.stepper].done, peers[1].turn.number);
	done(&peers[0], 0);
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	say(&peers[1], STEP_DONE, 3);
	memset(steppers, 0x5a, sizeof(steppers));
	advance();
	for (int i = 0; i < PEERS; i++)
		say(&peers[i], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(r.left, 0);
}

/* ---- on the page ---- */

static uint32_t page_seq; /* of the last turn */

/* The next turn is the last packet. */
static void page_asked_by(unsigned mask)
{
	for (int i = 0; i < PEERS; i++)
		if (mask >> i & 1)
			say(&peers[i], STEP_PAGE, 0);
	advance();
	for (int i = 0; i < PEERS; i++) {
		assert_int_equal(peers[i].turn.flags & STEP_ON_PAGE, mask >> i & 1 ? STEP_ON_PAGE : 0);
		assert_int_equal(peers[i].turn.turn_seq, page.seq);
		done(&peers[i], 0);
	}
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	page_seq = page.seq;
}

/* A step begins; those on the page have their turn there, in one move of it. */
static void advance_on_page(unsigned mask, uint64_t with)
{
	assert_int_equal(rig_advance(&r, driver, 10), 0);
	assert_int_equal(page.seq, page_seq + 2);
	assert_int_equal(page.with, with);
	assert_int_equal(page.sim_ns, rig_read(&r).sim_ns);
	assert_int_equal(page.clock_generation, r.page.clock_generation);
	assert_int_equal(page.dur_ns, 10);
	page_seq = page.seq;
	for (int i = 0; i < PEERS; i++) {
		if (peers[i].fd < 0)
			continue;
		if (!(mask >> i & 1)) {
			turn(&peers[i]);
			assert_int_equal(page.number, peers[i].turn.number);
			continue;
		}
		assert_int_equal(got(&peers[i]), 0);
		assert_true(page.number > peers[i].turn.number);
		peers[i].turn.number = page.number;
		peers[i].turn.with = page.with;
	}
}

TEST_WITH(turns_may_be_given_through_the_page, setup, teardown)
{
	page_asked_by(7);
	for (int i = 0; i < 3; i++) {
		advance_on_page(7, 7);
		done(&peers[0], 1);
		done(&peers[1], 0);
		assert_int_equal(rig_answer(&r, driver), 0);
		assert_true(done(&peers[2], 0));
		say(&peers[2], STEP_DONE, 0);
		assert_int_equal(got(&peers[0]), STEP_RELEASE); /* this is still a packet */
		say(&peers[0], STEP_RELEASED, 0);
		assert_int_equal(rig_answer(&r, driver), 10);
	}
	assert_int_equal(r.left, 0);
}

TEST_WITH(one_of_several_participants_may_use_the_page, setup, teardown)
{
	page_asked_by(2);
	for (int i = 0; i < 3; i++) {
		advance_on_page(2, 7);
		done(&peers[1], 0);
		say(&peers[0], STEP_DONE, 0);
		say(&peers[2], STEP_DONE, 0);
		assert_int_equal(rig_answer(&r, driver), 10);
	}
}

/* A participant that leaves moves the page: the others look at their sockets, and so does the removed one. */
TEST_WITH(a_participant_that_leaves_moves_the_page, setup, teardown)
{
	page_asked_by(6);
	leave(&peers[0]);
	assert_int_equal(page.seq, page_seq); /* it was not on the page */
	leave(&peers[2]);
	assert_int_equal(page.seq, page_seq + 2);
	page_seq = page.seq;
	advance_on_page(2, UINT64_C(1) << peers[1].turn.stepper);
	assert_true(done(&peers[1], 0));
	say(&peers[1], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(r.left, 2);
}

TEST_WITH(late_participants_on_the_page_are_dropped, setup, teardown)
{
	page_asked_by(7);
	advance_on_page(7, 7);
	done(&peers[0], 0);
	done(&peers[2], 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(r.lates, 1);
	assert_int_equal(page.seq, page_seq + 2);
	assert_int_equal(got(&peers[1]), STEP_DROPPED);
	assert_int_equal(got(&peers[1]), -1);
	assert_int_equal(rig_answer(&r, driver), 10);
}

/*
 * A participant that has acknowledged gets no packet; one that has not gets its turn as a packet, and the next ones
 * too.
 */
TEST_WITH(a_participant_may_return_to_packets, setup, teardown)
{
	page_asked_by(7);
	advance_on_page(7, 7);
	done(&peers[0], 0);
	say(&peers[0], STEP_PACKETS, 0);
	assert_int_equal(page.seq, page_seq + 2);
	say(&peers[1], STEP_PACKETS, 0);
	assert_int_equal(page.seq, page_seq + 4);
	say(&peers[1], STEP_PACKETS, 0); /* wakes no participant any more */
	assert_int_equal(page.seq, page_seq + 4);
	assert_int_equal(got(&peers[0]), 0);
	assert_int_equal(got(&peers[1]), STEP_TURN);
	assert_int_equal(peers[1].last.number, page.number);
	assert_int_equal(peers[1].last.sim_ns, page.sim_ns);
	assert_int_equal(peers[1].last.with, 7);
	assert_int_equal(peers[1].last.flags, STEP_SHARED);
	done(&peers[1], 0);
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	page_seq = page.seq;
	advance_on_page(4, 7);
	assert_int_equal(peers[0].turn.flags, STEP_SHARED);
}

/* ---- the last one answers the driver ---- */

/* A request of a driver that waits on the page and was granted that round last. */
static void ask(uint64_t number)
{
	struct driver_packet p = { .op = DRIVER_ADVANCE, .dur_ns = 10, .number = number, .flags = DRIVER_ON_PAGE };

	assert_int_equal(send(driver, &p, sizeof(p), MSG_NOSIGNAL), sizeof(p));
	assert_true(exec_sim_settle(r.x) >= 0);
}

/* All have their turns, as packets or on the page; none has acknowledged. */
static void ask_for_turns(uint64_t number)
{
	ask(number);
	for (int i = 0; i < PEERS; i++)
		turn(&peers[i]);
}

static void all_done(void)
{
	done(&peers[0], 0);
	done(&peers[1], 0);
	assert_true(done(&peers[2], 0));
}

static int64_t now_sim_ns(void)
{
	return rig_read(&r).sim_ns;
}

TEST_WITH(the_last_participant_answers_the_driver, setup, teardown)
{
	uint64_t number = 0;

	for (int i = 1; i < 5; i++) {
		ask_for_turns(number);
		assert_int_equal(page.flags, WIRE_TURN_ANSWERS);
		assert_int_equal(page.scale_e6, SIM_RATE_ONE);
		all_done();
		assert_int_equal(now_sim_ns(), 10 * i);
		number = page.number;
	}
	assert_int_equal(rig_answer(&r, driver), 0); /* simd has said nothing */
	assert_int_equal(grant.moved, 0);
	assert_int_equal(r.losts, 0);
}

/* simd looks for a reason of its own, and sees that the round is over. Another participant joins, and leaves. */
static void look(void)
{
	struct time_participant who = { .client_id = 20, .pid = 1, .name = "guest" };
	int fds[2];

	assert_int_equal(fd_packet_pair(fds, 0), 0);
	assert_int_equal(time_engine_join(r.e, fds[0], &who), 0);
	close(fds[1]);
	assert_true(exec_sim_settle(r.x) >= 0);
}

/*
 * Otherwise half of the messages that the driver publishes for its next instant would be sent before the other half, in
 * another order than in most runs.
 */
TEST_WITH(messages_of_the_driver_wait_for_its_next_request, setup, teardown)
{
	unsigned dispatches;

	ask_for_turns(0);
	all_done();
	assert_true(wire_grant_take(&grant, page.number));
	dispatches = r.dispatches;
	look();
	assert_int_equal(r.dispatches, dispatches);
	assert_int_equal(rig_answer(&r, driver), 10); /* it has had that */
	assert_int_equal(r.drains, 1);
	ask(page.number);
	assert_int_equal(r.drains, 2);
	assert_int_equal(now_sim_ns(), 20);
}

/*
 * The other way round: a participant that tries to answer then finds that it is too late, and sends its packet to simd,
 * which knows.
 */
TEST_WITH(an_ended_round_is_not_answered_by_a_participant, setup, teardown)
{
	unsigned dispatches;

	ask_for_turns(0);
	all_done();
	dispatches = r.dispatches;
	look();
	assert_int_equal(r.dispatches, dispatches + 1);
	assert_false(wire_grant_take(&grant, page.number));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(r.losts, 0);
	assert_int_equal(r.left, 1); /* the guest */
	ask_for_turns(page.number);
	assert_true(wire_grant_take(&grant, page.number));
	assert_int_equal(now_sim_ns(), 20);
}

/* Only behind the last participant, where dispatch would find nothing, and where the driver waits for it. */
TEST_WITH(with_work_left_simd_answers_itself, setup, teardown)
{
	r.busy = true;
	ask_for_turns(0);
	assert_int_equal(page.flags, 0);
	all_done();
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(grant.moved, 1); /* the driver is woken for its packet */
	assert_int_equal(rig_answer(&r, driver), 10);
	r.busy = false;
	advance();
	assert_int_equal(page.flags, 0);
	all_done();
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(grant.moved, 1);
}

TEST_WITH(only_the_last_rank_answers_the_driver, setup, teardown)
{
	struct time_participant who = { .client_id = 9, .pid = 1, .name = "last", .rank = 1 };
	struct peer last = { 0 };
	int fds[2];

	assert_int_equal(fd_packet_pair(fds, 0), 0);
	assert_int_equal(time_engine_join(r.e, fds[0], &who), 0);
	last.fd = fds[1];
	ask_for_turns(0);
	assert_int_equal(page.flags, 0);
	all_done();
	say(&peers[2], STEP_DONE, 0);
	turn(&last);
	assert_int_equal(page.flags, WIRE_TURN_ANSWERS);
	say(&last, STEP_DONE, 0); /* it has no pages */
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(grant.moved, 1);
	close(last.fd);
}

/* A request before all participants have finished: from a hostile driver, or one that was misled. It waits for them. */
TEST_WITH(a_request_that_comes_too_early_waits, setup, teardown)
{
	ask_for_turns(0);
	done(&peers[0], 0);
	ask(page.number);
	assert_int_equal(now_sim_ns(), 10);
	done(&peers[1], 0);
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	for (int i = 0; i < PEERS; i++)
		turn(&peers[i]);
	assert_int_equal(now_sim_ns(), 20);
	assert_int_equal(r.drains, 2);
	ask(page.number - 1); /* that is another round */
	assert_int_equal(r.losts, 1);
}

/* The driver does not return: its grant ends, and a pause begins, as with a packet. */
TEST_WITH(a_driver_answered_by_a_participant_may_pause_or_disconnect, setup, teardown)
{
	ask_for_turns(0);
	all_done();
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_answer(&r, driver), 10); /* it has had that */
	assert_true(time_engine_is_pausing(r.e));
	ask(page.number);
	assert_false(time_engine_is_pausing(r.e));
	assert_int_equal(now_sim_ns(), 10);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_true(exec_sim_settle(r.x) >= 0);
	assert_int_equal(now_sim_ns(), 20);
	for (int i = 0; i < PEERS; i++)
		turn(&peers[i]);
	all_done();
	driver = fd_close(driver); /* the next one finds no round open */
	assert_true(exec_sim_settle(r.x) >= 0);
	driver = rig_attach(&r, 10, &(int){ 0 });
	ask_for_turns(0);
	assert_int_equal(now_sim_ns(), 30);
	assert_int_equal(r.lates, 0);
}

/* An abandoned round is not answered: the last participant sends its packet to simd, which waits for it. */
TEST_WITH(an_abandoned_round_is_not_answered, setup, teardown)
{
	ask_for_turns(0);
	done(&peers[0], 0);
	done(&peers[1], 0);
	assert_int_equal(time_engine_set_source(r.e, source("ss2"), false), 0);
	assert_int_equal(page.flags, 0);
	assert_int_equal(grant.moved, 1); /* the driver looks at its socket */
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(r.left, 0);
}
