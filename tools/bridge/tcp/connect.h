/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the link: making its connection. Thread: the link's. */
#ifndef TCP_CONNECT_H
#define TCP_CONNECT_H

#include "link.h"

int64_t tcp_mono_ms(void);

/* Any address of the peer, within connect_ms. 0; or an errno, and why. -ECANCELED: it shall stop. */
int tcp_connect(struct tcp_link *l, int *ret_fd, char *why, size_t why_size);

#endif
