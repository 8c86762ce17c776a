/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network switch between namespaces, for tests of what a network does to programs: delay, jitter, loss, reorder,
 * duplicates, rate, partitions; the kernel needs no netem for it. Each port is a namespace with an Ethernet device of
 * its own (switch_net.h); a thread carries the frames (switch_core.h) in real time.
 *
 *     struct net_switch *s;
 *     struct switch_rules bad = { .delay_dur_ns = 50 * NS_PER_MS, .loss = 0.2 };
 *
 *     if (switch_create(seed, SWITCH_ANY, &s) < 0)
 *             skip();                               // err_why() says what this machine refuses
 *     switch_add_port(s);                           // 10.0.0.1
 *     switch_add_port(s);                           // 10.0.0.2
 *     switch_set(s, 0, SWITCH_OUT, &bad);           // on the way to 10.0.0.1
 *     fd = switch_socket(s, 0, AF_INET, SOCK_DGRAM); // a socket there, in this process; or, in a child before it execs:
 *     switch_enter(s, 1);
 *
 * What is decided of the n-th frame of a port and direction depends on the seed alone. Which frame of a program is the
 * n-th the kernel says, when it resends for example; so a run with TCP is like another one, not equal to it.
 *
 * Lower bounds hold (a frame is never early); upper ones do not on a busy machine: `late` in the counters says so.
 *
 * Thread: any. Errors: negative errno, sentence in err_why().
 */
#ifndef TEST_SUPPORT_SWITCH_H
#define TEST_SUPPORT_SWITCH_H

#include "switch_core.h"
#include "switch_net.h"

struct net_switch;

struct switch_port_counts {
	struct switch_counts path[2]; /* by enum switch_direction */
	uint64_t parted;              /* stopped by a partition, on the way to this port */
	uint64_t refused;             /* that the namespace's device did not take */
};

/*
 * A switch without ports, and its thread. Tries whether a namespace and a device can be had here: -EPERM, -ENOENT, ...
 * say that the machine refuses, and the test is to be skipped with the sentence.
 */
int switch_create(uint64_t seed, enum switch_device device, struct net_switch **ret);

/*
 * Ends the thread; waiting frames are lost. A namespace ends with the last process, socket or descriptor in it, its
 * link at once. NULL is fine.
 */
void switch_destroy(struct net_switch *s);

/* Returns the port's number, from 0: the host 10.0.0.<number + 1> and fd00::<number + 1>. -ENOSPC: SWITCH_PORTS_MAX. */
int switch_add_port(struct net_switch *s);

/* In host byte order, for sockaddr_in through htonl(). */
static inline uint32_t switch_address(unsigned port)
{
	return (UINT32_C(10) << 24) + port + 1;
}

int switch_ns(const struct net_switch *s, unsigned port); /* for setns(); kept by s; -ENOENT */
/* Moves the calling thread there: a child, before it execs. -ENOENT, or errors of setns(). */
int switch_enter(const struct net_switch *s, unsigned port);
/* socket() in that namespace; the caller stays in its own. Returns a descriptor to close. */
int switch_socket(const struct net_switch *s, unsigned port, int domain, int type);

/* From the next frame on; borrows rules. -ENOENT: no such port; -EINVAL: switch_path_set(). */
int switch_set(struct net_switch *s, unsigned port, enum switch_direction d, const struct switch_rules *rules);

/*
 * The ports whose bits are set in `ports` are separated from the others, after_dur_ns from now, for dur_ns; INT64_MAX:
 * until switch_heal(). A schedule is several of these. What is already on its way to a port arrives. -EINVAL, -ENOSPC:
 * switch_core_part().
 */
int switch_partition(struct net_switch *s, uint32_t ports, int64_t after_dur_ns, int64_t dur_ns);
void switch_heal(struct net_switch *s); /* also drops scheduled partitions */

int switch_port_counts(struct net_switch *s, unsigned port, struct switch_port_counts *ret); /* -ENOENT */

#endif
