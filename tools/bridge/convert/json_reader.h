/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of JSON: named_reader.h, times in the words of ROS 1, ROS 2 or Foxglove ({"sec","nsec"}), uint8[] in base64 or as numbers. Takes RFC 8259,
 * and NaN, Infinity and -Infinity, as Python writes them. err: -EBADMSG it is no object in JSON, a field occurs twice, a
 * number does not fit.
 */
#ifndef JSON_READER_H
#define JSON_READER_H

#include "named_reader.h"

/* One object, and nothing behind it. Borrows text until the last read. What is wrong is found in dec.err, here or later. */
void json_reader_begin(struct named_reader *r, const char *text, size_t len);

#endif
