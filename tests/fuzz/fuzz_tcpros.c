/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any TCPROS headers from a peer: the fields lie within the header, and written again they are the header. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/ros1/tcpros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const char *s, size_t n)
{
	char *t = calloc(1, n + 1);

	if (!t)
		abort();
	memcpy(t, s, n);
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tcpros_writer w = { .data = NULL };
	struct tcpros_header h;
	bool nul = false;
	char why[100];

	if (tcpros_parse(data, size, 65536, &h, why, sizeof(why)) != 1)
		return 0;
	if (h.total > size || h.n > TCPROS_FIELDS_MAX)
		abort();
	for (unsigned i = 0; i < h.n; i++) {
		char *key = text_of(h.field[i].key, h.field[i].key_len);
		char *value = text_of(h.field[i].value, h.field[i].value_len), some[16];

		nul |= strlen(key) != h.field[i].key_len || strlen(value) != h.field[i].value_len;
		tcpros_put(&w, key, value);
		if (!tcpros_get(&h, key, some, sizeof(some)) && strlen(key) == h.field[i].key_len)
			abort();
		free(key);
		free(value);
	}
	if (tcpros_end(&w) < 0 || (!nul && (w.len != h.total || memcmp(w.data, data, w.len) != 0)))
		abort();
	tcpros_writer_finish(&w);
	return 0;
}
