/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealed datagrams ("Datagrams" in schemas/wire/world.md) of one connection: ChaCha20-Poly1305 with a key for each
 * direction and the sequence number as nonce; connection and sequence are sent in clear and authenticated. Keys are
 * used for one connection only.
 *
 * The caller handles addresses. A session has none before packet_open() has returned 0: the first datagram that
 * authenticates binds the address that it came from, and nothing is sent before that. datagram.h checks whether the
 * peer really reads at that address. Thread: the owner's.
 */
#ifndef WORLD_PACKET_H
#define WORLD_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_KEY       32u /* bytes, as are the next four */
#define PACKET_HEAD      12u
#define PACKET_TAG       16u
#define PACKET_MAX       1200u
#define PACKET_PLAIN_MAX (PACKET_MAX - PACKET_HEAD - PACKET_TAG)
#define PACKET_WINDOW    1024u /* sequence numbers */

/* Reasons to refuse a datagram: name, errno, text. */
#define PACKET_REFUSALS(X) \
	X(SHORT, EBADMSG, "shorter than a head and a tag") \
	X(LONG, EMSGSIZE, "longer than 1200 bytes") \
	X(CONNECTION, ENXIO, "of another connection") \
	X(OLD, ESTALE, "more than 1023 behind the newest, or numbered 0") \
	X(REPLAYED, EALREADY, "was received before") \
	X(FORGED, EKEYREJECTED, "does not authenticate")

enum packet_refusal {
#define X(name, error, text) PACKET_##name,
	PACKET_REFUSALS(X)
#undef X
		PACKET_REFUSALS_N
};

struct packet {
	uint8_t key_out[PACKET_KEY], key_in[PACKET_KEY];
	uint32_t connection;
	uint64_t sent;                       /* sequence of the last one sealed */
	uint64_t newest;                     /* newest sequence that authenticated; 0: none has */
	uint64_t window[PACKET_WINDOW / 64]; /* bit sequence % PACKET_WINDOW: it was received */
	uint64_t good;                       /* datagrams that authenticated */
	uint64_t refused[PACKET_REFUSALS_N];
};

/*
 * Copies the keys; the caller wipes its own. first: the first sequence number, 1 to 2^62. If it is random, each
 * acknowledgement proves that its sender reads what is sent to it. -EIO: libsodium does not start.
 */
int packet_init(struct packet *p, uint32_t connection, const uint8_t key_out[PACKET_KEY],
		const uint8_t key_in[PACKET_KEY], uint64_t first) __attribute__((warn_unused_result));
void packet_finish(struct packet *p); /* wipes the keys */

/*
 * Seals in place: the plain text, at most PACKET_PLAIN_MAX bytes, is at data + PACKET_HEAD, with room for the tag after
 * it. The datagram then has plain_len + PACKET_HEAD + PACKET_TAG bytes. Returns the sequence number.
 */
uint64_t packet_seal(struct packet *p, uint8_t *data, size_t plain_len);
/*
 * Decrypts into a buffer that does not overlap data. Otherwise an error of PACKET_REFUSALS, which is counted; plain
 * then holds no decrypted data.
 */
int packet_open(struct packet *p, const uint8_t *data, size_t len, uint8_t plain[PACKET_PLAIN_MAX], size_t *ret_len,
		uint64_t *ret_sequence) __attribute__((warn_unused_result));
/* The connection that a datagram claims, to look up the session; 0: too short. Not authenticated. */
uint32_t packet_connection(const uint8_t *data, size_t len);

#endif
