/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether the peer has our writers, which it does not report. A second connection subscribes to our channels;
 * once a message of a channel comes back, the channel is accepted. If several do not come back, the channel is
 * unconfirmed, since the peer may just be slow. It counts as not accepted only if several times in a row messages of
 * another channel, sent later as their number shows, did come back. Neither result is final: the channel is probed
 * again, at growing intervals. Between probes the connection is closed, because a reader exists until its connection
 * ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cyber.h"

#define MS            INT64_C(1000000)
#define LOOK_DUR_NS   (200 * MS)
#define MISSED_SENT   3u          /* a probe fails when so many messages were sent */
#define MISSED_DUR_NS (2000 * MS) /* ... and none came back in this time, of any channel: unconfirmed */
/* failed probes in a row, while another channel's later messages came back: not accepted */
#define REFUSED_MISSES 2u
#define GIVE_UP_DUR_NS (10000 * MS) /* ends a probe of a channel that sends too few messages or is not overtaken */
#define AGAIN_DUR_NS   (1000 * MS)  /* pause until the next probe; doubled each time, */
#define AGAIN_DOUBLED  6u           /* at most this often: 64 s */
#define REPORT_DUR_NS  (10000 * MS) /* between two reports of dropped messages */
#define CHANNELS_MAX   TOPICS_FAN_MAX

struct news { /* new results, which are reported without a lock */
	uint32_t channel[CHANNELS_MAX];
	char text[CHANNELS_MAX][101];
	unsigned n;
};

/* ---- state; caller holds the probe's lock ---- */

static uint64_t sent(struct sim_bridge *b, const struct cyber_topic *t)
{
	return outbox_sent(&b->link.outbox, t->out);
}

/*
 * Describes one of our channels: "accepted" if all Apollo channels made from it are, else one that is not; "" if not
 * known yet.
 */
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
			 "%s: no message has come back from cyber_bridge yet, which may be slow, or not know %s; this is "
			 "checked again",
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
		return; /* only information for the user: reported with the channel's next change, if any */
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

/* A probe of the topic failed: several messages were sent and none came back. */
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

/* Chooses what to probe: all small topics that are due, else one large topic; and an accepted one to compare with. */
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

/* ---- called by the probe link's thread ---- */

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
 * With a slow peer, a message of `other` that comes back may have been sent long ago. So as many must come back as had
 * been sent by then, and one more. This is not exact: messages already under way when the probe began count too, and
 * messages that the peer drops do not.
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

/* As long as other channels come back, it waits longer to see whether they overtake this one. */
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

/* ---- called by the main link's thread ---- */

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

	tcp_link_join(&b->probe.link); /* its thread has ended, see cyber_look() */
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
		return again; /* everything else is triggered by an arriving message, which wakes this thread */
	b->probe.next_mono_ns = now + LOOK_DUR_NS;
	report_dropped(b, now);
	if (b->probe.on && !tcp_link_alive(&b->probe.link))
		begin(b);
	return again;
}

/* Resets topics until news is full; false: no result was left. */
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
			 "it would be published as %.60s, like another channel: give one of them another name, with \"cyber\": "
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
