/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .proto files of a folder, as of Apollo's sources, that define the messages which we send, and all that they
 * import: each is read twice (proto_file.h), first for its declarations, then as a descriptor. An incomplete file is
 * skipped with a log message. Pure: any thread.
 */
#ifndef APOLLO_TREE_H
#define APOLLO_TREE_H

#include "apollo_set.h"

/* Appends the files as a FileDescriptorSet. 0, -ENOMEM. */
int apollo_tree_read(const char *folder, enum apollo_release r, const struct apollo_set_log *log, struct iov_buf *out);
/* The same for one file of that folder, "modules/routing/proto/routing.proto", and what it imports. */
int apollo_tree_read_file(const char *folder, const char *name, const struct apollo_set_log *log, struct iov_buf *out);

#endif
