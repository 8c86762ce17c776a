/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the peer says nothing of: whether it has our writers. A second connection listens to our channels, and as soon as a message of one
 * is back it is accepted. One of which several did not come back is not confirmed: the peer may be slow. Only where messages of another
 * channel do come back that were sent later, which their number says, again and again, it is not accepted; and neither is final: it is listened to again, ever more
 * rarely. Between that the connection is closed: a reader ends with it alone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cyber.h"

#define MS             INT64_C(1000000)
#define LOOK_DUR_NS    (200 * MS)
#define MISSED_SENT    3u           /* messages that did not come back, */
#define MISSED_DUR_NS  (2000 * MS)  /* in so long, if nothing came back: not confirmed */
#define REFUSED_MISSES 2u           /* so often, while those of others did: not accepted */
#define GIVE_UP_DUR_NS (10000 * MS) /* of a channel on which too little comes, or that is not overtaken */
#define AGAIN_DUR_NS   (1000 * MS)  /* until it is listened to again; doubled each time, */
#define AGAIN_DOUBLED  6u           /* so often: 64 s */
#define REPORT_DUR_NS  (10000 * MS) /* of what was dropped */
#define CHANNELS_MAX   TOPICS_FAN_MAX

struct news { /* of channels of ours: to be told without a lock */
	uint32_t channel[CHANNELS_MAX];
	char text[CHANNELS_MAX][101];
	unsigned n;
};

/* ---- what is known; lock is held ---- */

static uint64_t sent(struct sim_bridge *b, const struct cyber_topic *t)
{
	return outbox_sent(&b->link.outbox, t->out);
}

/* Of one channel of ours: all that it becomes are accepted, or which is not. "": it is not known yet. */
static void describe(const struct sim_bridge *b, uint32_t channel, char text[101])
{
	bool all = true;

	text[0] = '\0';
	for (const struct cyber_topic *t = b->probe.topics; t; t = t->next) {
		if (t->channel != channel)
			continue;
		all &= t->writer == WRITER_ACCEPTED;
		if (t->writer == WRITER_REFUSED)
			snprintf(text, 101, "not accepted: %.80s", t->name);
		else if (t->writer == WRITER_UNCONFIRMED && !text[0])
			snprintf(text, 101, "not confirmed: %.80s", t->name);
	}
	if (all)
		snprintf(text, 101, "accepted");
}

static void log_writer(struct sim_bridge *b, const struct cyber_topic *t, enum cyber_writer was)
{
	char file[CYBER_NAME_MAX + 1];

	if (t->writer == WRITER_REFUSED && cyber_known_registered(b, t, file))
		log_warn(b,
			 "%s: cyber_bridge does not know %s, although %s of %s was registered: it has another file of that "
			 "name, or of one that this imports; nothing arrives there; is \"apollo\" the right release?",
			 t->name, cyber_topic_type(t), file, cyber_known_source(b, t));
	else if (t->writer == WRITER_REFUSED)
		log_warn(b,
			 "%s: cyber_bridge does not know %s: nothing arrives there; is \"apollo\" the right release, and does "
			 "the type belong to it?",
			 t->name, cyber_topic_type(t));
	else if (t->writer == WRITER_UNCONFIRMED)
		log_info(b,
			 "%s: nothing of it has come back from cyber_bridge yet, which may be slow, or not know %s; it is "
			 "looked at again",
			 t->name, cyber_topic_type(t));
	else if (was != WRITER_UNKNOWN)
		log_info(b, "%s: cyber_bridge has accepted it", t->name);
}

static void learn(struct sim_bridge *b, struct cyber_topic *t, enum cyber_writer writer, struct news *news)
{
	enum cyber_writer was = t->writer;

	t->writer = writer;
	t->asked = false;
	if (writer == was)
		return;
	log_writer(b, t, was);
	if (news->n == CHANNELS_MAX)
		return; /* told with the next of that channel, or never: it is for people */
	news->channel[news->n] = t->channel;
	describe(b, t->channel, news->text[news->n++]);
}

static void ask_later(struct cyber_topic *t)
{
	unsigned doubled = t->tries < AGAIN_DOUBLED ? t->tries : AGAIN_DOUBLED;

	t->tries++;
	t->asked = false;
	t->due_mono_ns = mono_now_ns() + (AGAIN_DUR_NS << doubled);
}

/* Several of its messages were sent in a while, and none is back. */
static void miss(struct sim_bridge *b, struct cyber_topic *t, struct news *news)
{
	t->misses = t->overtaken ? t->misses + 1 : 0;
	if (t->misses >= REFUSED_MISSES)
		learn(b, t, WRITER_REFUSED, news);
	else if (t->writer == WRITER_UNKNOWN)
		learn(b, t, WRITER_UNCONFIRMED, news);
	ask_later(t);
}

static bool any_asked(const struct sim_bridge *b)
{
	for (const struct cyber_topic *t = b->probe.topics; t; t = t->next)
		if (t->asked)
			return true;
	return false;
}

/* Which ones to ask for next: all small ones, else a large one; and one that is known to come back. */
static bool choose(struct sim_bridge *b)
{
	struct cyber_topic *large = NULL, *witness = NULL;
	int64_t now = mono_now_ns();
	bool any = false;

	for (struct cyber_topic *t = b->probe.topics; t; t = t->next) {
		t->asked = t->witness = t->overtaken = false;
		if (t->writer == WRITER_ACCEPTED && !atomic_load(&t->large))
			witness = t;
		if (t->writer == WRITER_ACCEPTED || now < t->due_mono_ns || sent(b, t) == (t->tries ? t->sent : 0))
			continue;
		if (atomic_load(&t->large))
			large = t;
		else
			any = t->asked = true;
	}
	if (!any && large)
		any = large->asked = true;
	if (witness)
		witness->witness = any;
	return any;
}

/* ---- the probe's own connection: its thread ---- */

static void tell(struct sim_bridge *b, const struct news *news)
{
	for (unsigned i = 0; i < news->n && SIM_BRIDGE_HOST_HAS(b->host, remark); i++)
		b->host->remark(b->host->ctx, news->channel[i], news->text[i]);
}

static void on_status(void *bridge, enum sim_bridge_status status, const char *text)
{
	struct sim_bridge *b = bridge;

	(void)text;
	if (status != SIM_BRIDGE_CONNECTED)
		return;
	b->probe.since_mono_ns = mono_now_ns();
	b->probe.heard = false;
	pthread_mutex_lock(&b->probe.lock);
	for (struct cyber_topic *t = b->probe.topics; t; t = t->next) {
		t->other = NULL;
		t->back = 0;
		if (!t->asked && !t->witness)
			continue;
		t->sent = sent(b, t);
		if (tcp_link_say_add(&b->probe.link, frame_cyber.reader, t->name, cyber_topic_type(t)) < 0)
			t->asked = t->witness = false;
	}
	pthread_mutex_unlock(&b->probe.lock);
}

static struct cyber_topic *topic_of(struct sim_bridge *b, const struct frame *f)
{
	struct cyber_topic *t = b->probe.topics;

	while (t && (strlen(t->name) != f->topic_len || memcmp(t->name, f->topic, f->topic_len) != 0))
		t = t->next;
	return t;
}

/*
 * What comes back of the other one may have been sent long before, to a peer that is slow: so as many of it have to come as had been
 * sent, and one more. What was under way when the probe began counts too, and what the peer drops does not.
 */
static void compare(struct sim_bridge *b, struct cyber_topic *t, const struct cyber_topic *other)
{
	if (!t->other && sent(b, t) - t->sent >= MISSED_SENT) {
		t->other = other;
		t->other_sent = sent(b, other) - other->sent;
	} else if (t->other == other && other->back > t->other_sent) {
		t->overtaken = true;
	}
}

static void take(void *bridge, const struct frame *f)
{
	struct sim_bridge *b = bridge;
	struct news news = { .n = 0 };
	struct cyber_topic *of;
	bool more;

	b->probe.heard = true;
	pthread_mutex_lock(&b->probe.lock);
	of = topic_of(b, f);
	if (of)
		of->back++;
	if (of && of->asked)
		learn(b, of, WRITER_ACCEPTED, &news);
	for (struct cyber_topic *t = b->probe.topics; of && t; t = t->next)
		if (t->asked)
			compare(b, t, of);
	more = any_asked(b);
	pthread_mutex_unlock(&b->probe.lock);
	tell(b, &news);
	if (!more)
		tcp_link_close(&b->probe.link);
}

/* While others come back there is time to see whether they overtake it. */
static bool has_missed(struct sim_bridge *b, const struct cyber_topic *t, int64_t dur_ns)
{
	return dur_ns > MISSED_DUR_NS && sent(b, t) - t->sent >= MISSED_SENT &&
	       (t->overtaken || !b->probe.heard || dur_ns > GIVE_UP_DUR_NS);
}

static int64_t look(void *bridge)
{
	struct sim_bridge *b = bridge;
	int64_t dur_ns = mono_now_ns() - b->probe.since_mono_ns;
	struct news news = { .n = 0 };
	bool more;

	pthread_mutex_lock(&b->probe.lock);
	for (struct cyber_topic *t = b->probe.topics; t; t = t->next) {
		if (!t->asked)
			continue;
		if (has_missed(b, t, dur_ns))
			miss(b, t, &news);
		else if (dur_ns > GIVE_UP_DUR_NS)
			ask_later(t);
	}
	more = any_asked(b);
	pthread_mutex_unlock(&b->probe.lock);
	tell(b, &news);
	if (!more)
		tcp_link_close(&b->probe.link);
	return LOOK_DUR_NS;
}

static const struct tcp_link_ops probe_ops = {
	.dialect = &frame_cyber, .thread = "cyber-probe", .status = on_status, .take = take, .look = look
};

/* ---- the main link's thread ---- */

static void report_dropped(struct sim_bridge *b, int64_t now)
{
	char text[400] = "dropped, as the peer is slow:";

	if (now < b->report_mono_ns || !outbox_dropped(&b->link.outbox, text, sizeof(text)))
		return;
	b->report_mono_ns = now + REPORT_DUR_NS;
	b->host->status(b->host->ctx, SIM_BRIDGE_CONNECTED, text);
}

static void begin(struct sim_bridge *b)
{
	bool any;

	tcp_link_join(&b->probe.link); /* it does not live */
	pthread_mutex_lock(&b->probe.lock);
	any = choose(b);
	pthread_mutex_unlock(&b->probe.lock);
	if (any)
		(void)tcp_link_open_beside(&b->probe.link, &b->link);
}

int64_t cyber_look(void *bridge)
{
	struct sim_bridge *b = bridge;
	int64_t now = mono_now_ns(), again = cyber_frames_repeat(b, now), known = cyber_known_look(b);

	if (again < 0 || (known >= 0 && known < again))
		again = known;

	if (now < b->probe.next_mono_ns)
		return again; /* what else is to be seen comes with messages, which wake this thread */
	b->probe.next_mono_ns = now + LOOK_DUR_NS;
	report_dropped(b, now);
	if (b->probe.on && !tcp_link_alive(&b->probe.link))
		begin(b);
	return again;
}

/* As many as there is room for; false: there are no more. */
static bool forget_some(struct sim_bridge *b, struct news *news)
{
	news->n = 0;
	pthread_mutex_lock(&b->probe.lock);
	for (struct cyber_topic *t = b->probe.topics; t && news->n < CHANNELS_MAX; t = t->next) {
		t->asked = t->witness = false;
		t->tries = t->misses = 0;
		t->due_mono_ns = 0;
		if (t->writer == WRITER_UNKNOWN)
			continue;
		t->writer = WRITER_UNKNOWN;
		news->channel[news->n] = t->channel;
		news->text[news->n++][0] = '\0';
	}
	pthread_mutex_unlock(&b->probe.lock);
	return news->n > 0;
}

void cyber_probe_forget(struct sim_bridge *b)
{
	struct news news;

	tcp_link_close(&b->probe.link);
	while (forget_some(b, &news))
		tell(b, &news);
}

/* ---- topics ---- */

static void forget_other(struct sim_bridge *b, const struct cyber_topic *gone)
{
	for (struct cyber_topic *t = b->probe.topics; t; t = t->next)
		if (t->other == gone)
			t->other = NULL;
}

void cyber_probe_remove(struct sim_bridge *b, struct cyber_topic *t)
{
	for (struct cyber_topic **at = &b->probe.topics; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			forget_other(b, t);
			break;
		}
}

bool cyber_probe_taken(struct sim_bridge *b, const char *name, uint32_t channel, char *why, size_t why_size)
{
	bool taken = false;

	pthread_mutex_lock(&b->probe.lock);
	for (const struct cyber_topic *t = b->probe.topics; t; t = t->next)
		taken |= !t->closed && t->channel != channel && strcmp(t->name, name) == 0;
	pthread_mutex_unlock(&b->probe.lock);
	if (taken)
		snprintf(why, why_size,
			 "it would go out as %.60s, as another channel does: give one of them a name of its own, with \"cyber\": "
			 "{\"topic\": ...} in the options of the channel",
			 name);
	return taken;
}

int cyber_probe_init(struct sim_bridge *b)
{
	pthread_mutex_init(&b->probe.lock, NULL);
	b->probe.link.ops = &probe_ops;
	b->probe.link.arg = b;
	return tcp_link_init(&b->probe.link);
}

void cyber_probe_finish(struct sim_bridge *b)
{
	tcp_link_finish(&b->probe.link);
	pthread_mutex_destroy(&b->probe.lock);
}
