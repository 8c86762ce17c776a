/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of CBOR: see named_reader.h. Typed arrays of RFC 8746 are read in place if they are little-endian and of
 * the requested kind. err: -EBADMSG not a map, a key that is not a string or occurs twice, a number that does not fit;
 * -ENOTSUP a string in chunks.
 */
#ifndef CBOR_READER_H
#define CBOR_READER_H

#include "named_reader.h"

/*
 * Starts reading one map; nothing may follow it. Borrows data until the last read. Errors are set in dec.err, here or
 * later.
 */
void cbor_reader_begin(struct named_reader *r, const void *data, size_t len);

#endif
