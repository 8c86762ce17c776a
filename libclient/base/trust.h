/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether other users can change a file that this process, run as root, is about to use: configuration, plug-ins.
 * Others are all users except root, this process's user, and the owners of its program and of this library (who control
 * it anyway).
 *
 * Thread: any.
 */
#ifndef BASE_TRUST_H
#define BASE_TRUST_H

#include <stdbool.h>

/* "1" in the environment: files that others may change are used too. */
#define TRUST_VARIABLE "SIM_TRUST_FILES"

/*
 * Returns 0 if no other user can change the file or directory at path, or put another in its place: neither it nor any
 * directory or link on the way belongs to another user or is writable by others. Writing to a directory with the sticky
 * bit (/tmp) does not count, as the files in it belong to their owners. Also 0: trust_is_asked() is false, or there is
 * no such file. -EPERM: the sentence says what is wrong and what to do.
 */
int trust_check(const char *path);

/*
 * Whether this process runs as root, and TRUST_VARIABLE is not set. The root of a user namespace that another user has
 * made does not count.
 */
bool trust_is_asked(void);

#endif
