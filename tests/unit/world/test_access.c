/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h in a world: which clients are admitted, in which role, and what they may own; and a user's own types.
 * Virtual time. Thread: the test's.
 */
#include "support/test.h"

#include "client.h"
#include "tools/world/access.h"

#define MS     INT64_C(1000000)
#define STEP   (10 * MS)
#define N      4
#define CODE   200u
#define OTHER  201u
#define ANY(c) [(c) / 8] = 1u << (c) % 8

#define REGULATING  SIM__WORLD__ROLE__REGULATING
#define CONSTRAINED SIM__WORLD__ROLE__CONSTRAINED
#define OBSERVER    SIM__WORLD__ROLE__OBSERVER

static struct world *w;
static int64_t now;
static struct client clients[N];
static char events[8000];

static const struct access_entry entries[] = {
	{ .certificate = "car-*",
	  .role = BARRIER_REGULATING,
	  .codes = { ANY(2u), ANY(CODE) },
	  .objects = 2,
	  .notes = true },
	{ .certificate = "ped*an*", .token = "both", .role = BARRIER_CONSTRAINED, .codes = { ANY(16u) }, .objects = 5 },
	{ .token = "watch", .role = BARRIER_OBSERVER, .objects = UINT32_MAX },
	{ .token = "walk", .role = BARRIER_CONSTRAINED, .codes = { ANY(16u) }, .objects = UINT32_MAX },
	{ .certificate = "car-2", .role = BARRIER_OBSERVER },
};
static const struct access_type types[] = { { CODE, "drone", "syntax = \"proto3\"; message Drone { int32 a = 1; }" } };

static void on_event(void *user, enum world_event what, uint32_t connection, const char *name, const char *sentence)
{
	size_t len = strlen(events);

	(void)user;
	snprintf(events + len, sizeof(events) - len, "%d %u %s: %s\n", what, connection, name, sentence);
}

static void begin(const struct access *a)
{
	const struct world_options o = {
		.store = { .objects_max = 100, .objects_each_max = 50, .section_mm = 100000, .step_dur_ns = STEP },
		.number = 1,
		.sessions_max = N,
		.members_max = 2 * N,
		.radius_mm = INT64_MAX,
		.grace_dur_ns = 1000 * MS,
		.ahead_dur_ns = 100 * MS,
		.access = *a,
		.event = on_event,
	};

	now = 1000 * MS;
	*events = 0;
	memset(clients, 0, sizeof(clients));
	assert_int_equal(world_create(&o, now, &w), 0);
}

static int begin_list(void **state)
{
	(void)state;
	begin(&(struct access){ .entries = entries, .n_entries = sizeof(entries) / sizeof(entries[0]) });
	return 0;
}

static int begin_types(void **state)
{
	(void)state;
	begin(&(struct access){ .types = types, .n_types = 1 });
	return 0;
}

static int begin_open(void **state)
{
	(void)state;
	begin(&(struct access){ .n_types = 0 });
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N; i++)
		if (clients[i].s)
			client_lose(&clients[i], now);
	world_destroy(w);
	return 0;
}

/* client_connect() says Hello at once, and a certificate is shown before that. */
static struct client *come(unsigned i, const char *certificate, const struct client_options *o)
{
	struct client_options all = *o;

	all.identity = (uint8_t)(i + 1);
	client_connect_as(&clients[i], w, certificate, &all, now);
	client_receive(&clients[i], SIZE_MAX, now);
	return &clients[i];
}

static struct client *car(unsigned i)
{
	return come(i, "car-1", &(struct client_options){ .role = REGULATING, .own_code = CODE });
}

static struct client *walker(unsigned i)
{
	return come(i, "", &(struct client_options){ .role = CONSTRAINED, .token = "walk" });
}

static void turn(void)
{
	for (unsigned i = 0; i < N; i++)
		if (clients[i].s && clients[i].role == REGULATING)
			client_done(&clients[i], now);
	while (world_turn(w, now) <= now)
		;
	for (unsigned i = 0; i < N; i++)
		if (clients[i].s)
			client_receive(&clients[i], SIZE_MAX, now);
	now += STEP;
}

static uint64_t id_of(const struct client *c, uint32_t number)
{
	return (uint64_t)c->connection << 40 | (uint64_t)number << 16;
}

static void put(struct client *c, unsigned code, uint64_t id, double x)
{
	Sim__World__Object m = SIM__WORLD__OBJECT__INIT;
	Sim__World__Vector at = SIM__WORLD__VECTOR__INIT;
	uint8_t body[] = { 0x08, 42 };

	at.x = x;
	m.id = id;
	m.time_sim_ns = c->time_sim_ns + c->step_dur_ns;
	m.position = &at;
	m.body = (ProtobufCBinaryData){ sizeof(body), body };
	client_send(c, code, &m.base, now);
}

static void own(struct client *c, unsigned code, uint64_t id, uint32_t connection)
{
	Sim__World__Ownership m = SIM__WORLD__OWNERSHIP__INIT;

	m.id = id;
	m.connection = connection;
	client_send(c, code, &m.base, now);
}

static struct session_info info(const struct client *c)
{
	struct session_info i;

	session_info(c->s, &i);
	return i;
}

/* ---- admission ---- */

static bool has(const char *glob, const char *certificate)
{
	const struct access_entry e = { .certificate = glob };

	return access_find(&(struct access){ .entries = &e, .n_entries = 1 }, certificate, NULL, 0);
}

TEST(a_star_matches_any_characters_of_a_name)
{
	assert_true(has("*", "a"));
	assert_false(has("*", "")); /* a client without a certificate has no identity */
	assert_true(has("a*b*c", "abxbc") && has("a*", "a") && has("*ab", "aab") && has("a**", "ab"));
	assert_false(has("a*b*c", "abxbcd") || has("a", "ab") || has("a*b", "a") || has("A*", "ab"));
	assert_true(has("[a]?", "[a]?"));
	assert_false(has("[a]?", "ab"));
}

static void is_out(const struct client *c, const char *sentence)
{
	assert_false(c->welcome);
	assert_true(c->bye);
	assert_int_equal(c->reason, SIM__WORLD__BYE__REASON__REFUSED);
	if (!strstr(c->sentence, sentence))
		fail_msg("\"%s\", not \"%s\"", c->sentence, sentence);
}

TEST_WITH(a_client_without_an_entry_is_refused, begin_list, end)
{
	is_out(come(0, "", &(struct client_options){ .name = "car-1" }), "no entry for this token");
	is_out(come(0, "cart", &(struct client_options){ .name = "car-1" }), "certificate cart");
	is_out(come(0, "", &(struct client_options){ .token = "watcher" }), "no entry");
	is_out(come(0, "pedestrian", &(struct client_options){ .role = CONSTRAINED }), "no entry");
	is_out(come(0, "", &(struct client_options){ .token = "both" }), "no entry");
	is_out(come(0, "pedestri", &(struct client_options){ .token = "both" }), "no entry");
	assert_true(car(0)->welcome);
	assert_true(come(1, "pedestrian", &(struct client_options){ .token = "both" })->welcome);
	assert_true(come(2, "", &(struct client_options){ .token = "watch" })->welcome);
}

TEST_WITH(a_client_that_asks_for_more_gets_the_lesser_role, begin_list, end)
{
	assert_int_equal(come(0, "", &(struct client_options){ .token = "watch" })->welcome_role, OBSERVER);
	assert_int_equal(come(1, "", &(struct client_options){ .token = "walk", .role = REGULATING })->welcome_role,
			 CONSTRAINED);
	assert_int_equal(come(2, "car-2", &(struct client_options){ .role = OBSERVER })->welcome_role, OBSERVER);
	/* the first entry that fits counts */
	assert_int_equal(come(3, "car-2", &(struct client_options){ .role = REGULATING })->welcome_role, REGULATING);
	assert_int_equal(clients[3].objects_max, 2);
	assert_int_equal(clients[1].objects_max, 50);
}

TEST_WITH(an_empty_list_admits_no_client, begin_open, end)
{
	world_destroy(w);
	begin(&(struct access){ .entries = entries, .n_entries = 0 });
	is_out(car(0), "no entry");
}

TEST_WITH(without_a_list_everything_is_allowed, begin_open, end)
{
	struct client *c = come(0, "", &(struct client_options){ .role = REGULATING, .own_code = OTHER });

	assert_int_equal(c->welcome_role, REGULATING);
	assert_int_equal(c->n_types, 0);
	put(c, OTHER, id_of(c, 0), 1);
	put(c, 16, id_of(c, 1), 1);
	put(c, 2, id_of(c, 1), 1);
	turn();
	assert_int_equal(client_count(c), 2);
}

/* ---- what a client may own ---- */

TEST_WITH(codes_and_number_of_objects_are_limited, begin_list, end)
{
	struct client *c = car(0);

	put(c, 2, id_of(c, 0), 1);
	put(c, 16, id_of(c, 1), 2);
	assert_int_equal(info(c).refused, 1);
	put(c, CODE, id_of(c, 1), 3);
	assert_int_equal(info(c).refused, 1);
	put(c, 2, id_of(c, 2), 4);
	assert_int_equal(info(c).refused, 2);
	turn();
	turn();
	assert_int_equal(client_count(c), 2);
	put(c, 2, id_of(c, 0), 5); /* its objects stay, with the same owner */
	put(c, 2, id_of(c, 1), 5);
	assert_int_equal(info(c).refused, 3);
	turn();
	assert_int_equal(client_find(c, id_of(c, 0))->motion.v[0], 5000);
	assert_int_equal(client_find(c, id_of(c, 1))->code, CODE);
	assert_non_null(strstr(events, "access list: client may not own objects of code 16"));
	assert_null(strstr(strstr(events, "access list") + 1, "access list")); /* the others are counted alone */
}

TEST_WITH(messages_need_permission, begin_list, end)
{
	struct client *c = car(0), *p = walker(1);
	Sim__World__Note m = SIM__WORLD__NOTE__INIT;

	put(c, 2, id_of(c, 0), 1);
	put(p, 16, id_of(p, 0), 1);
	turn();
	m.number = 1;
	m.all = true;
	m.from = id_of(p, 0);
	client_send(p, 6, &m.base, now);
	m.from = id_of(c, 0);
	client_send(c, 6, &m.base, now);
	turn();
	assert_int_equal(p->n_notes, 1);
	assert_int_equal(c->n_notes, 0);
	assert_int_equal(info(p).refused, 1);
	assert_int_equal(info(c).refused, 0);
}

TEST_WITH(a_given_object_counts_against_the_limits_of_the_receiver, begin_list, end)
{
	struct client *c = car(0), *p = walker(1),
		      *d = come(2, "car-3", &(struct client_options){ .role = REGULATING });

	put(c, 2, id_of(c, 0), 1);
	put(c, 2, id_of(c, 1), 2);
	put(d, 2, id_of(d, 0), 3);
	turn();
	own(c, 39, id_of(c, 0), p->connection); /* a vehicle, to a client that may own pedestrians only */
	client_receive(c, SIZE_MAX, now);
	assert_true(c->ownership.code == 39 && c->ownership.refused);
	assert_int_equal(info(p).refused, 1);
	own(p, 38, id_of(c, 0), p->connection);
	client_receive(p, SIZE_MAX, now);
	assert_true(p->ownership.code == 39 && p->ownership.refused);
	own(c, 39, id_of(c, 0), d->connection);
	own(c, 39, id_of(c, 1), d->connection); /* a third one */
	put(d, 2, id_of(d, 1), 4);              /* the gift has taken its place */
	turn();
	assert_int_equal(client_find(p, id_of(c, 0))->owner, d->connection);
	assert_int_equal(client_find(p, id_of(c, 1))->owner, c->connection);
	assert_null(client_find(p, id_of(d, 1)));
	assert_int_equal(info(d).refused, 2);
}

/* Before its first tick an object has no owner that others know of, and can be given all the same. */
TEST_WITH(an_object_given_before_its_first_tick_is_checked, begin_list, end)
{
	struct client *c = car(0), *p = walker(1);

	turn();
	turn();
	put(c, 2, id_of(c, 0), 1);
	own(c, 39, id_of(c, 0), p->connection);
	client_receive(c, SIZE_MAX, now);
	assert_true(c->ownership.code == 39 && c->ownership.refused);
	turn();
	turn();
	assert_int_equal(client_find(p, id_of(c, 0))->owner, c->connection);
}

/* ---- types of one's own ---- */

TEST_WITH(a_user_defined_type_is_carried_kept_and_filtered, begin_types, end)
{
	struct client *a = come(0, "", &(struct client_options){ .role = REGULATING, .own_code = CODE });
	struct client *far = come(1, "", &(struct client_options){ .role = OBSERVER, .radius = 50 }), *late;
	const struct object_state *o;
	Sim__World__Interest m = SIM__WORLD__INTEREST__INIT;
	Sim__World__Vector at = SIM__WORLD__VECTOR__INIT, *centre = &at;

	at.x = 10000;
	m.n_centre = 1;
	m.centre = &centre;
	client_send(far, 42, &m.base, now);
	put(a, CODE, id_of(a, 0), 7);
	turn();
	turn();
	assert_int_equal(client_count(far), 0);
	late = come(2, "", &(struct client_options){ .role = OBSERVER });
	turn();
	o = client_find(late, id_of(a, 0)); /* the owner has said nothing since */
	assert_non_null(o);
	assert_int_equal(o->code, CODE);
	assert_int_equal(o->body->len, 2);
	at.x = 0;
	client_send(far, 42, &m.base, now);
	turn();
	assert_non_null(client_find(far, id_of(a, 0)));
}

TEST_WITH(permitted_types_are_announced_and_others_refused, begin_types, end)
{
	struct client *c = come(0, "", &(struct client_options){ .own_code = CODE });

	assert_int_equal(c->n_types, 1);
	assert_int_equal(c->type_code, CODE);
	assert_string_equal(c->type_name, "drone");
	assert_string_equal(c->type_proto, types[0].proto);
	is_out(come(1, "", &(struct client_options){ .own_code = OTHER }), "no type with code 201");
}
