/* SPDX-License-Identifier: Apache-2.0 */
/* The whole control socket against any bytes a peer may send, in virtual time. Nothing may leak. Thread: one. */
#include "unit/control/peer.h"

#include <unistd.h>

#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct desk d;
	struct peer p;
	char sink[65536];

	desk_open(&d, "");
	peer_open(&d, &p);
	while (size) {
		size_t n = size < 700 ? size : 700;

		if (send(p.fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		data += n;
		size -= n;
		desk_run(&d, MS);
		while (recv(p.fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
			;
	}
	desk_run(&d, 20 * MS);
	peer_close(&p);
	desk_close(&d);
	return 0;
}
