/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBOR as JSON trees, for tests: read and written from RFC 8949 and RFC 8746 alone, sharing no code with the code under
 * test. Bytes and typed arrays are arrays of numbers; a number that JSON lacks is "inf", "-inf" or "nan".
 */
#ifndef TEST_CBOR_TREE_H
#define TEST_CBOR_TREE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Reads exactly one item, up to the last byte. NULL: malformed, or of a form that our encoder does not write. */
json_t *cbor_tree_read(const uint8_t *cbor, size_t len);

/* Whole numbers become integers, others doubles; arrays stay arrays. Returns the length. cbor must be large enough. */
size_t cbor_tree_write(json_t *tree, uint8_t *cbor);

#endif
