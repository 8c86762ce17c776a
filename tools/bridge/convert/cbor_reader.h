/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of CBOR: named_reader.h; typed arrays of RFC 8746 are read in place where they are little-endian and of the kind
 * that is asked for. err: -EBADMSG it is no map, a key is no string or occurs twice, a number does not fit; -ENOTSUP a string
 * in pieces.
 */
#ifndef CBOR_READER_H
#define CBOR_READER_H

#include "named_reader.h"

/* One map, and nothing behind it. Borrows data until the last read. What is wrong is found in dec.err, here or later. */
void cbor_reader_begin(struct named_reader *r, const void *data, size_t len);

#endif
