/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readiness and watchdog notification, systemd's protocol spoken directly: one datagram to
 * $NOTIFY_SOCKET. Without that variable every call is a success that does nothing.
 * Thread: any; never blocks.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

/* "READY=1\nSTATUS=...", "WATCHDOG=1", "STOPPING=1". 1 sent, 0 nobody asked, negative errno. */
int notify_send(const char *state);

/* How often WATCHDOG=1 is due (half of what the manager allows); 0: no watchdog for this process. */
int64_t notify_watchdog_dur_ns(void);

#endif
