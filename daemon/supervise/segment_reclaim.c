/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of earlier generations; contract in segment_reclaim.h. Thread: simd-main. */
#include "segment_reclaim.h"

#include "exec.h"
#include "err.h"
#include "log.h"
#include "mem.h"
#include "roudi_files.h"
#include "segment_commit.h"
#include "timeutil.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

LOG_TOPIC("roudi");

#define WAIT_DUR_NS (10 * NS_PER_S) /* after that, slots held by clients that have not moved stay until they move */
#define PAGE        UINT64_C(4096)
#define LIST_PIECE  1024u /* entries of a free list that are read at once */

struct dead_segment {
	struct list link; /* segment_reclaim::segments */
	const char *plane;
	struct exec_timer timer;
	uint32_t generation;
	struct segment_commit of; /* n 0: its slots are unknown */
};

static void dead_segment_free(struct dead_segment *v)
{
	exec_timer_cancel(&v->timer);
	list_remove(&v->link);
	segment_commit_close(&v->of);
	roudi_forget_aside(v->plane, v->generation);
	mem_free(v);
}

/* Frees pages that were reserved but never written: for SEEK_HOLE they are holes. */
static void punch_unwritten(int fd)
{
	off_t at = 0, data;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	while (at < st.st_size && (at = lseek(fd, at, SEEK_HOLE)) >= 0 && at < st.st_size) {
		data = lseek(fd, at, SEEK_DATA);
		if (data < 0)
			data = st.st_size;
		(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, data - at);
		at = data;
	}
}

static void punch(struct dead_segment *v)
{
	int64_t n = roudi_punch(v->of.payload_fd);

	if (n < 0)
		log_warn("memory of generation %u cannot be freed: %s", v->generation, err_text((int)n));
	else
		log_info("freed %lld MiB of generation %u", (long long)(n >> 20), v->generation);
	dead_segment_free(v);
}

/* Frees the pages of slots from .. to - 1, except pages that another slot shares. */
static void punch_slots(const struct segment_commit *c, unsigned cls, uint32_t from, uint32_t to)
{
	uint64_t at = (c->at[cls] + c->chunk[cls] * from + PAGE - 1) / PAGE * PAGE;
	uint64_t end = (c->at[cls] + c->chunk[cls] * to) / PAGE * PAGE;

	if (at < end)
		(void)fallocate(c->payload_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
				(off_t)(end - at));
}

/*
 * Frees the pages of the free slots. A client can have corrupted the list: so it only decides which pages of this class
 * are freed.
 */
static void punch_free(const struct segment_commit *c, unsigned cls)
{
	uint64_t at = segment_commit_list_at(c, cls);
	uint32_t next[LIST_PIECE], free_from = 0;

	for (uint32_t i = 0; i < c->count[cls]; i++) {
		uint32_t k = i % LIST_PIECE, left = c->count[cls] - i;
		size_t n = sizeof(*next) * (left < LIST_PIECE ? left : LIST_PIECE);

		if (k == 0 && pread(c->mgmt_fd, next, n, (off_t)(at + sizeof(*next) * (uint64_t)i)) != (ssize_t)n)
			return;
		if (next[k] <= c->count[cls])
			continue;
		punch_slots(c, cls, free_from, i); /* slot i is in use */
		free_from = i + 1;
	}
	punch_slots(c, cls, free_from, c->count[cls]);
}

static bool knows_slots(const struct dead_segment *v)
{
	return v->of.n > 0 && !v->of.whole;
}

static void punch_all_free(const struct dead_segment *v)
{
	for (unsigned i = 0; i < v->of.n; i++)
		punch_free(&v->of, i);
}

/* Frees the free slots; the rest is freed when the clients have moved. */
static void on_timer(void *arg)
{
	struct dead_segment *v = (struct dead_segment *)arg;

	if (!knows_slots(v)) {
		punch(v);
		return;
	}
	punch_all_free(v);
	log_info("freed generation %u, except slots held by clients that have not moved yet", v->generation);
}

void segment_reclaim_init(struct segment_reclaim *g, struct exec *x, const char *plane)
{
	g->x = x;
	g->plane = plane;
	list_init(&g->segments);
}

void segment_reclaim_finish(struct segment_reclaim *g)
{
	struct dead_segment *v, *tmp;

	list_for_each_safe(v, tmp, &g->segments, link)
		dead_segment_free(v);
}

void segment_reclaim_for_room(struct segment_reclaim *g)
{
	struct dead_segment *v, *tmp;

	list_for_each_safe(v, tmp, &g->segments, link) {
		/* the 10 s are over, and without this memory no client could ever move */
		if (!exec_timer_armed(&v->timer)) {
			punch(v);
			continue;
		}
		if (knows_slots(v))
			punch_all_free(v);
		else
			punch_unwritten(v->of.payload_fd);
		punch_unwritten(v->of.mgmt_fd);
	}
}

void segment_reclaim_add(struct segment_reclaim *g, struct segment_commit *dead, uint32_t generation)
{
	struct dead_segment *v = dead->payload_fd >= 0 ? MEM_NEW(struct dead_segment) : NULL;

	if (!v) {
		segment_commit_close(dead);
		roudi_forget_aside(g->plane, generation);
		return;
	}
	v->plane = g->plane;
	v->of = *dead;
	v->generation = generation;
	list_append(&g->segments, &v->link);
	exec_timer_init(&v->timer, g->x, on_timer, v);
	exec_timer_at(&v->timer, exec_now(g->x) + WAIT_DUR_NS);
}

struct heir {
	struct segment_reclaim *g;
	const struct pools *p;
};

static void inherit_one(void *arg, uint32_t generation)
{
	const struct heir *h = (const struct heir *)arg;
	const struct dead_segment *v;
	struct segment_commit dead;

	list_for_each(v, &h->g->segments, link)
		if (v->generation == generation)
			return;
	segment_commit_init(&dead);
	if (h->p && segment_commit_find(&dead, h->g->plane, generation, h->p) == 0) {
		segment_reclaim_add(h->g, &dead, generation);
		return;
	}
	segment_commit_close(&dead);
	roudi_forget_aside(h->g->plane, generation);
}

void segment_reclaim_inherit(struct segment_reclaim *g, const struct pools *p)
{
	roudi_all_aside(g->plane, inherit_one, &(struct heir){ g, p });
}

void segment_reclaim_now(struct segment_reclaim *g)
{
	struct dead_segment *v, *tmp;

	list_for_each_safe(v, tmp, &g->segments, link)
		punch(v);
}
