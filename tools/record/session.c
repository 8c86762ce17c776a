/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h: channels, encoding, counting. Files are session_file.c's, the ring is session_ring.c's. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sim/introspect.h>

#include "log_private.h"
#include "mem.h"
#include "session_private.h"

#define CHUNK_LEAST  ((size_t)4 << 10)
#define CHUNK_MOST   ((size_t)4 << 20)
#define CHANNELS_MAX 65535u

void session_say(struct session *s, int level, const char *fmt, ...)
{
	char text[LOG_WHY_MAX + SESSION_PATH_SIZE];
	va_list ap;

	if (!s->o.say)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->o.say(s->o.arg, level, text);
}

/* ---- begin and end ---- */

static int check(const struct session_options *o, char *why, size_t why_size)
{
	if (!o->stem || !*o->stem || strlen(o->stem) > SESSION_STEM_MAX)
		return log_fail(why, why_size, -EINVAL, "the stem of the files has 1 to %d characters",
				SESSION_STEM_MAX);
	if (o->format != LOG_MCAP && o->format != LOG_BAG && o->format != LOG_RECORD)
		return log_fail(why, why_size, -ENOTSUP,
				"files of that format are not written; MCAP, .bag and .record are");
	if (o->format == LOG_BAG && o->kind != CODEC_ROS1)
		return log_fail(why, why_size, -ENOTSUP, "a .bag holds messages of ROS 1: choose the encoding ros1");
	if (o->format == LOG_RECORD && o->kind != CODEC_APOLLO)
		return log_fail(why, why_size, -ENOTSUP,
				"a .record holds messages of Apollo: choose the encoding apollo");
	if (o->format == LOG_MCAP && o->compression > LOG_COMPRESSION_ZSTD)
		return log_fail(why, why_size, -ENOTSUP,
				"MCAP has the compressions none, lz4 and zstd; choose one of them");
	if (o->ring_only && o->ring_dur_ns <= 0)
		return log_fail(why, why_size, -EINVAL, "the ring wants a duration above 0");
	if (o->split_dur_ns < 0 || o->flush_dur_ns < 0)
		return log_fail(why, why_size, -EINVAL, "a duration below 0");
	return 0;
}

static int copy_about(struct session *s, const struct session_options *o)
{
	s->about = mem_calloc(o->n_about + 1, sizeof(*s->about));
	for (size_t i = 0; s->about && i < o->n_about; i++) {
		s->about[i].key = mem_strdup(o->about[i].key);
		s->about[i].value = mem_strdup(o->about[i].value);
		if (!s->about[i].key || !s->about[i].value)
			return -ENOMEM;
	}
	return s->about ? 0 : -ENOMEM;
}

static void set_write_options(struct session *s)
{
	const struct session_options *o = &s->o;
	size_t quarter = (size_t)(o->split_bytes / 4);

	s->write = (struct log_write_options){
		.format = o->format, .compression = o->compression, .level = o->level, .chunk_bytes = o->chunk_bytes
	};
	s->write.profile = o->kind == CODEC_ROS2 ? "ros2" : o->kind == CODEC_ROS1 ? "ros1" : "";
	if (!o->level && o->kind == CODEC_PACKED && o->compression == LOG_COMPRESSION_ZSTD)
		s->write.level = CODEC_PACKED_ZSTD_LEVEL;
	if (!o->chunk_bytes && o->split_bytes && quarter < CHUNK_MOST)
		s->write.chunk_bytes = quarter > CHUNK_LEAST ? quarter : CHUNK_LEAST;
}

static void free_message(struct session_message *e)
{
	codec_out_destroy(e->codec);
	iov_buf_finish(&e->out);
	mem_free(e);
}

static void free_channel(struct session_channel *c)
{
	struct session_message *e;

	while ((e = c->spare)) {
		c->spare = e->next;
		free_message(e);
	}
	codec_out_destroy(c->codec);
	sim_type_unref(c->type);
	mem_free(c);
}

static void free_session(struct session *s)
{
	session_ring_clear(s);
	for (unsigned i = 0; i < s->n_channels; i++)
		free_channel(s->channels[i]);
	for (size_t i = 0; s->about && i < s->o.n_about; i++) {
		mem_free((char *)s->about[i].key);
		mem_free((char *)s->about[i].value);
	}
	mem_free(s->channels);
	mem_free(s->about);
	mem_free(s->stem);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

int session_create(const struct session_options *o, struct session **ret, char *why, size_t why_size)
{
	struct session *s;
	int r = check(o, why, why_size);

	if (r < 0)
		return r;
	s = MEM_NEW(struct session);
	if (!s)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	pthread_mutex_init(&s->lock, NULL);
	s->o = *o;
	s->ring_only = o->ring_only;
	if (!s->o.ring_bytes)
		s->o.ring_bytes = SESSION_RING_BYTES;
	s->stem = mem_strdup(o->stem);
	r = s->stem ? copy_about(s, o) : -ENOMEM;
	if (r < 0) {
		free_session(s);
		return log_fail(why, why_size, r, "no memory");
	}
	set_write_options(s);
	*ret = s;
	return 0;
}

int session_destroy(struct session *s, char *why, size_t why_size)
{
	int r;

	if (!s)
		return 0;
	r = session_close_file(s, why, why_size);
	free_session(s);
	return r;
}

int session_open_file(struct session *s, char *why, size_t why_size)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = session_file_open(s, why, why_size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int session_close_file(struct session *s, char *why, size_t why_size)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = session_file_close(s, why, why_size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- channels ---- */

static int find(const struct session *s, const char *name, const struct sim_type *type)
{
	for (unsigned i = 0; i < s->n_channels; i++)
		if (s->channels[i]->type->hash == type->hash && !strcmp(s->channels[i]->name, name) &&
		    !strcmp(s->channels[i]->type->name, type->name))
			return (int)i;
	return -ENOENT;
}

static int add(struct session *s, const char *name, const struct sim_type *type, char *why, size_t why_size)
{
	struct session_channel **list, *c;
	int r;

	if (s->n_channels == CHANNELS_MAX)
		return log_fail(why, why_size, -ENOSPC, "a recording has %u channels at most", CHANNELS_MAX);
	list = mem_realloc(s->channels, (s->n_channels + 1) * sizeof(*list));
	if (list)
		s->channels = list;
	c = list ? MEM_NEW(struct session_channel) : NULL;
	if (!c)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	r = codec_out_create(s->o.kind, name, type, &c->codec, why, why_size);
	if (r < 0) {
		mem_free(c);
		return r;
	}
	log_fail(c->name, sizeof(c->name), 0, "%s", name);
	c->type = sim_type_ref(type);
	list[s->n_channels] = c;
	return (int)s->n_channels++;
}

int session_add_channel(struct session *s, const char *name, const struct sim_type *type, unsigned *ret_id, char *why,
			size_t why_size)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = find(s, name, type);
	if (r < 0)
		r = add(s, name, type, why, why_size);
	pthread_mutex_unlock(&s->lock);
	if (r < 0)
		return r;
	*ret_id = (unsigned)r;
	return 0;
}

/* ---- messages ---- */

/* Under the lock. */
void session_count_lost(struct session *s, unsigned id, uint64_t n)
{
	s->lost += n;
	s->channels[id]->all.lost += n;
	s->channels[id]->due.lost += n;
}

/* Under the lock. */
static void give_back(struct session *s, struct session_message *e)
{
	struct session_channel *c = s->channels[e->id];

	s->copied += e->out.copied - e->copied;
	e->copied = e->out.copied;
	e->next = c->spare;
	c->spare = e;
}

static struct session_message *new_message(struct session *s, const struct session_channel *c, unsigned id, char *why,
					   size_t why_size)
{
	struct session_message *e = MEM_NEW(struct session_message);

	if (!e)
		return NULL;
	if (codec_out_create(s->o.kind, c->name, c->type, &e->codec, why, why_size) < 0) {
		mem_free(e);
		return NULL;
	}
	e->id = id;
	iov_buf_init(&e->out);
	return e;
}

static int not_encoded(struct session *s, unsigned id, struct session_message *e, int r, const char *why)
{
	struct session_channel *c;

	pthread_mutex_lock(&s->lock);
	c = s->channels[id];
	if (!c->said)
		session_say(s, 1, "%s: not recorded: %s", c->name, *why ? why : strerror(-r));
	c->said = true;
	session_count_lost(s, id, 1);
	if (e)
		give_back(s, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int session_encode(struct session *s, unsigned id, const struct sim_message *m, struct session_message **ret)
{
	struct session_message *e;
	struct session_channel *c;
	char why[LOG_WHY_MAX] = "";
	bool paused;
	int r;

	*ret = NULL;
	pthread_mutex_lock(&s->lock);
	paused = s->paused;
	c = s->channels[id];
	e = paused ? NULL : c->spare;
	if (e)
		c->spare = e->next;
	if (!paused)
		c->accepted++;
	pthread_mutex_unlock(&s->lock);
	if (paused)
		return 0;
	if (!e)
		e = new_message(s, c, id, why, sizeof(why));
	if (!e)
		return not_encoded(s, id, NULL, -ENOMEM, why);
	e->sequence = (uint32_t)m->header.sequence;
	e->stamp_ns = m->header.stamp_sim_ns;
	r = codec_out_encode(e->codec, m, &e->out, why, sizeof(why));
	if (r < 0)
		return not_encoded(s, id, e, r, why);
	*ret = e;
	return 0;
}

/* Under the lock. */
static int ring_put(struct session *s, const struct ring_entry *head, const struct iovec *pieces, int n)
{
	struct session_channel *c = s->channels[head->id];
	int r = session_ring_put(s, head, pieces, n);

	if (r >= 0)
		return 0;
	if (!c->said)
		session_say(s, 1, "%s: a message is not in the ring: %s", c->name,
			    r == -EMSGSIZE ? "it is larger than that" : strerror(-r));
	c->said = true;
	session_count_lost(s, head->id, 1);
	return r;
}

int session_write(struct session *s, struct session_message *e, int64_t log_time_ns)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct ring_entry head;
	int n, r;

	if (!e)
		return 0;
	head = (struct ring_entry){
		.id = e->id, .sequence = e->sequence, .log_time_ns = log_time_ns, .stamp_ns = e->stamp_ns
	};
	n = (int)iov_buf_iov(&e->out, iov);
	pthread_mutex_lock(&s->lock);
	r = s->ring_only ? ring_put(s, &head, iov, n) : session_file_put(s, &head, iov, n);
	give_back(s, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int session_put(struct session *s, unsigned id, const struct sim_message *m, int64_t log_time_ns)
{
	struct session_message *e;
	int r = session_encode(s, id, m, &e);

	return r < 0 ? r : session_write(s, e, log_time_ns);
}

void session_lost(struct session *s, unsigned id, uint64_t n)
{
	pthread_mutex_lock(&s->lock);
	s->channels[id]->accepted += n;
	session_count_lost(s, id, n);
	pthread_mutex_unlock(&s->lock);
}

/* ---- control ---- */

void session_pause(struct session *s, bool paused)
{
	pthread_mutex_lock(&s->lock);
	s->paused = paused;
	pthread_mutex_unlock(&s->lock);
}

/* Under the lock: all that was to be written has been. */
static int end_dump(struct session *s, char *why, size_t why_size)
{
	int r = s->dump_error, e;

	s->dumping = false;
	if (r < 0)
		log_fail(why, why_size, r, "%s: %s; a part of the ring is lost", s->path, strerror(-r));
	s->ring_only = s->ring_only && !s->dump_goes_on;
	if (!s->ring_only)
		return r;
	e = session_file_close(s, r < 0 ? NULL : why, why_size);
	return r < 0 ? r : e;
}

void session_dump_begin(struct session *s, bool go_on)
{
	pthread_mutex_lock(&s->lock);
	s->dumping = true;
	s->dump_goes_on = go_on;
	s->dump_error = 0;
	s->dump_left = s->n_ring;
	pthread_mutex_unlock(&s->lock);
}

int session_dump_some(struct session *s, size_t bytes, char *why, size_t why_size)
{
	int r = 0;

	log_fail(why, why_size, 0, "%s", "");
	pthread_mutex_lock(&s->lock);
	session_ring_write(s, bytes);
	if (s->dumping)
		r = s->dump_left || (s->dump_goes_on && s->n_ring) ? 1 : end_dump(s, why, why_size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int session_flush(struct session *s)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = session_file_flush(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- statistics ---- */

void session_stats(struct session *s, struct session_stats *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = (struct session_stats){
		.messages = s->messages,
		.lost = s->lost,
		.bytes = s->closed_bytes + (s->w ? log_writer_bytes(s->w) : 0),
		.copied = s->copied + (s->w ? s->w->copied : 0),
		.files = s->files,
		.paused = s->paused,
		.ring_only = s->ring_only,
		.failed = s->error < 0,
		.ring_messages = s->n_ring,
		.ring_bytes = s->ring_bytes,
		.ring_dur_ns = s->oldest ? s->newest->log_time_ns - s->oldest->log_time_ns : 0,
	};
	memcpy(ret->path, s->path, sizeof(ret->path));
	pthread_mutex_unlock(&s->lock);
}

bool session_channel_stats(struct session *s, unsigned id, struct session_channel_stats *ret)
{
	const struct session_channel *c;

	pthread_mutex_lock(&s->lock);
	c = id < s->n_channels ? s->channels[id] : NULL;
	if (c)
		*ret = (struct session_channel_stats){ c->name, c->accepted, c->all.recorded, c->all.lost, c->bytes };
	pthread_mutex_unlock(&s->lock);
	return c;
}
