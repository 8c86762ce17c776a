/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another machine: a stranger in a network of its own, at the other end of two cables. They are near0 (10.77.0.1) and near1 (10.77.1.1)
 * here, far0 (10.77.0.2) and far1 (10.77.1.2) there. It sends what is malformed and counts what comes. Needs namespaces of its own.
 * Thread: one.
 */
#ifndef TEST_CABLES_H
#define TEST_CABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CABLES        2
#define CABLES_PREFIX 8 /* bytes of a GUID that a participant has in all its packets */

/* A set-up and a tear-down. */
int cables_lay(void **state);
int cables_cut(void **state);
/* A command of the shell that must not fail. */
__attribute__((format(printf, 1, 2))) void cables_run(const char *fmt, ...);

/* It sends n packets to that port of our address on the cable, or to the group of discovery. Returns the errno that comes back. */
int cables_send(int cable, uint16_t port, unsigned n);
int cables_multicast(int cable, uint16_t port, unsigned n);
/* Packets of RTPS that have come to it since the last call: of the participant with that prefix; NULL: of any. */
unsigned cables_count(int cable, const uint8_t prefix[CABLES_PREFIX]);
/* Whose network is the far one. */
pid_t cables_stranger(void);

/* The sockets on which this process receives, each with the device that it is bound to, "": none. */
struct cables_receiver {
	uint16_t port;
	char device[16];
};
unsigned cables_receivers(struct cables_receiver ret[8]);
/* Packets that the kernel dropped before that port here saw them. */
unsigned cables_dropped(uint16_t port);

#endif
