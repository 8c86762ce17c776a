/* SPDX-License-Identifier: Apache-2.0 */
/* Any metadata.yaml of rosbag2. Thread: one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/record/rosbag2_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rosbag2_yaml y;
	char why[200] = "";
	char *text = malloc(size ? size : 1); /* without a NUL behind it */

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	if (rosbag2_yaml_parse(text, size, &y, why, sizeof(why)) < 0) {
		if (!*why)
			abort();
	} else {
		if (!y.n_files || y.n_files > ROSBAG2_FILES_MAX)
			abort();
		for (size_t i = 0; i < y.n_files; i++)
			if (!memchr(y.files[i], 0, sizeof(y.files[i])) || y.files[i][0] == '/' ||
			    !strncmp(y.files[i], "../", 3))
				abort();
	}
	free(text);
	return 0;
}
