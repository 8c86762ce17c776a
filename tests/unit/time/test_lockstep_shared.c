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
	rig_init(&r, 1, "unity",
		 (struct time_engine_options){ .steppers = steppers,
					       .turn = &page,
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

TEST_WITH(the_last_speaks_for_all, setup, teardown)
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

TEST_WITH(what_is_kept_is_released, setup, teardown)
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

/* Each end of the third one, in whatever order: nobody waits for a deadline. */
TEST_WITH(the_dead_stop_nobody, setup, teardown)
{
	advance();
	done(&peers[0], 0);
	done(&peers[1], 0);
	assert_true(done(&peers[2], 0));
	leave(&peers[2]); /* it was killed before it told simd */
	assert_int_equal(rig_answer(&r, driver), 10);

	rig_advance(&r, driver, 10);
	turn(&peers[0]);
	turn(&peers[1]);
	assert_int_equal(peers[0].turn.with, 3);
	assert_false(done(&peers[0], 0));
	leave(&peers[1]); /* without having acknowledged: who has is not asked again */
	assert_int_equal(rig_answer(&r, driver), 10);
	rig_advance(&r, driver, 10);
	turn(&peers[0]);
	assert_int_equal(peers[0].turn.with, 0); /* alone: by packet */
	say(&peers[0], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
	assert_int_equal(r.lates, 0);
}

TEST_WITH(who_is_left_is_the_last, setup, teardown)
{
	advance();
	leave(&peers[1]);
	assert_false(done(&peers[0], 0));
	assert_true(done(&peers[2], 0));
	say(&peers[2], STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, driver), 10);
}

/* Its place is taken again at once: it has no turn in this step. */
TEST_WITH(a_place_taken_again_is_not_waited_for, setup, teardown)
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
TEST_WITH(two_may_be_the_last, setup, teardown)
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
TEST_WITH(packets_and_memory_mix, setup, teardown)
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

/* Stopped between its word and its packet: at the deadline simd looks, and nobody was late. */
TEST_WITH(the_deadline_looks_first, setup, teardown)
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
	assert_int_equal(r.lates, 1); /* only who was */
	assert_int_equal(got(&peers[1]), STEP_DROPPED);
	assert_int_equal(rig_answer(&r, driver), 10);
}

/* Somebody writes over the words: a turn ends early, nobody is thrown out and nothing hangs. */
TEST_WITH(scribbles_hurt_no_one_else, setup, teardown)
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

TEST_WITH(the_page_tells_all, setup, teardown)
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

TEST_WITH(one_of_them_is_on_the_page, setup, teardown)
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

/* Whoever goes moves the page: the others look at their sockets, and so does who is out. */
TEST_WITH(alone_on_the_page, setup, teardown)
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

TEST_WITH(the_late_on_the_page_are_dropped, setup, teardown)
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

/* Who has acknowledged is not told again; who has not gets its turn as a packet, and the next ones. */
TEST_WITH(packets_again, setup, teardown)
{
	page_asked_by(7);
	advance_on_page(7, 7);
	done(&peers[0], 0);
	say(&peers[0], STEP_PACKETS, 0);
	assert_int_equal(page.seq, page_seq + 2);
	say(&peers[1], STEP_PACKETS, 0);
	assert_int_equal(page.seq, page_seq + 4);
	say(&peers[1], STEP_PACKETS, 0); /* wakes nobody any more */
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
