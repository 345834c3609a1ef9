/* quantized: what formats do to numbers. */
#include "core/stat.h"
#include "fused/quantized/quantized.h"

PROBE_IMAGE(quantized_weights);

enum { N_QUALITY_DRAWS = 7 }; /* of weights and x, seeds fixed */

struct formats {
    cudaKernel_t kernel;
    float *normal[N_QUALITY_DRAWS], *x[N_QUALITY_DRAWS]; /* NULL until a case wants them */
    uint64_t *clamped;
};

static void draw_inputs(struct probe_run *r, struct formats *s)
{
    const size_t elements = 4 * (size_t)QUALITY_ROWS * QUALITY_COLUMNS;
    if (s->clamped)
        return;
    s->kernel = gpu_kernel(r, &image_quantized_weights, "quantize_quality",
                           sizeof(struct quantized_quality_args));
    s->clamped = gpu_alloc(r, sizeof *s->clamped, "a count");
    for (uint64_t i = 0; i < N_QUALITY_DRAWS; i++) {
        s->normal[i] = gpu_alloc(r, sizeof(float) * elements, "normal numbers");
        s->x[i] = gpu_alloc(r, sizeof(float) * QUALITY_COLUMNS, "x");
        gpu_fill_normal(r, s->normal[i], GPU_FP32, elements, 2 * i + 1);
        gpu_fill_normal(r, s->x[i], GPU_FP32, QUALITY_COLUMNS, 2 * i + 2);
    }
}

static void release_inputs(struct probe_run *r, struct formats *s)
{
    if (!s->clamped)
        return;
    for (size_t i = 0; i < N_QUALITY_DRAWS; i++) {
        gpu_release(r, s->normal[i]);
        gpu_release(r, s->x[i]);
    }
    gpu_release(r, s->clamped);
}

/* Medians: where few weights decide, as those of Student's t do, draws are 2.4 times apart. */
static void judge_draws(struct probe_run *r, const struct formats *s,
                        struct quantized_quality_args a)
{
    double error[N_QUALITY_DRAWS], share[N_QUALITY_DRAWS];
    uint64_t clamped, looked_at = 0;

    for (size_t i = 0; i < N_QUALITY_DRAWS; i++) {
        a.normal = s->normal[i];
        a.x = s->x[i];
        a.verdict = verdict_clear(r);
        CUDA(cudaMemsetAsync(s->clamped, 0, sizeof clamped, gpu_stream(r)));
        gpu_launch(r, s->kernel, QUALITY_ROWS, QUALITY_THREADS, 0, &a);
        const struct verdict v = verdict_fetch(r);
        gpu_to_host(r, &clamped, s->clamped, sizeof clamped);
        looked_at += v.looked_at;
        error[i] = verdict_error(&v);
        share[i] = (double)clamped / QUALITY_ROWS / QUALITY_COLUMNS;
    }
    probe_require(r, looked_at == N_QUALITY_DRAWS * QUALITY_ROWS, "%llu rows were looked at",
                  (unsigned long long)looked_at);
    stat_sort(error, N_QUALITY_DRAWS);
    stat_sort(share, N_QUALITY_DRAWS);
    probe_value(r, QUANTIZED_QUALITY_ERROR, stat_median(error, N_QUALITY_DRAWS));
    probe_value(r, QUANTIZED_CLAMPED, stat_median(share, N_QUALITY_DRAWS));
    probe_fact(r, "quality_error_of_draws", "%.3g to %.3g", error[0], error[N_QUALITY_DRAWS - 1]);
}

static void measure_format(struct probe_run *r, struct formats *s, enum quality_format format,
                           enum quality_input input, enum quality_calibration calibration)
{
    static const char *const formats[] = {"bf16", "int8", "int4_g32", "int4_g128", "e4m3", "e5m2"};
    static const char *const inputs[] = {"normal", "student_t3", "channel_x100", "mean_8"};
    static const char *const calibrations[] = {"absmax", "percentile", "none", "eighth"};

    if (!probe_begin_case(r, PROBE_TWICE, "format=%s,input=%s,calibration=%s", formats[format],
                          inputs[input], calibrations[calibration]))
        return;
    draw_inputs(r, s);
    judge_draws(
        r, s,
        (struct quantized_quality_args){
            .clamped = s->clamped, .format = format, .input = input, .calibration = calibration});
}

void quantized_measure_formats(struct probe_run *r)
{
    struct formats s = {0};

    for (int input = 0; input < N_Q_INPUTS; input++) {
        measure_format(r, &s, Q_BF16, (enum quality_input)input, Q_NONE);
        for (int format = Q_INT8; format < N_Q_FORMATS; format++)
            for (int c = 0; c < (input == Q_NORMAL ? Q_EIGHTH + 1 : Q_EIGHTH); c++)
                measure_format(r, &s, (enum quality_format)format, (enum quality_input)input,
                               (enum quality_calibration)c);
    }
    release_inputs(r, &s);
}
