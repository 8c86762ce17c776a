/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of JSON: see named_reader.h. Times with the names of ROS 1, ROS 2 or Foxglove ({"sec","nsec"}), uint8[]
 * in base64 or as numbers. Accepts RFC 8259, and NaN, Infinity and -Infinity, as Python writes them. err: -EBADMSG not
 * a JSON object, a field occurs twice, a number does not fit.
 */
#ifndef JSON_READER_H
#define JSON_READER_H

#include "named_reader.h"

/*
 * Starts reading one object; nothing may follow it. Borrows text until the last read. Errors are set in dec.err, here
 * or later.
 */
void json_reader_begin(struct named_reader *r, const char *text, size_t len);

#endif
