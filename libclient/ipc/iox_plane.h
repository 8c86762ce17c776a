/* SPDX-License-Identifier: Apache-2.0 */
/* The data plane's names in the hooks; contract of the names in plane.h. */
#ifndef IOX_PLANE_H
#define IOX_PLANE_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "plane.h"

/*
 * The plane of this process's attachment (in the module), or of the environment (in the library preloaded into RouDi).
 */
const char *iox_plane(void);
/* Called when the user database could not be asked, with this errno. Returns true: ask again. */
bool iox_plane_lacks(int e);

/* The real path of a file that iceoryx calls path, below /tmp or not. Returns path, or buf of PLANE_PATH_MAX bytes. */
const char *iox_plane_path(const char *path, char *buf);
/* The same for a socket address. */
const struct sockaddr *iox_plane_address(const struct sockaddr *at, socklen_t *len, struct sockaddr_un *buf);
/* shm_open() of a segment by iceoryx's name. */
int iox_plane_shm_open(const char *name, int flags, mode_t mode);

#endif
