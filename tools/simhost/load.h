/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The components of DAG files, made in a host: each with the library that it comes from, so that one can be loaded again while
 * the others run.
 *
 * Thread:  load_all and load_none: main; load_again: one at a time, any; load_each and load_each_busy: any.
 * Errors:  negative errno; err_why() has "file:line: ...".
 */
#ifndef SIMHOST_LOAD_H
#define SIMHOST_LOAD_H

#include "dag.h"

struct load;

int load_create(struct sim_host *h, struct load **ret);
void load_destroy(struct load *l); /* after load_none(); NULL is fine */

/* Borrows dags until load_none(). Components are made in their order; when one fails those before it stay. Once. */
int load_all(struct load *l, struct dag *const *dags, unsigned n);
void load_none(struct load *l); /* the last one made ends first; NULL is fine */

/*
 * Load the library of that component again, as the file is now, and create the component from it. The others run on. If the new library cannot
 * create it, the old one does again, and the log says so.
 * -ENOENT no such component; else as load_create(); -ENOTRECOVERABLE the old one could not be made again either.
 */
int load_again(struct load *l, const char *name);

/* fn for each component there is now; it must not call load_*. */
typedef void (*load_fn)(void *user, unsigned index, const struct dag_component *d, struct sim_component *c);
void load_each(struct load *l, load_fn fn, void *user);
unsigned load_count(const struct load *l);
struct sim_host *load_host(const struct load *l);
bool load_is_whole(const struct load *l); /* load_all() has made all of them, and load_none() has not begun */

/* What is done to a component that is not whole meanwhile. */
enum load_work {
	LOAD_NOTHING,
	LOAD_OPENS,  /* its library is loaded: constructors */
	LOAD_STARTS, /* init */
	LOAD_ENDS,   /* its last proc, shutdown, destructors */
};

/* fn for each component to which something is done; it must not call load_*. */
typedef void (*load_busy_fn)(void *user, unsigned index, const struct dag_component *d, enum load_work work,
			     int64_t since_mono_ns);
void load_each_busy(struct load *l, load_busy_fn fn, void *user);

/* Sentences on what can never run, or has nobody to read from yet: to fn. -ENOMEM. */
int load_flow(struct load *l, void (*fn)(void *user, bool error, const char *sentence), void *user);

#endif
