/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any DAG file or configuration, in either syntax: an accepted one keeps to its bounds, a rejected one has an error
 * text. Thread: one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "mem.h"
#include "tools/simhost/dag_check.h"
#include "tools/simhost/scheduler_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void look_at(const struct dag *d)
{
	must(d->n_components <= DAG_COMPONENTS_MAX && d->n_modules <= DAG_MODULES_MAX && d->notes.n <= NOTES_MAX);
	for (unsigned i = 0; i < d->n_components; i++) {
		const struct dag_component *c = &d->components[i];

		must(*c->name && *c->class_name && c->config[0] == '{' && c->line && c->module < d->n_modules);
		must(c->n_readers <= SIM_COMPONENT_INPUTS);
		for (unsigned k = 0; k < c->n_readers; k++)
			must(*c->reader[k].channel && c->reader[k].line && c->reader[k].depth - 1 < DAG_DEPTH_MAX &&
			     c->reader[k].pending - 1 < DAG_DEPTH_MAX);
		must(c->interval_dur_ns >= 0 && c->tolerance_dur_ns >= 0);
	}
}

static void look_at_config(int (*fn)(const char *, const char *, size_t, struct notes *, char **), const uint8_t *data,
			   size_t size)
{
	struct notes notes = { 0 };
	char *config = NULL;

	err_clear();
	if (fn("f", (const char *)data, size, &notes, &config) == 0)
		must(config[0] == '{');
	else
		must(err_why()[0]);
	notes_finish(&notes);
	mem_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dag_host host;
	struct dag *d = NULL;

	err_clear();
	if (dag_parse("f", (const char *)data, size, &d) == 0) {
		look_at(d);
		(void)dag_check_set(&d, 1, &host);
	} else {
		must(err_why()[0]);
	}
	dag_destroy(d);
	look_at_config(dag_config_text, data, size);
	look_at_config(scheduler_file_text, data, size);
	return 0;
}
