/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether the peer already has the definition of a type, Apollo's or another with a protobuf definition. The
 * peer does not answer questions, and registering a definition that differs from the one in a running Apollo breaks
 * channels there, so a definition is registered only when it is seen to be missing.
 *
 * A separate connection adds a writer and a reader of the type on a channel used for nothing else, and sends empty
 * messages, which Cyber RT delivers only inside the process. If messages of a type that is linked into every release
 * come back and those of the type in question do not, the peer does not have the type, and its definition is
 * registered. Until that is decided, the messages of the type wait in the outbox.
 */
#include <stdio.h>
#include <string.h>

#include "cyber.h"
#include "pb_reader.h"

#define ROUND_DUR_NS   (20 * NS_PER_MS)   /* between two messages of a type */
#define ROUNDS         3u                 /* the type is missing when more of the linked-in type came back */
#define GIVE_UP_DUR_NS (2000 * NS_PER_MS) /* the type is taken as missing after so long */
#define PREFIX         "/simd/knows/"
#define LINKED_IN      "apollo.cyber.proto.RoleAttributes"

struct channel_name {
	char text[CYBER_NAME_MAX + 1];
};

static struct channel_name name_of(const char *type)
{
	struct channel_name name;

	snprintf(name.text, sizeof(name.text), PREFIX "%.200s", type);
	return name;
}

/* ---- state; caller holds the probe's lock ---- */

static struct cyber_known_type *find(struct cyber_known *k, const char *type)
{
	for (unsigned i = 0; i < k->n; i++)
		if (strcmp(k->list[i].type, type) == 0)
			return &k->list[i];
	return NULL;
}

static struct cyber_known_type *find_or_add(struct cyber_known *k, const char *type)
{
	struct cyber_known_type *one = find(k, type);

	if (one || k->n == CYBER_KNOWN_MAX)
		return one;
	one = &k->list[k->n++];
	*one = (struct cyber_known_type){ .state = CYBER_TYPE_UNDECIDED };
	snprintf(one->type, sizeof(one->type), "%s", type);
	atomic_fetch_add(&k->undecided, 1);
	return one;
}

/* Announces the writer, with the definition unless the peer has it, and releases the held messages. */
static void go(struct sim_bridge *b, struct cyber_topic *t, bool defined)
{
	int r = cyber_announce(b, t, !defined);

	if (r < 0)
		log_warn(b, "%s: its writer cannot be announced to cyber_bridge: %s", t->name, strerror(-r));
	t->waits = false;
	tcp_link_hold(&b->link, t->out, false);
}

/* A topic that waits for the type to be decided; NULL if all of them are gone. */
static const struct cyber_topic *waiting(const struct sim_bridge *b, const char *type)
{
	const struct cyber_topic *t = b->probe.topics;

	while (t && !(t->waits && strcmp(cyber_topic_type(t), type) == 0))
		t = t->next;
	return t;
}

static void decide(struct sim_bridge *b, struct cyber_known_type *k, bool defined)
{
	const char *type = k->type;
	const struct cyber_topic *one = waiting(b, type);
	struct iovec files[APOLLO_FILES_MAX];
	struct cyber_topic *next;

	k->state = defined ? CYBER_TYPE_DEFINED : CYBER_TYPE_MISSING;
	atomic_fetch_sub(&b->known.undecided, 1);
	if (!defined && one && !cyber_files(b, one, files))
		log_warn(b, "cyber_bridge does not know %s, and %s has no definition of it: its messages are lost",
			 type, cyber_known_source(b, one));
	else if (!defined)
		log_info(b, "cyber_bridge does not know %s: registering its definition from %s", type,
			 cyber_known_source(b, one));
	for (struct cyber_topic *t = b->probe.topics; t; t = next) {
		next = t->next;
		if (!t->waits || strcmp(cyber_topic_type(t), type) != 0)
			continue;
		go(b, t, defined);
		if (t->closed)
			cyber_topic_free(b, t);
	}
}

static void give_up(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->known.n; i++)
		if (b->known.list[i].state == CYBER_TYPE_UNDECIDED)
			decide(b, &b->known.list[i], false);
}

const char *cyber_known_source(const struct sim_bridge *b, const struct cyber_topic *t)
{
	return t && t->own              ? "the channel's type"
	       : b->definitions         ? bridge_option(b->host, "definitions")
	       : b->release == APOLLO_5 ? "Apollo 5.0"
					: "Apollo 10.0";
}

bool cyber_known_registered(struct sim_bridge *b, const struct cyber_topic *t, char ret_file[CYBER_NAME_MAX + 1])
{
	struct cyber_known_type *k = find(&b->known, cyber_topic_type(t));
	struct iovec files[APOLLO_FILES_MAX];
	struct pb_reader r;
	int error = 0;
	size_t n;

	if (!k || k->state != CYBER_TYPE_MISSING)
		return false;
	n = cyber_files(b, t, files); /* the type's own file comes last; its first field is the file name */
	if (!n)
		return false;
	pb_read_begin(&r, files[n - 1].iov_base, files[n - 1].iov_len, &error);
	if (!pb_next(&r) || r.field != 1)
		return false;
	snprintf(ret_file, CYBER_NAME_MAX + 1, "%.*s", (int)r.len, (const char *)r.data);
	return true;
}

/* ---- called by the known.c link's thread ---- */

static void on_status(void *bridge, enum sim_bridge_status status, const char *text)
{
	struct sim_bridge *b = bridge;
	struct cyber_known *k = &b->known;

	(void)text;
	pthread_mutex_lock(&b->probe.lock);
	if (status == SIM_BRIDGE_CONNECTED) {
		k->back = 0;
		for (unsigned i = 0; i < k->n; i++)
			k->list[i].asked = false;
	} else if (status == SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED) {
		give_up(b);
	}
	pthread_mutex_unlock(&b->probe.lock);
}

static void take(void *bridge, const struct frame *f)
{
	struct sim_bridge *b = bridge;
	struct cyber_known_type *k;
	char type[CYBER_NAME_MAX + 1];

	if (f->topic_len < sizeof(PREFIX) || memcmp(f->topic, PREFIX, sizeof(PREFIX) - 1) != 0)
		return;
	snprintf(type, sizeof(type), "%.*s", (int)(f->topic_len - (sizeof(PREFIX) - 1)), f->topic + sizeof(PREFIX) - 1);
	pthread_mutex_lock(&b->probe.lock);
	b->known.back += strcmp(type, LINKED_IN) == 0;
	k = find(&b->known, type);
	if (k && k->state == CYBER_TYPE_UNDECIDED && k->asked)
		decide(b, k, true);
	pthread_mutex_unlock(&b->probe.lock);
}

static int add_both(struct cyber_known *k, const char *type)
{
	struct channel_name name = name_of(type);
	int r = tcp_link_say_add(&k->link, frame_cyber.writer, name.text, type);

	return r < 0 ? r : tcp_link_say_add(&k->link, frame_cyber.reader, name.text, type);
}

static void ask(struct cyber_known *k, struct cyber_known_type *one, int64_t now_mono_ns)
{
	if (one->asked || add_both(k, LINKED_IN) < 0 || add_both(k, one->type) < 0)
		return;
	one->asked = true;
	one->since_back = k->back;
	one->since_mono_ns = now_mono_ns;
}

static bool is_missing(const struct cyber_known *k, const struct cyber_known_type *one, int64_t now_mono_ns)
{
	return one->asked && (k->back - one->since_back > ROUNDS || now_mono_ns - one->since_mono_ns > GIVE_UP_DUR_NS);
}

static void send_empty(struct cyber_known *k, struct channel_name name)
{
	(void)tcp_link_send_empty(&k->link, name.text);
}

/* Adds writers and readers for new types; returns the channels to send an empty message on. */
static unsigned look_at_all(struct sim_bridge *b, struct channel_name ret[CYBER_KNOWN_MAX])
{
	int64_t now = mono_now_ns();
	unsigned n = 0;

	pthread_mutex_lock(&b->probe.lock);
	for (unsigned i = 0; i < b->known.n; i++) {
		struct cyber_known_type *one = &b->known.list[i];

		if (one->state != CYBER_TYPE_UNDECIDED)
			continue;
		ask(&b->known, one, now);
		if (is_missing(&b->known, one, now))
			decide(b, one, false);
		else
			ret[n++] = name_of(one->type);
	}
	pthread_mutex_unlock(&b->probe.lock);
	return n;
}

static int64_t look(void *bridge)
{
	struct sim_bridge *b = bridge;
	struct channel_name left[CYBER_KNOWN_MAX];
	unsigned n = look_at_all(b, left);
	int64_t now = mono_now_ns();

	if (n &&
	    /* wait: readers run in separate threads, so messages sent together may return out of order */
	    now < b->known.next_mono_ns)
		return b->known.next_mono_ns - now;
	b->known.next_mono_ns = now + ROUND_DUR_NS;
	for (unsigned i = 0; i < n; i++)
		send_empty(&b->known, left[i]);
	if (n)
		send_empty(&b->known, name_of(LINKED_IN));
	else
		tcp_link_close(&b->known.link);
	return ROUND_DUR_NS;
}

static const struct tcp_link_ops known_ops = {
	.dialect = &frame_cyber, .thread = "cyber-known", .status = on_status, .take = take, .look = look
};

/* ---- called by the main link's thread ---- */

int64_t cyber_known_look(struct sim_bridge *b)
{
	if (!atomic_load(&b->known.undecided))
		return -1;
	if (tcp_link_alive(&b->known.link))
		return ROUND_DUR_NS; /* this connection may be closing and miss the newest type: look again */
	if (tcp_link_open_beside(&b->known.link, &b->link) == 0)
		return ROUND_DUR_NS;
	pthread_mutex_lock(&b->probe.lock);
	give_up(b);
	pthread_mutex_unlock(&b->probe.lock);
	return -1;
}

static void forget(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->probe.lock);
	b->known.n = 0;
	atomic_store(&b->known.undecided, 0);
	for (struct cyber_topic *t = b->probe.topics, *next; t; t = next) {
		next = t->next;
		t->waits = false; /* the host opens it again for the next connection */
		if (t->closed)
			cyber_topic_free(b, t);
	}
	pthread_mutex_unlock(&b->probe.lock);
}

void cyber_known_forget(struct sim_bridge *b)
{
	tcp_link_close(&b->known.link);
	forget(b);
}

/* ---- topics ---- */

int cyber_known_add(struct sim_bridge *b, struct cyber_topic *t)
{
	struct cyber_known_type *k = NULL;
	struct iovec files[APOLLO_FILES_MAX];
	enum cyber_type_state state = CYBER_TYPE_MISSING;

	if (b->probe.on && (t->own ? cyber_own_is_defined(t->own) : apollo_type_files(t->type, files) > 0)) {
		k = find_or_add(&b->known, cyber_topic_type(t));
		state = k ? k->state : CYBER_TYPE_MISSING;
		t->waits = state == CYBER_TYPE_UNDECIDED;
		if (t->waits)
			/* also wakes the link's thread, which calls cyber_known_look() */
			tcp_link_hold(&b->link, t->out, true);
	}
	return state == CYBER_TYPE_UNDECIDED ? 0 : cyber_announce(b, t, state == CYBER_TYPE_MISSING);
}

int cyber_known_init(struct sim_bridge *b)
{
	b->known.link.ops = &known_ops;
	b->known.link.arg = b;
	return tcp_link_init(&b->known.link);
}

void cyber_known_finish(struct sim_bridge *b)
{
	tcp_link_finish(&b->known.link);
	forget(b);
}
