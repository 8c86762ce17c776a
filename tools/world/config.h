/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --config: reads the access list and the operator's own object types from a JSON file and the .proto files that it
 * names. Thread: any.
 */
#ifndef WORLD_CONFIG_H
#define WORLD_CONFIG_H

#include "access.h"

struct config;

/* Negative errno, with file, key and reason in err_why(). */
int config_load(const char *path, struct config **ret) __attribute__((warn_unused_result));
void config_destroy(struct config *c); /* NULL-safe */
/* Valid as long as c. */
const struct access *config_access(const struct config *c);

#endif
