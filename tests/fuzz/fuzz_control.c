/* SPDX-License-Identifier: Apache-2.0 */
/* The whole control socket against any bytes a peer may send, in virtual time. Nothing may leak. Thread: one. */
#include "unit/control/peer.h"

#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include "mem.h"
#include "wire/pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Static_assert(WIRE_ABI < 10, "a digit");

/* Sessions in the corpus are opened with the current version. */
static void set_abi(char *text, size_t size)
{
	static const char key[] = "\"abi\":";
	char *end = text + size, *at = text;

	while ((at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1))) {
		at += sizeof(key) - 1;
		if (at < end && *at >= '0' && *at <= '9')
			*at = '0' + WIRE_ABI;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text, *at;
	struct desk d;
	struct peer p;
	char sink[65536];

	if (!size)
		return 0;
	text = at = mem_dup(data, size);
	set_abi(text, size);
	desk_open(&d, "");
	peer_open(&d, &p);
	while (size) {
		size_t n = size < 700 ? size : 700;

		if (send(p.fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		at += n;
		size -= n;
		desk_run(&d, MS);
		while (recv(p.fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
			;
	}
	desk_run(&d, 20 * MS);
	peer_close(&p);
	desk_close(&d);
	mem_free(text);
	return 0;
}
