/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether others can change a file that this process, run as root, is about to obey: configuration, plug-ins. Others are all but
 * root, this process's user, and whoever owns its program or the library that this is in (and so can make it do anything anyway).
 *
 * Thread: any.
 */
#ifndef BASE_TRUST_H
#define BASE_TRUST_H

#include <stdbool.h>

/* "1" in the environment: whatever others may change is used. */
#define TRUST_VARIABLE "SIM_TRUST_FILES"

/*
 * 0: nobody else can change the file or directory at path, or put another in its place: neither it nor any directory or link on
 * the way is another's or writable by others. Writing to a directory with the sticky bit (/tmp) does not count, as what is in it
 * belongs to its owner. Also 0: trust_is_asked() is false, or there is no such file.
 * -EPERM with what it is and what to do.
 */
int trust_check(const char *path);

/* This process is run as root, and TRUST_VARIABLE is not set. The root of a user namespace that another user has made is none. */
bool trust_is_asked(void);

#endif
