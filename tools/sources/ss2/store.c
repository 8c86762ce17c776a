/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed sim-ss2 leaves. See store.h. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "scene.h"

#define HEAD_SIZE 4096

_Static_assert(sizeof(struct store_head) <= HEAD_SIZE, "the head has a page");

/* Open a regular file of that size that belongs to our user and that no other user can access. */
static int open_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;
	struct stat st;

	if (fd < 0)
		return err_sys(-errno, "%s", path);
	if (fstat(fd, &st) < 0)
		r = err_sys(-errno, "%s", path);
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		r = err_set(-EPERM, "%s is not a regular file that only this user can access; remove it", path);
	else if (st.st_size != (off_t)size && (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)size) < 0))
		r = err_sys(-errno, "%s", path);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static bool holds(const struct store_head *h, size_t size)
{
	return h->magic == STORE_MAGIC && h->size == size && h->n_entities <= SCENE_ENTITIES_MAX &&
	       h->n_bulbs <= SCENE_BULBS_MAX;
}

int store_open(struct store *s, const char *path, size_t more)
{
	size_t scene = (scene_size() + 63) / 64 * 64, half = HEAD_SIZE + scene + (more + 63) / 64 * 64, size = 2 * half;
	int fd = path ? open_file(path, size) : -1;
	void *at;

	*s = (struct store){ .fd = -1 };
	if (path && fd < 0)
		return fd;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED,
		  fd, 0);
	if (at == MAP_FAILED) {
		int r = err_sys(-errno, "mapping %s", path ? path : "memory");

		if (fd >= 0)
			close(fd);
		return r;
	}
	*s = (struct store){ .head = at,
			     .scene = (char *)at + HEAD_SIZE,
			     .more = (char *)at + HEAD_SIZE + scene,
			     .copy = (void *)((char *)at + half),
			     .size = size,
			     .more_size = more,
			     .fd = fd };
	if (!holds(s->head, size) || (s->head->request && !holds(s->copy, size)))
		store_reset(s);
	return 0;
}

void store_close(struct store *s)
{
	if (s->head)
		munmap(s->head, s->size);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct store){ .fd = -1 };
}

void store_reset(struct store *s)
{
	*s->head = (struct store_head){ .magic = STORE_MAGIC, .size = s->size };
}

/* ---- restoring ---- */

/* A process is killed between two instructions, so only their order matters. */
static void in_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* Address in the copy that corresponds to `at`. */
static void *copied(const struct store *s, const void *at)
{
	return (char *)s->copy + ((const char *)at - (const char *)s->head);
}

static void copy(const struct store *s, bool back, void *at, size_t size)
{
	void *there = copied(s, at);

	if (back)
		memcpy(at, there, size);
	else
		memcpy(there, at, size);
}

/* Copy the entities and bulbs that exist according to the head of the source. */
static void copy_scene(const struct store *s, bool back)
{
	const struct store_head *h = back ? s->copy : s->head;

	copy(s, back, s->scene, h->n_entities * sizeof(struct scene_entity));
	copy(s, back, (char *)s->scene + scene_bulbs_at(), h->n_bulbs * sizeof(struct scene_bulb));
}

void store_begin(struct store *s, uint64_t request)
{
	copy_scene(s, false);
	*s->copy = *s->head;
	in_order();
	s->head->request = request;
	in_order();
}

/* The order matters: an answered request has nothing to restore. */
void store_end(struct store *s)
{
	in_order();
	s->head->moving = 0;
	in_order();
	s->head->request = 0;
	in_order();
}

void store_move(struct store *s)
{
	if (s->head->moving)
		return;
	copy(s, false, s->more, s->more_size);
	in_order();
	s->head->moving = 1;
	in_order();
}

void store_moved(struct store *s)
{
	if (s->head->request)
		return;
	in_order();
	if (s->head->turn)
		s->head->turn = STORE_TURN_MOVED;
	in_order();
	s->head->moving = 0;
	in_order();
}

/* The fields that mark the copy as valid stay set until all is restored, since this process may be killed as well. */
static void put_back(struct store *s)
{
	struct store_head before = *s->copy;

	copy_scene(s, true);
	before.request = s->head->request;
	before.moving = s->head->moving;
	before.busy = s->head->busy;
	*s->head = before;
}

bool store_settle(struct store *s, uint64_t answered)
{
	struct store_head *h = s->head;
	bool cut = h->request > answered;

	if (cut)
		put_back(s);
	if (h->moving && (cut || !h->request)) {
		copy(s, true, s->more, s->more_size);
		if (h->turn)
			h->turn = STORE_TURN_DUE;
	}
	store_end(s);
	return cut;
}
