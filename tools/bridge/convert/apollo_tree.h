/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .proto files of a folder, as of an Apollo's sources, that the messages which we make are defined in, and all that these import: each is read twice
 * (proto_file.h), for what it declares and then as a descriptor. A file that is not whole is left out, with a sentence. Pure: any thread.
 */
#ifndef APOLLO_TREE_H
#define APOLLO_TREE_H

#include "apollo_set.h"

/* Append them as a FileDescriptorSet. 0, -ENOMEM. */
int apollo_tree_read(const char *folder, enum apollo_release r, const struct apollo_set_log *log, struct iov_buf *out);
/* The same of one file, "modules/routing/proto/routing.proto" of that folder, and what it imports. */
int apollo_tree_read_file(const char *folder, const char *name, const struct apollo_set_log *log, struct iov_buf *out);

#endif
