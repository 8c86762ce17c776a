/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBOR as JSON trees, for tests: read and written by nothing but RFC 8949 and RFC 8746, and sharing no code with what it
 * tests. Bytes and typed arrays are arrays of numbers, a number that JSON does not have is "inf", "-inf" or "nan".
 */
#ifndef TEST_CBOR_TREE_H
#define TEST_CBOR_TREE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* One item, to the last byte. NULL: it is none, or of a form that our encoder does not write. */
json_t *cbor_tree_read(const uint8_t *cbor, size_t len);

/* Numbers that are whole as integers, others as doubles; arrays as arrays. Returns the length. room must do. */
size_t cbor_tree_write(json_t *tree, uint8_t *cbor);

#endif
