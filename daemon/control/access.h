/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access rights: "access" of the configuration, checked against the credentials of a connection, including
 * supplementary groups, as the kernel reports them. An empty list allows every user who may connect. Root and simd's
 * own user are always allowed.
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
	ACCESS_ALL, /* every user who may connect */
#define X(id, key, doc) ACCESS_##id,
	CONFIG_RIGHTS(X)
#undef X
		ACCESS_COUNT
};

int access_create(const struct conf *c, struct access **ret); /* -ENOENT: no such user or group */
void access_destroy(struct access *a);                        /* NULL is fine */

/* cred, sock: of the connection. -EACCES: err_why() says which users are allowed. */
int access_check(const struct access *a, enum access_right right, const struct ucred *cred, int sock);

#endif
