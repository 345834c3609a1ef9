#include "report/floor/model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Shapes: the configurations that Meta published with Llama 3.2 (1B, 3B) and Llama 3.1 (8B, 70B).
 * 1B and 3B have one table of 128256 rows for the embedding and for the head; a step reads it once
 * as the head, and one row of it as the embedding. */
static const struct model models[] = {
    {.name = "llama-1b", .decode = {16, 2048, 32, 8, 64, 8192, 128256, 2, 2}},
    {.name = "llama-3b", .decode = {28, 3072, 24, 8, 128, 8192, 128256, 2, 2}},
    {.name = "llama-8b", .decode = {32, 4096, 32, 8, 128, 14336, 128256, 2, 2}},
    {.name = "llama-70b", .decode = {80, 8192, 64, 8, 128, 28672, 128256, 2, 2}},
    {.name = "speech",
     .remark = "an example of this project: 15 s of speech in 1500 positions, answered by llama-1b",
     .encode = {24, 1024, 16, 4096, 1500, 2},
     .decode = {16, 2048, 32, 8, 64, 8192, 128256, 2, 2}},
};
enum { N_MODELS = sizeof models / sizeof models[0] };

const struct model *model_at(size_t i)
{
    return i < N_MODELS ? &models[i] : NULL;
}

/* --- a file ----------------------------------------------------------------------------------- */

/* A field, its offset in the struct, and its bounds: beyond them no machine runs it, and sums of
 * products would lose their meaning. */
struct field {
    const char *name;
    size_t at;
    double least, most;
    bool whole;
};

#define FIELD(type, name, least, most, whole) {#name, offsetof(type, name), least, most, whole}
static const struct field decode_fields[] = {
    FIELD(struct model_decode, layers, 1, 10000, true),
    FIELD(struct model_decode, hidden, 1, 1 << 20, true),
    FIELD(struct model_decode, heads, 1, 1 << 16, true),
    FIELD(struct model_decode, kv_heads, 1, 1 << 16, true),
    FIELD(struct model_decode, head_dim, 1, 1 << 16, true),
    FIELD(struct model_decode, ffn, 1, 1 << 22, true),
    FIELD(struct model_decode, vocabulary, 1, 1 << 26, true),
    FIELD(struct model_decode, weight_bytes, 0.125, 8, false),
    FIELD(struct model_decode, cache_bytes, 0.125, 8, false),
};
static const struct field encode_fields[] = {
    FIELD(struct model_encode, layers, 1, 10000, true),
    FIELD(struct model_encode, hidden, 1, 1 << 20, true),
    FIELD(struct model_encode, heads, 1, 1 << 16, true),
    FIELD(struct model_encode, ffn, 1, 1 << 22, true),
    FIELD(struct model_encode, positions, 1, 1 << 26, true),
    FIELD(struct model_encode, weight_bytes, 0.125, 8, false),
};

static bool take_fields(void *into, const json_t *from, const char *section,
                        const struct field *fields, size_t n, const char *path,
                        char why[DOCUMENT_WHY])
{
    for (size_t i = 0; i < n; i++) {
        const struct field *field = &fields[i];
        const double value = document_get_number(from, field->name);
        if (!(value >= field->least && value <= field->most) ||
            (field->whole && value != floor(value))) {
            snprintf(why, DOCUMENT_WHY, "%.200s: %s.%s: expected a %snumber of %.15g to %.15g",
                     path, section, field->name, field->whole ? "whole " : "", field->least,
                     field->most);
            return false;
        }
        *(double *)((char *)into + field->at) = value;
    }
    return true;
}

static bool take_model(struct model *model, const json_t *document, const char *path,
                       char why[DOCUMENT_WHY])
{
    const json_t *decode = json_object_get(document, "decode");
    const json_t *encode = json_object_get(document, "encode");

    *model = (struct model){0};
    snprintf(model->name, sizeof model->name, "%s", document_get_text(document, "name", "model"));
    if (!decode && !encode) {
        snprintf(why, DOCUMENT_WHY, "%.200s: expected \"decode\", \"encode\" or both", path);
        return false;
    }
    if (encode && !take_fields(&model->encode, encode, "encode", encode_fields,
                               sizeof encode_fields / sizeof encode_fields[0], path, why))
        return false;
    if (decode && !take_fields(&model->decode, decode, "decode", decode_fields,
                               sizeof decode_fields / sizeof decode_fields[0], path, why))
        return false;
    if (decode && fmod(model->decode.heads, model->decode.kv_heads) != 0) {
        snprintf(why, DOCUMENT_WHY, "%.200s: decode.heads: expected a multiple of decode.kv_heads",
                 path);
        return false;
    }
    return true;
}

bool model_read(struct model *model, const char *name, char why[DOCUMENT_WHY])
{
    for (size_t i = 0; i < N_MODELS; i++)
        if (!strcmp(models[i].name, name)) {
            *model = models[i];
            return true;
        }
    if (!strchr(name, '/') && !strchr(name, '.')) {
        snprintf(why, DOCUMENT_WHY,
                 "unknown model '%.100s': expected llama-1b, llama-3b, llama-8b, "
                 "llama-70b, speech, or a file",
                 name);
        return false;
    }
    json_t *document = document_load(name, "model", why);
    const bool taken = document && take_model(model, document, name, why);
    json_decref(document);
    return taken;
}
