/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's messages as text, decoded by the code that protobuf-c makes from schemas/apollo. Thread: any. */
#ifndef CYBER_PRINT_H
#define CYBER_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes "type {field: value ...}" into text, cut to its size. False: the type is unknown, or the bytes are malformed.
 */
bool cyber_print(const char *type, const uint8_t *data, size_t n, char *text, size_t size);

#endif
