/* SPDX-License-Identifier: Apache-2.0 */
/* Options that both the bridge and a channel may have. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "cyber.h"

int cyber_read_undulation(json_t *v, double *ret, char *why, size_t size)
{
	*ret = json_number_value(v);
	if (json_is_number(v) && fabs(*ret) <= 200)
		return 0;
	snprintf(why, size, "\"undulation\" must be a number of m from -200 to 200");
	return -EINVAL;
}

int cyber_read_origin(json_t *v, double ret[3], char *why, size_t size)
{
	size_t n = json_array_size(v);
	bool ok = n == 2 || n == 3;

	ret[2] = 0;
	for (size_t i = 0; i < n && ok; i++) {
		ok = json_is_number(json_array_get(v, i));
		ret[i] = json_number_value(json_array_get(v, i));
	}
	if (ok)
		return 0;
	snprintf(why, size, "\"origin\" must be a list of UTM easting, northing and, if known, altitude");
	return -EINVAL;
}
