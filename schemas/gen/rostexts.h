/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of all ROS definitions as one constant object, the tables of ros/ros_definition.h. A part of rosgen; one
 * thread.
 */
#ifndef ROSTEXTS_H
#define ROSTEXTS_H

/*
 * Writes OUT/definitions.c from the files below ROOT. Each must resolve with all that it nests. Errors are printed to
 * stderr: those of typeset_add(), -ENOMEM, and of writing the file.
 */
int rostexts_write(const char *root, const char *out, char **files);

#endif
