/* SPDX-License-Identifier: Apache-2.0 */
/* Private: the parameters of a node (param.c), and their services (param_service.c). */
#ifndef COMPONENT_PARAM_H
#define COMPONENT_PARAM_H

#include <sim/param.h>
#include <sim/service.h>

#include <pthread.h>

#include "list.h"
#include "whose.h"

struct param {
	char name[SIM_PARAM_NAME_MAX + 1];
	char *description;
	struct sim_param_value initial, min, max;
	struct sim_param_value value; /* guarded by sim_params::lock */
	bool read_only;
	sim_param_fn changed;
	void *user;
	struct whose_call call; /* changed */
};

struct sim_params {
	struct list link;          /* in the list of all in this process */
	struct sim_client *client; /* NULL: nothing is offered */
	char node[SIM_PARAM_NAME_MAX + 1];
	char *whose; /* the component that they belong to; NULL: the node itself */
	pthread_mutex_t lock;
	pthread_cond_t idle;
	/* guarded by lock */
	bool changing; /* a change is under way; by this thread */
	pthread_t changer;
	struct param *param[SIM_PARAMS_MAX]; /* sorted by name; a parameter stays until destroy */
	uint32_t n;
	struct sim_service *get, *set, *list; /* NULL: nothing is offered */
};

/* NULL: no such parameter. Under lock. */
struct param *param_find(const struct sim_params *p, const char *name);
/* As sim_params_set(). outside: set by another program, which gets -EACCES if it is read-only. */
int param_set(struct sim_params *p, const char *name, const struct sim_param_value *v, bool outside);

/*
 * How many parameters a node has among those that this process offers by that client: only the name connects a node and
 * its parameters.
 */
uint32_t params_of_node(const struct sim_client *c, const char *node);

int param_service_offer(struct sim_params *p, struct sim_client *c);
void param_service_withdraw(struct sim_params *p);

#endif
