/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of rosbag2: one .db3, or a directory of files. Thread: as log.h. */
#ifndef DB3_PRIVATE_H
#define DB3_PRIVATE_H

#include "log_private.h"

bool db3_is_file(const struct log_opening *o);
int db3_open_file(struct log_opening *o, struct log_reader **ret);

#endif
