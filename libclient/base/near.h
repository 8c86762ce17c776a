/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": of the words that are offered, the one that is nearest to what somebody wrote. Any thread; lives on
 * the stack.
 *
 *     struct near n = { .word = written };
 *     for (...) near_offer(&n, candidate);
 *     if (n.found) ...
 */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

struct near {
	const char *word;
	const char *found; /* borrowed from who offered it; NULL: none is near */
	unsigned changes;  /* letters to insert, take out or replace until word is found */
};

/* True: it is the nearest so far. */
int near_offer(struct near *n, const char *candidate);
/*
 * The same of "/car/lidar/top" or "sim/Imu": of names with parts. Also near is one whose last part is that of the word, as "top" or
 * "sensor_msgs/msg/Imu"; but one that is as near in whole comes first.
 */
int near_offer_path(struct near *n, const char *path);

#define NEAR_TEXT_MAX 600
/* "did you mean FOUND?", or `otherwise` where none is near. */
const char *near_text(const struct near *n, const char *otherwise, char buf[NEAR_TEXT_MAX]);

#endif
