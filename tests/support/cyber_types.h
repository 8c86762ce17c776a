/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor pool of cyber_server.h: which types are known from FileDescriptorProto blobs. As in protobuf, a file
 * whose dependencies are missing, or whose symbols another file has, is refused; the same file again is accepted.
 * Thread: one at a time.
 */
#ifndef CYBER_TYPES_H
#define CYBER_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cyber_types;

struct cyber_types *cyber_types_create(void);
void cyber_types_destroy(struct cyber_types *t);

/* 0, or a negative number and a sentence in why. */
int cyber_types_add(struct cyber_types *t, const uint8_t *blob, size_t n, char *why, size_t why_size);
/* Every file of a FileDescriptorSet. */
int cyber_types_add_set(struct cyber_types *t, const uint8_t *set, size_t n, char *why, size_t why_size);
bool cyber_types_has(const struct cyber_types *t, const char *name); /* "apollo.drivers.Image" */
bool cyber_types_has_file(const struct cyber_types *t, const char *name);
/* The file's blob, borrowed until destroy; NULL: unknown. */
const uint8_t *cyber_types_file(const struct cyber_types *t, const char *name, size_t *ret_n);

#endif
