/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of dead lives; contract in graves.h. Thread: simd-main. */
#include "supervise/graves.h"

#include "core/exec.h"
#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "supervise/roudi_files.h"
#include "timeutil.h"

LOG_TOPIC("roudi");

#define WAIT_DUR_NS (10 * NS_PER_S) /* clients that have not moved by then read zeros */

struct grave {
	struct list link; /* graves::lives */
	struct exec_timer timer;
	uint32_t generation;
	int fd; /* payload segment */
};

static void grave_free(struct grave *v)
{
	exec_timer_cancel(&v->timer);
	list_remove(&v->link);
	fd_close(v->fd);
	mem_free(v);
}

static void dig(struct grave *v)
{
	int64_t n = roudi_punch(v->fd);

	if (n < 0)
		log_warn("memory of life %u cannot be given back: %s", v->generation, err_text((int)n));
	else
		log_info("%lld MiB of life %u given back", (long long)(n >> 20), v->generation);
	grave_free(v);
}

static void on_timer(void *arg)
{
	dig((struct grave *)arg);
}

void graves_init(struct graves *g, struct exec *x)
{
	g->x = x;
	list_init(&g->lives);
}

void graves_finish(struct graves *g)
{
	struct grave *v, *tmp;

	list_for_each_safe(v, tmp, &g->lives, link)
		grave_free(v);
}

void graves_add(struct graves *g, int segment_fd, uint32_t generation)
{
	struct grave *v = MEM_NEW(struct grave);

	if (!v) {
		fd_close(segment_fd);
		return;
	}
	v->fd = segment_fd;
	v->generation = generation;
	list_append(&g->lives, &v->link);
	exec_timer_init(&v->timer, g->x, on_timer, v);
	exec_timer_at(&v->timer, exec_now(g->x) + WAIT_DUR_NS);
}

void graves_dig(struct graves *g)
{
	struct grave *v, *tmp;

	list_for_each_safe(v, tmp, &g->lives, link)
		dig(v);
}
