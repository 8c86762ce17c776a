/* SPDX-License-Identifier: Apache-2.0 */
/* compat_message.h: the numbers of fields, from a file. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "compat_message.h"
#include "err.h"
#include "fd.h"
#include "mem.h"

#define FILE_MAX 16384u
#define WORD_MAX 32

/* The report's words, where it has any: wheels are counted as the vehicle has them, from front left to rear right. */
static const char *const names[COMPAT_FIELDS] = {
	"timestamp",      "vehicleId",      "chTime",         "speed",      "chassisCom", "wheelFLCom",
	"wheelFRCom",     "wheelRLCom",     "wheelRRCom",     "chassisRot", "wheelFLRot", "wheelFRRot",
	"wheelRLRot",     "wheelRRRot",     "MVector.x",      "MVector.y",  "MVector.z",  "MQuaternion.e0",
	"MQuaternion.e1", "MQuaternion.e2", "MQuaternion.e3",
};

/* Where each message's fields begin, and the end. */
static const unsigned messages[] = { 0, COMPAT_VECTOR, COMPAT_QUATERNION, COMPAT_FIELDS };

void compat_fields_default(struct compat_fields *ret)
{
	for (unsigned m = 0; m < 3; m++)
		for (unsigned i = messages[m]; i < messages[m + 1]; i++)
			ret->number[i] = (uint8_t)(i - messages[m] + 1);
}

static int take_line(const char *name, unsigned line, const char *text, struct compat_fields *f)
{
	char word[WORD_MAX + 1], rest[2];
	unsigned field = 0;
	int number, n = sscanf(text, " %32s %d %1s", word, &number, rest);

	if (n == EOF)
		return 0;
	while (field < COMPAT_FIELDS && strcmp(names[field], word))
		field++;
	if (field == COMPAT_FIELDS)
		return err_set(-EINVAL,
			       "%s:%u: %s: no such field; there are timestamp, vehicleId, chTime, speed, chassisCom, "
			       "wheelFLCom ... wheelRRCom, chassisRot, wheelFLRot ... wheelRRRot, MVector.x ... z, "
			       "MQuaternion.e0 ... e3",
			       name, line, word);
	if (n != 2 || number < 1 || number > COMPAT_NUMBER_MAX)
		return err_set(-EINVAL, "%s:%u: %s: give a number from 1 to %d and nothing else", name, line, word,
			       COMPAT_NUMBER_MAX);
	f->number[field] = (uint8_t)number;
	return 0;
}

/* Two fields of one message with one number. */
static int look_for_doubles(const char *name, const struct compat_fields *f)
{
	for (unsigned m = 0; m < 3; m++)
		for (unsigned i = messages[m]; i < messages[m + 1]; i++)
			for (unsigned k = messages[m]; k < i; k++)
				if (f->number[i] == f->number[k])
					return err_set(-EINVAL, "%s: %s and %s both have number %u", name, names[k],
						       names[i], f->number[i]);
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
			return err_set(-EINVAL, "%s:%u: the line is too long, or no text", name, line);
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
