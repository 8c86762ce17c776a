/* SPDX-License-Identifier: Apache-2.0 */
/* Lock-step, from the sockets' other ends: which participant runs its step when, and which does not stop the others. */
#include "rig.h"

#include "wire/step.h"

struct peer {
	int fd;
	struct step_packet last;
};

static struct peer join(struct rig *r, uint32_t client_id, uint32_t rank, const char *name)
{
	struct time_participant who = { .client_id = client_id, .pid = 1, .rank = rank, .name = name };
	int fds[2];

	assert_int_equal(fd_packet_pair(fds, 0), 0);
	assert_int_equal(time_engine_join(r->e, fds[0], &who), 0);
	return (struct peer){ .fd = fds[1] };
}

/* The op of the received packet; 0 none, -1 hung up. */
static int got(struct rig *r, struct peer *p)
{
	ssize_t n;

	assert_true(exec_sim_settle(r->x) >= 0);
	n = recv(p->fd, &p->last, sizeof(p->last), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(p->last))
		return (int)p->last.op;
	return n < 0 && errno == EAGAIN ? 0 : -1;
}

static void say(struct rig *r, struct peer *p, uint32_t op, uint32_t kept)
{
	struct step_packet m = { .op = op, .number = p->last.number, .kept = kept };

	assert_int_equal(send(p->fd, &m, sizeof(m), MSG_NOSIGNAL), sizeof(m));
	assert_true(exec_sim_settle(r->x) >= 0);
}

static void leave(struct rig *r, struct peer *p)
{
	close(p->fd);
	assert_true(exec_sim_settle(r->x) >= 0);
}

static int begin(struct rig *r, struct time_engine_options o)
{
	int result, fd;

	rig_init(r, 1, "unity", o);
	r->watched = false;
	fd = rig_attach(r, 9, &result);
	assert_int_equal(result, 0);
	return fd;
}

static bool stepping_flag(struct rig *r)
{
	return rig_read(r).flags & SIM_CLOCK_LOCKSTEP;
}

TEST(ranks_take_turns)
{
	struct rig r;
	int fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer b = join(&r, 2, 7, "b"), a = join(&r, 1, 3, "a");

	assert_true(r.held);
	assert_true(stepping_flag(&r));
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(rig_advance(&r, fd, 10), 0); /* withheld */
		assert_int_equal(got(&r, &b), 0);
		assert_int_equal(got(&r, &a), STEP_TURN);
		assert_int_equal(a.last.flags, 0); /* alone in its rank */
		assert_int_equal(a.last.number, i);
		assert_int_equal(a.last.sim_ns, 10 * i);
		assert_int_equal(a.last.dur_ns, 10);
		assert_int_equal(rig_read(&r).sim_ns, 10 * i); /* time has moved already */
		say(&r, &a, STEP_DONE, 0);
		assert_int_equal(rig_answer(&r, fd), 0);
		assert_int_equal(got(&r, &b), STEP_TURN);
		assert_int_equal(r.dispatches, i - 1);
		say(&r, &b, STEP_DONE, 0);
		assert_int_equal(r.dispatches, i);
		assert_int_equal(rig_answer(&r, fd), 10);
	}
	leave(&r, &a);
	leave(&r, &b);
	assert_false(r.held);
	assert_false(stepping_flag(&r));
	assert_int_equal(r.left, 2);
	assert_int_equal(rig_advance(&r, fd, 5), 5);
	close(fd);
	rig_finish(&r);
}

/*
 * Within a rank they run in parallel, and the messages that they hold are sent one participant after the other, by
 * name.
 */
TEST(participants_of_equal_rank_are_released_in_order)
{
	struct rig r;
	int fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer z = join(&r, 1, 0, "z"), a = join(&r, 2, 0, "a"), m = join(&r, 3, 0, "m"),
		    last = join(&r, 4, 1, "a");

	rig_advance(&r, fd, 10);
	assert_int_equal(got(&r, &z), STEP_TURN);
	assert_int_equal(z.last.flags, STEP_SHARED);
	assert_int_equal(got(&r, &a), STEP_TURN);
	assert_int_equal(got(&r, &m), STEP_TURN);
	say(&r, &z, STEP_DONE, 2);
	say(&r, &m, STEP_DONE, 0);
	assert_int_equal(got(&r, &z), 0); /* a has not acknowledged */
	say(&r, &a, STEP_DONE, 1);
	assert_int_equal(got(&r, &z), 0);
	assert_int_equal(got(&r, &m), 0);
	assert_int_equal(got(&r, &a), STEP_RELEASE);
	assert_int_equal(got(&r, &last), 0);
	say(&r, &a, STEP_RELEASED, 0);
	assert_int_equal(got(&r, &z), STEP_RELEASE);
	assert_int_equal(got(&r, &last), 0);
	say(&r, &z, STEP_RELEASED, 0);
	assert_int_equal(got(&r, &last), STEP_TURN);
	assert_int_equal(last.last.flags, 0);
	say(&r, &last, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 10);
	rig_finish(&r);
	close(fd);
	close(z.fd);
	close(a.fd);
	close(m.fd);
	close(last.fd);
}

/* In whatever state a participant dies, the step continues without it. */
TEST(dead_participants_are_removed_at_once)
{
	for (int when = 0; when < 4; when++) {
		struct rig r;
		int fd = begin(&r, (struct time_engine_options){ 0 });
		struct peer a = join(&r, 1, 0, "a"), b = join(&r, 2, 0, "b");

		if (when == 0)
			leave(&r, &a);
		rig_advance(&r, fd, 10);
		got(&r, &a);
		if (when == 1)
			leave(&r, &a);
		if (when > 1)
			say(&r, &a, STEP_DONE, 1);
		if (when == 2)
			leave(&r, &a);
		assert_int_equal(got(&r, &b), STEP_TURN);
		say(&r, &b, STEP_DONE, 0);
		if (when == 3) {
			assert_int_equal(got(&r, &a), STEP_RELEASE);
			assert_int_equal(rig_answer(&r, fd), 0);
			leave(&r, &a);
		}
		assert_int_equal(rig_answer(&r, fd), 10);
		rig_advance(&r, fd, 10);
		assert_int_equal(got(&r, &b), STEP_TURN);
		assert_int_equal(b.last.flags, 0);
		time_engine_drop_client(r.e, 2); /* all of them: the last one too */
		assert_int_equal(rig_answer(&r, fd), 10);
		assert_int_equal(got(&r, &b), -1);
		assert_false(r.held);
		rig_finish(&r);
		close(fd);
		close(b.fd);
	}
}

TEST(a_malformed_packet_removes_the_participant)
{
	static const struct step_packet bad[] = {
		{ .op = STEP_DONE, .number = 1 }, { .op = STEP_RELEASED }, { .op = 99 }, { .op = STEP_TURN }
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rig r;
		int fd = begin(&r, (struct time_engine_options){ 0 });
		struct peer a = join(&r, 1, 0, "a");

		assert_int_equal(send(a.fd, &bad[i], sizeof(bad[i]), MSG_NOSIGNAL), sizeof(bad[i]));
		assert_int_equal(got(&r, &a), -1);
		assert_int_equal(r.left, 1);
		assert_int_equal(rig_advance(&r, fd, 10), 10);
		rig_finish(&r);
		close(fd);
		close(a.fd);
	}
}

/* In the middle of a round: from the next one on. */
TEST(new_participants_wait_for_the_next_step)
{
	struct rig r;
	int fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer a = join(&r, 1, 0, "a"), b;

	rig_advance(&r, fd, 10);
	assert_int_equal(got(&r, &a), STEP_TURN);
	b = join(&r, 2, 5, "b");
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(got(&r, &b), 0);
	assert_int_equal(rig_answer(&r, fd), 10);
	rig_advance(&r, fd, 10);
	got(&r, &a);
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(got(&r, &b), STEP_TURN);
	say(&r, &b, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 10);
	rig_finish(&r);
	close(fd);
	close(a.fd);
	close(b.fd);
}

TEST(a_step_waits_for_dispatch)
{
	struct rig r;
	int fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer a = join(&r, 1, 0, "a");

	r.dispatch_busy = true;
	rig_advance(&r, fd, 10);
	got(&r, &a);
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 0);
	time_engine_dispatched(r.e);
	assert_int_equal(rig_answer(&r, fd), 10);
	time_engine_dispatched(r.e); /* a late echo */
	assert_int_equal(rig_answer(&r, fd), 0);
	rig_finish(&r);
	close(fd);
	close(a.fd);
}

/* Messages published for a step are sent before the participants of the next one publish. */
TEST(a_request_of_the_driver_drains_dispatch)
{
	struct rig r;
	int fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer a;

	assert_int_equal(rig_advance(&r, fd, 10), 10);
	assert_int_equal(r.drains, 0); /* nothing is held */
	a = join(&r, 1, 0, "a");
	r.drain_busy = true;
	assert_int_equal(rig_advance(&r, fd, 10), 0);
	assert_int_equal(r.drains, 1);
	assert_int_equal(got(&r, &a), 0);
	assert_int_equal(rig_read(&r).sim_ns, 10);
	time_engine_drained(r.e);
	time_engine_drained(r.e); /* a late echo */
	assert_int_equal(rig_read(&r).sim_ns, 20);
	assert_int_equal(got(&r, &a), STEP_TURN);
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 10);

	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_advance(&r, fd, 10), 0);
	assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	time_engine_drained(r.e);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(time_engine_resume(r.e), 0); /* messages published in between are sent first as well */
	assert_int_equal(r.drains, 3);
	assert_int_equal(got(&r, &a), 0);
	time_engine_drained(r.e);
	assert_int_equal(got(&r, &a), STEP_TURN);
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 10);
	rig_advance(&r, fd, 10);
	close(fd); /* while that is on its way */
	assert_true(exec_sim_settle(r.x) >= 0);
	time_engine_drained(r.e);
	assert_int_equal(rig_read(&r).sim_ns, 30);
	rig_finish(&r);
	close(a.fd);
}

TEST(late_participants_are_named)
{
	static const enum time_late policies[] = { TIME_LATE_WAIT, TIME_LATE_WARN, TIME_LATE_DROP };

	for (unsigned i = 0; i < 3; i++) {
		struct rig r;
		int fd = begin(&r, (struct time_engine_options){ .step_deadline_dur_ns = 1000000,
								 .step_late = policies[i] });
		struct peer a = join(&r, 1, 4, "a"), b = join(&r, 2, 6, "b");
		struct time_participant v[4];

		rig_advance(&r, fd, 10);
		assert_int_equal(got(&r, &a), STEP_TURN);
		rig_run(&r, 999999);
		assert_int_equal(time_engine_participants(r.e, v, 4), 2);
		assert_true(v[0].awaited && !v[0].late && v[0].waited_dur_ns == 999999);
		assert_false(v[1].awaited);
		assert_int_equal(r.lates, 0);
		rig_run(&r, 2000000);
		if (policies[i] == TIME_LATE_DROP) {
			assert_int_equal(got(&r, &a), STEP_DROPPED);
			assert_int_equal(got(&r, &a), -1);
			assert_int_equal(r.lates, 2); /* b has had its turn then, and was late too */
			assert_int_equal(r.late_rank, 6);
			assert_int_equal(rig_answer(&r, fd), 10);
		} else {
			assert_int_equal(time_engine_participants(r.e, v, 4), 2);
			assert_true(v[0].late);
			assert_int_equal(r.lates, policies[i] == TIME_LATE_WARN); /* once */
			say(&r, &a, STEP_DONE, 0);
			assert_int_equal(got(&r, &b), STEP_TURN);
			assert_int_equal(time_engine_participants(r.e, v, 4), 2);
			assert_true(!v[0].late && v[1].awaited && !v[1].late);
		}
		assert_int_equal(r.late_dropped, policies[i] == TIME_LATE_DROP);
		rig_finish(&r);
		close(fd);
		close(a.fd);
		close(b.fd);
	}
}

/* A round that has begun ends before a pause: no participant is refused in the middle of its turn. */
TEST(pause_waits_for_the_round)
{
	struct rig r;
	int fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer a = join(&r, 1, 0, "a");
	struct time_status st;

	rig_advance(&r, fd, 10);
	assert_int_equal(got(&r, &a), STEP_TURN);
	assert_int_equal(time_engine_pause(r.e), 0);
	time_engine_status(r.e, &st);
	assert_true(st.state == TIME_RUNNING && st.pausing);
	assert_int_equal(rig_step(&r, 30), 0); /* asked for before the pause has begun */
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 10);
	assert_false(rig_read(&r).flags & SIM_CLOCK_STEPPING); /* the driver publishes */
	assert_true(r.held);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_advance(&r, fd, 10), 0);
		assert_true(rig_read(&r).flags & SIM_CLOCK_STEPPING);
		assert_int_equal(got(&r, &a), STEP_TURN);
		say(&r, &a, STEP_DONE, 0);
		assert_int_equal(rig_answer(&r, fd), 10);
	}
	rig_advance(&r, fd, 10); /* the step has no room left */
	assert_int_equal(got(&r, &a), 0);
	assert_int_equal(r.step_result, 0);
	assert_int_equal(r.step_end_sim_ns, 40);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_false(r.held); /* no message is accepted now: earlier ones are sent */
	assert_true(r.hold_paused);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(got(&r, &a), STEP_TURN);
	assert_true(r.held && !r.hold_paused);
	assert_int_equal(time_engine_pause_by(r.e, 9), 0);
	say(&r, &a, STEP_DONE, 0);
	assert_true(!r.held && r.hold_paused);
	leave(&r, &a);
	assert_true(!r.held && !r.hold_paused); /* it is over */
	rig_finish(&r);
	close(fd);
}

/* Cancelled by a pause, a step's round still goes to its end. */
TEST(cancelled_steps_finish_their_round)
{
	struct rig r;
	int fd;
	struct peer a;

	fd = begin(&r, (struct time_engine_options){ .paused = true });
	a = join(&r, 1, 0, "a");
	rig_advance(&r, fd, 10);
	assert_int_equal(got(&r, &a), 0);
	assert_int_equal(rig_step(&r, 100), 0);
	assert_int_equal(got(&r, &a), STEP_TURN);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(r.step_result, -ECANCELED);
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 10);
	assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	rig_advance(&r, fd, 10);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(got(&r, &a), 0);
	rig_finish(&r);
	close(fd);
	close(a.fd);
}

/* Wall-driven time does not wait for participants, but a step does. */
TEST(wall_clock_steps_include_the_participants)
{
	struct rig r;
	struct peer a;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ 0 });
	r.watched = false;
	a = join(&r, 1, 0, "a");
	assert_false(r.held);
	rig_run(&r, 1000000000);
	assert_int_equal(got(&r, &a), 0);
	assert_int_equal(time_engine_pause(r.e), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_step(&r, 1000), 0);
		assert_true(r.held);
		assert_int_equal(got(&r, &a), STEP_TURN);
		assert_int_equal(a.last.dur_ns, 1000);
		assert_int_equal(r.step_result, 1);
		say(&r, &a, STEP_DONE, 0);
		assert_int_equal(r.step_result, 0); /* at once: no other one is waited for */
		assert_true(!r.held && r.hold_paused);
	}
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_true(!r.held && !r.hold_paused); /* no rounds */
	rig_finish(&r);
	close(a.fd);
}

/*
 * The source is switched in the middle of a turn: the round is abandoned, and the next one waits for the participant
 * that has not finished its turn.
 */
TEST(switching_the_source_abandons_the_round)
{
	struct rig r;
	int result, fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer a = join(&r, 1, 0, "a"), b = join(&r, 2, 0, "b");

	rig_advance(&r, fd, 10);
	assert_int_equal(got(&r, &a), STEP_TURN);
	assert_int_equal(got(&r, &b), STEP_TURN);
	say(&r, &b, STEP_DONE, 1);
	assert_int_equal(time_engine_set_source(r.e, source("simulation"), false), 0);
	assert_int_equal(got(&r, &b), STEP_RELEASE);
	assert_int_equal(time_engine_set_source(r.e, source("unity"), false), 0);
	close(fd);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(result, 0);
	rig_advance(&r, fd, 7);
	say(&r, &b, STEP_RELEASED, 0);
	assert_int_equal(got(&r, &b), 0);
	say(&r, &a, STEP_DONE, 3); /* of the old round */
	assert_int_equal(got(&r, &a), STEP_RELEASE);
	assert_int_equal(got(&r, &b), 0);
	say(&r, &a, STEP_RELEASED, 0);
	assert_int_equal(got(&r, &a), STEP_TURN);
	assert_int_equal(got(&r, &b), STEP_TURN);
	assert_int_equal(a.last.sim_ns, 7);
	say(&r, &a, STEP_DONE, 0);
	say(&r, &b, STEP_DONE, 0);
	assert_int_equal(rig_answer(&r, fd), 7);
	rig_finish(&r);
	close(fd);
	close(a.fd);
	close(b.fd);
}

/* A source whose driver sets the time: the same, also when time jumps. */
static void set_times(const char *source_name)
{
	struct driver_packet answer;
	struct rig r;
	int result, fd;
	struct peer a;

	rig_init(&r, 1, source_name, (struct time_engine_options){ 0 });
	fd = rig_attach(&r, 9, &result);
	a = join(&r, 1, 0, "a");
	for (int64_t to = 700; to >= 100; to -= 300) {
		rig_send(&r, fd, DRIVER_SET, 0, to);
		assert_int_equal(rig_recv(fd, &answer), 0);
		assert_int_equal(got(&r, &a), STEP_TURN);
		assert_int_equal(a.last.sim_ns, to);
		assert_int_equal(a.last.clock_generation, rig_read(&r).clock_generation);
		say(&r, &a, STEP_DONE, 0);
		assert_int_equal(rig_recv(fd, &answer), 1);
		assert_int_equal(answer.result, 0);
	}
	assert_int_equal(r.jumps, 3);
	rig_finish(&r);
	close(fd);
	close(a.fd);
}

TEST(set_times_are_steps)
{
	set_times("ss2");
	set_times("unity");
}

/* Answered when a turn was had at `to`: 1; 0: it waits. */
static int jump(struct rig *r, int fd, struct peer *a, int64_t to)
{
	struct driver_packet answer;

	if (got(r, a) != STEP_TURN)
		return 0;
	assert_int_equal(a->last.sim_ns, to);
	assert_int_equal(a->last.dur_ns, 0);
	assert_int_equal(a->last.clock_generation, rig_read(r).clock_generation);
	assert_int_equal(rig_recv(fd, &answer), 0);
	say(r, a, STEP_DONE, 0);
	assert_int_equal(rig_recv(fd, &answer), 1);
	assert_int_equal(answer.result, 0);
	return 1;
}

static void turn(struct rig *r, int fd, struct peer *a, int64_t at, int64_t granted)
{
	assert_int_equal(got(r, a), STEP_TURN);
	assert_int_equal(a->last.sim_ns, at);
	say(r, a, STEP_DONE, 0);
	assert_int_equal(rig_answer(r, fd), granted);
}

/* The instant at which a new run begins is a turn as well, also in a step: a pause meanwhile changes no turn. */
TEST(after_a_driver_jump_participants_get_a_turn)
{
	struct driver_packet none;

	for (int paused = 0; paused < 2; paused++) {
		struct rig r;
		int fd = begin(&r, (struct time_engine_options){ 0 });
		struct peer a = join(&r, 1, 0, "a");

		rig_advance(&r, fd, 10);
		turn(&r, fd, &a, 10, 10);
		if (paused)
			assert_int_equal(time_engine_pause(r.e), 0);
		rig_send(&r, fd, DRIVER_JUMP, 0, 3);
		if (paused) {
			assert_int_equal(jump(&r, fd, &a, 3), 0);
			assert_int_equal(rig_recv(fd, &none), 0);
			assert_int_equal(rig_step(&r, 20), 0);
		}
		assert_int_equal(jump(&r, fd, &a, 3), 1);
		for (int64_t i = 1; i <= 2; i++) {
			rig_send(&r, fd, DRIVER_ADVANCE, 10, 0);
			turn(&r, fd, &a, 3 + i * 10, 10);
		}
		rig_send(&r, fd, DRIVER_JUMP, 0, 0);
		if (paused) {
			assert_int_equal(r.step_result, 0);
			assert_int_equal(r.step_end_sim_ns, 23);
			assert_int_equal(jump(&r, fd, &a, 0), 0);
			assert_int_equal(time_engine_resume(r.e), 0);
		}
		assert_int_equal(jump(&r, fd, &a, 0), 1);
		assert_int_equal(r.jumps, 2);
		rig_send(&r, fd, DRIVER_JUMP, 0,
			 5); /* one that takes part dies in the turn of a jump, and so does the driver */
		assert_int_equal(got(&r, &a), STEP_TURN);
		leave(&r, &a);
		assert_int_equal(rig_recv(fd, &none), 1);
		close(fd);
		rig_run(&r, 1);
		assert_int_equal(r.losts, 1);
		assert_int_equal(rig_read(&r).sim_ns, 5);
		rig_finish(&r);
	}
}

/* Without participants, a driver that requests lock-step has rounds of dispatch alone, another driver has none. */
TEST(a_driver_without_participants_steps_alone)
{
	struct time_driver_info who = { .client_id = 9, .pid = 1, .name = "engine", .lockstep = true };
	struct rig r;
	int result, fd, fds[2];

	rig_init(&r, 1, "unity", (struct time_engine_options){ 0 });
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 10), 10);
	assert_false(r.held);
	rig_send(&r, fd, DRIVER_RELEASE, 0, 0);
	close(fd);

	assert_int_equal(fd_packet_pair(fds, 0), 0);
	assert_int_equal(time_engine_attach_driver(r.e, fds[0], &who), 0);
	assert_true(r.held);
	r.dispatch_busy = true;
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(rig_advance(&r, fds[1], 10), 0);
		assert_int_equal(r.drains, i);
		assert_int_equal(r.dispatches, i);
		time_engine_dispatched(r.e);
		assert_int_equal(rig_answer(&r, fds[1]), 10);
	}
	assert_int_equal(time_engine_pause_by(r.e, 9), 0);
	assert_true(!r.held && r.hold_paused);
	rig_send(&r, fds[1], DRIVER_RELEASE, 0, 0);
	assert_true(!r.held && !r.hold_paused);
	rig_finish(&r);
	close(fds[1]);
}

/* Without a driver nothing will end a hold. */
TEST(without_a_driver_nothing_is_held_back)
{
	struct rig r;
	int fd = begin(&r, (struct time_engine_options){ 0 });
	struct peer a = join(&r, 1, 0, "a");

	rig_advance(&r, fd, 10);
	assert_int_equal(got(&r, &a), STEP_TURN);
	close(fd);
	assert_true(exec_sim_settle(r.x) >= 0);
	assert_false(r.held);
	say(&r, &a, STEP_DONE, 0);
	assert_int_equal(r.dispatches, 1);
	rig_finish(&r);
	close(a.fd);
}
