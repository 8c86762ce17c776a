/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP as any peer may send it; the first byte chooses requests, responses, or a URI. Nothing is read beyond the end. Thread: one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/ros1/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void messages(const char *data, size_t size, enum http_kind kind)
{
	struct http_message m;
	char why[100];

	while (size && http_parse(data, size, kind, &m, why, sizeof(why)) == 1) {
		if (!m.total || m.total > size || m.body + m.body_len != data + m.total)
			abort();
		data += m.total;
		size -= m.total;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_uri u;
	char *own;

	if (!size)
		return 0;
	own = calloc(1, size);
	if (!own)
		abort();
	memcpy(own, data + 1, size - 1);
	if (data[0] % 3 == 2 && http_uri_parse(own, &u) == 0 && (!u.at.port || !u.at.host[0] || u.path[0] != '/'))
		abort();
	if (data[0] % 3 < 2)
		messages(own, size - 1, data[0] % 3 ? HTTP_RESPONSE : HTTP_REQUEST);
	free(own);
	return 0;
}
