#include "core/counter_sets.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PERCENT "percent"

const char *const counter_chips[COUNTER_CHIPS] = {"GH100", "GA100", "TU102",
                                                  "AD102", "GB100", "GB202"};

/* The real clock of each domain, and how busy the SMs were. */
static const struct counter sm[] = {
    {"time", "nanosecond", {"gpu__time_duration.sum"}, false},
    {"sm_clock", "gpc_cycle/second", {"gpc__cycles_elapsed.avg.per_second"}, false},
    {"l2_clock", "fbp_cycle/second", {"lts__cycles_elapsed.avg.per_second"}, false},
    {"dram_clock", "dram_cycle/second", {"dram__cycles_elapsed.avg.per_second"}, false},
    {"sys_clock", "sys_cycle/second", {"sys__cycles_elapsed.avg.per_second"}, false},
    {"sm_elapsed", "gpc_cycle", {"sm__cycles_elapsed.max"}, false},
    {"sm_active_least", "gpc_cycle", {"sm__cycles_active.min"}, false},
    {"sm_active_most", "gpc_cycle", {"sm__cycles_active.max"}, false},
    {"sm_active", "gpc_cycle", {"sm__cycles_active.sum"}, false},
    {"warps", "warp", {"sm__warps_active.avg.per_cycle_active"}, false},
    {"issue", PERCENT, {"smsp__issue_active.avg.pct_of_peak_sustained_active"}, false},
    {"instructions", "instruction", {"smsp__inst_executed.sum"}, false},
    {"blocks", "cta", {"sm__ctas_launched.sum"}, false},
    {"blocks_least", "cta", {"sm__ctas_launched.min"}, false}, /* of an SM */
    {"blocks_most", "cta", {"sm__ctas_launched.max"}, false},
};

/* Which level served the loads. For the L2 only the requests of the L1s: the total also counts
 * requests between its partitions. */
static const struct counter loads[] = {
    {"shared_loads", "instruction", {"smsp__inst_executed_op_shared_ld.sum"}, false},
    {"global_loads", "instruction", {"smsp__inst_executed_op_global_ld.sum"}, false},
    {"l1_sectors", "l2_sector", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}, false},
    {"l1_hits", "l2_sector", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"}, false},
    {"l2_sectors", "l2_sector", {"lts__t_sectors_srcunit_tex_op_read.sum"}, false},
    {"l2_hits", "l2_sector", {"lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum"}, false},
};

/* How much the memories moved relative to their peak, and SM cycles of the same pass to scale
 * it. */
static const struct counter memory[] = {
    {"dram_read", "byte", {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}, false},
    {"dram_write", "byte", {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}, false},
    {"dram_busy", PERCENT, {"dram__bytes.sum.pct_of_peak_sustained_elapsed"}, false},
    {"l2_busy", PERCENT, {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed"}, false},
    {"l1_busy", PERCENT, {"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"},
     false},
    {"memory_sm_elapsed", "gpc_cycle", {"sm__cycles_elapsed.max"}, false},
    {"memory_sm_active", "gpc_cycle", {"sm__cycles_active.max"}, false},
};

/* The path from the L2 to the SMs, at both ends. */
static const struct counter paths[] = {
    {"l2_out_busy", PERCENT, {"lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed"},
     false},
    {"l1_in_busy", PERCENT, {"l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_elapsed"},
     false},
    {"paths_sm_elapsed", "gpc_cycle", {"sm__cycles_elapsed.max"}, false},
    {"paths_sm_active", "gpc_cycle", {"sm__cycles_active.max"}, false},
};

/* How busy the execution pipes of an SM were while it held a warp. */
static const struct counter pipes[] = {
    {"tensor_busy", PERCENT,
     {"sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active",
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"}, false},
    {"fma_busy", PERCENT, {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"}, false},
    {"alu_busy", PERCENT, {"sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active"}, false},
    {"fp64_busy", PERCENT, {"sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active"}, false},
    {"xu_busy", PERCENT, {"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"}, false},
};

/* Warps x cycles by the state of each resident warp (warp stalls): the states add up to all
 * cycles. */
#define STALL(reason, optional) \
    {"stalled_" #reason, "gpc_cyclewarp", {"smsp__warps_issue_stalled_" #reason ".sum"}, optional}
static const struct counter stalls[] = {
    STALL(barrier, false),          STALL(branch_resolving, false),
    STALL(dispatch_stall, false),   STALL(drain, false),
    STALL(gmma, true),              STALL(imc_miss, true),
    STALL(lg_throttle, false),      STALL(long_scoreboard, false),
    STALL(math_pipe_throttle, false), STALL(membar, false),
    STALL(mio_throttle, false),     STALL(misc, false),
    STALL(no_instruction, false),   STALL(not_selected, false),
    STALL(selected, false),         STALL(short_scoreboard, false),
    STALL(sleeping, false),         STALL(tex_throttle, false),
    STALL(wait, false),
};

const struct counter_set counter_sets[COUNTER_SETS] = {
    {"sm", "clock of each domain, busy SMs, warps, issue slots", sm, LENGTH(sm),
     {1, 1, 1, 1, 1, 1}},
    {"loads", "which level served the loads", loads, LENGTH(loads), {2, 2, 2, 2, 2, 2}},
    {"memory", "bytes of device memory; how busy each memory was", memory, LENGTH(memory),
     {1, 1, 2, 1, 1, 1}},
    {"paths", "how busy the way from the L2 to the SMs was", paths, LENGTH(paths),
     {1, 2, 1, 1, 1, 1}},
    {"pipes", "how busy the execution pipes were", pipes, LENGTH(pipes), {2, 2, 2, 3, 2, 3}},
    {"stalls", "what the warps waited for", stalls, LENGTH(stalls), {6, 5, 5, 5, 5, 6}},
};

const struct counter_set *counter_set_find(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNTER_SETS; i++)
        if (strlen(counter_sets[i].name) == length && !strncmp(counter_sets[i].name, name, length))
            return &counter_sets[i];
    return NULL;
}
