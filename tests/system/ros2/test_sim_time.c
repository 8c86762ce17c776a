/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sim_time: the graph's /clock, from DDS programs in processes of their own, drives the host. Whoever it is and whatever it
 * sends: only what is a time, and never what a bridge of the same simd sends.
 */

#include "tests/support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <sim/msg/Clock.h>

#include "host.h"
#include "reader.h"

#define NS INT64_C(1000000000)

static const char *const with_sim_time[] = { "ros_distro", "humble", "use_sim_time", "true", NULL };

/* ---- the other side ---- */

static volatile sig_atomic_t ended;

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

/* With a lease of 1 s: who is killed is found out soon. */
static dds_entity_t participant(const char *user_data)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t p;

	dds_create_domain(
		0,
		"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"false\"/>"
		"</Interfaces><AllowMulticast>false</AllowMulticast></General><Discovery><LeaseDuration>1s</LeaseDuration>"
		"<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers>"
		"<Peer address=\"127.0.0.1\"/></Peers></Discovery></Domain></CycloneDDS>");
	dds_qset_userdata(qos, user_data, strlen(user_data));
	p = dds_create_participant(0, qos, NULL);
	dds_delete_qos(qos);
	return p;
}

struct clk {
	pid_t pid;
	int go; /* a byte lets it begin */
	dds_guid_t guid;
};

static void be_clock(int32_t sec, const char *user_data, int go_fd, int guid_fd)
{
	struct seen_time t = { sec, 0 };
	dds_entity_t p = participant(user_data), w;
	dds_guid_t guid;
	char byte;

	if (dds_get_guid(p, &guid) < 0 || write(guid_fd, &guid, sizeof(guid)) != sizeof(guid) ||
	    read(go_fd, &byte, 1) != 1)
		_exit(1);
	w = reader_write_volatile(p, &seen_clock_desc, "rt/clock");
	while (w > 0 && !ended) {
		t.nanosec++;
		dds_write(w, &t);
		pace_us(2000);
	}
	dds_delete(DDS_CYCLONEDDS_HANDLE);
	_exit(w > 0 ? 0 : 1);
}

/*
 * A clock that begins at `sec`, one tick a nanosecond, until it is killed or told to end. It waits for begin(): all are forked
 * before Cyclone runs here.
 */
static struct clk new_clock(int32_t sec, const char *user_data)
{
	struct clk c;
	int go[2], guid[2];

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(guid), 0);
	c = (struct clk){ .pid = fork(), .go = go[1] };
	if (c.pid == 0) {
		signal(SIGTERM, on_term);
		be_clock(sec, user_data, go[0], guid[1]);
	}
	close(go[0]);
	close(guid[1]);
	assert_int_equal(read(guid[0], &c.guid, sizeof(c.guid)), sizeof(c.guid));
	close(guid[0]);
	return c;
}

static void begin(struct clk c)
{
	assert_int_equal(write(c.go, "", 1), 1);
	close(c.go);
}

static struct clk start_clock(int32_t sec, const char *user_data)
{
	struct clk c = new_clock(sec, user_data);

	begin(c);
	return c;
}

static void end_process(pid_t pid, int sig)
{
	assert_int_equal(kill(pid, sig), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void end_clock(struct clk c, int sig)
{
	end_process(c.pid, sig);
}

/* ---- hostile ---- */

struct raw {
	uint32_t word[24];
};

static const uint32_t raw1_ops[] = { DDS_OP_ADR | DDS_OP_TYPE_4BY, 0, DDS_OP_RTS };
static const uint32_t raw24_ops[] = { DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_4BY, 0, 24, DDS_OP_RTS };

#define RAW(n, ops) \
	{ \
		.m_size = sizeof(struct raw), .m_align = 4, .m_typename = "rosgraph_msgs::msg::dds_::Clock_", \
		.m_nops = sizeof(ops) / sizeof(ops[0]), .m_ops = ops, .m_meta = "" \
	}
static const dds_topic_descriptor_t raw1_desc = RAW(1, raw1_ops), raw24_desc = RAW(24, raw24_ops);

/* Writes m on and on, what is wrong and then what is right, so that the other side can tell when it has had both. */
static pid_t start_hostile(const dds_topic_descriptor_t *desc, struct seen_time bad)
{
	struct seen_time good = { 5, 5 };
	struct raw m = { { (uint32_t)bad.sec, bad.nanosec } };
	pid_t pid = fork();
	dds_entity_t w;

	if (pid)
		return pid;
	w = reader_write_volatile(participant("enclave=/;"), desc, "rt/clock");
	while (w > 0) {
		dds_write(w, &m);
		pace_us(2000);
		if (desc == &seen_clock_desc)
			dds_write(w, &good);
		pace_us(2000);
	}
	_exit(1);
}

/* ---- the tests ---- */

TEST(follows_the_graph)
{
	struct clk clock = start_clock(100, "enclave=/;"), later = new_clock(50, "enclave=/;");
	static struct host h;
	struct sim_bridge *b;
	int64_t was = 0, now;

	host_init(&h, PLUGIN, with_sim_time);
	b = host_create(&h);
	for (int i = 0; i < 50; i++) {
		now = host_next_drive(&h);
		assert_true(now > was && now > 100 * NS && now < 101 * NS);
		was = now;
	}
	h.ops->disconnect(b); /* the bridge is down: nothing is driven */
	while (now != SIM_BRIDGE_CLOCK_GONE)
		now = host_next_drive(&h);
	assert_int_equal(h.ops->connect(b, ""), 0);
	now = host_next_drive(&h);
	assert_true(now > was && now < 101 * NS);
	end_clock(clock, SIGTERM);
	while (now != SIM_BRIDGE_CLOCK_GONE)
		now = host_next_drive(&h);
	begin(later); /* another run: the host sees that it goes back */
	assert_true(host_next_drive(&h) / NS == 50);
	end_clock(later, SIGKILL);
	do
		now = host_next_drive(&h);
	while (now != SIM_BRIDGE_CLOCK_GONE);
	h.ops->destroy(b);
	assert_null(strstr(h.log, "dropped"));
}

/* Which of the two is followed; all that comes must be of it. */
static int64_t followed(struct host *h)
{
	int64_t first = host_next_drive(h) / NS;

	for (int i = 0; i < 50; i++)
		assert_int_equal(host_next_drive(h) / NS, first);
	return first;
}

#define CLOCKS 4

static int by_guid(const void *a, const void *b)
{
	return memcmp(((const struct clk *)a)->guid.v, ((const struct clk *)b)->guid.v, sizeof(dds_guid_t));
}

/* The first stays, though lower ones come; after it the lowest that there is. */
TEST(one_of_several_is_followed_until_it_is_gone)
{
	static const int order[CLOCKS] = { 2, 3, 1, 0 }; /* in which they begin, by GUID */
	static struct host h;
	struct clk c[CLOCKS];
	struct sim_bridge *b;
	int64_t first, now;
	char said[64];

	for (int i = 0; i < CLOCKS; i++)
		c[i] = new_clock(100 * (i + 1), "enclave=/;");
	qsort(c, CLOCKS, sizeof(c[0]), by_guid);
	host_init(&h, PLUGIN, with_sim_time);
	b = host_create(&h);
	begin(c[order[0]]);
	first = followed(&h);
	for (int i = 1; i < CLOCKS; i++) {
		begin(c[order[i]]);
		snprintf(said, sizeof(said), "%d publishers of /clock in the graph", i + 1);
		while (!strstr(h.log, said))
			assert_int_equal(host_next_drive(&h) / NS, first);
		assert_int_equal(followed(&h), first);
	}
	end_clock(c[order[0]], SIGTERM);
	for (int i = 0; i < CLOCKS; i++) {
		if (i == order[0])
			continue;
		do
			now = host_next_drive(&h) / NS;
		while (now == first);
		assert_int_equal(followed(&h), now);
		first = now;
		end_clock(c[i], SIGTERM);
	}
	do
		now = host_next_drive(&h);
	while (now != SIM_BRIDGE_CLOCK_GONE);
	h.ops->destroy(b);
}

TEST(our_own_is_not_followed)
{
	struct clk own = start_clock(100, "enclave=/;simd=abcdef0123456789;");
	struct clk other = new_clock(200, "enclave=/;simd=abcdef0123456780;"), third = new_clock(201, "enclave=/;");
	static struct host h;
	struct sim_bridge *b;

	host_init(&h, PLUGIN, with_sim_time);
	b = host_create(&h);
	begin(other); /* of another simd */
	assert_int_equal(followed(&h), 200);
	end_clock(other, SIGTERM);
	while (host_next_drive(&h) != SIM_BRIDGE_CLOCK_GONE)
		continue;
	begin(third);
	assert_int_equal(followed(&h), 201);
	end_clock(third, SIGTERM);
	end_clock(own, SIGTERM);
	h.ops->destroy(b);
	assert_null(strstr(h.log, "publishers of /clock in the graph"));
}

TEST(what_is_no_time_is_dropped)
{
	static const struct {
		const dds_topic_descriptor_t *desc;
		struct seen_time bad;
		const char *said;
	} wrong[] = {
		{ &seen_clock_desc,
		  { -1, 0 },
		  "/clock: a message is dropped: Numerical result out of range (1 so far)" },
		{ &seen_clock_desc, { INT32_MIN, 999999999 }, "Numerical result out of range" },
		{ &seen_clock_desc, { 1, 1000000000 }, "/clock: a message is dropped: Bad message (1 so far)" },
		{ &seen_clock_desc, { 1, UINT32_MAX }, "Bad message" },
		{ &raw1_desc, { 1, 0 }, "Bad message" },  /* ends in the middle */
		{ &raw24_desc, { 1, 0 }, "Bad message" }, /* goes on behind its end */
	};
	static struct host h;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		pid_t peer = start_hostile(wrong[i].desc, wrong[i].bad);
		struct sim_bridge *b;

		host_init(&h, PLUGIN, with_sim_time);
		b = host_create(&h);
		host_next_drop(&h);
		for (int k = 0; wrong[i].desc == &seen_clock_desc && k < 10; k++)
			assert_int_equal(host_next_drive(&h), 5 * NS + 5);
		end_process(peer, SIGKILL);
		h.ops->destroy(b);
		if (!strstr(h.log, wrong[i].said))
			fail_msg("%s", h.log);
	}
}

/* Comes and goes, and stays in the end. */
static pid_t start_flapping(void)
{
	struct seen_time t = { 7, 7 };
	pid_t pid = fork();
	dds_entity_t p, w = 0;

	if (pid)
		return pid;
	p = participant("enclave=/;");
	for (int i = 0; i < 200; i++) {
		w = reader_write_volatile(p, &seen_clock_desc, "rt/clock");
		pace_us(3000);
		if (i < 199)
			dds_delete(w);
	}
	for (;;) {
		dds_write(w, &t);
		pace_us(2000);
	}
}

TEST(who_comes_and_goes_fills_no_log)
{
	pid_t peer = start_flapping();
	static struct host h;
	struct sim_bridge *b;
	unsigned lines = 0;

	host_init(&h, PLUGIN, with_sim_time);
	b = host_create(&h);
	while (host_next_drive(&h) != 7 * NS + 7)
		continue;
	end_process(peer, SIGKILL);
	h.ops->destroy(b);
	for (const char *at = h.log; (at = strstr(at, " /clock")); at++)
		lines++;
	if (lines < 2 || lines > 40) /* 20 at once, and one for each second that it took */
		fail_msg("%u lines", lines);
}

TEST(zero_is_no_time_yet)
{
	pid_t peer = start_hostile(&seen_clock_desc, (struct seen_time){ 0, 0 });
	static struct host h;
	struct sim_bridge *b;

	host_init(&h, PLUGIN, with_sim_time);
	b = host_create(&h);
	for (int k = 0; k < 20; k++)
		assert_int_equal(host_next_drive(&h), 5 * NS + 5);
	end_process(peer, SIGKILL);
	h.ops->destroy(b);
	assert_null(strstr(h.log, "dropped"));
}

TEST(does_not_send_what_it_reads)
{
	static struct host h;
	struct sim_bridge_channel clock = { .id = 1, .name = "/clock", .type = &sim_Clock_type, .options = "{}" };
	struct sim_bridge_channel other = {
		.id = 2, .name = "/other", .type = &sim_Clock_type, .options = "{\"ros2\":{\"topic\":\"/clock\"}}"
	};
	struct sim_bridge_topic *t = NULL;
	struct sim_bridge *b;

	host_init(&h, PLUGIN, with_sim_time);
	b = host_create(&h);
	h.log[0] = '\0';
	assert_int_equal(h.ops->open(b, &clock, &t), -EBUSY);
	assert_non_null(strstr(h.log, "/clock is not sent: use_sim_time takes the time from the graph"));
	assert_int_equal(h.ops->open(b, &other, &t), -EINVAL);
	assert_non_null(strstr(h.log, "use_sim_time is on: /clock comes from the graph"));
	clock.options = "{\"ros2\":{\"topic\":\"/simd/clock\"}}";
	assert_int_equal(h.ops->open(b, &clock, &t), 0);
	h.ops->close(b, t);
	h.ops->destroy(b);
}

TEST_PROCESSES()
