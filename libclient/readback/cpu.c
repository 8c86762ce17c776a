/* SPDX-License-Identifier: Apache-2.0 */
/* The back end without a device: sources are memory, which the worker copies. Thread: the owner's. */
#include <stdio.h>

#include "device.h"
#include "err.h"
#include "mem.h"

static int cpu_add(struct device *d, struct device_request *q)
{
	(void)d;
	(void)q;
	return 0;
}

static int cpu_start(struct device *d, struct device_request *q)
{
	const uint8_t *from = q->source->cpu;

	(void)d;
	if (!from)
		return err_set(-EINVAL, "read-back: source.cpu is NULL");
	q->direct = false;
	q->from = from + q->source->offset;
	q->from_pitch = q->source_pitch;
	return 0;
}

static int cpu_poll(struct device *d, struct device_request *q)
{
	(void)d;
	(void)q;
	return 1;
}

static bool cpu_abandon(struct device *d, struct device_request *q)
{
	(void)d;
	(void)q;
	return true;
}

static void cpu_wait(struct device *d, struct device_request *q, int64_t dur_ns)
{
	(void)d;
	(void)q;
	(void)dur_ns;
}

static void cpu_release(struct device *d, struct device_request *q)
{
	(void)d;
	q->from = NULL;
}

static void cpu_remove(struct device *d, struct device_request *q, bool writes)
{
	(void)d;
	(void)q;
	(void)writes;
}

static void cpu_destroy(struct device *d, bool writes)
{
	(void)writes;
	mem_free(d);
}

static const struct device_ops cpu_ops = {
	.name = "cpu",
	.at_once = true,
	.source_memory = true,
	.add = cpu_add,
	.start = cpu_start,
	.poll = cpu_poll,
	.abandon = cpu_abandon,
	.wait = cpu_wait,
	.release = cpu_release,
	.remove = cpu_remove,
	.destroy = cpu_destroy,
};

int cpu_create(const struct sim_readback_options *o, struct device **ret)
{
	struct device *d = MEM_NEW(struct device);

	(void)o;
	if (!d)
		return err_nomem();
	d->ops = &cpu_ops;
	snprintf(d->how, sizeof(d->how), "cpu: one copy, from memory of the program");
	*ret = d;
	return 0;
}
