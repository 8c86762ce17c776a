/* SPDX-License-Identifier: Apache-2.0 */
/* A message of any type with something in every field, made from its field table. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stddef.h>

#include "sim/message.h"

#define SAMPLE_ELEMENTS 2u /* of every variable array */

/* Returns the size of the body. buf is aligned to 64. */
size_t sample_body(const struct sim_type *t, void *buf, size_t capacity);

#endif
