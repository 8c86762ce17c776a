/* SPDX-License-Identifier: Apache-2.0 */
/* pub: publishes messages given as JSON in an argument or in lines of stdin. Thread: main. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "simctl.h"
#include "timeutil.h"

#define BODY_BEGIN   ((size_t)64 << 10)
#define BODY_MAX     ((size_t)256 << 20)
#define SLICE_DUR_NS (50 * NS_PER_MS)

struct pub {
	struct ctl *c;
	const struct sim_type *type;
	struct sim_publisher *p;
	uint8_t *body; /* room bytes */
	size_t room, size;
	char frame[SIM_FRAME_ID_MAX + 1];
	char *line; /* read from stdin */
	size_t line_room;
	unsigned long long n_line;
	int64_t next_mono_ns;                     /* with --rate: when the next message is due */
	unsigned long long sent, failed, unheard; /* unheard: published without a subscriber or bridge */
};

/* ---- a message ---- */

/* Extracts the message, and its frame_id, from an object that `echo --json` printed. NULL: it is not one. */
static char *unwrap(struct pub *p, const char *text)
{
	const bool is_own = sim_field_find(p->type, "message", &(struct sim_field_path){ .n = 0 }) == 0;
	json_t *j = is_own ? NULL : json_loads(text, 0, NULL);
	const json_t *message = json_object_get(j, "message");
	const char *frame = json_string_value(json_object_get(j, "frame_id"));
	char *ret = message ? json_dumps(message, JSON_COMPACT) : NULL;

	if (ret && frame && !p->c->a.frame)
		snprintf(p->frame, sizeof(p->frame), "%s", frame);
	json_decref(j);
	return ret;
}

/* Parses into p->body, which grows as needed. */
static int parse(struct pub *p, const char *text)
{
	char *inner = unwrap(p, text);
	const char *json = inner ? inner : text;
	int r = -ENOBUFS;

	for (size_t room = p->room ? p->room : BODY_BEGIN; r == -ENOBUFS && room <= BODY_MAX; room *= 2) {
		if (room > p->room) {
			free(p->body);
			p->body = aligned_alloc(64, room);
			p->room = p->body ? room : 0;
		}
		r = p->body ? sim_msg_from_json(p->type, json, strlen(json), p->body, p->room, &p->size) : -ENOMEM;
	}
	free(inner);
	return r;
}

static bool blank(const char *text)
{
	return !text[strspn(text, " \t\r\n")];
}

/* Reads the next line that is not empty. Returns 1; 0: end of input. */
static int next_line(struct pub *p)
{
	do {
		if (getline(&p->line, &p->line_room, stdin) < 0)
			return 0;
		p->n_line++;
	} while (blank(p->line));
	return 1;
}

static int fail_at(const struct pub *p)
{
	if (!p->n_line)
		return ctl_fail("the message");
	fprintf(stderr, "simctl: line %llu: %s\n", p->n_line, sim_why());
	return 1;
}

/* ---- publishing ---- */

static int advertise(struct pub *p)
{
	const size_t usual = sim_publisher_default_body(p->type);
	const struct sim_publisher_options o = { .size = sizeof(o),
						 .max_body = p->size > usual ? p->size : usual,
						 .frame_id = p->c->a.frame };

	return sim_advertise(p->c->client, p->c->a.channel, p->type, &o, &p->p) < 0 ? ctl_fail(NULL) : 0;
}

/*
 * Whether a subscriber or a bridge gets the messages. unknown: the answer while simd's count is unknown, as in the
 * seconds after its start. A subscriber that simd counts is connected in the data plane a moment later, so both are
 * checked.
 */
static bool somebody(const struct pub *p, bool unknown)
{
	const uint32_t n = sim_publisher_subscribers_elsewhere(p->p);

	return (n == UINT32_MAX ? unknown : n > 0 && sim_publisher_has_subscribers(p->p)) ||
	       sim_publisher_bridges(p->p).connected;
}

/* For --wait. Returns false at the time-out, or if a signal came. */
static bool wait_for_somebody(const struct pub *p)
{
	const int64_t end = p->c->a.timeout_dur_ns ? mono_now_ns() + p->c->a.timeout_dur_ns : INT64_MAX;

	while (!somebody(p, false)) {
		if (mono_now_ns() >= end) {
			fprintf(stderr, "simctl: nobody has subscribed to %s within the time-out\n", p->c->a.channel);
			return false;
		}
		if (!ctl_pause(SLICE_DUR_NS / 10))
			return false;
	}
	return true;
}

/* Counts a failure, and reports the first one. Publishing goes on. */
static void tell(struct pub *p, int r, enum sim_reason reason)
{
	p->failed++;
	if (p->failed > 1)
		return;
	if (r == -EIO)
		fprintf(stderr, "simctl: %s: accepted, and not delivered: %s\n", p->c->a.channel,
			sim_reason_text(reason));
	else
		ctl_fail(p->c->a.channel);
}

static int publish(struct pub *p)
{
	enum sim_reason reason = SIM_REASON_NONE;
	struct sim_slot *slot;
	int r = p->p ? 0 : advertise(p);

	if (r || (p->c->a.wait && !p->sent && !wait_for_somebody(p)))
		return 1;
	r = sim_loan(p->p, p->size, &slot);
	if (r < 0)
		return ctl_fail(p->c->a.channel);
	memcpy(sim_slot_body_mut(slot), p->body, p->size);
	if (*p->frame)
		snprintf(slot->frame_id, sizeof(slot->frame_id), "%s", p->frame);
	p->unheard += !somebody(p, true);
	ctl_begin_wait(p->c); /* a lossless bridge may take any time */
	r = sim_publish_sync(p->p, slot, NULL, &reason);
	ctl_end_wait();
	p->sent++;
	/* without a bridge, local subscribers have still received it */
	if (r < 0 && !(r == -EIO && reason == SIM_REASON_NO_BRIDGE))
		tell(p, r, reason);
	return 0;
}

/* ---- the command ---- */

/* Waits until the next message is due. False: a signal came. */
static bool pace(struct pub *p)
{
	const double hz = p->c->a.hz;
	int64_t left;

	if (hz <= 0)
		return !simctl_stop;
	if (!p->next_mono_ns)
		p->next_mono_ns = mono_now_ns();
	left = p->next_mono_ns - mono_now_ns();
	p->next_mono_ns += (int64_t)llround(1e9 / hz);
	return left <= 0 ? !simctl_stop : ctl_pause(left);
}

/* Publishes the argument's message, once or at the rate. */
static int publish_one(struct pub *p)
{
	const struct args *a = &p->c->a;
	const unsigned long long n = a->count ? (unsigned long long)a->count : a->hz > 0 ? ~0ull : 1;
	int r = 0;

	if (parse(p, a->request) < 0)
		return fail_at(p);
	while (!r && p->sent < n && pace(p))
		r = publish(p);
	return r;
}

static int publish_lines(struct pub *p)
{
	const unsigned long long n = p->c->a.count ? (unsigned long long)p->c->a.count : ~0ull;
	int r = 0;

	while (!r && !simctl_stop && p->sent < n && next_line(p) && pace(p))
		r = parse(p, p->line) < 0 ? fail_at(p) : publish(p);
	return r;
}

/* The type given with --type, else the channel's. */
static int find_type(struct pub *p)
{
	const struct args *a = &p->c->a;

	if (a->type)
		return ctl_find_type(p->c, a->type, &p->type);
	if (sim_channel_type(p->c->client, a->channel, &p->type) < 0) {
		fprintf(stderr, "simctl: %s; a channel that nobody publishes yet needs --type\n", sim_why());
		return 1;
	}
	return 0;
}

int cmd_pub(struct ctl *c)
{
	struct pub p = { .c = c };
	int r = find_type(&p);

	if (!r)
		r = c->a.request && strcmp(c->a.request, "-") ? publish_one(&p) : publish_lines(&p);
	if (p.failed)
		fprintf(stderr, "simctl: %llu of %llu messages were not delivered\n", p.failed, p.sent);
	else if (p.unheard)
		fprintf(stderr, "simctl: nobody had subscribed for %llu of %llu messages (--wait waits for that)\n",
			p.unheard, p.sent);
	sim_publisher_destroy(p.p);
	sim_type_unref(p.type);
	free(p.body);
	free(p.line);
	return r || p.failed ? 1 : 0;
}
