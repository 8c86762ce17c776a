/* SPDX-License-Identifier: Apache-2.0 */
/* Any launch file: an accepted one keeps to its bounds, a rejected one has an error text. Thread: one. */
#include <stdint.h>
#include <stdlib.h>

#include "err.h"
#include "tools/simhost/launch_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* Every module is in one process, which has a command line. */
static void plan(const struct launch *l)
{
	static const struct launch_child child = { .program = "simhost", .stuck_dur_ns = 1 };
	struct launch_plan *p = NULL;
	unsigned n = 0;

	err_clear();
	if (launch_plan_make(l, &p) < 0) {
		must(err_why()[0]);
		return;
	}
	must(p->n && p->n <= l->n_modules);
	for (unsigned i = 0; i < p->n; i++) {
		struct launch_process *one = &p->processes[i];

		n += one->n_dags;
		must(launch_plan_command(one, &child) == 0 && one->argv[0] && *one->label);
	}
	for (unsigned i = 0; i < l->n_modules; i++)
		n -= l->modules[i].type == LAUNCH_LIBRARY ? l->modules[i].n_dags : 0;
	must(n == 0);
	launch_plan_destroy(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct launch *l = NULL;

	err_clear();
	if (launch_parse("f", (const char *)data, size, &l) < 0) {
		must(err_why()[0]);
		return 0;
	}
	must(l->n_modules && l->n_modules <= LAUNCH_MODULES_MAX && l->n_variables <= LAUNCH_ENV_MAX);
	for (unsigned i = 0; i < l->n_modules; i++) {
		const struct launch_module *m = &l->modules[i];

		must((!m->name || *m->name) && *m->process_name && m->line && m->n_dags <= LAUNCH_DAGS_MAX);
		must(m->nice >= -20 && m->nice <= 19 && (m->n_dags || m->type == LAUNCH_BINARY));
		for (unsigned k = 0; k < m->n_dags; k++)
			must(*m->dag[k] && m->dag_line[k]);
	}
	plan(l);
	launch_destroy(l);
	return 0;
}
