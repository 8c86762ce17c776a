/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the whole can tell: several DAG files together, and, once its components have made their writers in init, the flow of
 * messages between them.
 *
 * Thread:  the caller's; no state.
 */
#ifndef SIMHOST_DAG_CHECK_H
#define SIMHOST_DAG_CHECK_H

#include "dag.h"

/*
 * Whether one host can have all of them. *ret: mode, rank and scheduler of the file that gives them, borrowed from it; each may be in
 * several files, if it is the same.
 * Returns: 0; -EEXIST two components of one name, with both places, or a file that is given twice; -EINVAL two values, with both places; -E2BIG more than
 * DAG_COMPONENTS_MAX components.
 */
int dag_check_set(struct dag *const *dags, unsigned n, struct dag_host *ret);

/* ---- flow ---- */

struct flow_component {
	const char *name;
	const char *const
		*reads; /* channels; it runs once each of them has had a message, and without any by itself (a timer) */
	unsigned n_reads;
	const char *const *writes;
	unsigned n_writes;
	const char *file; /* where it is, for sentences; NULL: nowhere */
	unsigned line;
};

enum flow_finding {
	FLOW_NO_WRITER, /* a channel that it reads is written by nobody (yet: another process may come) */
	FLOW_CYCLE,     /* components that wait for each other for ever */
};

/* sentence: borrowed until it returns; "file:line: ...", of the (first) component; names components and channels. */
typedef void (*flow_fn)(void *user, enum flow_finding kind, const char *sentence);

/*
 * outside: channels that others than these components write. Readers without a writer come first, in the order of the components.
 * Then cycles, "a -> /x -> b -> /y -> a": components of which each reads what only another of them writes, so that none ever runs,
 * whatever else comes. Each component that is in a cycle is named in one; a shortest is.
 * Returns: how many there were; -ENOMEM.
 */
int flow_check(const struct flow_component *all, unsigned n, const char *const *outside, unsigned n_outside, flow_fn fn,
	       void *user);

#endif
