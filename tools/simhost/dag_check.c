/* SPDX-License-Identifier: Apache-2.0 */
/* Several DAG files together, see dag_check.h. Thread: the caller's. */
#include "dag_check.h"

#include "err.h"

#include <errno.h>
#include <string.h>

struct place {
	const struct dag *dag;
	const struct dag_component *c;
};

/* Returns component `number`, counted over all files. */
static struct place at(struct dag *const *dags, unsigned number)
{
	while (number >= (*dags)->n_components)
		number -= (*dags++)->n_components;
	return (struct place){ *dags, &(*dags)->components[number] };
}

static int check_names(struct dag *const *dags, unsigned n_components)
{
	for (unsigned i = 0; i < n_components; i++)
		for (unsigned k = 0; k < i; k++) {
			struct place a = at(dags, k), b = at(dags, i);

			if (!strcmp(a.c->name, b.c->name))
				return err_set(
					-EEXIST,
					"%s:%u: a second component of the name \"%.64s\", which %s:%u has; give each its own",
					b.dag->path, b.c->line, b.c->name, a.dag->path, a.c->line);
		}
	return 0;
}

/*
 * Checks that no file is given twice: otherwise each of its names would be reported as a duplicate, with two equal
 * places.
 */
static int check_files(struct dag *const *dags, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(dags[i]->path, dags[k]->path))
				return err_set(-EEXIST, "%s: this file is given twice; give it once", dags[i]->path);
	return 0;
}

static int differ(const struct dag *a, unsigned a_line, const struct dag *b, unsigned b_line, const char *what)
{
	return err_set(-EINVAL, "%s:%u: another %s than in %s:%u; a host has one", b->path, b_line, what, a->path,
		       a_line);
}

/* The text of a scheduler; its file name if the file has not been read. */
static const char *scheduler_of(const struct dag_host *h)
{
	return h->scheduler ? h->scheduler : h->scheduler_file;
}

static int merge(const struct dag *d, const struct dag *from[3], struct dag_host *all)
{
	const struct dag_host *h = &d->host;

	if (h->mode_line && all->mode_line && h->mode != all->mode)
		return differ(from[0], all->mode_line, d, h->mode_line, "mode");
	if (h->rank_line && all->rank_line && h->rank != all->rank)
		return differ(from[1], all->rank_line, d, h->rank_line, "rank");
	if (h->scheduler_line && all->scheduler_line && strcmp(scheduler_of(h), scheduler_of(all)) != 0)
		return differ(from[2], all->scheduler_line, d, h->scheduler_line, "scheduler");
	if (h->mode_line && !all->mode_line) {
		all->mode = h->mode;
		all->mode_line = h->mode_line;
		from[0] = d;
	}
	if (h->rank_line && !all->rank_line) {
		all->rank = h->rank;
		all->rank_line = h->rank_line;
		from[1] = d;
	}
	if (h->scheduler_line && !all->scheduler_line) {
		all->scheduler = h->scheduler;
		all->scheduler_file = h->scheduler_file;
		all->scheduler_line = h->scheduler_line;
		from[2] = d;
	}
	return 0;
}

int dag_check_set(struct dag *const *dags, unsigned n, struct dag_host *ret)
{
	const struct dag *from[3] = { 0 };
	struct dag_host all = { 0 };
	unsigned n_components = 0;
	int r = 0;

	for (unsigned i = 0; i < n; i++) {
		n_components += dags[i]->n_components;
		if (n_components > DAG_COMPONENTS_MAX)
			return err_set(
				-E2BIG,
				"%s: with this file the host has more than %u components; start another one for it",
				dags[i]->path, DAG_COMPONENTS_MAX);
	}
	r = check_files(dags, n);
	if (r == 0)
		r = check_names(dags, n_components);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = merge(dags[i], from, &all);
	if (r == 0)
		*ret = all;
	return r;
}
