/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services across machines: those of this host are listed in its manifest; those of other hosts are offered here. Each
 * request gets exactly one answer: the response, the error from the other machine, -ETIMEDOUT, or -EPIPE when that
 * machine is gone.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include "link.h"

struct link_own_service { /* a service of this host; reference-counted, as a call may outlive it */
	_Atomic unsigned refs;
	char name[SIM_TYPE_NAME_MAX + 1];
	struct sim_service_type type; /* request and response types are reference-counted */
};

/* NULL: not known, or not yet */
typedef const struct sim_type *link_find_type_fn(void *arg, const struct manifest_type *t);

int link_services_open(struct sim_bridge *b);
void link_services_close(struct sim_bridge *b);
/* As in struct sim_bridge_ops. */
void link_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
/* For disconnect(): withdraws the services offered here and answers all calls. */
void link_services_stop(struct sim_bridge *b);

/*
 * Called by the thread of peers.c. import: offers the services that a machine lists. gone: the machine is gone. tick:
 * ends overdue calls; returns in how many ns to call it again.
 */
void link_services_import(struct sim_bridge *b, const struct manifest *m, link_find_type_fn *find, void *arg);
void link_services_gone(struct sim_bridge *b, const struct manifest *m);
int64_t link_services_tick(struct sim_bridge *b);

#endif
