/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that need all files: several DAG files together, and the flow of messages between components, once they have
 * created their writers in init.
 *
 * Thread:  the caller's; no state.
 */
#ifndef SIMHOST_DAG_CHECK_H
#define SIMHOST_DAG_CHECK_H

#include "dag.h"

/*
 * Checks whether one host can run all of these DAG files. *ret: mode, rank and scheduler, borrowed from the file that
 * gives them; several files may give the same value.
 * Returns: 0; -EEXIST two components of one name, or a file given twice; -EINVAL two different values; -E2BIG more than
 * DAG_COMPONENTS_MAX components. err_why() has both places.
 */
int dag_check_set(struct dag *const *dags, unsigned n, struct dag_host *ret);

/* ---- flow ---- */

struct flow_component {
	const char *name;
	const char *const
		/*
		 * channels; the component runs after a message on each of them; without any (a timer) it can always run
		 */
		*reads;
	unsigned n_reads;
	const char *const *writes;
	unsigned n_writes;
	const char *file; /* the component's DAG file, for messages; NULL: not known */
	unsigned line;
};

enum flow_finding {
	FLOW_NO_WRITER, /* a channel that the component reads has no writer yet; another process may still create one */
	FLOW_CYCLE,     /* components that wait for each other forever */
};

/*
 * sentence: "file:line: ..." of the (first) component, with the names of components and channels; borrowed during the
 * call.
 */
typedef void (*flow_fn)(void *user, enum flow_finding kind, const char *sentence);

/*
 * Calls fn for each finding. outside: channels that have writers outside these components. First come readers without a
 * writer, in the order of the components. Then cycles, "a -> /x -> b -> /y -> a": each component reads a channel that
 * only another component of the cycle writes, so that none of them ever runs. Each component that is in a cycle is
 * named in one, a shortest one.
 * Returns the number of findings; -ENOMEM.
 */
int flow_check(const struct flow_component *all, unsigned n, const char *const *outside, unsigned n_outside, flow_fn fn,
	       void *user);

#endif
