/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything another machine may send over a link: the first byte says whether it is read as a blob, a manifest or a
 * call. Accepted data lies within its bytes, and when written again it reads as the same. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/link/blob.h"
#include "tools/bridge/link/call_msg.h"
#include "tools/bridge/link/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void blob(const uint8_t *data, size_t size)
{
	size_t have = size < BLOB_HEAD ? size : BLOB_HEAD;
	struct blob_head h, again;
	uint8_t out[BLOB_HEAD];
	const char *why = NULL;

	if (blob_read(data, have, size, &h, &why) < 0) {
		must(why && *why);
		return;
	}
	must(BLOB_HEAD + h.body_size <= size && h.frame[BLOB_FRAME_MAX] == '\0');
	blob_write(&h, out);
	must(blob_read(out, sizeof(out), size, &again, &why) == 0);
	must(again.sequence == h.sequence && again.body_size == h.body_size && strcmp(again.frame, h.frame) == 0);
}

static void manifest(const uint8_t *data, size_t size)
{
	struct manifest *m = NULL, *again = NULL;
	char why[200], *text;
	int r = manifest_read((const char *)data, size, &m, why, sizeof(why));

	must(r == 0 || *why);
	if (r == 0) {
		text = manifest_write(m);
		must(text && manifest_read(text, strlen(text), &again, why, sizeof(why)) == 0);
		must(again->n_channels == m->n_channels && again->n_services == m->n_services && again->id == m->id);
		free(text);
	}
	manifest_free(again);
	manifest_free(m);
}

static void call(const uint8_t *data, size_t size)
{
	static uint8_t out[CALL_MSG_MAX];
	struct call_msg m, again;
	size_t n;

	if (call_msg_read(data, size, &m) < 0)
		return;
	must((const uint8_t *)m.text + m.text_len <= data + size &&
	     (const uint8_t *)m.body + m.body_len <= data + size);
	n = call_msg_write(&m, out);
	must(n == size && call_msg_read(out, n, &again) == 0 && again.number == m.number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const as[])(const uint8_t *data, size_t size) = { blob, manifest, call };
	uint8_t *copy;

	if (!size)
		return 0;
	copy = malloc(size); /* at its end nothing more may be read */
	must(copy != NULL);
	memcpy(copy, data + 1, size - 1);
	as[data[0] % 3](copy, size - 1);
	free(copy);
	return 0;
}
