/* SPDX-License-Identifier: Apache-2.0 */
/* A picture in a file. Thread: any. */
#ifndef CAMERA_PICTURE_H
#define CAMERA_PICTURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * PNG, without alpha. It is there whole, or what was there before stays: written beside it first. rgba: width pixels of 4 bytes, pitch bytes from row to
 * row. 0, or as the system says, with a sentence.
 */
int picture_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height, size_t pitch, char *why,
		  size_t cap);

#endif
