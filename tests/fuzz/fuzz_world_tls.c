/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes from a stranger where TLS is expected: bit 0 of the first byte chooses a server or a client, its other bits
 * the length of the pieces. The connection never opens, the answer is bounded, and after an error nothing more is read.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/world/keys.h"
#include "loop/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tls_keys *keys[2];

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* In memory from then on. */
static void make_keys(void)
{
	static const char *const files[] = { "ca.pem", "ca.key", "server.pem", "server.key", "alice.pem", "alice.key" };
	static const char *const alice = "alice";
	const char *tmp = getenv("TMPDIR");
	char dir[200], path[256];

	snprintf(dir, sizeof(dir), "%s/fuzz-tls-XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(dir) != NULL);
	must(keys_make(&(struct keys_options){ .dir = dir, .clients = &alice, .n_clients = 1 }, NULL) == 0);
	must(tls_keys_load(dir, "server", &keys[TLS_SERVER]) == 0);
	must(tls_keys_load(dir, "alice", &keys[TLS_CLIENT]) == 0);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		must(unlink(path) == 0);
	}
	must(rmdir(dir) == 0);
}

/* A piece in a block of its size: a sanitizer sees an access beyond. */
static ssize_t put(struct tls *t, const uint8_t *data, size_t n)
{
	uint8_t *piece = malloc(n), buf[64];
	const void *out;
	ssize_t r;

	must(piece != NULL);
	memcpy(piece, data, n);
	tls_input(t, piece, n);
	r = tls_read(t, buf, sizeof(buf));
	free(piece);
	must(r <= 0 && tls_state(t) != TLS_OPEN && tls_output(t, &out) <= 16384);
	must((tls_state(t) == TLS_FAILED) == (r == -EPROTO) && (r == -EPROTO) == (*tls_why(t) != 0));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum tls_side side;
	struct tls *t;
	size_t piece;
	ssize_t r = 0;

	if (!keys[0])
		make_keys();
	if (size < 2)
		return 0;
	side = data[0] & 1 ? TLS_CLIENT : TLS_SERVER;
	piece = data[0] / 2 ? data[0] / 2 : size;
	must(tls_create(side, &(struct tls_options){ .keys = keys[side], .host = "localhost" }, &t) == 0);
	for (size_t at = 1; at < size && r == 0; at += piece)
		r = put(t, data + at, size - at < piece ? size - at : piece);
	if (r < 0)
		must(put(t, data, size) == r);
	tls_destroy(t);
	return 0;
}
