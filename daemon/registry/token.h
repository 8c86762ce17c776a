/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive tokens: names shared between processes, each a cell of the dispatch page. Thread: simd-main. */
#ifndef REGISTRY_TOKEN_H
#define REGISTRY_TOKEN_H

#include <stdint.h>

struct client;

int token_open(struct client *cl, const char *name, uint32_t *ret_cell); /* -EINVAL, -EMFILE */
int token_close(struct client *cl, uint32_t cell);                       /* -ENOENT */
void token_close_all(struct client *cl);

#endif
