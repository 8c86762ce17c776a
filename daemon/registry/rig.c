/* SPDX-License-Identifier: Apache-2.0 */
/* The rigs of the configuration; contract in rig.h. Thread: simd-main. */
#include "rig.h"

#include "err.h"
#include "mem.h"
#include "names.h"
#include "simd.h"

#include <string.h>

/* ---- shards ---- */

typedef bool (*pattern_fn)(const void *arg, const char *pattern);

/*
 * Whether fn is true for any channel pattern of the rig's bridges. Exclusions and /clock, which does not go through
 * dispatch, are skipped.
 */
static bool any_pattern(const struct rig *rig, pattern_fn fn, const void *arg)
{
	char full[PATTERN_MAX + 1];

	for (size_t i = 0; i < conf_count(rig->view, "bridges"); i++) {
		struct conf_view bridge = conf_item(rig->view, "bridges", i);

		for (size_t k = 0; k < conf_count(bridge, "channels"); k++) {
			const char *p = conf_string_at(bridge, "channels", k);

			names_pattern_full(rig->prefix, p, full);
			if (p[0] != '!' && strcmp(full, CLOCK_CHANNEL) != 0 && fn(arg, full))
				return true;
		}
	}
	return false;
}

static bool meets_pattern(const void *pattern, const char *own)
{
	return names_globs_meet(own, (const char *)pattern);
}

static bool meets_rig(const void *rig, const char *own)
{
	return any_pattern((const struct rig *)rig, meets_pattern, own);
}

static void join(struct simd *s, unsigned a, unsigned b)
{
	for (unsigned i = 0; i < s->n_rigs; i++) {
		if (s->rigs[i].root == a || s->rigs[i].root == b)
			s->rigs[i].root = a < b ? a : b;
	}
}

/* Rigs that may share channels form a set; its root is its first rig. */
static void find_shards(struct simd *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n_rigs; i++) {
		s->rigs[i].root = i;
		for (unsigned k = 0; k < i; k++) {
			if (any_pattern(&s->rigs[i], meets_rig, &s->rigs[k]))
				join(s, s->rigs[i].root, s->rigs[k].root);
		}
	}
	for (unsigned i = 0; i < s->n_rigs; i++) {
		struct rig *rig = &s->rigs[i];

		if (rig->root != i)
			rig->shard = s->rigs[rig->root].shard;
		else if (conf_count(rig->view, "bridges"))
			rig->shard = n++;
	}
	s->n_shards = n ? n : 1;
}

int rig_create_all(struct simd *s)
{
	size_t n = conf_count(s->root, "rigs");

	s->n_shards = 1;
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
	find_shards(s);
	return 0;
}

void rig_destroy_all(struct simd *s)
{
	mem_free(s->rigs);
}

static const struct rig *find(const struct simd *s, const char *name)
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
		return find(s, name);
	return s->n_rigs == 1 ? &s->rigs[0] : NULL;
}
