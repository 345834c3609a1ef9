/* fused/common/decoder/decoder.h: every unit of a matrix has one block, blocks are in balance,
 * every row is dealt out once, and what a block needs fits its shared memory. */
#include "fused/common/decoder/model.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

enum { LEAST_STAGES = 3, SHARED_OF_HOPPER = 227 << 10 };

static const uint32_t some_units[] = {1, 7, 8, 131, 132, 133, 264, 1000, 1536, 2048, 4097, 128256};
static const uint32_t some_blocks[] = {1, 2, 7, 8, 78, 108, 131, 132, 148, 264};
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* How a share is made, so that a wrong one can be planted. */
typedef struct decoder_share (*dealer)(uint32_t units, uint32_t blocks, uint32_t block,
                                       uint32_t turn);

static struct decoder_share right(uint32_t units, uint32_t blocks, uint32_t block, uint32_t turn)
{
    return decoder_share_of(units, blocks, block, turn);
}
static struct decoder_share drops_the_rest(uint32_t units, uint32_t blocks, uint32_t block,
                                           uint32_t turn)
{
    (void)turn;
    return (struct decoder_share){block * (units / blocks), units / blocks};
}
static struct decoder_share overlaps(uint32_t units, uint32_t blocks, uint32_t block, uint32_t turn)
{
    struct decoder_share share = decoder_share_of(units, blocks, block, turn);
    share.first -= share.first > 0;
    return share;
}
static struct decoder_share forgets_turns(uint32_t units, uint32_t blocks, uint32_t block,
                                          uint32_t turn)
{
    (void)turn;
    return decoder_share_of(units, blocks, block, 0);
}

/* Is every unit one block's, and no block ahead by more than one? */
static bool covers(dealer deal, uint32_t units, uint32_t blocks, uint32_t turn)
{
    unsigned char *times = calloc(units, 1);
    bool good = times != NULL;
    for (uint32_t block = 0; good && block < blocks; block++) {
        const struct decoder_share s = deal(units, blocks, block, turn);
        good = s.count >= units / blocks && s.count <= units / blocks + 1 &&
               s.first + s.count <= units;
        for (uint32_t i = 0; good && i < s.count; i++)
            times[s.first + i]++;
    }
    for (uint32_t i = 0; good && i < units; i++)
        good = times[i] == 1;
    free(times);
    return good;
}

static bool covers_everywhere(dealer deal)
{
    for (size_t u = 0; u < LENGTH(some_units); u++)
        for (size_t b = 0; b < LENGTH(some_blocks); b++)
            for (uint32_t turn = 0; turn < some_blocks[b]; turn += 1 + some_blocks[b] / 5)
                if (!covers(deal, some_units[u], some_blocks[b], turn))
                    return false;
    return true;
}

static void every_unit_once(void **state)
{
    (void)state;
    assert_true(covers_everywhere(right));
    assert_false(covers_everywhere(drops_the_rest));
    assert_false(covers_everywhere(overlaps));
}

/* Over a chain of matrices of rows of one length no block has two units more than another. */
static bool in_balance(dealer deal, uint32_t units, uint32_t blocks)
{
    uint32_t *all = calloc(blocks, sizeof *all), turn = 0, least = ~0u, most = 0;
    for (int matrix = 0; all && matrix < 40; matrix++) {
        for (uint32_t block = 0; block < blocks; block++)
            all[block] += deal(units, blocks, block, turn).count;
        turn = decoder_next_turn(units, blocks, turn);
    }
    for (uint32_t block = 0; all && block < blocks; block++) {
        least = all[block] < least ? all[block] : least;
        most = all[block] > most ? all[block] : most;
    }
    const bool good = all && most - least <= 1;
    free(all);
    return good;
}

static void turns_balance(void **state)
{
    (void)state;
    bool forgetting_balances = true;
    for (size_t u = 0; u < LENGTH(some_units); u++)
        for (size_t b = 0; b < LENGTH(some_blocks); b++) {
            assert_true(in_balance(right, some_units[u], some_blocks[b]));
            forgetting_balances &= in_balance(forgets_turns, some_units[u], some_blocks[b]);
        }
    assert_false(forgetting_balances);
}

/* Is row() a permutation of a matrix' rows? */
static bool permutes(const struct decoder_shape *s, enum decoder_matrix m,
                     uint32_t (*row)(const struct decoder_shape *, enum decoder_matrix, uint32_t))
{
    const uint32_t rows = decoder_units(s, m) * decoder_unit_rows(m);
    unsigned char *times = calloc(rows, 1);
    bool good = times != NULL;
    for (uint32_t i = 0; good && i < rows; i++) {
        const uint32_t at = row(s, m, i);
        good = at < rows && times[at]++ == 0;
    }
    free(times);
    return good;
}
static uint32_t row_right(const struct decoder_shape *s, enum decoder_matrix m, uint32_t i)
{
    return decoder_row(s, m, i);
}
/* Half of a head's rows away, but of every head alike. */
static uint32_t row_wrong(const struct decoder_shape *s, enum decoder_matrix m, uint32_t i)
{
    return decoder_row(s, m, i % 2 ? i : i / 2);
}

static void rows_permute(void **state)
{
    (void)state;
    for (int model = 0; model < DECODER_MODELS; model++)
        for (int m = 0; m <= DECODER_HEAD; m++) {
            const struct decoder_shape *s = &decoder_models[model].shape;
            assert_true(permutes(s, (enum decoder_matrix)m, row_right));
            assert_false(permutes(s, (enum decoder_matrix)m, row_wrong));
        }
}

/* A unit of QKV is two halves of a rotary pair; one of gate and up is both of two neighbours. */
static void units_hold_together(void **state)
{
    (void)state;
    for (int model = 0; model < DECODER_MODELS; model++) {
        const struct decoder_shape *s = &decoder_models[model].shape;
        for (uint32_t i = 0; i < decoder_units(s, DECODER_QKV); i++)
            assert_int_equal(decoder_row(s, DECODER_QKV, 2 * i) + s->head_dim / 2,
                             decoder_row(s, DECODER_QKV, 2 * i + 1));
        for (uint32_t i = 0; i < decoder_units(s, DECODER_GATE_UP); i++) {
            const uint32_t first = decoder_row(s, DECODER_GATE_UP, 4 * i);
            assert_int_equal(first, 2 * i);
            assert_int_equal(decoder_row(s, DECODER_GATE_UP, 4 * i + 1), first + s->ffn);
            assert_int_equal(decoder_row(s, DECODER_GATE_UP, 4 * i + 2), first + 1);
            assert_int_equal(decoder_row(s, DECODER_GATE_UP, 4 * i + 3), first + 1 + s->ffn);
        }
    }
}

/* Old keys have one split each; none where there are more splits than keys. */
static void keys_once(void **state)
{
    (void)state;
    for (uint32_t context = 2; context < 700; context += context < 40 ? 1 : 97)
        for (uint32_t splits = 1; splits <= DECODER_SPLITS; splits++) {
            uint32_t next = 0;
            for (uint32_t split = 0; split < splits; split++) {
                const struct decoder_share keys = decoder_keys_of(context, splits, split);
                assert_int_equal(keys.first, next);
                next += keys.count;
            }
            assert_int_equal(next, context - 1);
        }
}

static void shared_memory_fits(void **state)
{
    (void)state;
    for (int model = 0; model < DECODER_MODELS; model++) {
        const struct decoder_shape *s = &decoder_models[model].shape;
        const struct decoder_shared least = decoder_shared_of(s, 1, LEAST_STAGES, 1);
        const struct decoder_shared most = decoder_shared_of(s, 1, DECODER_STAGES, 1);
        assert_true(least.bytes <= SHARED_OF_HOPPER);
        assert_int_equal(most.bytes - least.bytes,
                         (DECODER_STAGES - LEAST_STAGES) * DECODER_TILE_BYTES);
        assert_true(least.barriers >= LEAST_STAGES * DECODER_TILE_BYTES);
        assert_true(least.residual >= least.barriers + 16 * LEAST_STAGES);
        assert_true(least.x >= least.residual + 4 * s->hidden);
        assert_true(least.sums >= least.x + 2 * s->ffn);
    }
    /* That is no matter of course: at batch 4 the 8b model has no room for a ring. */
    assert_true(decoder_shared_of(&decoder_models[MODEL_8B].shape, 4, LEAST_STAGES, 1).bytes >
                SHARED_OF_HOPPER);
}

/* Words of one step never lie in another's, at any batch; words are taken in pairs. */
static void mail_is_apart(void **state)
{
    (void)state;
    for (int model = 0; model < DECODER_MODELS; model++)
        for (uint32_t batch = 1; batch <= 4; batch *= 2) {
            const struct decoder_shape *s = &decoder_models[model].shape;
            const struct decoder_mail m = decoder_mail_of(s, batch, 16, 132);
            const uint32_t at[] = {m.qkv, m.split, m.attention, m.o, m.h,
                                   m.down, m.best, m.x, m.raw, m.words};
            for (size_t i = 0; i + 1 < LENGTH(at); i++) {
                assert_true(at[i] < at[i + 1]);
                assert_int_equal(at[i] % 2, 0);
            }
            assert_int_equal(m.o - m.attention, batch * s->heads * s->head_dim / 2);
            assert_int_equal(m.down - m.h, batch * s->ffn / 2);
        }
}

/* --- near ------------------------------------------------------------------------------------- */

typedef uint32_t (*near_unit)(enum decoder_matrix m, uint32_t side, uint32_t first, uint32_t i);

static uint32_t unit_right(enum decoder_matrix m, uint32_t side, uint32_t first, uint32_t i)
{
    return decoder_near_unit(m, side, first, i);
}
static uint32_t unit_of_no_side(enum decoder_matrix m, uint32_t side, uint32_t first, uint32_t i)
{
    (void)side;
    return decoder_near_unit(m, 0, first, i);
}
static uint32_t unit_of_no_group(enum decoder_matrix m, uint32_t side, uint32_t first, uint32_t i)
{
    (void)m;
    return 2 * (first + i) + side;
}

/* Has every unit of the matrix one SM, where the sides have so many? */
static bool near_covers(near_unit unit, const struct decoder_shape *s, enum decoder_matrix m,
                        const uint32_t sms[2], uint32_t turn)
{
    const uint32_t units = decoder_units(s, m);
    unsigned char *times = calloc(units, 1);
    bool good = times != NULL;
    for (uint32_t side = 0; side < 2; side++) {
        const struct decoder_plan p = decoder_near_plan_of(s, m, side, sms[side]);
        for (uint32_t sm = 0; sm < sms[side]; sm++) {
            const struct decoder_share share =
                decoder_near_share_by(s, &p, m, side, sms[side], sm, turn % sms[side]);
            for (uint32_t i = 0; good && i < share.count; i++) {
                const uint32_t at = unit(m, side, share.first, i);
                good = at < units && times[at]++ == 0;
            }
        }
    }
    for (uint32_t i = 0; good && i < units; i++)
        good = times[i] == 1;
    free(times);
    return good;
}

static const struct decoder_shape odd_shape = {576, 9, 3, 64, 2064, 1003};
static const uint32_t some_sides[][2] = {{66, 66}, {64, 68}, {1, 3}, {5, 2}};

static bool near_covers_everywhere(near_unit unit)
{
    for (int model = 0; model <= DECODER_MODELS; model++)
        for (int m = 0; m <= DECODER_HEAD; m++)
            for (size_t i = 0; i < LENGTH(some_sides); i++)
                for (uint32_t turn = 0; turn < 70; turn += 23)
                    if (!near_covers(unit,
                                     model < DECODER_MODELS ? &decoder_models[model].shape
                                                            : &odd_shape,
                                     (enum decoder_matrix)m, some_sides[i], turn))
                        return false;
    return true;
}

static void near_units_once(void **state)
{
    (void)state;
    assert_true(near_covers_everywhere(unit_right));
    assert_false(near_covers_everywhere(unit_of_no_side));
    assert_false(near_covers_everywhere(unit_of_no_group));
}

/* The rows of a side's pairs are those of its units, in their order, and lie within the matrix. */
static void near_rows_are_those_of_units(void **state)
{
    (void)state;
    for (int model = 0; model <= DECODER_MODELS; model++)
        for (int which = 0; which <= DECODER_HEAD; which++) {
            const enum decoder_matrix m = (enum decoder_matrix)which;
            const struct decoder_shape *s =
                model < DECODER_MODELS ? &decoder_models[model].shape : &odd_shape;
            const uint32_t rows = decoder_unit_rows(m), group = decoder_near_group(m);
            uint64_t pieces = 0;
            for (uint32_t side = 0; side < 2; side++) {
                const uint32_t groups = decoder_near_groups(s, m, side);
                for (uint32_t i = 0; i < groups * group * rows; i++) {
                    const uint32_t unit = decoder_near_unit(m, side, 0, i / rows);
                    assert_int_equal(decoder_near_row(m, side, i / 2) + i % 2,
                                     unit * rows + i % rows);
                }
                const uint64_t of_side = (uint64_t)groups * decoder_near_pairs(m) *
                                         decoder_chunks(decoder_columns(s, m));
                pieces = of_side > pieces ? of_side : pieces;
            }
            assert_int_equal(decoder_near_bytes(s, m), pieces * SIDES_BOTH);
        }
    /* Its rows are whole chunks: there is no gap. */
    const struct decoder_shape *s = &decoder_models[MODEL_8B].shape;
    for (int m = 0; m < DECODER_MATRICES; m++)
        assert_int_equal(decoder_near_bytes(s, (enum decoder_matrix)m),
                         decoder_matrix_bytes(s, (enum decoder_matrix)m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unit_once),     cmocka_unit_test(turns_balance),
        cmocka_unit_test(rows_permute),        cmocka_unit_test(units_hold_together),
        cmocka_unit_test(keys_once),           cmocka_unit_test(shared_memory_fits),
        cmocka_unit_test(mail_is_apart),       cmocka_unit_test(near_units_once),
        cmocka_unit_test(near_rows_are_those_of_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
