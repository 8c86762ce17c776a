/* SPDX-License-Identifier: Apache-2.0 */
/* See static_frames.h. */
#include "static_frames.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim/msg/Transforms.h"

#define NAME_ROOM 40u /* bytes of a frame's name with its NUL, as sim/Transform bounds it */

struct frame {
	char parent[NAME_ROOM], child[NAME_ROOM];
	struct sim_Vector3 translation;
	struct sim_Quaternion rotation;
};

struct static_frames {
	_Atomic unsigned refs;
	pthread_mutex_t lock; /* guards all fields; below it only the locks of the code that sends are taken */
	struct frame *frames;
	uint32_t n, room;
	uint64_t version; /* number of changes */
	void *body;
	size_t body_room;
};

int static_frames_create(struct static_frames **ret)
{
	struct static_frames *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->refs = 1;
	*ret = t;
	return 0;
}

struct static_frames *static_frames_ref(struct static_frames *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void static_frames_unref(struct static_frames *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->frames);
	free(t->body);
	free(t);
}

/* Returns NULL if there are too many frames, or no memory. */
static struct frame *frame_of(struct static_frames *t, const char *child)
{
	struct frame *more;

	for (uint32_t i = 0; i < t->n; i++)
		if (strcmp(t->frames[i].child, child) == 0)
			return &t->frames[i];
	if (t->n == STATIC_FRAMES_MAX)
		return NULL;
	if (t->n == t->room) {
		more = realloc(t->frames, (2 * t->room + 8) * sizeof(*more));
		if (!more)
			return NULL;
		t->frames = more;
		t->room = 2 * t->room + 8;
	}
	more = &t->frames[t->n++];
	memset(more, 0, sizeof(*more));
	return more;
}

/* Reads each byte once, since its publisher may be overwriting it. */
static bool copy_name(char to[NAME_ROOM], const char *name)
{
	for (uint32_t i = 0; i < NAME_ROOM; i++) {
		to[i] = __atomic_load_n(&name[i], __ATOMIC_RELAXED);
		if (!to[i])
			return true;
	}
	return false;
}

static int add(struct static_frames *t, const struct map_message *in)
{
	const struct sim_Transforms *m = sim_Transforms_from(in->body, in->size);
	const struct sim_Transform *frames;
	uint32_t n;

	if (!m)
		return -EBADMSG;
	frames = sim_Transforms_transforms(m, in->size, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct frame one = { .translation = frames[i].translation, .rotation = frames[i].rotation }, *f;
		uint32_t before = t->n;

		if (!copy_name(one.parent, sim_Transform_parent_frame_in(in->body, in->size, &frames[i])) ||
		    !copy_name(one.child, sim_Transform_child_frame_in(in->body, in->size, &frames[i])))
			return -EBADMSG;
		f = frame_of(t, one.child);
		if (!f)
			return t->n == STATIC_FRAMES_MAX ? -E2BIG : -ENOMEM;
		if (t->n != before || memcmp(f, &one, sizeof(one)) != 0)
			t->version++;
		*f = one;
	}
	return 0;
}

static int build(struct static_frames *t, struct map_message *in)
{
	size_t room = sim_Transforms_size(t->n, (size_t)t->n * 2 * (NAME_ROOM + 8));
	struct sim_Transform *to;
	struct sim_Transforms *m;
	struct sim_builder b;

	if (room > t->body_room) {
		free(t->body);
		t->body = malloc(room);
		t->body_room = t->body ? room : 0;
	}
	if (!t->body)
		return -ENOMEM;
	m = sim_Transforms_init(t->body, t->body_room, &b);
	m->is_static = 1;
	to = sim_Transforms_transforms_alloc(&b, t->n);
	for (uint32_t i = 0; to && i < t->n; i++) {
		to[i].translation = t->frames[i].translation;
		to[i].rotation = t->frames[i].rotation;
		if (sim_Transform_parent_frame_set_in(&b, &to[i], t->frames[i].parent) < 0 ||
		    sim_Transform_child_frame_set_in(&b, &to[i], t->frames[i].child) < 0)
			return -EBADMSG;
	}
	in->body = t->body;
	in->size = sim_builder_size(&b);
	return to || !t->n ? 0 : -EBADMSG;
}

int static_frames_lock_and_add(struct static_frames *t, struct map_message *in)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = add(t, in);
	return r < 0 ? r : build(t, in);
}

uint64_t static_frames_version(const struct static_frames *t)
{
	return t->version;
}

void static_frames_unlock(struct static_frames *t)
{
	pthread_mutex_unlock(&t->lock);
}
