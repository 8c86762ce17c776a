/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See recording.h: channels, encoding, counting. Files are in recording_file.c, the ring in recording_ring.c, the order
 * in recording_window.c.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sim/introspect.h>

#include "log_private.h"
#include "mem.h"
#include "recording_private.h"

#define CHUNK_LEAST  ((size_t)4 << 10)
#define CHUNK_MOST   RECORDING_CHUNK_BYTES
#define CHANNELS_MAX 65535u

void recording_say(struct recording *s, int level, const char *fmt, ...)
{
	char text[LOG_WHY_MAX + RECORDING_PATH_SIZE];
	va_list ap;

	if (!s->o.say)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->o.say(s->o.arg, level, text);
}

/* ---- start and end ---- */

static int check(const struct recording_options *o, char *why, size_t why_size)
{
	if (!o->stem || !*o->stem || strlen(o->stem) > RECORDING_STEM_MAX)
		return log_fail(why, why_size, -EINVAL, "the stem of the files has 1 to %d characters",
				RECORDING_STEM_MAX);
	if (o->format != LOG_MCAP && o->format != LOG_BAG && o->format != LOG_RECORD)
		return log_fail(why, why_size, -ENOTSUP,
				"files of that format cannot be written, only MCAP, .bag and .record");
	if (o->format == LOG_BAG && o->kind != CODEC_ROS1)
		return log_fail(why, why_size, -ENOTSUP, "a .bag holds messages of ROS 1: choose the encoding ros1");
	if (o->format == LOG_RECORD && o->kind != CODEC_APOLLO)
		return log_fail(why, why_size, -ENOTSUP,
				"a .record holds messages of Apollo: choose the encoding apollo");
	if (o->format == LOG_MCAP && o->compression > LOG_COMPRESSION_ZSTD)
		return log_fail(why, why_size, -ENOTSUP,
				"MCAP has the compressions none, lz4 and zstd; choose one of them");
	if (o->ring_only && o->ring_dur_ns <= 0)
		return log_fail(why, why_size, -EINVAL, "the ring needs a duration above 0");
	if (o->split_dur_ns < 0 || o->flush_dur_ns < 0 || o->window_dur_ns < 0)
		return log_fail(why, why_size, -EINVAL, "a duration below 0");
	return 0;
}

static int copy_about(struct recording *s, const struct recording_options *o)
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

static void set_write_options(struct recording *s)
{
	const struct recording_options *o = &s->o;
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

static void free_message(struct recording_message *e)
{
	codec_out_destroy(e->codec);
	iov_buf_finish(&e->out);
	mem_free(e);
}

static void free_channel(struct recording_channel *c)
{
	struct recording_message *e;

	while ((e = c->spare)) {
		c->spare = e->next;
		free_message(e);
	}
	codec_out_destroy(c->codec);
	sim_type_unref(c->type);
	mem_free(c);
}

static void free_recording(struct recording *s)
{
	recording_left_out_clear(s);
	recording_window_clear(s);
	recording_ring_clear(s);
	for (unsigned i = 0; i < s->n_channels; i++) {
		recording_latched_clear(s, s->channels[i]);
		free_channel(s->channels[i]);
	}
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

int recording_create(const struct recording_options *o, struct recording **ret, char *why, size_t why_size)
{
	struct recording *s;
	int r = check(o, why, why_size);

	if (r < 0)
		return r;
	s = MEM_NEW(struct recording);
	if (!s)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	pthread_mutex_init(&s->lock, NULL);
	list_init(&s->by_time);
	list_init(&s->by_arrival);
	s->o = *o;
	s->ring_only = o->ring_only;
	if (!s->o.ring_bytes)
		s->o.ring_bytes = RECORDING_RING_BYTES;
	if (!s->o.window_bytes)
		s->o.window_bytes = RECORDING_WINDOW_BYTES;
	s->stem = mem_strdup(o->stem);
	r = s->stem ? copy_about(s, o) : -ENOMEM;
	if (r < 0) {
		free_recording(s);
		return log_fail(why, why_size, r, "no memory");
	}
	set_write_options(s);
	s->latched_most = RECORDING_LATCHED_BYTES;
	if (o->split_bytes && o->split_bytes / 4 < s->latched_most)
		s->latched_most = (size_t)(o->split_bytes / 4);
	*ret = s;
	return 0;
}

int recording_destroy(struct recording *s, char *why, size_t why_size)
{
	int r;

	if (!s)
		return 0;
	r = recording_close_file(s, why, why_size);
	free_recording(s);
	return r;
}

int recording_open_file(struct recording *s, char *why, size_t why_size)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = recording_file_open(s, why, why_size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int recording_close_file(struct recording *s, char *why, size_t why_size)
{
	int r, e;

	pthread_mutex_lock(&s->lock);
	e = recording_window_empty(s);
	r = recording_file_close(s, why, why_size);
	if (r >= 0 && e < 0)
		r = log_fail(why, why_size, e, "%s: its last messages are lost: %s", s->path, strerror(-e));
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- channels ---- */

static int find(const struct recording *s, const char *name, const struct sim_type *type)
{
	for (unsigned i = 0; i < s->n_channels; i++)
		if (s->channels[i]->type->hash == type->hash && !strcmp(s->channels[i]->name, name) &&
		    !strcmp(s->channels[i]->type->name, type->name))
			return (int)i;
	return -ENOENT;
}

static int add(struct recording *s, const char *name, const struct sim_type *type, char *why, size_t why_size)
{
	struct recording_channel **list, *c;
	int r;

	if (s->n_channels == CHANNELS_MAX)
		return log_fail(why, why_size, -ENOSPC, "a recording has %u channels at most", CHANNELS_MAX);
	list = mem_realloc(s->channels, (s->n_channels + 1) * sizeof(*list));
	if (list)
		s->channels = list;
	c = list ? MEM_NEW(struct recording_channel) : NULL;
	if (!c)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	r = codec_out_create(s->o.kind, s->o.apollo, name, type, &c->codec, why, why_size);
	if (r < 0) {
		mem_free(c);
		return r;
	}
	log_fail(c->name, sizeof(c->name), 0, "%s", name);
	c->type = sim_type_ref(type);
	list[s->n_channels] = c;
	return (int)s->n_channels++;
}

int recording_add_channel(struct recording *s, const char *name, const struct sim_type *type, unsigned *ret_id,
			  char *why, size_t why_size)
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

/* Caller holds the lock. */
void recording_count_lost(struct recording *s, unsigned id, uint64_t n)
{
	s->lost += n;
	s->channels[id]->all.lost += n;
	s->channels[id]->due.lost += n;
}

/* Caller holds the lock. */
static void give_back(struct recording *s, struct recording_message *e)
{
	struct recording_channel *c = s->channels[e->id];

	s->copied += e->out.copied - e->copied;
	e->copied = e->out.copied;
	e->next = c->spare;
	c->spare = e;
}

static struct recording_message *new_message(struct recording *s, const struct recording_channel *c, unsigned id,
					     char *why, size_t why_size)
{
	struct recording_message *e = MEM_NEW(struct recording_message);

	if (!e)
		return NULL;
	if (codec_out_create(s->o.kind, s->o.apollo, c->name, c->type, &e->codec, why, why_size) < 0) {
		mem_free(e);
		return NULL;
	}
	e->id = id;
	iov_buf_init(&e->out);
	return e;
}

static int not_encoded(struct recording *s, unsigned id, struct recording_message *e, int r, const char *why)
{
	struct recording_channel *c;

	pthread_mutex_lock(&s->lock);
	c = s->channels[id];
	if (!c->said)
		recording_say(s, 1, "%s: not recorded: %s", c->name, *why ? why : strerror(-r));
	c->said = true;
	recording_count_lost(s, id, 1);
	if (e)
		give_back(s, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int recording_encode(struct recording *s, unsigned id, const struct sim_message *m, struct recording_message **ret)
{
	struct recording_message *e;
	struct recording_channel *c;
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
	e->publisher_id = m->header.publisher_id;
	e->latched = m->header.flags & SIM_SLOT_LATCHED;
	e->stamp_ns = m->header.stamp_sim_ns;
	r = codec_out_encode(e->codec, m, &e->out, why, sizeof(why));
	if (r < 0)
		return not_encoded(s, id, e, r, why);
	*ret = e;
	return 0;
}

/* Caller holds the lock. */
static int ring_put(struct recording *s, struct ring_entry *e, unsigned id)
{
	struct recording_channel *c = s->channels[id];
	int r = e ? recording_ring_put(s, e) : -ENOMEM;

	if (r >= 0)
		return 0;
	if (!c->said)
		recording_say(s, 1, "%s: a message was not put into the ring: %s", c->name,
			      r == -EMSGSIZE ? "it is larger than that" : strerror(-r));
	c->said = true;
	recording_count_lost(s, id, 1);
	return r;
}

int recording_deliver(struct recording *s, struct ring_entry *e)
{
	int r;

	if (s->ring_only)
		return ring_put(s, e, e->id);
	r = recording_file_put(s, e, &(struct iovec){ .iov_base = e->data, .iov_len = e->size }, 1);
	mem_free(e);
	return r;
}

/* Writes a message now, after the waiting ones that were published before it. Caller holds the lock. */
static int put_now(struct recording *s, const struct ring_entry *head, const struct iovec *iov, int n)
{
	struct ring_entry *e;

	(void)!(head->generation ? recording_window_before(s, head->mono_ns) : recording_window_empty(s));
	if (!s->ring_only)
		return recording_file_put(s, head, iov, n);
	e = recording_entry_new(head, iov, n);
	s->copied += e ? e->size : 0;
	return ring_put(s, e, head->id);
}

static int write_now(struct recording *s, struct recording_message *e, const struct ring_entry *head)
{
	struct iovec iov[IOV_BUF_PIECES];
	int r, n = (int)iov_buf_iov(&e->out, iov);

	pthread_mutex_lock(&s->lock);
	r = put_now(s, head, iov, n);
	give_back(s, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static struct ring_entry head_of(const struct recording_message *e, const struct recording_moment *at)
{
	return (struct ring_entry){
		.id = e->id,
		.sequence = e->sequence,
		.publisher_id = e->publisher_id,
		.latched = e->latched,
		.stamp_ns = e->stamp_ns,
		.log_time_ns = at->log_time_ns,
		.mono_ns = at->mono_ns,
		.generation = at->clock_generation,
	};
}

/* A copy for the window; NULL: the message does not wait. */
static struct ring_entry *copy(const struct recording *s, const struct recording_message *e,
			       const struct ring_entry *head, const struct recording_moment *at)
{
	struct iovec iov[IOV_BUF_PIECES];
	int n = (int)iov_buf_iov(&e->out, iov);
	size_t size = 0;

	for (int i = 0; i < n; i++)
		size += iov[i].iov_len;
	if (!s->o.window_dur_ns || !at->clock_generation || (at->in_step && s->o.steps_in_order) ||
	    (s->o.compression == LOG_COMPRESSION_NONE && size > RECORDING_COPY_BYTES))
		return NULL;
	return recording_entry_new(head, iov, n);
}

struct recording_moment recording_moment(const struct sim_clock_sample *s)
{
	return (struct recording_moment){ .log_time_ns = s->sim_ns,
					  .mono_ns = s->mono_ns,
					  .clock_generation = s->clock_generation,
					  .in_step = s->flags & SIM_CLOCK_LOCKSTEP };
}

int recording_write_at(struct recording *s, struct recording_message *e, const struct recording_moment *at)
{
	struct ring_entry head, *kept;
	int r;

	if (!e)
		return 0;
	head = head_of(e, at);
	if (at->in_step) {
		pthread_mutex_lock(&s->lock);
		head.log_time_ns = recording_step_time(s, e->stamp_ns, at);
		pthread_mutex_unlock(&s->lock);
	}
	kept = copy(s, e, &head, at);
	if (!kept)
		return write_now(s, e, &head);
	pthread_mutex_lock(&s->lock);
	s->copied += kept->size;
	r = recording_window_put(s, kept);
	give_back(s, e);
	pthread_mutex_unlock(&s->lock);
	return r < 0;
}

int recording_put_at(struct recording *s, unsigned id, const struct sim_message *m, const struct recording_moment *at)
{
	struct recording_message *e;
	int r = recording_encode(s, id, m, &e);

	return r < 0 ? r : recording_write_at(s, e, at);
}

void recording_lost(struct recording *s, unsigned id, uint64_t n)
{
	pthread_mutex_lock(&s->lock);
	s->channels[id]->accepted += n;
	recording_count_lost(s, id, n);
	pthread_mutex_unlock(&s->lock);
}

/* ---- control ---- */

void recording_pause(struct recording *s, bool paused)
{
	pthread_mutex_lock(&s->lock);
	s->paused = paused;
	pthread_mutex_unlock(&s->lock);
}

/* After all has been written. Caller holds the lock. */
static int end_dump(struct recording *s, char *why, size_t why_size)
{
	int r = s->dump_error, e;

	s->dumping = false;
	if (r < 0)
		log_fail(why, why_size, r, "%s: %s; a part of the ring is lost", s->path, strerror(-r));
	s->ring_only = s->ring_only && !s->dump_goes_on;
	if (!s->ring_only)
		return r;
	e = recording_file_close(s, r < 0 ? NULL : why, why_size);
	return r < 0 ? r : e;
}

void recording_dump_begin(struct recording *s, bool go_on)
{
	pthread_mutex_lock(&s->lock);
	(void)!recording_window_empty(s); /* waiting messages were published before */
	s->dumping = true;
	s->dump_goes_on = go_on;
	s->dump_error = 0;
	s->dump_left = s->n_ring;
	pthread_mutex_unlock(&s->lock);
}

int recording_dump_some(struct recording *s, size_t bytes, char *why, size_t why_size)
{
	int r = 0;

	log_fail(why, why_size, 0, "%s", "");
	pthread_mutex_lock(&s->lock);
	recording_ring_write(s, bytes);
	if (s->dumping)
		r = s->dump_left || (s->dump_goes_on && s->n_ring) ? 1 : end_dump(s, why, why_size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int recording_flush(struct recording *s)
{
	int r, e;

	pthread_mutex_lock(&s->lock);
	e = recording_window_expire(s);
	r = recording_file_flush(s);
	s->flushed_ns = s->last_ns;
	pthread_mutex_unlock(&s->lock);
	return r < 0 ? r : e;
}

/* ---- statistics ---- */

void recording_stats(struct recording *s, struct recording_stats *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = (struct recording_stats){
		.messages = s->messages,
		.lost = s->lost,
		.bytes = s->closed_bytes + (s->w ? log_writer_bytes(s->w) : 0),
		.copied = s->copied + (s->w ? s->w->copied : 0),
		.files = s->files,
		.paused = s->paused,
		.ring_only = s->ring_only,
		.failed = s->error < 0,
		.failures = s->failures,
		.waiting = s->n_window,
		.ring_messages = s->n_ring,
		.ring_bytes = s->ring_bytes,
		.ring_dur_ns = s->oldest ? s->newest->log_time_ns - s->oldest->log_time_ns : 0,
	};
	memcpy(ret->path, s->path, sizeof(ret->path));
	pthread_mutex_unlock(&s->lock);
}

bool recording_channel_stats(struct recording *s, unsigned id, struct recording_channel_stats *ret)
{
	const struct recording_channel *c;

	pthread_mutex_lock(&s->lock);
	c = id < s->n_channels ? s->channels[id] : NULL;
	if (c)
		*ret = (struct recording_channel_stats){ c->name, c->accepted, c->all.recorded, c->all.lost, c->bytes };
	pthread_mutex_unlock(&s->lock);
	return c;
}
