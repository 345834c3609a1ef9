/* quantized.c, its second half: is it right, what are the results worth, and what do formats do to
 * numbers. Included there once. */

/* A weight of the tiles as the CPU reads it, from the description in dequantize.cuh. */
static double host_weight(enum quantized_format format, const uint32_t *tiles,
                          const uint16_t *scales, size_t r, size_t column)
{
    const size_t group = column / 128, k = column % 128, t = k / 8 % 4, place = k % 4;
    const size_t step = 4 * (k / 64) + 2 * (k / 32 % 2) + k / 4 % 2, lane = 4 * (r % 8) + t;
    const bool narrow = format == INT4;
    const size_t word = narrow ? step : 2 * step + place / 2;
    const size_t at =
        narrow ? 8 * (place / 2) + 4 * (r / 8) + 16 * (place % 2) : 8 * (r / 8) + 16 * (place % 2);
    const uint32_t *tile = tiles + group * (narrow ? 256 : 512);
    const uint32_t code = tile[word / 4 * 128 + 4 * lane + word % 4] >> at & (narrow ? 15 : 255);
    const double scale = half_bf16(scales[group * 16 + r % 8 * 2 + r / 8]);
    const int exponent = (int)(code >> 3 & 15), fraction = (int)(code & 7);

    if (format == INT4)
        return scale * ((int)code - 8);
    if (format == INT8)
        return scale * (int8_t)code;
    const double v = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
    return scale * (code & 128 ? -v : v);
}

/* Some rows, the first and the last among them, of the last column of x, in double on the CPU. */
static void check_on_host(struct probe_run *r, const struct work *w)
{
    const struct matrix *m = w->m;
    const size_t cols = (size_t)m->cols, rows = (size_t)m->rows, tile_words = cols * 2 * 4;
    const size_t last = (size_t)w->batch - 1;
    uint32_t *tiles = probe_host_alloc(r, 4 * tile_words);
    uint16_t *scales = probe_host_alloc(r, cols), *x = probe_host_alloc(r, 2 * cols), y;
    uint64_t state = probe_seed(r);
    size_t wrong = 0;

    gpu_to_host(r, x, (const char *)m->x + 2 * last * cols, 2 * cols);
    for (size_t i = 0; i < SAMPLED; i++) {
        const size_t row = i == 0 ? 0 : i == 1 ? rows - 1 : draw_below(&state, rows);
        const size_t bytes = QUANTIZED_ROWS * cols * (size_t)format_bits[w->format] / 8;
        const size_t scale_bytes = 2 * QUANTIZED_ROWS * cols / QUANTIZED_GROUP;
        double sum = 0, absolute = 0, squared = 0;
        gpu_to_host(r, tiles, m->tiles[w->format].memory + row / QUANTIZED_ROWS * bytes, bytes);
        gpu_to_host(r, scales, m->scales[w->format].memory + row / QUANTIZED_ROWS * scale_bytes,
                    scale_bytes);
        gpu_to_host(r, &y, m->y.memory + 2 * (last * rows + row), 2);
        for (size_t k = 0; k < cols; k++) {
            const double product =
                host_weight(w->format, tiles, scales, row % QUANTIZED_ROWS, k) * half_bf16(x[k]);
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        const double bound = 2 * HALF_BF16_UNIT * fabs(sum) +
                             8 * sqrt((double)cols) * 0x1p-24 * absolute + 0x1p-25 +
                             (w->impl == UNFUSED ? 6 * 0x1p-9 * sqrt(squared) : 0);
        wrong += !(fabs(half_bf16(y) - sum) <= bound);
    }
    probe_require(r, wrong == 0, "%zu of %d outputs are as computed on the CPU in double",
                  SAMPLED - wrong, SAMPLED);
    free(tiles);
    free(scales);
    free(x);
}

static bool is_quantised(const struct work *w)
{
    return w->impl != FULL && w->impl != FULL_CUBLAS;
}

/* All outputs of set 0 against fp64: with the weights that the kernel had, or with the original. */
static struct verdict run_verifier(struct probe_run *r, const struct work *w, bool original)
{
    const struct matrix *m = w->m;
    const struct quantized_verify_args a = {
        .weights = is_quantised(w) ? m->tiles[w->format].memory : NULL,
        .scales = m->scales[w->format].memory,
        .x = m->x,
        .y = m->y.memory,
        .original = original || !is_quantised(w) ? m->original.memory : NULL,
        .verdict = verdict_clear(r),
        .rows = (uint32_t)m->rows,
        .columns = (uint32_t)m->cols,
        .batch = (uint32_t)w->batch,
        .format = w->format,
        .is_rounded = w->impl == UNFUSED};
    gpu_launch(r, m->k->verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct work *w = self;
    const struct verdict v = run_verifier(r, w, false);
    if (probe_in_full(r) && is_quantised(w))
        check_on_host(r, w);
    return verdict_check(r, &v, (uint64_t)w->m->rows * (uint64_t)w->batch, when);
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    return run_verifier(r, self, false).wrong > 0;
}

static void describe(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    const struct verdict v = run_verifier(r, w, true);
    if (!isnan(verdict_error(&v)))
        probe_value(r, UNQUANTISED, verdict_error(&v));
    if (w->impl != FUSED)
        return;
    const struct shape s = shape_of(r, w);
    probe_fact(r, "blocks", "%u x %u x %u", s.grid.x, s.grid.y, s.grid.z);
    gpu_kernel_facts(r, w->m->k->fused[w->format][s.width], (int)s.threads, s.shared);
}

/* --- odd shapes ------------------------------------------------------------------------------- */

enum { ODD_SHAPES = 44 };

/* Any number of rows, batches across the widths' borders; columns must be whole groups. */
static void check_odd_shapes(struct probe_run *r, const struct kernels *k)
{
    static const int some_rows[] = {1, 2, 15, 16, 17, 127, 128, 129, 131, 1009};
    static const int some_batches[] = {1, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65};
    uint64_t state = probe_seed(r);

    if (!probe_begin_case(r, 0, "rows=0,cols=0,batch=0,type=odd,impl=fused,mode=graph,l2=warm"))
        return;
    for (int i = 0; i < ODD_SHAPES; i++) {
        const int rows = i % 2 ? 1 + (int)draw_below(&state, 600) : some_rows[i / 2 % 10];
        const int batch = some_batches[draw_below(&state, 12)];
        const int cols = 128 * (1 + (int)draw_below(&state, 24));
        struct matrix m = matrix_of(r, k, rows, cols, batch, state);
        for (enum implementation impl = FUSED; impl <= UNFUSED; impl++) {
            const struct work w = {&m, impl, (enum quantized_format)(i % N_FORMATS), batch};
            if (impl == UNFUSED && batch > 1 && !k->blas)
                continue;
            poison(r, &w);
            (impl == FUSED ? launch_fused : launch_unfused)(r, &w, 0);
            verify(r, &w, "an odd shape");
        }
        matrix_free(r, &m);
    }
    probe_fact(r, "shapes", "%d of seeded rows, columns (whole groups of 128) and batch",
               ODD_SHAPES);
}

/* --- what are the results worth? -------------------------------------------------------------- */

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_results(struct probe_run *r, const struct kernels *k)
{
    enum { ROWS = 1001, COLS = 1024, BATCH = 8 };
    if (!k->blas ||
        !probe_begin_case(r, PROBE_ONCE,
                          "rows=%d,cols=%d,batch=%d,type=int4,impl=fused,mode=graph,l2=warm", ROWS,
                          COLS, BATCH))
        return;
    struct matrix m = matrix_of(r, k, ROWS, COLS, BATCH, 1);
    const struct work fused = {&m, FUSED, INT4, BATCH}, unfused = {&m, UNFUSED, INT4, BATCH};
    const struct quality_results results = {m.y.memory, BATCH, ROWS, 2};
    void *other = gpu_alloc(r, 2 * ROWS * BATCH, "the unfused results");

    launch_unfused(r, &unfused, 0);
    CUDA(cudaMemcpyAsync(other, m.y.memory, 2 * ROWS * BATCH, cudaMemcpyDeviceToDevice,
                         gpu_stream(r)));
    poison(r, &fused);
    launch_fused(r, &fused, 0);
    quality_distance(r, m.y.memory, other, 2, (uint64_t)ROWS * BATCH);
    quality_digest(r, m.y.memory, 2, (uint64_t)ROWS * BATCH);
    quality_faults(r, &results, is_wrong, &fused);
    gpu_release(r, other);
    matrix_free(r, &m);
}

/* --- what do formats do to numbers? ----------------------------------------------------------- */

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
    s->kernel =
        gpu_kernel(r, &image_quantized_weights, "quantize_quality", sizeof(struct quantized_quality_args));
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
    probe_value(r, QUALITY_ERROR, stat_median(error, N_QUALITY_DRAWS));
    probe_value(r, CLAMPED, stat_median(share, N_QUALITY_DRAWS));
    probe_fact(r, "quality_error_of_draws", "%.3g to %.3g", error[0], error[N_QUALITY_DRAWS - 1]);
}

static void measure_format(struct probe_run *r, struct formats *s, enum quality_format format,
                           enum quality_input input, enum quality_calibration calibration)
{
    static const char *const formats[] = {"bf16", "int8", "int4_g32", "int4_g128", "e4m3", "e5m2"};
    static const char *const inputs[] = {"normal", "student_t3", "channel_x100", "mean_8"};
    static const char *const calibrations[] = {"absmax", "percentile", "none", "eighth"};

    if (!probe_begin_case(r, PROBE_ONCE, "format=%s,input=%s,calibration=%s", formats[format],
                          inputs[input], calibrations[calibration]))
        return;
    draw_inputs(r, s);
    judge_draws(r, s, (struct quantized_quality_args){.clamped = s->clamped,
                                                      .format = format,
                                                      .input = input,
                                                      .calibration = calibration});
}

static void measure_formats(struct probe_run *r)
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
