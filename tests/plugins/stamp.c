/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_stamp: records when it is given each message, and sleeps during each if configured so. For benches and tests.
 * Thread: the lanes'.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <sim/bridge.h>

#include "plugins/stamp.h"
#include "support/wait.h"

#define NS_PER_S INT64_C(1000000000)

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct stamp_page *page;
	int64_t sleep_ns; /* over each message */
	_Atomic int status;
};

static const struct sim_bridge_option options[] = {
	{ "file", NULL, "where to write: a file that holds a struct stamp_page" },
	{ "sleep_us", "0", "how long publish() sleeps" },
	{ NULL, NULL, NULL },
};

static int stamp_reg(struct sim_bridge_registry *r)
{
	return r->add_publisher(r->ctx, "*", "nothing");
}

static int map_page(const char *file, struct stamp_page **ret)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	void *p;

	if (fd < 0)
		return -errno;
	p = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static int stamp_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r = b ? map_page(host->option(host->ctx, "file"), &b->page) : -ENOMEM;

	if (r < 0) {
		free(b);
		return r;
	}
	b->host = host;
	b->sleep_ns = 1000 * strtoll(host->option(host->ctx, "sleep_us"), NULL, 10);
	*ret = b;
	return 0;
}

static int stamp_connect(struct sim_bridge *b, const char *connection)
{
	(void)connection;
	atomic_store(&b->status, SIM_BRIDGE_CONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_CONNECTED, "");
	atomic_store(&b->page->pid, (uint32_t)getpid());
	return 0;
}

static void stamp_disconnect(struct sim_bridge *b)
{
	atomic_store(&b->status, SIM_BRIDGE_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status stamp_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

static int stamp_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	(void)ch;
	*ret = (struct sim_bridge_topic *)(void *)b;
	return 0;
}

static void stamp_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	(void)b;
	(void)t;
}

static int stamp_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *msg,
			 struct sim_task *task)
{
	struct timespec now;
	int64_t mono_ns;

	(void)t;
	(void)task;
	clock_gettime(CLOCK_MONOTONIC, &now);
	mono_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
	atomic_store(&b->page->mono_ns, mono_ns);
	atomic_store(&b->page->at_mono_ns[msg->header.sequence % STAMP_RING], mono_ns);
	atomic_fetch_add(&b->page->count, 1);
	if (b->sleep_ns)
		moment_us((unsigned)(b->sleep_ns / 1000));
	return 0;
}

static void stamp_destroy(struct sim_bridge *b)
{
	munmap(b->page, sizeof(*b->page));
	free(b);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "stamp",
		.type = "notes when it is given what",
		.options = options,
		.reg = stamp_reg,
		.create = stamp_create,
		.connect = stamp_connect,
		.disconnect = stamp_disconnect,
		.status = stamp_status,
		.open = stamp_open,
		.close = stamp_close,
		.publish = stamp_publish,
		.destroy = stamp_destroy,
	};

	return &ops;
}
