/* Rows of attention over a prompt, of 32 heads, 128 wide. */
#ifndef REPORT_CLAIMS_PREFILL_H
#define REPORT_CLAIMS_PREFILL_H

#define PREFILL_OF(context, mask, type)                                                            \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=" mask ",type=" type ",impl="
#define PREFILL_TIME(context, mask, type, impl)                                                    \
    "attention_prefill.time" PREFILL_OF(context, mask, type) impl ",mode=graph,l2=cold,timer=event}"

#endif
