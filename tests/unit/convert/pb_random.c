/* SPDX-License-Identifier: Apache-2.0 */
/* Random messages: see pb_random.h. Numbers are of every length that a varint may have. */
#include "unit/convert/pb_random.h"

#include <stdlib.h>
#include <string.h>

#include "unit/introspect/random_msg.h"

static uint64_t number(uint64_t *seed)
{
	return random_next(seed) >> random_next(seed) % 64;
}

static void *array(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

static char *text(uint64_t *seed, size_t *ret_n)
{
	size_t n = random_next(seed) % 8 ? random_next(seed) % 40 : random_next(seed) % 5000;
	char *s = array(n, 1);

	for (size_t i = 0; i < n; i++)
		s[i] = (char)(1 + random_next(seed) % 127);
	*ret_n = n;
	return s;
}

#define MAYBE(name, value) \
	do { \
		m->has_##name = random_next(seed) % 3 != 0; \
		if (m->has_##name) \
			m->name = (value); \
	} while (0)

static void scalars(uint64_t *seed, PbTest__Every *m)
{
	static const PbTest__Every__Kind kinds[] = { PB_TEST__EVERY__KIND__NONE, PB_TEST__EVERY__KIND__ONE,
						     PB_TEST__EVERY__KIND__BIG, PB_TEST__EVERY__KIND__NEGATIVE };
	size_t n;

	MAYBE(i32, (int32_t)number(seed));
	MAYBE(i64, (int64_t)number(seed) * (random_next(seed) % 2 ? 1 : -1));
	MAYBE(u32, (uint32_t)number(seed));
	MAYBE(u64, number(seed));
	MAYBE(flag, random_next(seed) & 1);
	MAYBE(f64, (double)(int64_t)random_next(seed) / 1e6);
	MAYBE(f32, (float)(int32_t)random_next(seed) / 128);
	if (random_next(seed) % 3)
		m->text = text(seed, &n);
	m->has_raw = random_next(seed) % 3 != 0;
	if (m->has_raw)
		m->raw.data = (uint8_t *)text(seed, &m->raw.len);
	MAYBE(kind, kinds[random_next(seed) % 4]);
	MAYBE(far, (uint32_t)number(seed));
}

static size_t count(uint64_t *seed)
{
	return random_next(seed) % 10 ? random_next(seed) % 5 : random_next(seed) % 300;
}

#define FILL(name, value) \
	do { \
		m->n_##name = count(seed); \
		m->name = array(m->n_##name, sizeof(*m->name)); \
		for (size_t i = 0; i < m->n_##name; i++) \
			m->name[i] = (value); \
	} while (0)

static void arrays(uint64_t *seed, PbTest__Every *m)
{
	size_t n;

	FILL(doubles, (double)(int64_t)random_next(seed) / 1e6);
	FILL(floats, (float)(int32_t)random_next(seed) / 128);
	FILL(numbers, number(seed));
	FILL(loose, (int32_t)number(seed));
	FILL(loose_doubles, (double)(int64_t)random_next(seed));
	FILL(words, text(seed, &n));
}

PbTest__Every *pb_random(uint64_t *seed, unsigned depth)
{
	PbTest__Every *m = array(1, sizeof(*m));

	pb_test__every__init(m);
	scalars(seed, m);
	arrays(seed, m);
	if (!depth)
		return m;
	if (random_next(seed) % 2)
		m->one = pb_random(seed, depth - 1);
	m->n_many = random_next(seed) % 4;
	m->many = array(m->n_many, sizeof(*m->many));
	for (size_t i = 0; i < m->n_many; i++)
		m->many[i] = pb_random(seed, depth - 1);
	return m;
}

void pb_random_free(PbTest__Every *m)
{
	pb_test__every__free_unpacked(m, NULL);
}
