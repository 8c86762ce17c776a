/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates the components of DAG files in a host. Each has its own handle of its library, so that one can be reloaded
 * while the others run.
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

/*
 * Creates all components, in order; when one fails, those before it stay. dags: borrowed until load_none(). Called
 * once.
 */
int load_all(struct load *l, struct dag *const *dags, unsigned n);
void load_none(struct load *l); /* destroys in reverse order; NULL is fine */

/*
 * Reloads the library of a component from its file and creates the component from it, while the others run on. If the
 * new library cannot create it, it is created from the old one again.
 * -ENOENT no such component; -EBUSY it is being loaded already; -ENOTRECOVERABLE both failed, the component is gone;
 * else as library_open() and sim_component_create().
 */
int load_again(struct load *l, const char *name);

/* Calls fn for each component that exists and is not busy; fn must not call load_*. */
typedef void (*load_fn)(void *user, unsigned index, const struct dag_component *d, struct sim_component *c);
void load_each(struct load *l, load_fn fn, void *user);
unsigned load_count(const struct load *l);
struct sim_host *load_host(const struct load *l);
bool load_is_whole(const struct load *l); /* load_all() has succeeded and load_none() has not begun */

/* What is being done to a component that is busy. */
enum load_work {
	LOAD_NOTHING,
	LOAD_OPENS,  /* its library is being loaded, constructors run */
	LOAD_STARTS, /* init runs */
	LOAD_ENDS,   /* its last proc, shutdown, or destructors run */
};

/* Calls fn for each busy component; fn must not call load_*. */
typedef void (*load_busy_fn)(void *user, unsigned index, const struct dag_component *d, enum load_work work,
			     int64_t since_mono_ns);
void load_each_busy(struct load *l, load_busy_fn fn, void *user);

/*
 * Calls fn with a sentence for each finding of flow_check(). error: the components can never run; else a channel has no
 * writer yet. -ENOMEM.
 */
int load_flow(struct load *l, void (*fn)(void *user, bool error, const char *sentence), void *user);

#endif
