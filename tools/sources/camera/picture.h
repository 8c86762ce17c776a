/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a picture to a file. Thread: any. */
#ifndef CAMERA_PICTURE_H
#define CAMERA_PICTURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * PNG without alpha. Atomic: written to a temporary file first, so the old file stays if it fails. rgba: width pixels
 * of 4 bytes per row, rows pitch bytes apart. 0, or the system's error, with the reason in why.
 */
int picture_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height, size_t pitch, char *why,
		  size_t cap);

#endif
