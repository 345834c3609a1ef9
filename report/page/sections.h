/* The builders of the report's sections, each in report/page/NAME.c, and the globs that each takes
 * besides those of summary.c's table, up to NULL (report/bundle/needs.h). sections.c puts them in
 * order. */
#ifndef REPORT_PAGE_SECTIONS_H
#define REPORT_PAGE_SECTIONS_H

#include "report/page/section.h"

section_builder section_verdict, section_memory, section_curve, section_flight, section_ladder,
    section_small, section_sizes, section_fusion, section_attention, section_weights,
    section_sampling, section_right, section_layer, section_links, section_claims;

/* A bundle of several GPUs lacks most of what one of one GPU has. rest_take() adds such a section
 * to the names, "" at first; false: it is none. rest_tell() makes one line of them all. */
enum { REST_NAMES = 400 };
bool rest_take(char names[REST_NAMES], const struct summary *summary,
               const struct section *section);
void rest_tell(struct section *section, const char *names);

/* "; measured, 90 % takes 32 KiB", of a built section_flight(); "" where it does not say so. */
const char *section_flight_need(struct section *texts, const struct section *flight);

/* The report in short, for a README; it is not in the list of sections. Its first table has ten
 * numbers, its second the sentences of claims; its finding and notes are of the small product, its
 * lines are the findings of fusion and of the claims. */
section_builder section_short;

extern const char *const verdict_needs[], *const memory_needs[], *const curve_needs[],
    *const flight_needs[], *const ladder_needs[], *const small_needs[], *const sizes_needs[],
    *const fusion_needs[], *const attention_needs[], *const weights_needs[],
    *const sampling_needs[], *const right_needs[], *const layer_needs[], *const links_needs[],
    *const claims_needs[], *const short_needs[];

#endif
