/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps channels of logs to channels of simd: patterns, names, types, publishers. Thread: the player's consumer; before
 * it starts, the thread that creates it.
 */
#include "player_simd_private.h"

#include "channel_name.h"
#include "channels.h"
#include "mem.h"
#include "timeutil.h"

#include <sim/introspect.h>
#include <sim/msg/Transforms.h>

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define CLOCK_CHANNEL    "/clock"
#define ROOM_MARGIN      512
#define ENCODED_TIMES    32 /* a body larger than this many times its encoded size is malformed */
#define CONNECTED_DUR_NS (5 * NS_PER_S)

/* ---- names ---- */

static bool matches(const char *pattern, const char *topic)
{
	return fnmatch(pattern, topic, 0) == 0 ||
	       (*topic == '/' && *pattern != '/' && fnmatch(pattern, topic + 1, 0) == 0);
}

/* The last matching pattern decides; if the first pattern excludes, channels that match none are wanted. */
static bool is_wanted(const struct player_simd_options *o, const char *topic)
{
	bool wanted = o->n_channels == 0 || *o->channels[0] == '!';

	for (unsigned i = 0; i < o->n_channels; i++) {
		bool not = *o->channels[i] == '!';

		if (matches(o->channels[i] + not, topic))
			wanted = !not ;
	}
	return wanted;
}

static bool is_shown(const char *topic)
{
	return strcmp(topic, "/simd/clock_events") == 0 || strcmp(topic, "/simd/service_calls") == 0;
}

/* The channel's name in simd. 0, or -ENAMETOOLONG. */
static int name_of(const struct player_simd_options *o, const char *topic, char *ret, size_t size)
{
	const char *prefix = o->prefix ? o->prefix : "", *to = topic;
	int n;

	for (unsigned i = 0; i < o->n_remaps; i++) {
		const char *mid = strstr(o->remaps[i], ":=");
		size_t len = (size_t)(mid - o->remaps[i]);

		if (strlen(topic) == len && memcmp(topic, o->remaps[i], len) == 0)
			to = mid + 2;
	}
	n = snprintf(ret, size, "%s%s%s%s", *prefix == '/' || !*prefix ? "" : "/", prefix, *to == '/' ? "" : "/", to);
	return n > SIM_CHANNEL_MAX || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- publishers ---- */

static int advertise(struct player_simd *s, struct out *o, size_t max_body)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = max_body, .flags = o->flags };
	int r;

	if (s->o.lockstep && s->o.driver)
		po.flags |= SIM_PUB_NO_WAIT;
	r = sim_advertise(s->o.client, o->name, o->type, &po, &o->pub);
	if (r < 0)
		return r;
	o->max_body = max_body;
	return 0;
}

static bool is_fixed(const struct sim_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];

		if (f->kind == SIM_KIND_STRING || (f->array != SIM_ARRAY_NONE && f->array != SIM_ARRAY_FIXED) ||
		    (f->type && !is_fixed(f->type)))
			return false;
	}
	return true;
}

/* Estimates the body size: arrays and strings are as long as when encoded, numbers and spans a bit longer. */
static size_t body_of(const struct sim_type *t, size_t encoded)
{
	return is_fixed(t) ? t->fixed_size : t->fixed_size + encoded + encoded / 4 + ROOM_MARGIN;
}

/* Asks simd for larger slots; on failure the channel keeps its smaller ones. */
static int larger_slots(struct out *o, size_t max_body)
{
	struct sim_slot *slot;
	int r;

	if (o->refused_body && max_body >= o->refused_body)
		return -ENOSPC;
	r = sim_loan(o->pub, max_body, &slot);
	if (r == 0) {
		o->max_body = max_body;
		return sim_unloan(o->pub, slot);
	}
	if (r == -ENOSPC || r == -EMSGSIZE) {
		o->refused_body = max_body;
		snprintf(o->refused_why, sizeof(o->refused_why), "%s", sim_why());
	}
	return r;
}

int out_grow(struct out *o, size_t encoded)
{
	size_t max_body = 2 * o->max_body;

	if (o->max_body / ENCODED_TIMES > encoded + ROOM_MARGIN)
		return -EMSGSIZE;
	if (max_body < 2 * encoded + ROOM_MARGIN)
		max_body = 2 * encoded + ROOM_MARGIN;
	/* a smaller size than this was refused: ask only for what this message needs */
	if (o->refused_body && max_body >= o->refused_body)
		max_body = body_of(o->type, encoded);
	return max_body > o->max_body ? larger_slots(o, max_body) : -ENOSPC;
}

static struct out *find_out(struct player_simd *s, const char *name, const struct sim_type *type)
{
	struct out *o;

	list_for_each(o, &s->outs, link)
		if (strcmp(o->name, name) == 0 && sim_type_equal(o->type, type))
			return o;
	return NULL;
}

/* Whether simd has refused this channel; other errors are temporary, or concern all channels. */
static bool is_refusal(int r)
{
	return r < 0 && r != -ENOTCONN && r != -ENOMEM && r != -ESTALE;
}

static int make_out(struct player_simd *s, struct route *rt, size_t encoded)
{
	const struct sim_type *type = codec_in_type(rt->codec);
	struct out *o;
	int r;

	rt->out = find_out(s, rt->name, type);
	if (rt->out) { /* already created for another log, or for another channel by --remap */
		r = s->open || body_of(type, encoded) <= rt->out->max_body
			    ? 0
			    : larger_slots(rt->out, body_of(type, encoded));
		return is_refusal(r) ? 0 : r; /* messages that fit into the smaller slots are still played */
	}
	o = MEM_NEW(struct out);
	if (!o)
		return -ENOMEM;
	memcpy(o->name, rt->name, sizeof(o->name));
	o->type = sim_type_ref(type);
	o->flags = rt->latched ? SIM_PUB_LATCH : 0;
	r = advertise(s, o, body_of(type, encoded));
	if (r < 0) {
		sim_type_unref(o->type);
		mem_free(o);
		return r;
	}
	list_append(&s->outs, &o->link);
	atomic_fetch_add(&s->n_outs, 1);
	rt->out = o;
	return 0;
}

/* ---- routes ---- */

struct left_out *left_out_add(struct player_simd *s, const char *channel, const char *why)
{
	struct left_out *l, *found = NULL;

	pthread_mutex_lock(&s->lock);
	list_for_each(l, &s->left, link)
		if (!found && strcmp(l->channel, channel) == 0 && strcmp(l->why, why) == 0)
			found = l;
	l = found ? found : MEM_NEW(struct left_out);
	if (l && !found) {
		snprintf(l->channel, sizeof(l->channel), "%s", channel);
		snprintf(l->why, sizeof(l->why), "%s", why);
		list_append(&s->left, &l->link);
	}
	pthread_mutex_unlock(&s->lock);
	return l;
}

/* Leaves a channel out, and reports it. path: the log's, or NULL. */
static void skip(struct player_simd *s, const char *path, const char *channel, const char *why)
{
	char text[SAY_MAX];

	atomic_fetch_add(&s->skipped, 1);
	(void)left_out_add(s, channel, why);
	snprintf(text, sizeof(text), "%.200s%s%.120s: %.600s: skipped", path ? path : "", path ? ": " : "", channel,
		 why);
	s->o.say(s->o.ctx, text);
}

/*
 * Leaves out a channel that others provide during playing, such as simd's clock. Not reported, as nothing is missing.
 */
static void skip_given(struct player_simd *s, const char *channel, const char *why)
{
	struct left_out *l = left_out_add(s, channel, why);

	atomic_fetch_add(&s->skipped, 1);
	atomic_fetch_add(&s->given, 1);
	if (l)
		l->given = true;
}

/* Reports what a channel's messages lose; the channel is played. */
static void say_loss(struct player_simd *s, const char *path, const struct route *rt)
{
	const char *loss = codec_in_loss(rt->codec);
	char text[SAY_MAX];

	if (!loss)
		return;
	snprintf(text, sizeof(text), "%.200s%s%.120s: %.600s", path ? path : "", path ? ": " : "", rt->name, loss);
	s->o.say(s->o.ctx, text);
}

static void route_free(struct route *rt)
{
	if (!rt)
		return;
	codec_in_destroy(rt->codec);
	codec_in_destroy(rt->ahead);
	mem_free(rt);
}

/* Sets the name and the codec; a channel without codec is reported. */
static void make_codec(struct player_simd *s, const char *path, struct route *rt, const struct log_channel *ch)
{
	char why[512];
	const char *text = why, *whose;
	size_t n = strlen(ch->topic);

	if (name_of(&s->o, ch->topic, rt->name, sizeof(rt->name)) < 0) {
		snprintf(why, sizeof(why), "a channel's name has up to %d characters", SIM_CHANNEL_MAX);
		skip(s, path, ch->topic, why);
		return;
	}
	if (strcmp(rt->name, CLOCK_CHANNEL) == 0) {
		skip_given(s, rt->name, "simd publishes the clock itself");
		return;
	}
	whose = is_shown(ch->topic) ? NULL : channel_name_reserved(rt->name);
	if (whose) {
		snprintf(why, sizeof(why), "only %s may publish under that name", whose);
		skip_given(s, rt->name, why);
		return;
	}
	if (codec_in_create(ch, &rt->codec, why, sizeof(why)) == 0) {
		say_loss(s, path, rt);
		return;
	}
	if (strncmp(why, ch->topic, n) == 0 && why[n] == ' ') /* skip the channel's name at its beginning */
		text = why + n + 1;
	skip(s, path, ch->topic, text);
}

/* A channel that is not wanted, has no messages, or cannot be played gets no codec. NULL: out of memory. */
static struct route *make_route(struct player_simd *s, struct input *in, const struct log_channel *ch)
{
	char why[512];
	struct route *rt = MEM_NEW(struct route);

	if (!rt || !is_wanted(&s->o, ch->topic) || (log_reader_info(in->reader)->counted && !ch->n_messages))
		return rt;
	make_codec(s, in->path, rt, ch);
	rt->shown = is_shown(ch->topic);
	rt->latched = rt->codec && (channel_is_latched(ch) || codec_in_is_static(rt->codec));
	if (rt->latched && sim_type_equal(codec_in_type(rt->codec), &sim_Transforms_type))
		(void)!codec_in_create(ch, &rt->ahead, why,
				       sizeof(why)); /* without it the channel's last message replaces all before it */
	return rt;
}

/* Caller holds the lock. */
static int make_room(struct input *in, size_t n)
{
	struct route **more;

	if (n <= in->n)
		return 0;
	more = n > CHANNELS_MAX ? NULL : mem_realloc(in->routes, n * sizeof(struct route *));
	if (!more)
		return -ENOMEM;
	memset(more + in->n, 0, (n - in->n) * sizeof(struct route *));
	in->routes = more;
	in->n = n;
	return 0;
}

struct route *route_of(struct player_simd *s, unsigned input, uint32_t channel)
{
	struct input *in = &s->inputs[input];
	struct route *rt;

	pthread_mutex_lock(&s->lock);
	rt = channel < in->n ? in->routes[channel] : NULL;
	pthread_mutex_unlock(&s->lock);
	return rt;
}

bool route_arrives(struct player_simd *s, unsigned input, uint32_t channel)
{
	struct route *rt = route_of(s, input, channel);
	const struct log_info *info;
	struct input *in = &s->inputs[input];
	int r;

	if (rt)
		return rt->codec;
	info = log_reader_info(in->reader);
	if (channel >= info->n_channels)
		return false;
	rt = make_route(s, in, &info->channels[channel]);
	pthread_mutex_lock(&s->lock);
	r = rt ? make_room(in, info->n_channels) : -ENOMEM;
	if (r == 0)
		in->routes[channel] = rt;
	pthread_mutex_unlock(&s->lock);
	if (r < 0)
		route_free(rt);
	return r == 0 && rt->codec;
}

/* Reports a channel that simd refuses, and skips its messages from then on. */
static int give_up(struct player_simd *s, struct route *rt, int r)
{
	char why[512];

	rt->refused = true;
	snprintf(why, sizeof(why), "%.500s", *sim_why() ? sim_why() : sim_strerror(r));
	skip(s, NULL, rt->name, why);
	return -ENOENT;
}

int route_open(struct player_simd *s, struct route *rt, size_t encoded)
{
	int r;

	if (rt->out)
		return 0;
	if (rt->refused)
		return -ENOENT;
	r = make_out(s, rt, encoded);
	return is_refusal(r) ? give_up(s, rt, r) : r;
}

/* ---- opening ---- */

int player_simd_add(struct player_simd *s, struct log_reader *r, const char *path)
{
	const struct log_info *info = log_reader_info(r);
	struct input *in = &s->inputs[s->n];
	bool *want;

	if (s->n == MERGE_INPUTS_MAX)
		return -EMFILE;
	*in = (struct input){ .reader = r, .path = path };
	s->n++;
	want = mem_calloc(info->n_channels + 1, sizeof(*want));
	if (!want)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->n_channels; i++)
		want[i] = route_arrives(s, s->n - 1, i);
	(void)!log_reader_select(r, want, info->n_channels); /* if it fails, unwanted messages are filtered later */
	mem_free(want);
	return 0;
}

/* Encoded size of the first message of a channel, by the index; 0: no messages. */
static size_t first_size(struct log_reader *r, const struct log_info *info, uint32_t channel)
{
	bool *want = mem_calloc(info->n_channels, sizeof(*want));
	struct log_message m;
	size_t size = 0;

	if (!want)
		return 0;
	want[channel] = true;
	if (log_reader_select(r, want, info->n_channels) == 0 && log_reader_seek(r, INT64_MIN) == 0 &&
	    log_reader_next(r, &m) == 1)
		size = m.size;
	mem_free(want);
	return size;
}

/* With slots for the channel's first message, if the index shows it; they grow for larger ones. */
static int open_route(struct player_simd *s, struct log_reader *reader, uint32_t channel, struct route *rt)
{
	const struct log_info *info = log_reader_info(reader);
	int r = make_out(s, rt, info->indexed ? first_size(reader, info, channel) : 0);

	return is_refusal(r) ? give_up(s, rt, r) : r;
}

static int open_routes(struct player_simd *s, unsigned input, bool *want)
{
	struct log_reader *r = s->inputs[input].reader;
	const struct log_info *info = log_reader_info(r);
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < info->n_channels; i++) {
		struct route *rt = route_of(s, input, i);

		want[i] = rt && rt->codec;
		if (!want[i] || rt->shown || (info->counted && !info->channels[i].n_messages))
			continue;
		result = open_route(s, r, i, rt);
		if (result == -ENOENT) {
			want[i] = false;
			result = 0;
		}
	}
	if (result == 0)
		(void)!log_reader_select(r, want, info->n_channels);
	return result;
}

static int open_input(struct player_simd *s, unsigned input)
{
	struct input *in = &s->inputs[input];

	in->n_want = log_reader_info(in->reader)->n_channels;
	in->want = mem_calloc(in->n_want + 1, sizeof(*in->want));
	return in->want ? open_routes(s, input, in->want) : -ENOMEM;
}

/* Waits for the bridges, which would miss the first messages otherwise. */
static void await_bridges(const struct player_simd *s)
{
	int64_t end_mono_ns = mono_now_ns() + CONNECTED_DUR_NS;
	struct out *o;

	list_for_each(o, &s->outs, link) {
		struct sim_bridges b = sim_publisher_bridges(o->pub);

		while (b.connected < b.total && !player_simd_stopped(s) && mono_now_ns() < end_mono_ns)
			if (sim_publisher_bridges_wait(o->pub, &b, 100 * NS_PER_MS) < 0)
				break;
	}
}

int player_simd_open(struct player_simd *s)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < s->n; i++)
		r = open_input(s, i);
	s->open = true;
	if (r == 0)
		await_bridges(s);
	return r;
}

void routes_finish(struct player_simd *s)
{
	struct left_out *l, *tmp_l;
	struct out *o, *tmp;

	for (unsigned i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->inputs[i].n; k++)
			route_free(s->inputs[i].routes[k]);
		mem_free(s->inputs[i].routes);
		mem_free(s->inputs[i].want);
	}
	codec_room_finish(&s->ahead);
	list_for_each_safe(l, tmp_l, &s->left, link)
		mem_free(l);
	list_for_each_safe(o, tmp, &s->outs, link) {
		sim_publisher_destroy(o->pub);
		sim_type_unref(o->type);
		mem_free(o);
	}
}
