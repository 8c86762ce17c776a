/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type of the user's own from its .msg file, or a service from its .srv file, as simgen reads them: for what comes in, where nobody has
 * sent a field table yet. Thread: one; the type is constant afterwards.
 */
#ifndef MSG_FILE_H
#define MSG_FILE_H

#include <stddef.h>

#include <sim/message.h>

struct msg_file;

/*
 * Read `name` ("example/FloatArray") of a file. What it nests: types of ours, and those of its package from files beside it. returns
 * it: msg_file_destroy(). Errors, with a sentence in why: -ENOENT, -EINVAL, -ENOMEM, ...
 */
int msg_file_read(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret);
/* The same of a service; the file has its name: "Measure.srv" of "demo/Measure". */
int msg_file_read_service(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret);
void msg_file_destroy(struct msg_file *f);

/* Borrows. What was not read is NULL. */
const struct sim_type *msg_file_type(const struct msg_file *f);
const struct sim_service_type *msg_file_service(const struct msg_file *f);

#endif
