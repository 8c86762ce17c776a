/* SPDX-License-Identifier: Apache-2.0 */
/* A launch file of anybody's: what is taken keeps to its bounds, what is not has a sentence. Thread: one. */
#include <stdint.h>
#include <stdlib.h>

#include "err.h"
#include "tools/simhost/launch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
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
	launch_destroy(l);
	return 0;
}
