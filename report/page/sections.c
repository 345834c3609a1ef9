/* The sections in the order of the report; those that no program measures yet come last. */
#include "report/page/sections.h"

#include <ctype.h>
#include <string.h>

#include "core/text.h"

const struct section_entry *section_at(size_t i)
{
    static const struct section_entry entries[] = {
        {"verdict", section_verdict, verdict_needs},
        {"memory", section_memory, memory_needs},
        {"curve", section_curve, curve_needs},
        {"flight", section_flight, flight_needs},
        {"ladder", section_ladder, ladder_needs},
        {"small", section_small, small_needs},
        {"sizes", section_sizes, sizes_needs},
        {"fusion", section_fusion, fusion_needs},
        {"attention", section_attention, attention_needs},
        {"weights", section_weights, weights_needs},
        {"sampling", section_sampling, sampling_needs},
        {"right", section_right, right_needs},
        {"claims", section_claims, claims_needs},
        {"layer", section_layer, layer_needs},
        {"links", section_links, links_needs},
    };
    return i < sizeof entries / sizeof entries[0] ? &entries[i] : NULL;
}

bool rest_take(char names[REST_NAMES], const struct summary *summary, const struct section *section)
{
    if (bundle_gpus(summary->bundle) == 1 || !section->missing ||
        !strcmp(section->name, "links"))
        return false;
    const size_t used = strlen(names);
    text_append(names, REST_NAMES, "%s%s", used ? ", " : "", section->title);
    for (char *at = names + used; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return true;
}

void rest_tell(struct section *section, const char *names)
{
    section->name = "rest";
    section->title = "OF ONE GPU";
    section->has_no_number = true;
    section->missing = section_text(section, "a run of one GPU has: %s", names);
}
