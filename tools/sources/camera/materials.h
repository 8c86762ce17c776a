/* SPDX-License-Identifier: Apache-2.0 */
/* Materials of triangles, shared by C and the shaders. Each vertex has one; colours are in shaders/scene.vert. */
#define MAT_PAINT       0 /* the instance's colour */
#define MAT_GLASS       1
#define MAT_TYRE        2
#define MAT_HEADLAMP    3
#define MAT_TAILLAMP    4
#define MAT_DARK        5
#define MAT_SKIN        6
#define MAT_TROUSERS    7
#define MAT_METAL       8
#define MAT_PLATE       9
#define MAT_LAMP_RED    10
#define MAT_LAMP_YELLOW 11
#define MAT_LAMP_GREEN  12
#define MAT_FACADE      13
#define MAT_ROOF        14
#define MAT_POLE        15
/* flat on the ground */
#define MAT_GRASS    16
#define MAT_ASPHALT  17
#define MAT_SIDEWALK 18
#define MAT_CYCLEWAY 19
#define MAT_MARKING  20
#define MAT_KERB     21
#define MAT_COUNT    22

/* lit lamps of an instance */
#define LIT_RED    1
#define LIT_YELLOW 2
#define LIT_GREEN  4
#define LIT_BRAKE  8
#define LIT_NIGHT  16 /* headlamps, tail lamps, windows */
#define IN_SHADE   32 /* in shadow */

/* groups of triangles, one pipeline each */
#define GROUP_THINGS  0
#define GROUP_GROUND  1
#define GROUP_FACADES 2

/* kinds of images */
#define KIND_COLOUR   0
#define KIND_DEPTH    1
#define KIND_SEMANTIC 2
#define KIND_INSTANCE 3

/* semantic labels: ids of Cityscapes (cityscapesscripts/helpers/labels.py) */
#define LABEL_ROAD       7
#define LABEL_SIDEWALK   8
#define LABEL_BUILDING   11
#define LABEL_POLE       17
#define LABEL_LIGHT      19
#define LABEL_TERRAIN    22
#define LABEL_SKY        23
#define LABEL_PERSON     24
#define LABEL_CAR        26
#define LABEL_TRUCK      27
#define LABEL_BUS        28
#define LABEL_MOTORCYCLE 32
#define LABEL_BICYCLE    33
#define LABEL_DYNAMIC    5   /* other moving things */
#define LABEL_OF_VERTEX  255 /* of an instance: the label follows from each triangle's material */
