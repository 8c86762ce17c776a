/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world and its hosts on a network that loses, delays, reorders, duplicates and parts: each of them in a network namespace of its own, a switch
 * between them. While hosts move objects, come late and leave, each of them has the server's world at each tick.
 * Thread: the test's and the switch's; sim-world and the hosts are children.
 */
#include "support/test.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sim/world.h>

#include "err.h"
#include "server.h"
#include "switch.h"

#define MS        INT64_C(1000000)
#define HOSTS     3u
#define OBJECTS   24u
#define TICKS_MAX 512u

static struct server server;
static struct net_switch *net;
static char keys[TEST_PATH_MAX], control[TEST_PATH_MAX];

/* How hosts and server speak. */
struct transport {
	const char *name;
	unsigned flags; /* of sim_world_options */
};

static const struct transport tcp = { "tcp", SIM_WORLD_NO_THREAD };
static const struct transport udp = { "udp", SIM_WORLD_NO_THREAD | SIM_WORLD_DATAGRAMS };

/* What each host's port does to frames, both ways. */
struct row {
	int64_t rate_bytes_s;
	double loss; /* percent, as the other two */
	int64_t lag_ms;
	double reorder;
	int64_t reorder_ms;
	double duplicate;
	unsigned ticks;
	bool parted; /* the second host, for a second */
};

/* Of what GameNetworkingSockets tests connections with: quick, and the rest of it. */
static const struct row quick = { 128000, 10, 50, 2, 50, 0, 24, false };
static const struct row usual = { 1000000, 5, 10, 1, 10, 0, 60, false };
static const struct row wide = { 2000000, 0, 50, 30, 40, 0, 32, false };
static const struct row soak[] = {
	{ 64000, 20, 100, 4, 50, 0, 40, false },  { 1000000, 20, 100, 4, 10, 0, 40, false },
	{ 1000000, 2, 5, 2, 1, 0, 200, false },   { 2000000, 0, 0, 0, 0, 0, 400, false },
	{ 128000, 20, 100, 4, 40, 0, 40, false }, { 500000, 20, 100, 4, 30, 0, 40, false },
	{ 64000, 0, 0, 0, 0, 0, 200, false },     { 128000, 0, 0, 0, 0, 0, 200, false },
	{ 256000, 0, 0, 0, 0, 0, 200, false },    { 500000, 0, 0, 0, 0, 0, 200, false },
	{ 1000000, 0, 0, 0, 0, 0, 200, false },   { 1000000, 1, 25, 1, 10, 0, 80, false },
	{ 1000000, 5, 50, 2, 50, 0, 60, false },  { 1000000, 5, 50, 2, 10, 0, 60, false },
};

/* What hosts tell the test. */
static struct shared {
	_Atomic uint64_t tick[HOSTS]; /* newest one that it has seen */
	_Atomic bool come[HOSTS];     /* it is there, and stays to the end */
	_Atomic bool parted;          /* the network has, or is not to */
	_Atomic bool over;            /* all may go */
	uint64_t hash[HOSTS][TICKS_MAX];
	unsigned seen[HOSTS]; /* objects, at the end */
	char why[HOSTS][256];
} * shared;

/* ---- a host: a process ---- */

/* When it comes and goes, in eighths of the run; twice, or once where the first is empty. */
static const struct part {
	enum sim_world_role role;
	unsigned come[2], go[2];
} parts[HOSTS] = {
	{ SIM_WORLD_REGULATING, { 0, 0 }, { 0, 8 } },
	{ SIM_WORLD_REGULATING, { 1, 5 }, { 4, 8 } },
	{ SIM_WORLD_CONSTRAINED, { 0, 3 }, { 0, 8 } },
};

struct host {
	struct sim_world *w;
	unsigned number;
	const struct row *row;
};

/* Through cells of 100 m, at speeds that differ. Of every third one is seldom spoken of; now and then one goes, and is another when it comes again. */
static int move(const struct host *h, unsigned k, const struct sim_world_tick *t)
{
	const double at = (double)((h->number * 370 + k * 53 + t->tick * (k % 5) * 7) % 1000);
	struct sim_world_object o = { .id = k,
				      .code = SIM_WORLD_VEHICLE,
				      .time_sim_ns = t->time_sim_ns + t->step_dur_ns,
				      .position = { at, 1000 - at / 2, k },
				      .velocity = { k % 5 * 3.5, 0, 0 } };
	struct sim_world_shape shape = { .size = { 4, 2, 1.5 } };
	uint8_t body[128];
	int r;

	if ((t->tick + k) % 17 == 0) {
		r = sim_world_remove(h->w, k);
		return r == -ENOENT ? 0 : r;
	}
	if (k % 3 == 0 && t->tick % 8)
		return 0;
	snprintf(shape.model, sizeof(shape.model), "car %u of %llu", k, (unsigned long long)t->tick / 4);
	r = sim_world_shape_write(o.code, &shape, body, sizeof(body));
	o.body = body;
	o.body_size = (size_t)(r < 0 ? 0 : r);
	return r < 0 ? r : sim_world_put(h->w, &o);
}

/* A Welcome names a tick too, of which nothing has been seen. */
static void note(const struct host *h)
{
	struct sim_world_info i;

	sim_world_get_info(h->w, &i);
	if (!i.ticks || i.tick.tick >= TICKS_MAX)
		return;
	shared->hash[h->number][i.tick.tick] = i.hash;
	shared->seen[h->number] = i.seen;
	shared->tick[h->number] = i.tick.tick;
}

/* When the network parts: ticks are left, for which the second host is needed. */
static uint64_t tick_of_parting(const struct row *row)
{
	return row->ticks * 7 / 8;
}

/* The first one waits for all near the end, so that the last ticks are everybody's; and for the network to part, so that those cross that. */
static void meet(const struct host *h, uint64_t tick)
{
	if (h->number == 0 && tick >= tick_of_parting(h->row))
		AWAIT(shared->parted);
	if (h->number == 0 && tick + 4 >= h->row->ticks)
		for (unsigned i = 0; i < HOSTS; i++)
			AWAIT(shared->come[i]);
}

static int take_part(const struct host *h, uint64_t until)
{
	struct sim_world_tick t;
	int r;

	for (r = sim_world_wait(h->w, -1, &t); r == 0; r = sim_world_step(h->w, -1, &t)) {
		note(h);
		if (t.tick >= until)
			return 0;
		meet(h, t.tick);
		for (unsigned k = 0; r == 0 && k < OBJECTS; k++)
			r = move(h, k, &t);
		if (r < 0)
			break;
	}
	return r;
}

/* A network may be so bad that the first try fails. */
static void come(struct host *h, const struct transport *t)
{
	char name[TEST_PATH_MAX + 16];
	const struct sim_world_options o = { .size = sizeof(o),
					     .address = server.address,
					     .name = "host",
					     .keys = name,
					     .role = parts[h->number].role,
					     .flags = t->flags };

	snprintf(name, sizeof(name), "%s:host-%u", keys, h->number);
	AWAIT(sim_world_connect(&o, &h->w) == 0);
}

static bool lost_nothing(const struct host *h)
{
	struct sim_world_info i;

	sim_world_get_info(h->w, &i);
	return i.state == SIM_WORLD_CONNECTED && i.reconnects == 0;
}

static int run_host(const struct row *row, const struct transport *t, unsigned number)
{
	struct host h = { .number = number, .row = row };
	const struct part *p = &parts[number];
	int r = 0;

	for (unsigned i = 0; i < 2 && r == 0; i++) {
		if (p->come[i] == p->go[i])
			continue;
		AWAIT(p->come[i] == 0 || shared->tick[0] >= row->ticks * p->come[i] / 8);
		come(&h, t);
		shared->come[number] = i;
		r = take_part(&h, row->ticks * p->go[i] / 8);
		AWAIT(r < 0 || i == 0 || shared->over);
		if (r < 0 || !lost_nothing(&h))
			snprintf(shared->why[number], sizeof(shared->why[number]), "%d %s", r, sim_world_why());
		sim_world_disconnect(h.w);
	}
	return *shared->why[number] ? 1 : 0;
}

static pid_t start_host(const struct row *row, const struct transport *t, unsigned number)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(switch_enter(net, number + 1) < 0 ? 2 : run_host(row, t, number));
}

/* ---- the network ---- */

static int make(void **state)
{
	char command[500];

	(void)state;
	test_path(keys, "keys");
	test_path(control, "control");
	snprintf(command, sizeof(command),
		 SIM_WORLD " --make-keys %s --name 10.0.0.1 --client host-0 --client host-1 --client host-2 >&2", keys);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}
TEST_GROUP(make, NULL)

static void spoil(const struct row *row)
{
	const struct switch_rules rules = { .delay_dur_ns = row->lag_ms * MS,
					    .loss = row->loss / 100,
					    .duplicate = row->duplicate / 100,
					    .reorder = row->reorder / 100,
					    .hold_dur_ns = row->reorder_ms * MS,
					    .rate_bytes_s = row->rate_bytes_s,
					    .burst_bytes = 2 * SWITCH_FRAME_MAX,
					    .backlog_dur_ns = 250 * MS };

	for (unsigned i = 1; i <= HOSTS; i++) {
		assert_ok(switch_set(net, i, SWITCH_IN, &rules));
		assert_ok(switch_set(net, i, SWITCH_OUT, &rules));
	}
}

/* Port 0 is the server's. */
static void begin_with(const struct row *row, const char *const options[])
{
	if (switch_create(test_seed(11), SWITCH_ANY, &net) < 0) {
		printf("no switch here: %s\n", err_why());
		skip();
	}
	for (unsigned i = 0; i <= HOSTS; i++)
		assert_int_equal(switch_add_port(net), i);
	spoil(row);
	memset(shared, 0, sizeof(*shared));
	server_start_at(&server, switch_ns(net, 0), "10.0.0.1", 0, options);
}

/* Steps so long that no host is late: lateness on this network is not tested. */
static void begin(const struct row *row)
{
	begin_with(row, (const char *const[]){ "--pace", "0", "--step", "3s", "--section", "100", "--keys", keys,
					       "--control", control, NULL });
}

/* The expected faults have happened to frames, and each kind did. */
static void was_spoilt(const struct row *row)
{
	struct switch_counts sum = { 0 };
	struct switch_port_counts c;

	for (unsigned i = 1; i <= HOSTS; i++)
		for (unsigned d = 0; d < 2; d++) {
			assert_ok(switch_port_counts(net, i, &c));
			sum.in += c.path[d].in;
			sum.lost += c.path[d].lost;
			sum.held += c.path[d].held;
			sum.duplicated += c.path[d].duplicated;
			assert_true(!row->parted || i != 2 || c.parted > 0);
		}
	printf("%llu frames: %llu lost, %llu held, %llu twice\n", (unsigned long long)sum.in,
	       (unsigned long long)sum.lost, (unsigned long long)sum.held, (unsigned long long)sum.duplicated);
	assert_true((double)sum.lost >= (double)sum.in * row->loss / 300);
	assert_true((double)sum.held >= (double)sum.in * row->reorder / 300 - 5);
	assert_true((double)sum.duplicated >= (double)sum.in * row->duplicate / 300);
}

/* ---- a run ---- */

static uint64_t servers[TICKS_MAX]; /* hashes, as far as the test has asked in time */

static uint64_t look(void)
{
	struct server_status s;

	server_status(control, &s);
	if (s.tick < TICKS_MAX)
		servers[s.tick] = s.hash;
	return s.tick;
}

static void still_run(const pid_t pid[HOSTS])
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (waitpid(pid[i], NULL, WNOHANG))
			fail_msg("host %u has ended: %s", i, shared->why[i]);
}

static bool all_are_at(uint64_t tick)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HOSTS; i++)
		n += shared->come[i] && shared->tick[i] >= tick;
	return n == HOSTS;
}

/* Returns how many hashes of hosts were compared with the server's. */
static unsigned are_same(const struct row *row)
{
	unsigned n = 0;

	for (unsigned t = 1; t <= row->ticks; t++) {
		uint64_t hash = servers[t];

		for (unsigned i = 0; i < HOSTS; i++) {
			if (!shared->hash[i][t])
				continue;
			n += servers[t] != 0;
			hash = hash ? hash : shared->hash[i][t];
			if (shared->hash[i][t] != hash)
				fail_msg("tick %u: host %u has %016llx, not %016llx", t, i,
					 (unsigned long long)shared->hash[i][t], (unsigned long long)hash);
		}
	}
	return n;
}

static void end(const pid_t pid[HOSTS])
{
	int status;

	shared->over = true;
	for (unsigned i = 0; i < HOSTS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		if (status)
			fail_msg("host %u: %s", i, shared->why[i]);
	}
	assert_int_equal(server_stop(&server), 0);
	switch_destroy(net);
}

#define SECOND_PORT 2u /* of the second host */

static uint64_t parted(unsigned port)
{
	struct switch_port_counts c;

	assert_ok(switch_port_counts(net, port, &c));
	return c.parted;
}

static bool all_have_come(void)
{
	bool all = true;

	for (unsigned i = 0; i < HOSTS; i++)
		all &= shared->come[i];
	return all;
}

/* The second host's network parts once that is there to stay, and is whole again a second after the first frame that this has cost: less than makes it connect again. */
static void part(const struct row *row)
{
	static bool waits;
	uint64_t tick = look(); /* each time: it notes what the world was like */

	if (!shared->parted && tick >= tick_of_parting(row) && all_have_come()) {
		assert_ok(switch_partition(net, 1u << SECOND_PORT, 0, INT64_MAX));
		shared->parted = waits = true;
	}
	if (waits && parted(SECOND_PORT)) {
		switch_heal(net);
		assert_ok(switch_partition(net, 1u << SECOND_PORT, 0, 1000 * MS));
		waits = false;
	}
}

/* The first host promises nothing of the last tick, so the world stands there until all have seen it. */
static void run(const struct row *row, const struct transport *t)
{
	struct server_status status;
	pid_t pid[HOSTS];

	begin(row);
	shared->parted = !row->parted;
	memset(servers, 0, sizeof(servers));
	for (unsigned i = 0; i < HOSTS; i++)
		pid[i] = start_host(row, t, i);
	while (!all_are_at(row->ticks)) {
		pace_us(5000);
		still_run(pid);
		part(row);
	}
	assert_int_equal(look(), row->ticks);
	assert_true(are_same(row) >= HOSTS);
	server_status(control, &status);
	printf("%u objects\n", status.objects);
	for (unsigned i = 0; i < HOSTS; i++) {
		assert_int_equal(shared->hash[i][row->ticks], servers[row->ticks]);
		assert_int_equal(shared->seen[i], status.objects);
	}
	was_spoilt(row);
	end(pid);
}

TEST(hosts_agree_with_10_percent_loss_and_100_ms_round_trip_over_tcp)
{
	run(&quick, &tcp);
}

TEST(hosts_agree_after_a_partition_over_tcp)
{
	run(&(struct row){ 1000000, 2, 5, 2, 5, 0, 60, true }, &tcp);
}

TEST(hosts_agree_with_10_percent_loss_and_100_ms_round_trip_over_udp)
{
	run(&quick, &udp);
}

TEST(hosts_agree_with_a_third_of_frames_reordered_over_udp)
{
	run(&wide, &udp);
}

TEST(hosts_agree_after_a_partition_over_udp)
{
	run(&(struct row){ 1000000, 2, 5, 2, 5, 20, 60, true }, &udp);
}

/* ---- the last word ---- */

#define GOES 2u /* a constrained host: the world does not wait for it */

/* A host with one object, which goes while there are ticks that it has not read. */
static int go(void)
{
	struct host h = { .number = GOES, .row = &usual };
	struct sim_world_tick t = { 0 };
	struct pollfd p;
	int r;

	come(&h, &tcp);
	r = sim_world_wait(h.w, -1, &t);
	r = r < 0 ? r : move(&h, 1, &t);
	r = r < 0 ? r : sim_world_done(h.w);
	if (r < 0)
		return 1;
	p = (struct pollfd){ sim_world_fd(h.w), POLLIN, 0 };
	AWAIT(poll(&p, 1, 100) == 1);
	shared->come[GOES] = true;
	AWAIT(shared->parted);
	shared->tick[GOES] = 1;
	sim_world_disconnect(h.w);
	return 0;
}

static pid_t start_to_go(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(switch_enter(net, GOES + 1) < 0 ? 2 : go());
}

static unsigned objects_there(void)
{
	struct server_status s;

	server_status(control, &s);
	return s.objects;
}

/*
 * The host's Bye is lost on the way, and arrives all the same: its objects are removed at once, and not after the
 * time-out of a lost host.
 */
TEST(a_lost_bye_is_sent_again)
{
	const struct row clean = { .rate_bytes_s = 10000000 };
	uint64_t before;
	pid_t pid;
	int status;

	begin_with(&clean, (const char *const[]){ "--step", "1s", "--grace", "1000s", "--keys", keys, "--control",
						  control, NULL });
	pid = start_to_go();
	AWAIT(shared->come[GOES] && objects_there() == 1);
	assert_ok(switch_partition(net, 1u << (GOES + 1), 0, INT64_MAX));
	shared->parted = true;
	AWAIT(shared->tick[GOES]);
	before = parted(GOES + 1);
	AWAIT(parted(GOES + 1) > before);
	switch_heal(net);
	AWAIT(objects_there() == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(server_stop(&server), 0);
	switch_destroy(net);
}

/* LOSS_TABLE=n: from the n-th row on. */
static unsigned first_row(void)
{
	unsigned long n = strtoul(getenv("LOSS_TABLE"), NULL, 10);

	return n ? (unsigned)n - 1 : 0;
}

TEST(hosts_agree_in_every_row_of_the_table_over_tcp)
{
	if (!getenv("LOSS_TABLE")) {
		printf("with LOSS_TABLE=1, as make soak FULL=1 has it\n");
		skip();
	}
	for (unsigned i = first_row(); i < sizeof(soak) / sizeof(soak[0]); i++)
		run(&soak[i], &tcp);
}

TEST(hosts_agree_in_every_row_of_the_table_over_udp)
{
	if (!getenv("LOSS_TABLE")) {
		printf("with LOSS_TABLE=1, as make soak FULL=1 has it\n");
		skip();
	}
	for (unsigned i = first_row(); i < sizeof(soak) / sizeof(soak[0]); i++)
		run(&soak[i], &udp);
}
