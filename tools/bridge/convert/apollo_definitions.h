/* SPDX-License-Identifier: Apache-2.0 */
/* FileDescriptorSets of schemas/apollo, made when it is built; every file stands behind those that it needs. */
#ifndef APOLLO_DEFINITIONS_H
#define APOLLO_DEFINITIONS_H

#include <stddef.h>

#define APOLLO_DEFINITIONS_MAX 96u /* files of a set */

extern const unsigned char apollo_definitions_5[], apollo_definitions_10[];
extern const size_t apollo_definitions_5_size, apollo_definitions_10_size;

#endif
