/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": finds the offered word that is nearest to a word that a user wrote. Any thread; lives on the stack.
 *
 *     struct near n = { .word = written };
 *     for (...)
 *             near_offer(&n, candidate);
 *     if (n.found) ...
 */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

struct near {
	const char *word;
	const char *found; /* the candidate, borrowed; NULL: none is near */
	unsigned changes;  /* letters to insert, delete or replace in word to get found */
};

/* Returns true if it is the nearest so far. */
int near_offer(struct near *n, const char *candidate);
/*
 * The same for names with parts, such as "/car/lidar/top" or "sim/Imu". A name whose last part equals that of the word
 * is near too, such as "top" or "sensor_msgs/msg/Imu"; but a name that is as near as a whole takes precedence.
 */
int near_offer_path(struct near *n, const char *path);

#define NEAR_TEXT_MAX 600
/* "did you mean FOUND?", or `otherwise` if none is near. */
const char *near_text(const struct near *n, const char *otherwise, char buf[NEAR_TEXT_MAX]);

#endif
