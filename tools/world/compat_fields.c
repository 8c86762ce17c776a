/* SPDX-License-Identifier: Apache-2.0 */
/* See compat_message.h: field numbers from a file. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "compat_message.h"
#include "err.h"
#include "fd.h"
#include "mem.h"
#include "number.h"

#define FILE_MAX 16384u
#define WORD_MAX 32

/* As in the original client of 2016, which lists right wheels before left ones. */
static const struct {
	const char *name;
	uint8_t number;
} fields[COMPAT_FIELDS] = {
	{ "timestamp", 1 },
	{ "vehicleId", 2 },
	{ "chTime", 3 },
	{ "speed", 4 },
	{ "ChassisCOM", 5 },
	{ "FrontLeftWheelCOM", 7 },
	{ "FrontRightWheelCOM", 6 },
	{ "BackLeftWheelCOM", 9 },
	{ "BackRightWheelCOM", 8 },
	{ "ChassisRot", 10 },
	{ "FrontLeftWheelRot", 12 },
	{ "FrontRightWheelRot", 11 },
	{ "BackLeftWheelRot", 14 },
	{ "BackRightWheelRot", 13 },
	{ "MVector.x", 1 },
	{ "MVector.y", 2 },
	{ "MVector.z", 3 },
	{ "MQuaternion.e0", 1 },
	{ "MQuaternion.e1", 2 },
	{ "MQuaternion.e2", 3 },
	{ "MQuaternion.e3", 4 },
};

/* First field of each message, and the end. */
static const unsigned messages[] = { 0, COMPAT_VECTOR, COMPAT_QUATERNION, COMPAT_FIELDS };

void compat_fields_default(struct compat_fields *ret)
{
	for (unsigned i = 0; i < COMPAT_FIELDS; i++)
		ret->number[i] = fields[i].number;
}

static int take_line(const char *name, unsigned line, const char *text, struct compat_fields *f)
{
	static const char blanks[] = " \t\r\n\v\f";
	char word[WORD_MAX + 1];
	unsigned field = 0;
	uint64_t number;
	size_t len;

	text += strspn(text, blanks);
	len = strcspn(text, blanks);
	if (!len)
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)(len < WORD_MAX ? len : WORD_MAX), text);
	text += len + strspn(text + len, blanks);
	while (field < COMPAT_FIELDS && strcmp(fields[field].name, word))
		field++;
	if (field == COMPAT_FIELDS)
		return err_set(-EINVAL,
			       "%s:%u: %s: no such field; there are timestamp, vehicleId, chTime, speed, ChassisCOM, "
			       "FrontRightWheelCOM, FrontLeft..., BackRight..., BackLeftWheelCOM, ChassisRot, "
			       "FrontRightWheelRot ... BackLeftWheelRot, MVector.x ... z, MQuaternion.e0 ... e3",
			       name, line, word);
	if (number_take_u64(&text, NUMBER_DEC, COMPAT_NUMBER_MAX, &number) < 0 || !number || text[strspn(text, blanks)])
		return err_set(-EINVAL, "%s:%u: %s: give a number from 1 to %d and nothing else", name, line, word,
			       COMPAT_NUMBER_MAX);
	f->number[field] = (uint8_t)number;
	return 0;
}

/* Rejects two fields of one message with the same number. */
static int look_for_doubles(const char *name, const struct compat_fields *f)
{
	for (unsigned m = 0; m < 3; m++)
		for (unsigned i = messages[m]; i < messages[m + 1]; i++)
			for (unsigned k = messages[m]; k < i; k++)
				if (f->number[i] == f->number[k])
					return err_set(-EINVAL, "%s: %s and %s both have number %u", name,
						       fields[k].name, fields[i].name, f->number[i]);
	return 0;
}

int compat_fields_read(const char *name, const char *text, size_t len, struct compat_fields *ret)
{
	struct compat_fields f;
	const char *at = text, *end = text + len;
	int r = 0;

	compat_fields_default(&f);
	for (unsigned line = 1; at < end && r == 0; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		char copy[256] = "";

		stop = stop ? stop : end;
		if ((size_t)(stop - at) >= sizeof(copy) || memchr(at, 0, (size_t)(stop - at)))
			return err_set(-EINVAL, "%s:%u: the line is too long, or not text", name, line);
		memcpy(copy, at, (size_t)(stop - at));
		copy[strcspn(copy, "#")] = 0;
		r = take_line(name, line, copy, &f);
		at = stop + 1;
	}
	if (r == 0)
		r = look_for_doubles(name, &f);
	if (r == 0)
		*ret = f;
	return r;
}

int compat_fields_load(const char *path, struct compat_fields *ret)
{
	char *text = NULL;
	size_t len = 0;
	int r = fd_read_file(path, FILE_MAX, &text, &len);

	r = r < 0 ? err_sys(r, "%s", path) : compat_fields_read(path, text, len, ret);
	mem_free(text);
	return r;
}
