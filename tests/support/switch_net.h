/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace with one Ethernet device, whose other end is a descriptor here: each read() is a frame that the
 * namespace sends, each write() one that it receives.
 *
 * Two kinds of device, of which the first that this machine allows is taken:
 *
 *   TAP    the descriptor is the device. Needs /dev/net/tun, which a plain container does not have.
 *   veth   a pair of devices, the other of which is in a further namespace, where a packet socket reads and writes. Needs no device
 *          file; checksums and segmentation must be turned off, or frames come without checksum and larger than the MTU.
 *
 * Both need CAP_NET_ADMIN and CAP_SYS_ADMIN over the caller's namespaces: what tests/support/ns.sh gives, without root outside.
 *
 * The namespace has `lo` up; its device is called "port", has MTU 1500, the address 02:00:00:00:00:<host>, 10.0.0.<host>/24 and, where
 * the kernel has IPv6, fd00::<host>/64. All its neighbours (1 .. SWITCH_NET_HOSTS) are known beforehand: each question for an address
 * that is lost would cost a second, and three of them a connection. So a namespace sends nothing of itself, only what its programs send.
 * It exists as long as somebody has a descriptor of it or is in it.
 *
 * Thread: any. Errors: negative errno, sentence in err_why().
 */
#ifndef TEST_SUPPORT_SWITCH_NET_H
#define TEST_SUPPORT_SWITCH_NET_H

#define SWITCH_NET_HOSTS 16

enum switch_device {
	SWITCH_ANY, /* TAP, or else veth */
	SWITCH_TAP,
	SWITCH_VETH,
};

/*
 * Makes one. host: 1 .. SWITCH_NET_HOSTS. ret_frames: non-blocking, returns: close; ret_ns: for setns(), returns: close. Both are
 * close-on-exec. The calling thread stays in the namespace it is in.
 */
int switch_net_open(enum switch_device device, unsigned host, int *ret_frames, int *ret_ns);

/* The calling thread alone goes there. What it made before stays where it is. */
int switch_net_enter(int ns);

/* socket() there; the calling thread stays where it is. Returns a close-on-exec descriptor. */
int switch_net_socket(int ns, int domain, int type);

#endif
