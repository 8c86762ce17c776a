/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services over machines: those of this host go into its manifest; those of others are offered here. Each request gets one answer: its
 * response, the error that its machine gave, -ETIMEDOUT, or -EPIPE when that machine is gone.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include "link.h"

struct link_own_service { /* of this host; counted: a call of it may outlast it */
	_Atomic unsigned refs;
	char name[SIM_TYPE_NAME_MAX + 1];
	struct sim_service_type type; /* halves counted */
};

typedef const struct sim_type *link_find_type_fn(void *arg, const struct manifest_type *t); /* NULL: not known (yet) */

int link_services_open(struct sim_bridge *b);
void link_services_close(struct sim_bridge *b);
/* As of struct sim_bridge_ops. */
void link_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
/* disconnect(): what is offered here is withdrawn, what waits is answered. */
void link_services_stop(struct sim_bridge *b);

/* The thread of peers.c: a machine's services, as it says now; it is gone; overdue calls: when to call it again, from now. */
void link_services_import(struct sim_bridge *b, const struct manifest *m, link_find_type_fn *find, void *arg);
void link_services_gone(struct sim_bridge *b, const struct manifest *m);
int64_t link_services_tick(struct sim_bridge *b);

#endif
