/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams that are sealed ("Datagrams" in schemas/wire/world.md): ChaCha20-Poly1305 with a key for each direction and the sequence number
 * as nonce, connection and sequence in the clear and authenticated. Of one connection; keys are used for one connection only, and never again.
 *
 * Addresses are the caller's. A session has none before packet_open() has returned 0: the first datagram that authenticates binds the
 * address that it came from, and nothing is sent before that. Whether somebody reads at that address is for datagram.h to find out.
 * Thread: the owner's.
 */
#ifndef WORLD_PACKET_H
#define WORLD_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_KEY       32u /* bytes, all of them */
#define PACKET_HEAD      12u
#define PACKET_TAG       16u
#define PACKET_MAX       1200u
#define PACKET_PLAIN_MAX (PACKET_MAX - PACKET_HEAD - PACKET_TAG)
#define PACKET_WINDOW    1024u /* sequence numbers */

/* Why a datagram was refused: name, errno, what it is. */
#define PACKET_REFUSALS(X) \
	X(SHORT, EBADMSG, "shorter than a head and a tag") \
	X(LONG, EMSGSIZE, "longer than 1200 bytes") \
	X(CONNECTION, ENXIO, "of another connection") \
	X(OLD, ESTALE, "more than 1023 behind the newest, or numbered 0") \
	X(REPLAYED, EALREADY, "has been here before") \
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
	uint64_t sent;                       /* sequence of the newest that was sealed */
	uint64_t newest;                     /* that authenticated; 0: none has */
	uint64_t window[PACKET_WINDOW / 64]; /* bit sequence % PACKET_WINDOW: it has come */
	uint64_t good;                       /* datagrams that authenticated */
	uint64_t refused[PACKET_REFUSALS_N];
};

/*
 * Copies the keys; the caller wipes its own. first: the first sequence number, 1 to 2^62. Drawn by chance it makes each acknowledgement a proof that its sender
 * reads what is sent to it. -EIO: libsodium does not start.
 */
int packet_init(struct packet *p, uint32_t connection, const uint8_t key_out[PACKET_KEY],
		const uint8_t key_in[PACKET_KEY], uint64_t first) __attribute__((warn_unused_result));
void packet_finish(struct packet *p); /* wipes the keys */

/*
 * Seals in place: the plain text, plain_len of PACKET_PLAIN_MAX at most, lies at data + PACKET_HEAD, and there is room for the tag behind it. Its length is
 * then plain_len + PACKET_HEAD + PACKET_TAG. Returns the sequence number.
 */
uint64_t packet_seal(struct packet *p, uint8_t *data, size_t plain_len);
/* The plain text, in a buffer that does not overlap data. Else an error of PACKET_REFUSALS, counted; plain then holds nothing of it. */
int packet_open(struct packet *p, const uint8_t *data, size_t len, uint8_t plain[PACKET_PLAIN_MAX], size_t *ret_len,
		uint64_t *ret_sequence) __attribute__((warn_unused_result));
/* Whose a datagram says it is, by which the session is looked up; 0: too short to say. Nothing is proved by that. */
uint32_t packet_connection(const uint8_t *data, size_t len);

#endif
