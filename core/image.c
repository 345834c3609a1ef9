#include "core/image.h"

#include <stdio.h>
#include <string.h>

/* The Makefile puts every image into the section gpu_images, which the linker brackets with these.
 * A program without images has no such section: hence weak. */
extern const struct gpu_image __start_gpu_images[] __attribute__((weak));
extern const struct gpu_image __stop_gpu_images[] __attribute__((weak));

void image_hashes(const struct gpu_image *image, int cc, json_t *hashes)
{
    char architecture[16], hash[65], key[128];
    const char *at = image->cubins;
    int sm, used;

    while (sscanf(at, "%15[^:]:%64[0-9a-f] %n", architecture, hash, &used) == 2) {
        if (cc == 0 || (sscanf(architecture, "sm_%d", &sm) == 1 && sm == cc)) {
            snprintf(key, sizeof key, "%s.%s", image->name, architecture);
            json_object_set_new(hashes, key, json_string(hash));
        }
        at += used;
    }
}

json_t *image_all_hashes(void)
{
    json_t *hashes = json_object();
    for (const struct gpu_image *image = __start_gpu_images; image < __stop_gpu_images; image++)
        image_hashes(image, 0, hashes);
    return hashes;
}

const struct gpu_image *image_find(const char *name)
{
    for (const struct gpu_image *image = __start_gpu_images; image < __stop_gpu_images; image++)
        if (!strcmp(image->name, name))
            return image;
    return NULL;
}
