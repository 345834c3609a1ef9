/* Figures that others have published of other GPUs: data with source and method. They stand beside
 * ours, are not measured by gpufloor, and no verdict rests on one. */
#ifndef REPORT_PAGE_PUBLISHED_H
#define REPORT_PAGE_PUBLISHED_H

#include "report/page/boards.h"

struct published_source {
    const char *key; /* "RRZE": by which the table names it */
    const char *title, *authors;
    int year; /* 0: the source does not say */
    const char *url;
    const char *method; /* as the source states it */
};

struct published {
    const char *name;  /* of the entry of summary.c that it can stand beside */
    const char *board; /* of the GPU, as the source calls it */
    double low, high;  /* in `unit`; the same: one value */
    const char *unit;  /* of core/unit.h */
    const char *what;  /* what the source measured */
    const char *source; /* the key of its source */
};

/* The i-th of each, or NULL past the last one. Figures of one entry stand together. */
const struct published *published_at(size_t i);
const struct published_source *published_source_at(size_t i);

/* All of them beside the numbers of the bundles. */
enum { PUBLISHED_BESIDE = 4 };
boards_builder published_section;

#endif
