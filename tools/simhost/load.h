/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The components of DAG files, made in a host: each with the library that it comes from, so that one can be loaded anew while
 * the others run.
 *
 * Thread:  load and unload: main; load_again: one at a time, any; load_each: any.
 * Errors:  negative errno; err_why() has "file:line: ...".
 */
#ifndef SIMHOST_LOAD_H
#define SIMHOST_LOAD_H

#include "dag.h"

struct load;

/* Borrows dags until load_destroy. Components are made in their order; one that fails undoes those before it. */
int load_create(struct sim_host *h, struct dag *const *dags, unsigned n, struct load **ret);
void load_destroy(struct load *l); /* the last one made ends first; NULL is fine */

/*
 * Load the library of that component again, as the file is now, and make the component of it. The others run on. One that cannot be
 * made of the new library is made of the old one again: then that is said.
 * -ENOENT no such component; else as load_create(); -ENOTRECOVERABLE the old one could not be made again either.
 */
int load_again(struct load *l, const char *name);

/* fn for each component there is now; it must not call load_*. */
typedef void (*load_fn)(void *user, unsigned index, const struct dag_component *d, struct sim_component *c);
void load_each(struct load *l, load_fn fn, void *user);
unsigned load_count(const struct load *l);

/* Sentences on what can never run, or has nobody to read from yet: to fn. -ENOMEM. */
int load_flow(struct load *l, void (*fn)(void *user, bool error, const char *sentence), void *user);

#endif
