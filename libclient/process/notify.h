/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifies systemd of readiness and watchdog, by its own protocol: one datagram to $NOTIFY_SOCKET. Without that
 * variable every call succeeds and does nothing. Thread: any; never blocks.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

/*
 * state: "READY=1\nSTATUS=...", "WATCHDOG=1", "STOPPING=1". Returns 1: sent, 0: no NOTIFY_SOCKET, negative errno.
 */
int notify_send(const char *state);

/* Interval at which to send WATCHDOG=1 (half of what the manager allows); 0: no watchdog for this process. */
int64_t notify_watchdog_dur_ns(void);

#endif
