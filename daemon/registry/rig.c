/* SPDX-License-Identifier: Apache-2.0 */
/* The rigs of the configuration; contract in rig.h. Thread: simd-main. */
#include "rig.h"

#include "err.h"
#include "mem.h"
#include "simd.h"

#include <string.h>

int rig_create_all(struct simd *s)
{
	size_t n = conf_count(s->root, "rigs");

	if (n == 0)
		return 0;
	s->rigs = (struct rig *)mem_calloc(n, sizeof(*s->rigs));
	if (!s->rigs)
		return err_nomem();
	for (s->n_rigs = 0; s->n_rigs < n; s->n_rigs++) {
		struct rig *rig = &s->rigs[s->n_rigs];

		rig->view = conf_item(s->root, "rigs", s->n_rigs);
		rig->name = conf_string(rig->view, "name");
		rig->prefix = conf_string(rig->view, "prefix");
	}
	return 0;
}

void rig_destroy_all(struct simd *s)
{
	mem_free(s->rigs);
}

const struct rig *rig_find(const struct simd *s, const char *name)
{
	for (unsigned i = 0; i < s->n_rigs; i++) {
		if (strcmp(s->rigs[i].name, name) == 0)
			return &s->rigs[i];
	}
	return NULL;
}

const struct rig *rig_of_process(const struct simd *s, pid_t pid)
{
	const char *name = s->ops && s->ops->process_rig ? s->ops->process_rig(s->user, pid) : NULL;

	if (name)
		return rig_find(s, name);
	return s->n_rigs == 1 ? &s->rigs[0] : NULL;
}
