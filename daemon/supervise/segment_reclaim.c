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

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

LOG_TOPIC("roudi");

#define WAIT_DUR_NS (10 * NS_PER_S) /* clients that have not moved by then read zeros */

struct dead_segment {
	struct list link; /* segment_reclaim::segments */
	struct exec_timer timer;
	uint32_t generation;
	int payload_fd, mgmt_fd;
};

static void dead_segment_free(struct dead_segment *v)
{
	exec_timer_cancel(&v->timer);
	list_remove(&v->link);
	fd_close(v->payload_fd);
	fd_close(v->mgmt_fd);
	mem_free(v);
}

/* What a file has pages for that nobody has ever written to is a hole to SEEK_DATA. */
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
	int64_t n = roudi_punch(v->payload_fd);

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

void segment_reclaim_unwritten(struct segment_reclaim *g)
{
	const struct dead_segment *v;

	list_for_each(v, &g->segments, link) {
		punch_unwritten(v->payload_fd);
		punch_unwritten(v->mgmt_fd);
	}
}

void segment_reclaim_add(struct segment_reclaim *g, int payload_fd, int mgmt_fd, uint32_t generation)
{
	struct dead_segment *v = MEM_NEW(struct dead_segment);

	if (!v) {
		fd_close(payload_fd);
		fd_close(mgmt_fd);
		return;
	}
	v->payload_fd = payload_fd;
	v->mgmt_fd = mgmt_fd;
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
