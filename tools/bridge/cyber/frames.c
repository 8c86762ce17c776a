/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed frames. The frames of all channels published under one name are merged, keeping the newest of each child frame,
 * also while there is no connection. Each message has all of them. The last message is sent again every static_ms,
 * because the peer neither keeps messages for later readers nor tells of new readers. Threads: lanes, one message at a
 * time; the link's thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cyber.h"
#include "static_frames.h"

struct cyber_frames {
	struct cyber_frames *next;
	struct static_frames *all;
	pthread_mutex_t lock; /* guards bytes, size, room, due_mono_ns */
	uint8_t *bytes;       /* the last message, encoded */
	size_t size, room;
	int64_t due_mono_ns; /* when it is to be sent again */
	char name[];
};

bool cyber_frames_is(const char *name)
{
	static const char fixed[] = "/tf_static";
	size_t n = strlen(name);

	return n >= sizeof(fixed) - 1 && strcmp(name + n - (sizeof(fixed) - 1), fixed) == 0;
}

/* Called on the main thread only, when a channel is opened, so reading the list needs no lock. */
int cyber_frames_of(struct sim_bridge *b, const char *name, struct cyber_frames **ret)
{
	struct cyber_frames *f;
	int r;

	for (f = b->frames; f; f = f->next)
		if (strcmp(f->name, name) == 0) {
			*ret = f;
			return 0;
		}
	f = calloc(1, sizeof(*f) + strlen(name) + 1);
	if (!f)
		return -ENOMEM;
	r = static_frames_create(&f->all);
	if (r < 0) {
		free(f);
		return r;
	}
	pthread_mutex_init(&f->lock, NULL);
	strcpy(f->name, name);
	pthread_mutex_lock(&b->probe.lock);
	f->next = b->frames;
	b->frames = *ret = f;
	pthread_mutex_unlock(&b->probe.lock);
	return 0;
}

void cyber_frames_finish(struct sim_bridge *b)
{
	struct cyber_frames *f;

	while ((f = b->frames)) {
		b->frames = f->next;
		static_frames_unref(f->all);
		pthread_mutex_destroy(&f->lock);
		free(f->bytes);
		free(f);
	}
}

static int64_t next_due(const struct sim_bridge *b, int64_t now)
{
	return b->static_ms ? now + b->static_ms * INT64_C(1000000) : INT64_MAX;
}

static int keep(struct sim_bridge *b, struct cyber_frames *f, const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	uint8_t *more;
	int r = 0;

	pthread_mutex_lock(&f->lock);
	if (o->total > f->room) {
		more = realloc(f->bytes, o->total);
		r = more ? 0 : -ENOMEM;
		f->bytes = more ? more : f->bytes;
		f->room = more ? o->total : f->room;
	}
	f->size = 0;
	for (unsigned i = 0, n = r == 0 ? iov_buf_iov(o, iov) : 0; i < n; i++) {
		memcpy(f->bytes + f->size, iov[i].iov_base, iov[i].iov_len);
		f->size += iov[i].iov_len;
	}
	f->due_mono_ns = next_due(b, mono_now_ns());
	pthread_mutex_unlock(&f->lock);
	return r;
}

int cyber_frames_encode(struct cyber_topic *t, struct apollo_message *in, struct iov_buf *out, char *why,
			size_t why_size)
{
	struct map_message all = { .body = in->body, .size = in->size };
	int r = static_frames_lock_and_add(t->frames->all, &all);

	in->body = all.body;
	in->size = all.size;
	if (r == 0)
		r = apollo_encode(t->type, in, out, why, why_size);
	if (r == 0)
		r = keep(t->bridge, t->frames, out);
	static_frames_unlock(t->frames->all);
	return r;
}

/* Returns 1 with a copy of the last message when it is due, else 0. Only the first topic of a name gets it. */
static int take(struct sim_bridge *b, struct cyber_frames *f, int64_t now, struct iov_buf **ret)
{
	uint8_t *to = NULL;
	int due;

	pthread_mutex_lock(&f->lock);
	due = f->size && now >= f->due_mono_ns;
	if (due && (*ret = cyber_get_buf(b))) {
		to = iov_buf_room(*ret, f->size);
		if (to)
			memcpy(to, f->bytes, f->size);
		f->due_mono_ns = next_due(b, now);
	}
	pthread_mutex_unlock(&f->lock);
	if (due && *ret && !to)
		cyber_put_buf(b, *ret);
	return to != NULL;
}

int64_t cyber_frames_repeat(struct sim_bridge *b, int64_t now)
{
	bool any = false;
	struct iov_buf *o;

	pthread_mutex_lock(&b->probe.lock);
	for (struct cyber_topic *t = b->probe.topics; t; t = t->next) {
		if (!t->frames || t->of_before)
			continue;
		any = true;
		o = NULL;
		if (take(b, t->frames, now, &o))
			(void)tcp_link_put(&b->link, t->out, o, NULL);
	}
	pthread_mutex_unlock(&b->probe.lock);
	return any && b->static_ms ? b->static_ms * INT64_C(1000000) / 2 : -1;
}

void cyber_frames_again(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->probe.lock);
	for (struct cyber_topic *t = b->probe.topics; t; t = t->next)
		t->of_before = true;
	for (struct cyber_frames *f = b->frames; f; f = f->next) {
		pthread_mutex_lock(&f->lock);
		f->due_mono_ns = 0;
		pthread_mutex_unlock(&f->lock);
	}
	pthread_mutex_unlock(&b->probe.lock);
}
