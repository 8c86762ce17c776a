/* SPDX-License-Identifier: Apache-2.0 */
/* --config: the access list and the operator's own object types, from a JSON file and the .proto files that it names. Thread: any. */
#ifndef WORLD_CONFIG_H
#define WORLD_CONFIG_H

#include "access.h"

struct config;

/* Negative, with a sentence in err_why() that names the file and the key. */
int config_load(const char *path, struct config **ret) __attribute__((warn_unused_result));
void config_destroy(struct config *c); /* may be NULL */
/* Valid as long as c is. */
const struct access *config_access(const struct config *c);

#endif
