/* The fuzzer of gpufloor's command line and of all that it reads; fuzz.c says how it works.
 *
 * An attempt is one command line in a folder of inputs, one of which may be a mutant. It runs in a
 * child, many to a child, because most end by a return. What the children learn is in one block of
 * memory that they share: a child may die at any attempt. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a mutant is of. Each has a name in the folder of inputs, or beside the stand-in probes. */
enum kind { KIND_BUNDLE, KIND_COUNTERS, KIND_PART, KIND_RUN, KIND_LIST, KIND_RAW, N_KINDS };

enum { WORDS_MAX = 48, TEXT_MAX = 1 << 19, MUTANT_MAX = 1 << 20 };

struct bytes {
    char *at;
    size_t size;
};

struct attempt {
    bool is_line; /* a command line drawn at random; else a mutant */
    enum kind kind;
    bool structured, parsed, fits; /* of the mutant: past the parser, past the schema check */
    bool writes, spawns;           /* it may change the inputs; it starts programs */
    size_t n_words, n_text;
    char *words[WORDS_MAX + 1];
    char text[TEXT_MAX];
    char mutant[MUTANT_MAX];
    size_t n_mutant;
};

enum { FINDINGS_MAX = 24, FINDING_TEXT = 1500 };

struct defect {
    uint64_t index, print; /* print: of its class, command and words, so that each is kept once */
    size_t times;
    char class[16], command[32], what[FINDING_TEXT];
};

enum { COMMANDS_MAX = 24, KEPT_MAX = 20000, KEPT_BYTES = 64 << 20 };

struct command {
    char name[32];
    const struct argp_option *options; /* NULL: it has none */
};

struct kept {
    enum kind kind;
    size_t at, size;
};

struct shared {
    uint64_t seed, index; /* index: of the next attempt */
    size_t n_mutants, n_lines, n_structured, n_parsed, n_fit, n_status[4];
    size_t n_forks, fresh; /* fresh: blocks that no attempt had reached before */
    bool running, looking; /* looking: for a command's options */
    struct command commands[COMMANDS_MAX];
    size_t n_commands;
    struct defect findings[FINDINGS_MAX];
    size_t n_findings;
    struct kept kept[KEPT_MAX];
    size_t n_kept, n_seeds, used;
    char bytes[KEPT_BYTES];
    struct attempt now;
};

/* fuzz.c */
extern struct shared *fuzz;
_Noreturn void fuzz_quit(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cover.c: which blocks of report/ and core/ were reached. A block is a place where the compiler
 * put a call of the hook. */
void cover_open(void);
size_t cover_all(void);
size_t cover_reached(void);
void cover_write(const char *path); /* addresses of blocks that were not reached, for addr2line */

/* scratch.c: in between, jansson's memory is the fuzzer's own, and what is made is gone at the end:
 * no value of it may be used then, nor freed. */
void scratch_begin(void);
void scratch_end(void);

/* mutate.c: mutants of a document. `other` is what pieces are taken from. */
size_t mutate_bytes(char *into, size_t room, const struct bytes *from, uint64_t *state);
size_t mutate_document(char *into, size_t room, const struct bytes *from, const struct bytes *other,
                       uint64_t *state);

/* seeds.c: small documents cut out of files, and mutants that reached something new. */
void seeds_cut(const char *path, uint64_t *state);
void seeds_made(void);
void seeds_keep(enum kind kind, const char *bytes, size_t size);
struct bytes seeds_pick(enum kind kind, uint64_t *state);
struct bytes seeds_at(enum kind kind, size_t number); /* of those cut, for the folder of inputs */
bool seeds_valid(enum kind kind, const char *bytes, size_t size, bool *parsed,
                 bool *alike); /* alike: both readers of JSON say the same of it */

/* place.c: the folder of inputs. */
int place_run(int argc, char **argv); /* makes it, runs this program there, removes it */
void place_at(const char *folder);
void place_fill(void); /* as at the beginning; what attempts left is gone */
void place_mutant(enum kind kind, const char *bytes, size_t size);
void place_original(const struct bytes *bytes); /* as o.json: what the mutant was */
void place_save(const char *folder);            /* a copy, beside the words of the attempt */

/* words.c: command lines. */
void words_look(void); /* asks the program for its commands and their options */
void words_mutant(struct attempt *a, uint64_t *state);
void words_line(struct attempt *a, uint64_t *state);

/* judge.c: what every attempt must keep. */
void judge_open(const char *folder, const char *except);
void judge_status(const struct attempt *a, int status, const char *out, size_t n_out,
                  const char *said, size_t n_said);
void judge_readers(const struct attempt *a); /* they do not agree on its mutant */
void judge_death(const struct attempt *a, const char *class, const char *said);

#endif
