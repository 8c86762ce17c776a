/* SPDX-License-Identifier: Apache-2.0 */
/* The clock thread and its publisher: ticks in virtual time, the thread's life, slots in the in-process data plane. */
#include "unit/time/rig.h"

#include "ipc_mem.h"
#include "time/clock_pub.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sim/msg/Clock.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MS NS_PER_MS

struct log {
	int n;
	struct clock_tick last;
	int64_t at[2000], value[2000];
	int fail;
};

static int log_tick(void *ctx, const struct clock_tick *tick)
{
	struct log *l = ctx;

	if (l->fail)
		return l->fail;
	l->at[l->n] = tick->publish_mono_ns;
	l->value[l->n] = tick->now.sim_ns;
	l->last = *tick;
	l->n++;
	return 0;
}

static struct clock_thread *make(struct rig *r, uint32_t rate_hz, struct log *l)
{
	struct clock_thread_options o = { .page = &r->page, .rate_hz = rate_hz, .exec = r->x };
	struct clock_sink sink = { log_tick, l };
	struct clock_thread *t;

	assert_int_equal(clock_thread_create(&o, &t), 0);
	clock_thread_set_sink(t, &sink);
	return t;
}

TEST(the_wall_rate_is_constant_whatever_the_scale)
{
	static struct log l;
	struct clock_thread_stats st;
	struct clock_thread *t;
	struct rig r;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ .scale_e6 = 500000 });
	t = make(&r, 0, &l);
	rig_run(&r, 100 * MS);
	assert_int_equal(l.n, 10);
	assert_int_equal(time_engine_set_scale(r.e, 100 * SIM_RATE_ONE), 0);
	rig_run(&r, 100 * MS);
	assert_int_equal(l.n, 20);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_run(&r, 100 * MS);
	assert_int_equal(l.n, 30); /* the frozen stamp goes on being published */
	for (int i = 0; i < 30; i++) {
		int64_t k = i + 1, ms = k <= 10 ? 5 * k : 50 + 1000 * ((k < 20 ? k : 20) - 10);

		assert_int_equal(l.at[i], RIG_START_MONO_NS + k * 10 * MS);
		assert_int_equal(l.value[i], ms * MS);
	}
	clock_thread_stats(t, &st);
	assert_int_equal(st.published, 30);
	assert_int_equal(st.missed, 0);
	assert_int_equal(st.rate_hz, 100);
	assert_int_equal(st.lateness.max_dur_ns, 0);
	clock_thread_destroy(t);
	rig_finish(&r);
}

TEST(nothing_is_published_until_time_is_above_zero)
{
	struct log l = { 0 };
	struct clock_thread *t;
	struct rig r;
	int fd, result;

	rig_init(&r, 1, "unity", (struct time_engine_options){ 0 });
	t = make(&r, 1000, &l);
	rig_run(&r, 50 * MS);
	assert_int_equal(l.n, 0);
	fd = rig_attach(&r, 1, &result);
	assert_int_equal(rig_advance(&r, fd, 1), 1);
	rig_run(&r, 50 * MS);
	assert_int_equal(l.n, 50);
	assert_int_equal(l.value[0], 1);
	assert_int_equal(l.last.number, 50);
	assert_int_equal(l.last.now.clock_generation, r.page.clock_generation);
	close(fd);
	clock_thread_destroy(t);
	rig_finish(&r);
}

TEST(ticks_continue_without_a_sink_and_after_a_failing_one)
{
	struct log l = { 0 };
	struct clock_sink sink = { log_tick, &l };
	struct clock_thread_stats st;
	struct clock_thread *t;
	struct rig r;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ 0 });
	t = make(&r, 100, &l);
	rig_run(&r, 100 * MS);
	clock_thread_set_sink(t, NULL);
	rig_run(&r, 100 * MS);
	assert_int_equal(l.n, 10);
	l.fail = -ESTALE;
	clock_thread_set_sink(t, &sink);
	rig_run(&r, 100 * MS);
	l.fail = 0;
	rig_run(&r, 100 * MS);
	assert_int_equal(l.n, 20);
	assert_int_equal(l.value[10], 310 * MS); /* no burst, no phase lost */
	clock_thread_stats(t, &st);
	assert_int_equal(st.published, 20);
	assert_int_equal(st.failed, 10);
	assert_int_equal(st.missed, 0);
	clock_thread_destroy(t);
	rig_finish(&r);
}

TEST(bad_options_are_refused)
{
	struct clock_thread_options o = { .rate_hz = CLOCK_RATE_MAX_HZ + 1 };
	struct clock_thread *t = NULL;

	assert_int_equal(clock_thread_create(&o, &t), -ERANGE);
	assert_non_null(strstr(err_why(), "1 .. 10000"));
	o.rate_hz = 100;
	o.fifo_priority = 100;
	assert_int_equal(clock_thread_create(&o, &t), -EINVAL);
	assert_null(t);
	clock_thread_destroy(NULL);
}

/* ---- the thread ---- */

#define NO_PRIORITY 101

static int64_t limit_stand_in = -1; /* instead of the kernel's, of this process; -1: none */

/* Linked with --wrap. */
__typeof__(getrlimit) __real_getrlimit, __wrap_getrlimit;
__typeof__(pthread_setschedparam) __real_pthread_setschedparam, __wrap_pthread_setschedparam;

#ifdef __clang__
__attribute__((disable_sanitizer_instrumentation, no_sanitize("address"))) /* sanitizers call it before they can be called themselves */
#endif
int
__wrap_getrlimit(__rlimit_resource_t what, struct rlimit *ret)
{
	if (limit_stand_in < 0 || what != RLIMIT_RTPRIO)
		return __real_getrlimit(what, ret);
	*ret = (struct rlimit){ (rlim_t)limit_stand_in, (rlim_t)limit_stand_in };
	return 0;
}

int __wrap_pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *p)
{
	if (limit_stand_in < 0)
		return __real_pthread_setschedparam(thread, policy, p);
	return p->sched_priority > limit_stand_in ? EPERM : 0;
}

/* Of an ordinary user: the kernel's, or where it cannot be raised without CAP_SYS_RESOURCE one that refuses as it does. */
static void limit_priority(int64_t limit)
{
	struct rlimit rt = { (rlim_t)limit, (rlim_t)limit };

	if (setrlimit(RLIMIT_RTPRIO, &rt) < 0 || (geteuid() == 0 && setuid(65534) < 0))
		limit_stand_in = limit;
}

/* In a process of its own: an ordinary user with that limit, or as we are (limit < 0). The priority that it gets. */
static int priority_with(int64_t limit, int wanted)
{
	static struct sim_clock_page page;
	struct clock_thread_options o = { .page = &page, .rate_hz = 1, .fifo_priority = wanted };
	struct clock_thread_stats st;
	struct clock_thread *t;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (limit >= 0)
			limit_priority(limit);
		if (clock_thread_create(&o, &t) == 1)
			_exit(strstr(err_why(), "without real-time priority") ? NO_PRIORITY : 0);
		clock_thread_stats(t, &st);
		_exit(st.priority);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool may_be_realtime(void)
{
	struct sched_param p = { .sched_priority = CLOCK_PRIORITY_DEFAULT };
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(sched_setscheduler(0, SCHED_FIFO, &p) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

TEST(the_priority_is_bounded_by_the_limit)
{
	static const struct {
		int64_t limit;
		int wanted, gets;
	} cases[] = {
		{ 0, 0, 0 },
		{ 0, CLOCK_PRIORITY_AUTO, NO_PRIORITY },
		{ 0, 50, NO_PRIORITY },
		{ 50, CLOCK_PRIORITY_AUTO, CLOCK_PRIORITY_DEFAULT },
		{ 99, CLOCK_PRIORITY_AUTO, CLOCK_PRIORITY_DEFAULT },
		{ 10, CLOCK_PRIORITY_AUTO, 10 },
		{ 10, 50, NO_PRIORITY },
	};

	assert_int_equal(priority_with(-1, CLOCK_PRIORITY_AUTO),
			 may_be_realtime() ? CLOCK_PRIORITY_DEFAULT : NO_PRIORITY);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(priority_with(cases[i].limit, cases[i].wanted), cases[i].gets);
}

struct live {
	sem_t ticked;
	atomic_bool alive; /* the sink may be used */
	_Atomic int after_death;
};

static int live_tick(void *ctx, const struct clock_tick *tick)
{
	struct live *l = ctx;

	(void)tick;
	if (!atomic_load(&l->alive))
		atomic_fetch_add(&l->after_death, 1);
	sem_post(&l->ticked);
	return 0;
}

static void a_running_page(struct sim_clock_page *p)
{
	*p = (struct sim_clock_page){ .seq = 2, .sim_ns = 1, .mono_ns = mono_now_ns(), .rate_e6 = SIM_RATE_ONE };
}

TEST(a_replaced_sink_is_not_used_any_more)
{
	static _Alignas(64) struct sim_clock_page page;
	struct clock_thread_options o = { .page = &page, .rate_hz = CLOCK_RATE_MAX_HZ, .spin_max_dur_ns = -1 };
	struct live l[2] = { 0 };
	struct clock_thread_stats st;
	struct clock_thread *t;

	a_running_page(&page);
	assert_int_equal(clock_thread_create(&o, &t), 0);
	for (int i = 0; i < 2; i++)
		sem_init(&l[i].ticked, 0, 0);
	for (int i = 0; i < 200; i++) {
		struct live *now = &l[i % 2], *old = &l[!(i % 2)];
		struct clock_sink sink = { live_tick, now };

		atomic_store(&now->alive, true);
		clock_thread_set_sink(t, &sink);
		atomic_store(&old->alive, false);
		while (sem_trywait(&now->ticked) == 0)
			continue;
		while (sem_wait(&now->ticked) != 0)
			continue;
	}
	clock_thread_set_sink(t, NULL);
	clock_thread_stats(t, &st);
	assert_true(st.published >= 200);
	assert_int_equal(st.failed, 0);
	clock_thread_destroy(t);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(atomic_load(&l[i].after_death), 0);
		sem_destroy(&l[i].ticked);
	}
}

TEST(destroying_a_clock_thread_does_not_wait_for_its_deadline)
{
	static _Alignas(64) struct sim_clock_page page;
	struct clock_thread_options o = { .page = &page, .rate_hz = 1 };
	struct clock_thread *t;

	a_running_page(&page);
	for (int i = 0; i < 20; i++) { /* 20 s if it waited for its deadline: over the runner's limit for a unit test */
		assert_int_equal(clock_thread_create(&o, &t), 0);
		clock_thread_destroy(t);
	}
}

/* ---- the publisher ---- */

struct plane {
	struct ipc_mem_bus *bus;
	struct ipc *ipc;
	struct clock_pub *pub;
	struct clock_sink sink;
	struct wire_counters row;
};

static void dataplane_attach(struct plane *p, uint32_t generation, uint64_t sequence)
{
	struct ipc_options o = { .backend = "mem", .app = "simd-test", .bus = p->bus };
	struct clock_pub_options po = { .channel = "/clock", .channel_id = 3, .publisher_id = 7, .row = &p->row };

	assert_int_equal(ipc_attach(&o, &p->ipc), 0);
	po.ipc = p->ipc;
	po.iox_generation = generation;
	po.sequence = sequence;
	assert_int_equal(clock_pub_create(&po, &p->pub, &p->sink), 0);
}

static const struct sim_slot *take(struct ipc_sub *sub)
{
	const void *slot;
	size_t size;

	return ipc_take(sub, &slot, &size) == 0 ? slot : NULL;
}

TEST(clock_slots_are_complete_counted_and_latched)
{
	struct plane p = { 0 };
	struct ipc_mem_options bo = { .virtual_time = true };
	struct clock_tick tick = { .now = { .sim_ns = 42, .clock_generation = 5 }, .publish_mono_ns = 4711 };
	struct ipc_sub_options so = { .depth = 2, .history = true };
	const struct sim_slot *s;
	struct ipc_sub *sub;

	assert_int_equal(ipc_mem_bus_create(&bo, &p.bus), 0);
	dataplane_attach(&p, 9, 0);
	assert_int_equal(p.sink.publish(p.sink.ctx, &tick), 0);
	tick.now.sim_ns = 43;
	assert_int_equal(p.sink.publish(p.sink.ctx, &tick), 0);
	assert_int_equal(ipc_sub_create(p.ipc, "/clock", &so, &sub), 0); /* late */
	s = take(sub);
	assert_non_null(s);
	assert_int_equal(s->magic, SIM_SLOT_MAGIC);
	assert_int_equal(s->version, SIM_SLOT_VERSION);
	assert_int_equal(s->flags, 0);
	assert_int_equal(s->type_hash, SIM_CLOCK_HASH);
	assert_int_equal(s->channel_id, 3);
	assert_int_equal(s->publisher_id, 7);
	assert_int_equal(s->sequence, 2);
	assert_int_equal(s->stamp_sim_ns, 43);
	assert_int_equal(s->publish_mono_ns, 4711);
	assert_int_equal(s->iox_generation, 9);
	assert_int_equal(s->clock_generation, 5);
	assert_int_equal(s->token_cell + s->credit_cell, 0);
	assert_string_equal(s->frame_id, "");
	assert_int_equal(sim_Clock_from(s + 1, s->body_size)->clock, 43);
	assert_int_equal(ipc_release(sub, s), 0);
	assert_int_equal(p.row.messages, 2);
	assert_int_equal(p.row.bytes, 2 * sizeof(struct sim_Clock));
	assert_int_equal(p.row.last_mono_ns, 4711);
	assert_int_equal(p.row.last_stamp_sim_ns, 43);
	ipc_sub_destroy(sub);
	clock_pub_destroy(p.pub);
	ipc_detach(p.ipc);
	ipc_mem_bus_destroy(p.bus);
}

TEST(the_clock_sink_survives_a_restart_of_the_data_plane)
{
	struct plane p = { 0 };
	struct ipc_mem_options bo = { .virtual_time = true };
	struct clock_thread_options o = { .rate_hz = 100 };
	struct clock_thread_stats st;
	struct clock_thread *t;
	uint64_t sequence;
	struct rig r;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ 0 });
	assert_int_equal(ipc_mem_bus_create(&bo, &p.bus), 0);
	dataplane_attach(&p, 1, 0);
	o.exec = r.x;
	o.page = &r.page;
	assert_int_equal(clock_thread_create(&o, &t), 0);
	clock_thread_set_sink(t, &p.sink);
	rig_run(&r, 100 * MS);
	ipc_mem_roudi_kill(p.bus);
	rig_run(&r, 50 * MS); /* fails, quietly */
	clock_thread_set_sink(t, NULL);
	sequence = clock_pub_sequence(p.pub);
	assert_int_equal(sequence, 10);
	clock_pub_destroy(p.pub);
	ipc_detach(p.ipc);
	assert_int_equal(ipc_mem_roudi_start(p.bus), 0);
	dataplane_attach(&p, 2, sequence);
	clock_thread_set_sink(t, &p.sink);
	rig_run(&r, 100 * MS);
	clock_thread_stats(t, &st);
	assert_int_equal(st.published, 20);
	assert_int_equal(st.failed, 5);
	assert_int_equal(clock_pub_sequence(p.pub), 20);
	assert_int_equal(p.row.messages, 20);
	clock_thread_destroy(t);
	clock_pub_destroy(p.pub);
	ipc_detach(p.ipc);
	ipc_mem_bus_destroy(p.bus);
	rig_finish(&r);
}
