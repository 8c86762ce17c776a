/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's type from its .msg file, or a service from its .srv file, read as simgen does: for incoming messages, when
 * no client has registered the type yet. Thread: one; the type is constant afterwards.
 */
#ifndef MSG_FILE_H
#define MSG_FILE_H

#include <stddef.h>

#include <sim/message.h>

struct msg_file;

/*
 * Reads `name` ("example/FloatArray") from a file. It may nest types of ours, and those of its package from files
 * beside it. Free with msg_file_destroy(). Errors, with a reason in why: -ENOENT, -EINVAL, -ENOMEM, ...
 */
int msg_file_read(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret);
/* The same for a service; the file is named after it: "Measure.srv" for "demo/Measure". */
int msg_file_read_service(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret);
void msg_file_destroy(struct msg_file *f);

/* Borrowed; NULL for the kind that was not read. */
const struct sim_type *msg_file_type(const struct msg_file *f);
const struct sim_service_type *msg_file_service(const struct msg_file *f);

#endif
