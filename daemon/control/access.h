/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what: "access" of the configuration against the credentials of a connection, as the kernel tells them, the
 * supplementary groups included. An empty list narrows nothing: everyone who may connect may. Root and simd's own user always may.
 *
 * Thread: simd-main. Users and groups are looked up once, at the start.
 */
#ifndef CONTROL_ACCESS_H
#define CONTROL_ACCESS_H

#include "conf.h"
#include "config.h"

#include <sys/socket.h>

struct access;

enum access_right {
	ACCESS_ALL, /* whoever may connect */
#define X(id, key, doc) ACCESS_##id,
	CONFIG_RIGHTS(X)
#undef X
		ACCESS_COUNT
};

int access_create(const struct conf *c, struct access **ret); /* -ENOENT: a user or a group that there is not */
void access_destroy(struct access *a);                        /* NULL is fine */

/* cred, sock: of the connection. -EACCES with who may. */
int access_check(const struct access *a, enum access_right right, const struct ucred *cred, int sock);

#endif
