/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of earlier generations; contract in segment_reclaim.h. Thread: simd-main. */
#include "segment_reclaim.h"

#include "exec.h"
#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "roudi_files.h"
#include "timeutil.h"

LOG_TOPIC("roudi");

#define WAIT_DUR_NS (10 * NS_PER_S) /* clients that have not moved by then read zeros */

struct dead_segment {
	struct list link; /* segment_reclaim::segments */
	struct exec_timer timer;
	uint32_t generation;
	int fd; /* payload segment */
};

static void dead_segment_free(struct dead_segment *v)
{
	exec_timer_cancel(&v->timer);
	list_remove(&v->link);
	fd_close(v->fd);
	mem_free(v);
}

static void punch(struct dead_segment *v)
{
	int64_t n = roudi_punch(v->fd);

	if (n < 0)
		log_warn("memory of generation %u cannot be freed: %s", v->generation, err_text((int)n));
	else
		log_info("freed %lld MiB of generation %u", (long long)(n >> 20), v->generation);
	dead_segment_free(v);
}

static void on_timer(void *arg)
{
	punch((struct dead_segment *)arg);
}

void segment_reclaim_init(struct segment_reclaim *g, struct exec *x)
{
	g->x = x;
	list_init(&g->segments);
}

void segment_reclaim_finish(struct segment_reclaim *g)
{
	struct dead_segment *v, *tmp;

	list_for_each_safe(v, tmp, &g->segments, link)
		dead_segment_free(v);
}

void segment_reclaim_add(struct segment_reclaim *g, int segment_fd, uint32_t generation)
{
	struct dead_segment *v = MEM_NEW(struct dead_segment);

	if (!v) {
		fd_close(segment_fd);
		return;
	}
	v->fd = segment_fd;
	v->generation = generation;
	list_append(&g->segments, &v->link);
	exec_timer_init(&v->timer, g->x, on_timer, v);
	exec_timer_at(&v->timer, exec_now(g->x) + WAIT_DUR_NS);
}

void segment_reclaim_now(struct segment_reclaim *g)
{
	struct dead_segment *v, *tmp;

	list_for_each_safe(v, tmp, &g->segments, link)
		punch(v);
}
