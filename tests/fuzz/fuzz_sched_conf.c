/* SPDX-License-Identifier: Apache-2.0 */
/* Any scheduler configuration: an accepted one keeps to its bounds, a rejected one has an error text. Thread: one. */
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "libclient/component/scheduler_private.h"
#include "mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void look_at_place(const struct sched_place *p)
{
	must(p->cpus.n == 0 || (int)p->cpus.n == CPU_COUNT(&p->cpus.set));
	if (p->policy == SCHED_OTHER)
		must(p->prio >= -20 && p->prio <= 19);
	else
		must((p->policy == SCHED_FIFO || p->policy == SCHED_RR) && p->prio >= 1 && p->prio <= 99);
}

static void look_at(const struct sched_conf *c)
{
	must(c->n_groups >= 1 && c->n_groups <= SCHED_GROUPS_MAX && c->others < c->n_groups);
	must(c->n_tasks <= SCHED_TASKS_MAX && strlen(c->notes.text) < sizeof(c->notes.text));
	look_at_place(&c->intake);
	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct sched_group_conf *g = &c->groups[i];

		must(*g->name && g->workers >= 1 && g->workers <= SCHED_WORKERS_MAX);
		must(!g->one_to_one || g->place.cpus.n >= g->workers);
		look_at_place(&g->place);
	}
	for (uint32_t i = 0; i < c->n_tasks; i++)
		must(*c->tasks[i].name && c->tasks[i].group < c->n_groups && c->tasks[i].prio < SCHED_PRIOS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_strndup((const char *)data, size);
	struct sched_conf *c;

	if (!text)
		return 0;
	err_clear();
	if (sched_conf_read(text, &c) < 0) {
		must(*err_why());
	} else {
		look_at(c);
		err_clear();
		must(sched_conf_fit(c) == 0 || *err_why());
		sched_conf_destroy(c);
	}
	mem_free(text);
	return 0;
}
