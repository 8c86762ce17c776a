/* SPDX-License-Identifier: Apache-2.0 */
/* One outgoing topic: its type, its name, and its messages as bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apollo.h"
#include "ros/ros_type.h"
#include "topics.h"

bool topic_is_tf_static(const char *name)
{
	const char *last = strrchr(name, '/');

	return last && strcmp(last, "/tf_static") == 0;
}

/* ---- opening ---- */

/* Copies the name and the texts of the options, which must outlive the JSON, into one block. */
static int keep_texts(struct topic_out *t, const char *name, const char *channel, const struct topic_options *w)
{
	const char *const from[] = { name, w->frame, w->child_frame, channel };
	const char *kept[4] = { NULL };
	size_t room = 1;
	char *at;

	for (int i = 0; i < 4; i++)
		room += from[i] ? strlen(from[i]) + 1 : 0;
	at = t->name = malloc(room);
	if (!at)
		return -ENOMEM;
	for (int i = 0; i < 4; i++) {
		if (!from[i])
			continue;
		kept[i] = strcpy(at, from[i]);
		at += strlen(at) + 1;
	}
	t->options.frame = kept[1];
	t->options.child_frame = kept[2];
	t->channel = kept[3];
	return 0;
}

/*
 * SVL's mistakes include two fields in the wrong place, which matters only to receivers that find fields by position.
 */
static enum map_compat compat_of(const struct topics *s, const struct topic_options *w)
{
	bool svl = w->compat < 0 ? s->svl : w->compat == 1,
	     by_place = !s->named && (s->format == WIRE_CDR || s->format == WIRE_POSITIONAL);

	return !svl ? MAP_COMPAT_NONE : by_place ? MAP_COMPAT_SVL_ROS2 : MAP_COMPAT_SVL;
}

static void set_options(struct topic_out *t, const struct topic_options *w)
{
	t->options.compat = compat_of(t->topics, w);
	t->options.points = w->points < 0 ? MAP_POINTS_NATIVE : (enum map_points)w->points;
	t->options.encoding = topic_options_encoding(w);
	t->options.covariance = w->covariance;
	t->options.undulation = w->undulation;
	t->options.sign_unknown = w->orientation == 1;
	t->options.position = w->position < 0 ? MAP_POSITION_MESSAGE : (enum map_position)w->position;
	t->origin = w->origin;
	t->options.origin = t->origin.given ? t->origin.at : NULL;
	t->options.sentence = w->sentence == 1 ? MAP_SENTENCE_INSATT : MAP_SENTENCE_GGA;
}

/* Whether the name is taken by another channel, if either name was derived automatically. */
static bool is_taken(struct topics *s, const char *channel, const char *name, bool automatic, char *why,
		     size_t why_size)
{
	const struct topic_out *other = NULL;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->n_out && !other; i++) {
		const struct topic_out *t = s->out[i];

		if ((automatic || t->automatic) && strcmp(t->name, name) == 0 && strcmp(t->channel, channel) != 0)
			other = t;
	}
	if (other)
		snprintf(why, why_size,
			 "it would be published as %s, like channel %s: give one of them another name, with \"%s\": "
			 "{\"topic\": ...} in the options of the channel",
			 name, other->channel, s->key);
	pthread_mutex_unlock(&s->lock);
	return other != NULL;
}

/*
 * Chooses the topic's name, into buf unless it is the channel's or the rig's own. apollo: Apollo's name for it, used if
 * the rig gives none; or NULL. Returns 1 if the name was derived, 0, or -EINVAL with the reason.
 */
static int choose_name(struct topics *s, const struct sim_bridge_channel *ch, const struct topic_options *w,
		       const char *apollo, char buf[TOPIC_NAME_MAX + 1], const char **ret, char *why, size_t why_size)
{
	const char *name = w->topic ? w->topic : apollo ? apollo : ch->name;
	bool automatic = false;
	char own[TOPIC_NAME_MAX + 1];

	if (!topic_name_fits(name, s->keys) && !(w->topic && s->resolve)) {
		automatic = !s->strict_names && topic_name_auto(name, buf);
		if (!automatic) {
			topic_name_bad(name, why, why_size);
			return -EINVAL;
		}
		name = buf;
	}
	if (s->resolve) {
		if (s->resolve(s->arg, name, own, why, why_size) < 0)
			return -EINVAL;
		name = strcpy(buf, own);
	}
	if (is_taken(s, ch->name, name, automatic || apollo, why, why_size))
		return -EINVAL;
	*ret = name;
	return automatic;
}

/* With `apollo` the message as Apollo had it before Cyber RT, if there is one, else as ROS has it. */
static int open_conversion(struct topics *s, const struct sim_bridge_channel *ch, const struct topic_options *w,
			   struct conversion_out *ret, char *why, size_t why_size)
{
	const char *type = w->type;
	int r = s->apollo ? conversion_out_open_apollo(s->host, ch->type, type, ret, why, why_size) : -ENOENT;

	if (r != -ENOENT)
		return r;
	if (!type && s->package)
		type = conversion_out_preferred(s->host, ch->type, s->package);
	return conversion_out_open(s->host, s->known, ch->type, type, ret, why, why_size);
}

/* Channels that become one topic keep their frames together: of one that is latched the last message alone is there for late readers. */
static int open_frames(struct topics *s, const char *name, struct static_frames **ret)
{
	struct static_frames *f = NULL;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->n_out && !f; i++)
		if (s->out[i]->static_frames && strcmp(s->out[i]->name, name) == 0)
			f = static_frames_ref(s->out[i]->static_frames);
	pthread_mutex_unlock(&s->lock);
	if (!f)
		return static_frames_create(ret);
	*ret = f;
	return 0;
}

static int list_it(struct topics *s, struct topic_out *t)
{
	int r = -ENOSPC;

	pthread_mutex_lock(&s->lock);
	if (s->n_out < TOPICS_MAX) {
		s->out[s->n_out++] = t;
		r = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int topic_out_open(struct topics *s, const struct sim_bridge_channel *ch, const struct topic_options *w,
		   struct topic_out *t, char *why, size_t why_size)
{
	char buf[TOPIC_NAME_MAX + 1];
	const char *name = NULL, *apollo;
	int r;

	t->topics = s;
	set_options(t, w);
	r = open_conversion(s, ch, w, &t->conversion, why, why_size);
	if (r < 0)
		return r;
	apollo = t->conversion.apollo && !w->topic ? apollo_type_channel(t->conversion.apollo) : NULL;
	r = choose_name(s, ch, w, apollo, buf, &name, why, why_size);
	if (r < 0)
		return r;
	t->automatic = r > 0;
	r = 0;
	if (s->before_1_8)
		r = conversion_out_before_1_8(&t->conversion, s->known, &t->options.no_predictions, why, why_size);
	if (r == 0 && topic_is_tf_static(name) && t->conversion.map &&
	    strcmp(t->conversion.map->sim, "sim/Transforms") == 0)
		r = open_frames(s, name, &t->static_frames);
	if (r == 0)
		r = keep_texts(t, name, ch->name, w);
	return r < 0 ? r : list_it(s, t);
}

void topic_out_close(struct topic_out *t)
{
	struct topics *s = t->topics;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->n_out; i++)
		if (s->out[i] == t)
			s->out[i] = s->out[--s->n_out];
	pthread_mutex_unlock(&s->lock);
	conversion_out_close(&t->conversion);
	static_frames_unref(t->static_frames);
	free(t->name);
}

/* ---- fixed frames ---- */

int topic_out_begin_frames(struct topic_out *t, struct map_message *in)
{
	int r = static_frames_lock_and_add(t->static_frames, in);

	return r < 0 ? r : !t->keeps || t->frames_sent != static_frames_version(t->static_frames);
}

void topic_out_end_frames(struct topic_out *t, int r)
{
	if (r >= 0)
		t->frames_sent = static_frames_version(t->static_frames);
	static_frames_unlock(t->static_frames);
}

/* ---- bytes ---- */

struct iov_buf *topics_get_buf(struct topics *s)
{
	struct iov_buf *o = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->n_buf)
		o = s->buf[--s->n_buf];
	pthread_mutex_unlock(&s->lock);
	if (!o && (o = malloc(sizeof(*o))))
		iov_buf_init(o);
	return o;
}

void topics_put_buf(struct topics *s, struct iov_buf *o)
{
	pthread_mutex_lock(&s->lock);
	if (s->n_buf < TOPICS_BUFS_MAX) {
		s->buf[s->n_buf++] = o;
		o = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	if (o)
		iov_buf_finish(o);
	free(o);
}

/* Logs the first failure of a topic's converter only: later messages will fail in the same way. */
static void log_failure(struct topic_out *t, int r, const char *why)
{
	if (!t->conversion.converter || atomic_exchange(&t->failure_logged, 1))
		return;
	if (why[0])
		log_at(t->topics, 0, "%s: its converter to %s does not follow the definition: %s", t->name,
		       t->conversion.type->name, why);
	else
		log_at(t->topics, 1, "%s: its converter to %s has failed: %s", t->name, t->conversion.type->name,
		       strerror(-r));
}

int topic_out_emit(struct topic_out *t, const struct map_message *in, struct sim_enc *e)
{
	struct map_message m = *in;
	char why[256];
	int r;

	m.options = &t->options;
	r = conversion_out_emit(&t->conversion, &m, e, why, sizeof(why));
	if (r < 0)
		log_failure(t, r, why);
	return r;
}

static int encode_apollo(const struct topic_out *t, const struct map_message *in, struct iov_buf *o)
{
	struct map_message m = *in;

	m.options = &t->options;
	iov_buf_reset(o);
	return conversion_out_apollo(&t->conversion, &m, o);
}

int topic_out_encode(struct topic_out *t, const struct map_message *in, struct iov_buf **ret)
{
	struct iov_buf *o = topics_get_buf(t->topics);
	struct enc_wire w;
	int r;

	if (!o)
		return -ENOMEM;
	if (t->conversion.apollo_made) {
		r = encode_apollo(t, in, o);
	} else {
		wire_begin(&w, t->topics->format, o);
		r = topic_out_emit(t, in, &w.enc);
		if (r == 0)
			r = wire_finish(&w);
	}
	if (r < 0)
		topics_put_buf(t->topics, o);
	else
		*ret = o;
	return r;
}
