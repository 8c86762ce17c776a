/* SPDX-License-Identifier: Apache-2.0 */
/* Private: an exclusive token, by name, and its cell in the dispatch page of the present session. */
#ifndef SRC_TOKEN_H
#define SRC_TOKEN_H

#include <sim/publisher.h>

#include "client.h"
#include "session.h"

#define TOKEN_NAME_MAX 63

struct sim_token {
	struct list link; /* client::tokens */
	struct sim_client *c;
	uint64_t session_serial; /* session::serial that it is registered with; under setup */
	_Atomic uint32_t cell;   /* UINT32_MAX: simd refused it */
	char name[TOKEN_NAME_MAX + 1];
};

/* Asks simd for the cell, once a session. Under setup. */
int token_register(struct sim_client *c, struct session *s, struct sim_token *t);

#endif
