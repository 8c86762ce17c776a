/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hundred hosts: how many messages a step takes, how long it takes over the delay of the network, how well clocks agree, and what
 * joins, leaves and partitions do. PRINT=1 prints the table of tools/bridge/link/TIME.md. Thread: the test's.
 */
#include "unit/linktime/model.h"

#define HOSTS 100

static struct model *m;

static int begin(void **state)
{
	(void)state;
	m = test_calloc(1, sizeof(*m));
	return 0;
}

static int end(void **state)
{
	(void)state;
	model_end(m);
	test_free(m);
	return 0;
}

static bool prints(void)
{
	return getenv("PRINT") != NULL;
}

static bool all_are_in(struct model *of)
{
	return model_all_in(of, 2 + of->o.lookahead);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t steps_sent(void)
{
	return m->sent[TIME_GRANT] + m->sent[TIME_DONE] + m->sent[TIME_COMMIT];
}

/* A write of the time host for each of GRANT and COMMIT, and one of each follower. */
static void figures(uint32_t hosts, int64_t delay_dur_ns, uint8_t lookahead)
{
	const struct model_options o = { .seed = hosts,
					 .hosts = hosts,
					 .lockstep = true,
					 .lookahead = lookahead,
					 .delay_dur_ns = delay_dur_ns,
					 .jitter_dur_ns = delay_dur_ns / 10,
					 .work_dur_ns = 100 * NS_PER_US,
					 .drift_e6 = 100 };
	int64_t took[2000], begun, each;
	uint64_t sent, bytes, steps, commits;

	model_begin(m, &o);
	assert_true(model_until(m, all_are_in, 20 * NS_PER_S));
	m->step_took = took;
	m->took_max = 2000;
	sent = steps_sent();
	bytes = m->bytes[TIME_GRANT] + m->bytes[TIME_DONE] + m->bytes[TIME_COMMIT];
	steps = m->node[0].ended;
	commits = m->committed;
	begun = exec_now(m->x);
	while (m->n_took < 1000)
		model_run(m, NS_PER_MS);
	m->step_took = NULL;
	steps = m->node[0].ended - steps;
	commits = m->committed - commits;
	sent = (steps_sent() - sent + commits / 2) / commits;
	bytes = (m->bytes[TIME_GRANT] + m->bytes[TIME_DONE] + m->bytes[TIME_COMMIT] - bytes) / commits;
	each = (exec_now(m->x) - begun) / (int64_t)steps;
	qsort(took, m->n_took, sizeof(*took), by_size);
	assert_in_range(sent, hosts, hosts + 2); /* 2 + (hosts - 1) */
	/* two ways, the longest work, and nothing else; with a lookahead less */
	assert_in_range(each, 1, 2 * delay_dur_ns + 2 * delay_dur_ns / 10 + 200 * NS_PER_US);
	if (lookahead)
		assert_true(each < 2 * delay_dur_ns);
	if (prints())
		print_message("| %3u | %5.0f | %u | %4llu | %6llu | %7.0f | %5.2f |\n", hosts,
			      (double)delay_dur_ns / 1e3, lookahead, (unsigned long long)sent,
			      (unsigned long long)bytes, (double)each / 1e3, (double)each / (double)delay_dur_ns);
}

TEST(a_step_takes_one_message_per_host_and_one_round_trip)
{
	static const uint32_t hosts[] = { 2, 8, HOSTS };
	static const int64_t delays[] = { 100 * NS_PER_US, NS_PER_MS, 10 * NS_PER_MS };
	void *none = NULL;

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++)
			for (uint8_t lookahead = 0; lookahead <= 4; lookahead = (uint8_t)(lookahead + 2)) {
				/* the others are for the table */
				if (!prints() && !test_full() && (j != 1 || lookahead > 2))
					continue;
				begin(&none);
				figures(hosts[i], delays[j], lookahead);
				end(&none);
			}
}

TEST_WITH(hosts_may_join_and_leave_by_the_dozen, begin, end)
{
	const struct model_options o = { .seed = test_seed(5),
					 .hosts = HOSTS,
					 .lockstep = true,
					 .late = STEP_LATE_DROP,
					 .deadline_dur_ns = 500 * NS_PER_MS,
					 .delay_dur_ns = NS_PER_MS,
					 .jitter_dur_ns = NS_PER_MS,
					 .work_dur_ns = NS_PER_MS,
					 .pace_dur_ns = 20 * NS_PER_MS,
					 .reorders = true,
					 .loss = 0.001,
					 .repeat = 0.01,
					 .drift_e6 = 100 };
	struct rnd rnd;

	model_begin(m, &o);
	rnd_seed(&rnd, o.seed);
	assert_true(model_until(m, all_are_in, 20 * NS_PER_S));
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 12; i++) {
			uint32_t k = 1 + rnd_below(&rnd, HOSTS - 1);

			if (!m->node[k].up)
				model_start(m, k);
			else if (rnd_below(&rnd, 2))
				model_leave(m, k);
			else
				model_crash(m, k);
			model_run(m, rnd_below(&rnd, 50) * NS_PER_MS);
		}
		model_run(m, NS_PER_S);
	}
	for (uint32_t i = 0; i < HOSTS; i++)
		if (!m->node[i].up)
			model_start(m, i);
	assert_true(model_until(m, all_are_in, 20 * NS_PER_S));
	if (prints())
		print_message("joins and leaves: %llu steps, %llu dropped, %llu messages lost\n",
			      (unsigned long long)m->node[0].ended, (unsigned long long)m->drops,
			      (unsigned long long)m->lost);
}

/* A third is cut off for longer than the deadline: the others go on without, and all together again afterwards. */
TEST_WITH(a_partition_costs_the_others_one_deadline, begin, end)
{
	const struct model_options o = { .seed = 7,
					 .hosts = HOSTS,
					 .lockstep = true,
					 .late = STEP_LATE_DROP,
					 .deadline_dur_ns = NS_PER_S,
					 .delay_dur_ns = NS_PER_MS,
					 .work_dur_ns = NS_PER_MS,
					 .pace_dur_ns = 20 * NS_PER_MS };
	uint64_t was;

	model_begin(m, &o);
	assert_true(model_until(m, all_are_in, 20 * NS_PER_S));
	for (uint32_t i = 67; i < HOSTS; i++)
		model_part(m, i, 1);
	model_run(m, NS_PER_S / 2);
	was = m->node[0].ended;
	model_run(m, NS_PER_S / 4);
	assert_int_equal(m->node[0].ended, was); /* it waits */
	model_run(m, 2 * NS_PER_S);
	assert_int_equal(m->drops, HOSTS - 67);
	assert_true(m->node[0].ended > was + 50);
	for (uint32_t i = 67; i < HOSTS; i++) {
		assert_int_equal(m->node[i].log.losts, 1);
		assert_non_null(strstr(m->node[i].log.why, "the time host h0 is not heard"));
		assert_true(m->node[i].ended <= was + 1); /* time holds there */
	}
	model_heal(m);
	assert_true(model_until(m, all_are_in, 5 * NS_PER_S));
	for (uint32_t i = 1; i < HOSTS; i++)
		assert_int_equal(m->node[i].log.joins, i < 67 ? 1 : 2);
}

/* ---- clocks ---- */

struct clock_error {
	int64_t p50, p99, max, bound_p50;
	uint64_t outside; /* further off than the bound says */
};

static void measure(const struct model_options *o, int64_t dur_ns, struct clock_error *ret)
{
	static int64_t all[400000], bounds[400000];
	size_t n = 0;

	*ret = (struct clock_error){ 0 };
	model_begin(m, o);
	model_run(m, 5 * NS_PER_S);
	for (int64_t t = 0; t < dur_ns; t += 7 * NS_PER_MS) {
		model_run(m, 7 * NS_PER_MS);
		for (uint32_t i = 1; i < o->hosts && n<sizeof(all) / sizeof(*all); i += o->hosts> 10 ? 7 : 1) {
			int64_t e = model_error(&m->node[i]);

			all[n] = e < 0 ? -e : e;
			bounds[n] = model_bound(&m->node[i]);
			ret->outside += all[n] > bounds[n];
			n++;
		}
	}
	for (uint32_t i = 1; i < o->hosts; i++)
		assert_int_equal(m->node[i].log.jumps, 1); /* the first report */
	qsort(all, n, sizeof(*all), by_size);
	qsort(bounds, n, sizeof(*bounds), by_size);
	ret->p50 = all[n / 2];
	ret->p99 = all[n * 99 / 100];
	ret->max = all[n - 1];
	ret->bound_p50 = bounds[n / 2];
}

TEST(clocks_that_differ_converge_within_the_stated_bound)
{
	static const struct {
		const char *what;
		struct model_options o;
		int64_t p99_max;
	} nets[] = {
		{ "2 hosts, 1 ms", { .hosts = 2, .delay_dur_ns = NS_PER_MS, .drift_e6 = 100 }, 60 * NS_PER_US },
		{ "100 hosts, 0.1 ms, jitter 0.1",
		  { .hosts = HOSTS, .delay_dur_ns = 100 * NS_PER_US, .jitter_dur_ns = 100 * NS_PER_US, .drift_e6 = 100 },
		  100 * NS_PER_US },
		{ "100 hosts, 1 ms, jitter 0.2",
		  { .hosts = HOSTS, .delay_dur_ns = NS_PER_MS, .jitter_dur_ns = 200 * NS_PER_US, .drift_e6 = 100 },
		  200 * NS_PER_US },
		{ "100 hosts, 10 ms, jitter 5, loss 5 %",
		  { .hosts = HOSTS,
		    .delay_dur_ns = 10 * NS_PER_MS,
		    .jitter_dur_ns = 5 * NS_PER_MS,
		    .loss = 0.05,
		    .drift_e6 = 100 },
		  3 * NS_PER_MS },
		{ "100 hosts, 1 ms there and 3 back",
		  { .hosts = HOSTS, .delay_dur_ns = NS_PER_MS, .asymmetry_dur_ns = 2 * NS_PER_MS, .drift_e6 = 100 },
		  1100 * NS_PER_US },
	};
	void *none = NULL;

	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
		struct clock_error e;

		begin(&none);
		measure(&nets[i].o, 60 * NS_PER_S, &e);
		if (prints())
			print_message("| %s | %.0f | %.0f | %.0f | %.0f |\n", nets[i].what, (double)e.p50 / 1e3,
				      (double)e.p99 / 1e3, (double)e.max / 1e3, (double)e.bound_p50 / 1e3);
		assert_int_equal(e.outside, 0);
		assert_true(e.p99 <= nets[i].p99_max);
		end(&none);
	}
}

/* Time never goes back; and when the change has reached all hosts, everything is as before. */
TEST_WITH(pause_and_scale_hold_for_all_hosts, begin, end)
{
	const struct model_options o = {
		.seed = 3, .hosts = 20, .delay_dur_ns = NS_PER_MS, .jitter_dur_ns = 100 * NS_PER_US, .drift_e6 = 100
	};
	static const int64_t scales[] = { 2000000, 250000, 1000000 };

	model_begin(m, &o);
	model_run(m, 5 * NS_PER_S);
	for (int i = 0; i < 3; i++) {
		int64_t before[20];

		model_pause(m, true);
		model_run(m, 500 * NS_PER_MS);
		for (uint32_t k = 1; k < 20; k++) {
			struct node *n = &m->node[k];

			assert_true(n->last.flags & TIME_IS_PAUSED);
			assert_int_equal(n->rate_e6, 0);
			/* it has run on while the word was on its way, and is not put back */
			assert_in_range(model_error(n) + 5 * NS_PER_MS, 5 * NS_PER_MS - 100 * NS_PER_US,
					10 * NS_PER_MS);
			before[k] = model_sim(n);
		}
		model_scale(m, scales[i]);
		model_pause(m, false);
		for (int j = 0; j < 500; j++) {
			model_run(m, NS_PER_MS);
			for (uint32_t k = 1; k < 20; k++) {
				assert_true(model_sim(&m->node[k]) >= before[k]);
				before[k] = model_sim(&m->node[k]);
			}
		}
		model_run(m, 2 * NS_PER_S);
		for (uint32_t k = 1; k < 20; k++) {
			int64_t e = model_error(&m->node[k]);

			assert_int_equal(m->node[k].last.scale_e6, scales[i]);
			assert_true((e < 0 ? -e : e) <= model_bound(&m->node[k]));
			assert_int_equal(m->node[k].log.jumps, 1);
		}
	}
}
