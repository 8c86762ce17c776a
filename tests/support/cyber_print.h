/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of Apollo in words, read by protobuf-c's code of schemas/apollo. Thread: any. */
#ifndef CYBER_PRINT_H
#define CYBER_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "type {field: value ...}" into text, cut to its size. False: the type is not known here, or the bytes are none of it. */
bool cyber_print(const char *type, const uint8_t *data, size_t n, char *text, size_t size);

#endif
