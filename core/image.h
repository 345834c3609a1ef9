/* An image: the machine code of one .cu, as one cubin for each architecture of the build. No
 * PTX. */
#ifndef GPUFLOOR_IMAGE_H
#define GPUFLOOR_IMAGE_H

#include <jansson.h>

struct gpu_image {
    const char *name;                 /* stem of the .cu */
    const unsigned char *begin, *end; /* the fatbin */
    const char *cubins;               /* "sm_80:SHA256 sm_90a:SHA256 " */
};

/* Adds "name.sm_90a": "SHA256" for the image's cubins. With cc (90 for 9.0) only for that one. */
void image_hashes(const struct gpu_image *image, int cc, json_t *hashes);

/* The hashes of all images linked into this program: a new object, empty for a host probe. */
json_t *image_all_hashes(void);

/* The image of that name that is linked into this program, or NULL: "norm_passes". A process that
 * works for another one is told names, not addresses. */
const struct gpu_image *image_find(const char *name);

#endif
