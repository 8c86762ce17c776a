/* SPDX-License-Identifier: Apache-2.0 */
/* packet.h */
#include "packet.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "little.h"

_Static_assert(PACKET_KEY == crypto_aead_chacha20poly1305_ietf_KEYBYTES &&
		       PACKET_TAG == crypto_aead_chacha20poly1305_ietf_ABYTES,
	       "as libsodium has it");

int packet_init(struct packet *p, uint32_t connection, const uint8_t key_out[PACKET_KEY],
		const uint8_t key_in[PACKET_KEY], uint64_t first)
{
	if (sodium_init() < 0)
		return -EIO;
	*p = (struct packet){ .connection = connection, .sent = first - 1 };
	memcpy(p->key_out, key_out, PACKET_KEY);
	memcpy(p->key_in, key_in, PACKET_KEY);
	return 0;
}

void packet_finish(struct packet *p)
{
	sodium_memzero(p, sizeof(*p));
}

/* 12 bytes: four zeros, then the sequence as in the head. */
static void nonce_of(uint64_t sequence, uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES])
{
	put_u32(nonce, 0);
	put_u64(nonce + 4, sequence);
}

uint64_t packet_seal(struct packet *p, uint8_t *data, size_t plain_len)
{
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], *text = data + PACKET_HEAD;

	put_u32(data, p->connection);
	put_u64(data + 4, ++p->sent);
	nonce_of(p->sent, nonce);
	crypto_aead_chacha20poly1305_ietf_encrypt(text, NULL, text, plain_len, data, PACKET_HEAD, NULL, nonce,
						  p->key_out);
	return p->sent;
}

/* ---- opening ---- */

static uint64_t *word_of(struct packet *p, uint64_t sequence)
{
	return &p->window[sequence % PACKET_WINDOW / 64];
}

static int refuse(struct packet *p, enum packet_refusal why)
{
	static const int errors[] = {
#define X(name, error, text) [PACKET_##name] = error,
		PACKET_REFUSALS(X)
#undef X
	};

	p->refused[why]++;
	return -errors[why];
}

/* The checks that cost less than decrypting. */
static int check(struct packet *p, const uint8_t *data, size_t len)
{
	uint64_t sequence;

	if (len < PACKET_HEAD + PACKET_TAG)
		return refuse(p, PACKET_SHORT);
	if (len > PACKET_MAX)
		return refuse(p, PACKET_LONG);
	if (get_u32(data) != p->connection)
		return refuse(p, PACKET_CONNECTION);
	sequence = get_u64(data + 4);
	if (!sequence || (sequence < p->newest && p->newest - sequence >= PACKET_WINDOW))
		return refuse(p, PACKET_OLD);
	if (sequence <= p->newest && *word_of(p, sequence) >> sequence % 64 & 1)
		return refuse(p, PACKET_REPLAYED);
	return 0;
}

static void advance(struct packet *p, uint64_t sequence)
{
	if (sequence > p->newest && sequence - p->newest >= PACKET_WINDOW)
		memset(p->window, 0, sizeof(p->window));
	else
		for (uint64_t s = p->newest + 1; s <= sequence && s > p->newest; s++)
			*word_of(p, s) &= ~(UINT64_C(1) << s % 64);
	if (sequence > p->newest)
		p->newest = sequence;
	*word_of(p, sequence) |= UINT64_C(1) << sequence % 64;
}

int packet_open(struct packet *p, const uint8_t *data, size_t len, uint8_t plain[PACKET_PLAIN_MAX], size_t *ret_len,
		uint64_t *ret_sequence)
{
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
	int r = check(p, data, len);
	uint64_t sequence;

	if (r)
		return r;
	sequence = get_u64(data + 4);
	nonce_of(sequence, nonce);
	if (crypto_aead_chacha20poly1305_ietf_decrypt(plain, NULL, NULL, data + PACKET_HEAD, len - PACKET_HEAD, data,
						      PACKET_HEAD, nonce, p->key_in))
		return refuse(p, PACKET_FORGED);
	advance(p, sequence);
	p->good++;
	*ret_len = len - PACKET_HEAD - PACKET_TAG;
	*ret_sequence = sequence;
	return 0;
}

uint32_t packet_connection(const uint8_t *data, size_t len)
{
	return len < PACKET_HEAD + PACKET_TAG ? 0 : get_u32(data);
}
