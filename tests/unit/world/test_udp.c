/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams of sessions: side.h against the server's core over a link that loses, delays, duplicates and reorders them
 * by a seed, and that delays the TCP data, in virtual time. Thread: the test's.
 */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "err.h"
#include "mem.h"
#include "rnd.h"
#include "tools/world/world.h"
#include "wire/world.pb-c.h"
#include "world/datagram.h"
#include "world/side.h"

#define MS      INT64_C(1000000)
#define STEP    (10 * MS)
#define HOSTS   3u
#define FLIGHT  4096u
#define TICKS   4096u
#define OBJECTS 4u

struct flight {
	int64_t at_mono_ns; /* 0: a free place */
	unsigned host;
	bool to_server;
	size_t len;
	uint8_t data[PACKET_MAX];
};

#define CHUNKS 4096u

/* Bytes of TCP on their way, in order. */
struct stream {
	uint8_t data[1 << 20];
	size_t len;
	struct {
		int64_t at_mono_ns;
		size_t len;
	} chunks[CHUNKS]; /* by number % CHUNKS */
	unsigned first, n;
};

struct host {
	struct side *side;
	struct session *s; /* NULL: not connected */
	struct stream in, out;
	enum side_role role;
	bool without_udp;
	unsigned ticks, ends, wrong;
	uint64_t last_tick;
	uint32_t number; /* the number in the bodies that it puts */
};

static struct world *w;
static struct host hosts[HOSTS];
static struct flight flights[FLIGHT];
static struct rnd rnd;
static int64_t now, tcp_delay_ns, udp_delay_ns, udp_jitter_ns;
static double loss, twice;
static bool black, deaf; /* no datagram gets through; none to a host */
static uint64_t hash_at[TICKS];
static size_t dropped;

static double chance(void)
{
	return (double)(rnd_u64(&rnd) >> 11) / (double)(UINT64_C(1) << 53);
}

/* ---- the link ---- */

static void fly_once(unsigned host, bool to_server, const uint8_t *data, size_t len)
{
	for (unsigned i = 0; i < FLIGHT; i++) {
		struct flight *f = &flights[i];

		if (f->at_mono_ns)
			continue;
		f->at_mono_ns = now + udp_delay_ns + (int64_t)(chance() * (double)udp_jitter_ns) + 1;
		f->host = host;
		f->to_server = to_server;
		f->len = len;
		memcpy(f->data, data, len);
		return;
	}
	fail_msg("too much is on its way");
}

static void fly(unsigned host, bool to_server, const struct datagram_out *o)
{
	for (size_t at = 0; at < o->len; at += o->segment) {
		size_t n = o->len - at < o->segment ? o->len - at : o->segment;

		if (black || (deaf && !to_server) || chance() < loss) {
			dropped++;
			continue;
		}
		fly_once(host, to_server, o->data + at, n);
		if (chance() < twice)
			fly_once(host, to_server, o->data + at, n);
	}
}

static struct session_address address_of(unsigned host)
{
	return (struct session_address){ .bytes = { 127, 0, 0, 1, (uint8_t)(host + 1) }, .len = 6 };
}

static void stream_add(struct stream *s, const void *data, size_t n)
{
	unsigned at = (s->first + s->n++) % CHUNKS;

	assert_true(s->len + n <= sizeof(s->data) && s->n <= CHUNKS);
	memcpy(s->data + s->len, data, n);
	s->len += n;
	s->chunks[at].at_mono_ns = now + tcp_delay_ns;
	s->chunks[at].len = n;
}

/* Bytes of it that are there. */
static size_t stream_come(const struct stream *s)
{
	size_t len = 0;

	for (unsigned i = 0; i < s->n && s->chunks[(s->first + i) % CHUNKS].at_mono_ns <= now; i++)
		len += s->chunks[(s->first + i) % CHUNKS].len;
	return len;
}

static void stream_take(struct stream *s, size_t len)
{
	s->len -= len;
	memmove(s->data, s->data + len, s->len);
	for (; len; s->n--, s->first++)
		len -= s->chunks[s->first % CHUNKS].len;
}

/* ---- hosts ---- */

static void put_all(struct host *h, const struct side_tick *t)
{
	unsigned me = (unsigned)(h - hosts);

	for (uint32_t i = 0; i < OBJECTS; i++) {
		double phase = (double)t->tick / 40 + i + 10 * me;
		uint8_t body[4] = { 0x30, (uint8_t)(h->number / 16 % 100) }; /* Vehicle::lights */
		struct side_object o = { .id = i,
					 .code = FRAME_VEHICLE,
					 .motion = { .time_sim_ns = t->time_sim_ns + STEP,
						     .position = { 300 * cos(phase), 300 * sin(phase), 0 },
						     .rotation = { 1 } },
					 .body = body,
					 .len = 2 };

		h->number++;
		assert_int_equal(side_put(h->side, &o), 0);
	}
}

static void on_tick(struct host *h, const struct side_tick *t)
{
	h->ticks++;
	h->wrong += remotes_hash(side_remotes(h->side)) != hash_at[t->tick % TICKS];
	assert_true(t->tick > h->last_tick);
	h->last_tick = t->tick;
	if (h->role != SIDE_OBSERVER)
		put_all(h, t);
	if (h->role == SIDE_REGULATING)
		assert_int_equal(side_done(h->side, t->tick, now), 0);
}

static void take_events(struct host *h)
{
	struct side_event e;
	int r;

	while ((r = side_next(h->side, &e)) == 1) {
		if (e.kind == SIDE_TICK)
			on_tick(h, &e.tick);
		else if (e.kind == SIDE_WELCOME && h->role == SIDE_REGULATING)
			assert_int_equal(side_done(h->side, e.tick.tick, now), 0);
		h->ends += e.kind == SIDE_ENDED;
		if (e.kind == SIDE_ENDED)
			print_error("host %u: %s\n", (unsigned)(h - hosts), e.sentence);
	}
	if (r < 0)
		fail_msg("%s", err_why());
}

static void receive(struct host *h)
{
	size_t come = stream_come(&h->in);

	for (size_t at = 0, n; at < come; at += n) {
		uint8_t *room;

		assert_int_equal(side_room(h->side, &room, &n), 0);
		n = come - at < n ? come - at : n;
		memcpy(room, h->in.data + at, n);
		side_add(h->side, n, now);
		take_events(h);
	}
	stream_take(&h->in, come);
}

/* ---- a millisecond ---- */

static void turn_world(void)
{
	struct world_info i;

	for (unsigned n = 0; n < 8 && world_turn(w, now) <= now; n++) {
		world_info(w, &i);
		hash_at[i.tick % TICKS] = i.hash;
	}
	world_info(w, &i);
	hash_at[i.tick % TICKS] = i.hash;
}

static void arrive(void)
{
	for (unsigned i = 0; i < FLIGHT; i++) {
		struct flight *f = &flights[i];
		const struct session_address from = address_of(f->host);
		struct host *h = &hosts[f->host];

		if (!f->at_mono_ns || f->at_mono_ns > now)
			continue;
		if (f->to_server)
			(void)!world_datagram(w, f->data, f->len, &from, now);
		else if (h->side && side_datagram(h->side, f->data, f->len, now) == 0)
			take_events(h);
		f->at_mono_ns = 0;
	}
}

static void move(struct host *h)
{
	const struct session_address *to;
	unsigned me = (unsigned)(h - hosts);
	struct datagram_out o;
	const void *data;
	size_t n;

	receive(h);
	n = stream_come(&h->out);
	session_input(h->s, h->out.data, n, now);
	stream_take(&h->out, n);
	while ((n = side_output(h->side, &data))) {
		stream_add(&h->out, data, n);
		side_sent(h->side, n);
	}
	while ((n = session_output(h->s, &data))) {
		stream_add(&h->in, data, n);
		session_sent(h->s, n);
	}
	(void)side_turn(h->side, now);
	assert_int_equal(side_datagrams(h->side, now, &o), 0);
	fly(me, true, &o);
	if (session_datagrams(h->s, now, &o, &to))
		fly(me, false, &o);
}

static void step(void)
{
	now += MS;
	arrive();
	for (unsigned i = 0; i < HOSTS; i++)
		if (hosts[i].s)
			move(&hosts[i]);
	turn_world();
}

static void steps(unsigned ms)
{
	for (unsigned i = 0; i < ms; i++)
		step();
}

/* ---- begin and end ---- */

static void start(unsigned pace_permille, uint64_t seed)
{
	const struct world_options o = {
		.store = { .objects_max = 2000, .objects_each_max = 100, .section_mm = 100000, .step_dur_ns = STEP },
		.barrier = { .pace_permille = pace_permille },
		.number = 1,
		.sessions_max = HOSTS,
		.members_max = 2 * HOSTS,
		.radius_mm = INT64_MAX,
		.grace_dur_ns = 1000 * MS,
		.ahead_dur_ns = 1000 * MS,
	};

	memset(hosts, 0, sizeof(hosts));
	memset(flights, 0, sizeof(flights));
	memset(hash_at, 0, sizeof(hash_at));
	now = 1000 * MS;
	loss = twice = 0;
	black = deaf = false;
	dropped = 0;
	tcp_delay_ns = udp_delay_ns = 2 * MS;
	udp_jitter_ns = 0;
	rnd_seed(&rnd, seed);
	assert_int_equal(world_create(&o, now, &w), 0);
	world_set_udp(w, 8082);
}

static void join(unsigned i, enum side_role role)
{
	struct side_options o = { .name = "host", .role = role, .history = 4, .datagrams = !hosts[i].without_udp };
	struct host *h = &hosts[i];

	o.identity[0] = (uint8_t)(i + 1);
	h->role = role;
	if (!h->side)
		assert_int_equal(side_create(&o, &h->side), 0);
	assert_int_equal(session_open(w, now, &h->s), 0);
	assert_int_equal(side_begin(h->side), 0);
}

static void lose(struct host *h)
{
	session_close(h->s, now);
	h->s = NULL;
	memset(&h->in, 0, sizeof(h->in));
	memset(&h->out, 0, sizeof(h->out));
	side_end(h->side);
}

static void stop(void)
{
	for (unsigned i = 0; i < HOSTS; i++) {
		if (hosts[i].s)
			lose(&hosts[i]);
		side_destroy(hosts[i].side);
	}
	world_destroy(w);
}

static struct session_info info_of(unsigned i)
{
	struct session_info r;

	session_info(hosts[i].s, &r);
	return r;
}

static void bad_network(double lost, int64_t delay_ms, int64_t jitter_ms)
{
	loss = lost;
	twice = 0.05;
	udp_delay_ns = delay_ms * MS;
	udp_jitter_ns = jitter_ms * MS;
	tcp_delay_ns = (delay_ms + jitter_ms) * MS; /* TCP data arrives behind UDP data */
}

static uint64_t world_tick(void)
{
	struct world_info i;

	world_info(w, &i);
	return i.tick;
}

TEST(updates_of_each_tick_are_sent_as_datagrams)
{
	struct session_info before;

	start(0, 1);
	join(0, SIDE_REGULATING);
	join(1, SIDE_REGULATING);
	steps(500);
	before = info_of(0);
	assert_true(before.udp && side_has_datagrams(hosts[0].side));
	steps(1000);
	assert_true(info_of(0).datagrams_out > before.datagrams_out + 100);
	/* by TCP nothing */
	assert_int_equal(info_of(0).bytes_out, before.bytes_out);
	assert_int_equal(hosts[0].wrong + hosts[1].wrong, 0);
	stop();
}

TEST(in_step_all_hosts_see_the_same_world_over_a_bad_network)
{
	static const struct {
		double loss;
		int64_t delay_ms, jitter_ms;
	} rows[] = { { 0.05, 10, 10 }, { 0.1, 50, 50 }, { 0.2, 20, 60 }, { 0, 50, 40 }, { 0.5, 5, 5 } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(0, 100 + i);
		bad_network(rows[i].loss, rows[i].delay_ms, rows[i].jitter_ms);
		join(0, SIDE_REGULATING);
		join(1, SIDE_REGULATING);
		steps(2000);
		join(2, SIDE_REGULATING); /* late */
		steps(5000);
		lose(&hosts[2]);
		steps(2000);
		join(2, SIDE_REGULATING);
		steps(5000);
		for (unsigned j = 0; j < HOSTS; j++) {
			assert_int_equal(hosts[j].wrong, 0);
			assert_int_equal(hosts[j].ends, 0);
			assert_true(hosts[j].ticks > 20);
			assert_true(info_of(j).udp);
		}
		/* no host is further behind than the data on its way */
		assert_true(world_tick() - hosts[0].last_tick <= 1);
		assert_true(loss == 0 || dropped > 5);
		stop();
	}
}

TEST(with_a_pace_every_host_sees_correct_ticks_over_a_bad_network)
{
	for (uint64_t seed = 1; seed < 6; seed++) {
		start(1000, seed);
		bad_network(0.1, 20, 15);
		join(0, SIDE_CONSTRAINED);
		join(1, SIDE_CONSTRAINED);
		join(2, SIDE_OBSERVER);
		steps(10000); /* 1000 ticks */
		for (unsigned j = 0; j < HOSTS; j++) {
			assert_int_equal(hosts[j].wrong, 0);
			assert_int_equal(hosts[j].ends, 0);
			assert_true(hosts[j].ticks > 500);
			assert_true(info_of(j).udp);
		}
		stop();
	}
}

/* In each tick a datagram is lost, and the host reports it: without a way around that no tick would be complete. */
TEST(over_a_very_bad_network_ticks_still_arrive)
{
	unsigned before;

	start(1000, 7);
	join(0, SIDE_CONSTRAINED);
	join(2, SIDE_OBSERVER);
	steps(1000);
	assert_true(info_of(2).udp);
	deaf = true;
	steps(1000);
	before = hosts[2].ticks;
	steps(10000);
	assert_true(hosts[2].ticks >= before + 30);
	assert_int_equal(hosts[0].wrong + hosts[2].wrong, 0);
	stop();
}

TEST(a_body_sent_once_arrives)
{
	struct remote const *r;
	uint8_t body[2] = { 0x30, 77 };
	struct side_object o = { .code = FRAME_VEHICLE, .motion = { .rotation = { 1 } }, .body = body, .len = 2 };

	start(1000, 9);
	bad_network(0.3, 10, 30);
	join(0, SIDE_CONSTRAINED);
	join(2, SIDE_OBSERVER);
	steps(3000);
	/* the last word of the host, and after it its place alone */
	hosts[0].role = SIDE_OBSERVER; /* of the test: it puts no more by itself */
	for (unsigned i = 0; i < 300; i++) {
		o.motion.time_sim_ns = side_tick(hosts[0].side)->time_sim_ns + 2 * STEP;
		o.motion.position[0] = i;
		assert_int_equal(side_put(hosts[0].side, &o), 0);
		o.body = NULL;
		o.len = 0;
		steps(10);
	}
	steps(500);
	r = remotes_find(side_remotes(hosts[2].side), side_id(hosts[0].side, 0));
	assert_non_null(r);
	assert_int_equal(r->body->len, 2);
	assert_int_equal(r->body->data[1], 77);
	stop();
}

TEST(where_datagrams_are_blocked_everything_is_sent_by_tcp)
{
	uint64_t before;

	start(0, 11);
	black = true;
	join(0, SIDE_REGULATING);
	join(1, SIDE_REGULATING);
	steps(1000);
	assert_true(hosts[0].ticks > 100);
	assert_false(info_of(0).udp);
	black = false;
	steps(1000);
	assert_true(info_of(0).udp);
	/* and where they do not any more */
	black = true;
	steps(3000);
	before = world_tick();
	steps(1000);
	assert_true(world_tick() > before + 100);
	black = false;
	steps(2000);
	assert_true(side_has_datagrams(hosts[0].side));
	assert_int_equal(hosts[0].wrong + hosts[1].wrong, 0);
	stop();
}

TEST(datagrams_can_be_turned_off)
{
	start(0, 12);
	hosts[0].without_udp = true;
	join(0, SIDE_REGULATING);
	join(1, SIDE_REGULATING);
	steps(500);
	assert_false(info_of(0).udp);
	assert_int_equal(info_of(0).datagrams_out, 0);
	assert_true(info_of(1).udp);
	world_set_udp(w, 0);
	join(2, SIDE_OBSERVER);
	steps(500);
	assert_false(info_of(2).udp);
	assert_true(hosts[2].ticks > 10);
	stop();
}

/* What the first host's next datagram is. */
static size_t catch_one(uint8_t data[PACKET_MAX])
{
	for (unsigned n = 0; n < 1000; n++) {
		step();
		for (unsigned i = 0; i < FLIGHT; i++)
			if (flights[i].at_mono_ns && flights[i].to_server && flights[i].host == 0) {
				memcpy(data, flights[i].data, flights[i].len);
				return flights[i].len;
			}
	}
	return 0;
}

TEST(a_forged_datagram_is_ignored)
{
	const struct session_address other = address_of(9), own = address_of(0);
	uint8_t data[PACKET_MAX], forged[PACKET_MAX];
	struct session_info before;
	size_t len;

	start(0, 13);
	join(0, SIDE_REGULATING);
	join(1, SIDE_REGULATING);
	steps(500);
	len = catch_one(data);
	assert_true(len > 0);
	before = info_of(0);
	/* its own, from another address, before it has come */
	assert_int_equal(world_datagram(w, data, len, &other, now), -ENXIO);
	memcpy(forged, data, len);
	forged[len - 1] ^= 1;
	assert_int_equal(world_datagram(w, forged, len, &own, now), -EKEYREJECTED);
	memcpy(forged, data, len);
	forged[0] ^= 0x40; /* of an unknown sender */
	assert_int_equal(world_datagram(w, forged, len, &own, now), -ENXIO);
	assert_int_equal(world_datagram(w, data, 3, &own, now), -ENXIO);
	assert_int_equal(info_of(0).datagrams_in, before.datagrams_in);
	assert_int_equal(world_datagram(w, data, len, &own, now), 0);
	assert_int_equal(world_datagram(w, data, len, &own, now), -EALREADY);
	assert_int_equal(info_of(0).datagrams_in, before.datagrams_in + 1);
	stop();
}

TEST(datagrams_beyond_a_clients_share_are_ignored)
{
	const struct session_address own = address_of(0);
	unsigned taken = 0;
	uint8_t data[PACKET_MAX];
	size_t len;

	start(0, 14);
	join(0, SIDE_REGULATING);
	steps(500);
	len = catch_one(data);
	for (unsigned i = 0; i < 10000; i++)
		taken += world_datagram(w, data, len, &own, now) != -EAGAIN;
	assert_true(taken > 1000 && taken <= 2000);
	stop();
}
