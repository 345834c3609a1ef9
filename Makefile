# gpufloor. `make help` lists targets and variables; everything built lies in build/.
#
#   FOLDER/NAME/*.c *.cu -> build/bin/FOLDER/NAME   a program: all that its folder holds,
#   FOLDER/common/       -> build/FOLDER/common.a   what it takes of what its neighbours share,
#   core/*.c             -> build/core.a            and what all programs do
#   *.cu                 -> one cubin per architecture -> one fatbin -> an object (.incbin)
#   report/*/*.c         -> build/bin/gpufloor
#   core/plugins/NAME.c  -> build/bin/NAME.so
#
# A program is found, not listed. One that says PROBE_GPU needs a CUDA toolkit to be built; the others
# build anywhere.

VERSION := 0.2.0
B       := build
BIN     := $B/bin
FOLDERS := probes matmul fused links

.PHONY: all host deps run here report test test-long suites test-update sanitize tests clean help \
        install put uninstall dist
.DELETE_ON_ERROR .SECONDARY:
MAKEFLAGS += --no-builtin-rules
JOBS ?= $(shell nproc)
Q := $(if $V,,@)
READS_ONLY := $(and $(MAKECMDGOALS),$(if $(filter-out help clean deps install uninstall dist,$(MAKECMDGOALS)),,yes))

# --- what this machine has -----------------------------------------------------------------------

CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda) $(patsubst %/bin/nvcc,%,$(shell command -v nvcc)))
# nvcc's host compiler is what CXX names, less wrapper and flags, where somebody set it.
CCBIN     := $(if $(filter-out default,$(origin CXX)),$(firstword $(filter-out -% %ccache %distcc,$(CXX))))
DEPS      := CC='$(CC)' CUDA_HOME='$(CUDA_HOME)' CCBIN='$(CCBIN)' tests/deps.sh
# What keeps kernels from being built here, in one line; nothing where they can be.
NO_CUDA   := $(if $(READS_ONLY),not asked,$(shell $(DEPS) toolkit))
NVCC      := $(if $(NO_CUDA),,$(CUDA_HOME)/bin/nvcc)
CUDART    := $(if $(NVCC),$(lastword $(wildcard $(CUDA_HOME)/lib*/libcudart_static.a)))
CUDA_LIB  := $(patsubst %/,%,$(dir $(CUDART)))
CUPTI     := $(CUDA_HOME)/extras/CUPTI# a folder of its own, or none: then it lies beside the rest
ALL_ARCHS := 75 80 86 89 90a 100 120

# Of the GPU that is here; without one, all. 9.0 is built as 90a, and 10.3 and 12.1 run 10.0's and 12.0's.
PRESENT   := $(sort $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
               tr -d . | grep -x '[0-9]*' | sed 's/^90$$/90a/; s/^103$$/100/; s/^121$$/120/'))
# What is put to its place is what was built before.
ARCH      ?= $(or $(if $(filter put,$(MAKECMDGOALS)),$(file <$B/archs)),$(filter $(ALL_ARCHS),$(PRESENT)),all)
ARCHS     := $(if $(filter all,$(ARCH)),$(ALL_ARCHS),$(ARCH))

# A cross compiler brings its own binutils: aarch64-linux-gnu-gcc, aarch64-linux-gnu-strip.
CROSS := $(firstword $(foreach w,$(CC),$(if $(findstring -gcc,$(notdir $w)),$(shell w='$w'; echo "$${w%-gcc*}-"))))
AR    := $(if $(filter-out default,$(origin AR)),$(AR),$(CROSS)ar)
STRIP ?= $(CROSS)strip

# --- flags, which are a dependency of every object -------------------------------------------------

CFLAGS    ?= -O2 -g
# WERROR=-Werror (CI): a warning is an error, and so is a plugin that cannot be built. A number in an enum
# is a constant here, which a double may be multiplied by.
WARNINGS  := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wno-enum-float-conversion $(WERROR)
# What the environment adds to the search for headers comes last: there may be another CUDA's, or a <string>.
CLEAN     := env -u CPATH -u C_INCLUDE_PATH -u CPLUS_INCLUDE_PATH
FOREIGN   := $(foreach v,CPATH C_INCLUDE_PATH,$(if $($v),-idirafter '$(subst :,' -idirafter ',$($v))'))
C         := $(CLEAN) $(CC) -std=c11 -D_GNU_SOURCE -I. -I$B $(if $(CUDART),-isystem $(CUDA_HOME)/include) \
               $(CPPFLAGS) $(FOREIGN) $(CFLAGS) $(WARNINGS)
NVCC_RUN  := $(CLEAN) $(NVCC) $(CCBIN:%=-ccbin %)
# A cubin holds ptxas' options. Where this toolkit's spills, a user's build tries again without the last.
NVFLAGS   := -std=c++17 -O3 -I. -Xptxas -v,-warn-spills,-warn-lmem-usage --ptxas-options=-Werror
# One file spills on purpose.
NVFLAGS_fused/harm/spills := -std=c++17 -O3 -I. -Xptxas -v
LIBS      := -l:libjansson.a -lm -ldl
GPU_LIBS  := $(if $(CUDART),$(CUDART) -lpthread -ldl -lrt)

COMPILED_WITH := $(shell $(CC) -dumpfullversion 2>/dev/null || $(CC) -dumpversion 2>/dev/null)
NVCC_VERSION  := $(if $(NVCC),$(shell $(NVCC) --version | sed -n 's/.*, V//p'),none)
# `git archive` writes its commit here (.gitattributes); what is newer than its LICENSE was touched since.
GIT           := git --git-dir=.git --work-tree=.
COMMIT        := $(or $(shell $(GIT) rev-parse -q --verify HEAD 2>/dev/null),$(filter-out ormat%,$Format:%H$),unknown)
TOUCHED       := $(shell set -- Makefile core $(FOLDERS) report; if [ -e .git ]; \
                   then $(GIT) status --porcelain -- "$$@"; else find "$$@" -newer LICENSE; fi 2>/dev/null)

# Files of build/ that are variables: each is rewritten only when its text changes.
define version_values.h
#define VERSION_NUMBER "$(VERSION)"
#define VERSION_SHORT "$(shell printf %.7s $(COMMIT))$(if $(TOUCHED),$(if $(filter-out unknown,$(COMMIT)),+))"
#define VERSION_COMMIT "$(COMMIT)"
#define VERSION_DIRTY $(if $(filter unknown,$(COMMIT))$(TOUCHED),true,false)
#define VERSION_FLAGS "$(notdir $(CC)) $(COMPILED_WITH) $(CFLAGS); nvcc $(NVCC_VERSION) -O3; sm $(if $(CUDART),$(ARCHS),none)"
#define VERSION_NO_CUDA "$(NO_CUDA)"
endef
flags   = $C $(GPU_LIBS)
nvflags = $(NVCC) $(NVFLAGS)
archs   = $(ARCHS)
same = $(if $(subst x$(strip $1),,x$(strip $2))$(subst x$(strip $2),,x$(strip $1)),,yes)
keep = $(if $(call same,$(file <$B/$1),$($1)),,$(if $(shell mkdir -p $B 2>/dev/null; [ -w $B ] && echo yes),, \
         $(error cannot write to $B/ (read-only, or another user's): copy this folder to where you can \
         write, and run make there))$(file >$B/$1,$($1)))
$(if $(READS_ONLY),,$(foreach f,flags nvflags archs version_values.h,$(call keep,$f)))

# --- sources ---------------------------------------------------------------------------------------

CORE       := $(filter-out $(if $(CUDART),core/gpu_none.c,core/gpu.c core/gpu_%.c core/blas.c), \
                $(sort $(wildcard core/*.c))) $(if $(CUDART),,core/gpu_none.c)
SOURCES    := $(sort $(wildcard $(FOLDERS:%=%/*/*.c)))
CU         := $(sort $(wildcard $(FOLDERS:%=%/*/*.cu) core/device/*.cu))
PROGRAMS   := $(sort $(filter-out %/common/,$(dir $(SOURCES))))
GPU_SRC    := $(sort $(dir $(shell grep -l 'needs = PROBE_GPU,' $(SOURCES) /dev/null)))
HOST_BIN   := $(patsubst %/,$(BIN)/%,$(filter-out $(GPU_SRC),$(PROGRAMS)))
GPU_BIN    := $(if $(CUDART),$(GPU_SRC:%/=$(BIN)/%))
# What the .c and .cu files of a folder become.
objects_of  = $(patsubst %,$B/%.o,$(basename $(filter $1%.c,$(SOURCES)))) \
              $(if $(CUDART),$(patsubst %.cu,$B/%.image.o,$(filter $1%.cu,$(CU))))
# An image has the name of its .cu, behind that of its program where that is another: norm_passes.
image_of    = $(patsubst common_%,%,$(patsubst device_%,%,$(subst $(notdir $1)_$(notdir $1),$(notdir $1),$(notdir \
                $(patsubst %/,%,$(dir $1)))_$(notdir $1))))
REPORT_OBJ := $(patsubst %.c,$B/%.o,$(sort $(wildcard report/*/*.c)))
# Of core, the report uses documents, statistics, units, boards, NVML and the version; no CUDA.
REPORT_USES := $(patsubst %,$B/core/%.o,document parse draw help stat text unit board nvml version counter_sets)
PLUGINS    := $(if $(CUDART),$(BIN)/blas.so $(BIN)/counters.so $(BIN)/nccl.so)

all: host $(GPU_BIN) $(PLUGINS)  ## build everything that this machine can build (the default)
	@$(if $(CUDART),,echo "$(NO_CUDA): built the host probes and the report only")
host: $(BIN)/gpufloor $(HOST_BIN)

# --- rules -----------------------------------------------------------------------------------------

# A compiler and jansson are asked for once, so that what lacks is said in one line.
$B/checked:
	$Q$(DEPS) check && touch $@

say = @mkdir -p $(@D)$(if $V,, && echo "  $1")
$B/%.o: %.c $B/flags | $B/checked
	$(call say,cc    $<)
	$Q$C -MMD -MP -c $< -o $@

$B/core.a: $(CORE:%.c=$B/%.o) $(call objects_of,core/device/)
# What programs share is for GPUs; those that build anywhere take nothing of it.
$(foreach f,$(FOLDERS),$(eval $B/$f/common.a: $(if $(CUDART),$(call objects_of,$f/common/))))
$B/%.a:
	@mkdir -p $(@D) && rm -f $@
	$Q$(AR) rcs $@ $^

define CUBIN_RULE
$B/%.sm_$1.cubin: %.cu $B/nvflags
	$$(call say,nvcc  $$< sm_$1)
	$$Qcubin() { $$(NVCC_RUN) "$$$$@" -cubin -o $$@ $$< -gencode arch=compute_$1,code=sm_$1 -MD -MP -MF $$@.d \
	  -MT $$@ >$$@.res 2>&1; }; cubin $$(or $$(NVFLAGS_$$*),$$(NVFLAGS)) || \
	  $(if $(WERROR),,{ cubin $$(filter-out %-Werror,$$(NVFLAGS)) && grep warning $$@.res >&2; } ||) \
	  { cat $$@.res >&2; rm -f $$@; exit 1; }
endef
$(foreach a,$(ALL_ARCHS),$(eval $(call CUBIN_RULE,$a)))

$B/%.fatbin: $(foreach a,$(ARCHS),$B/%.sm_$a.cubin) $B/archs
	$Q$(CUDA_HOME)/bin/fatbinary --create=$@ \
	  $(foreach a,$(ARCHS),--image3=kind=elf,sm=$a,file=$B/$*.sm_$a.cubin)

# struct gpu_image image_NAME = {name, fatbin, end, "sm_80:SHA256 ..."}; see core/image.h.
$B/%.image.o: $B/%.fatbin Makefile
	$Qhashes=$$(for a in $(ARCHS); do printf 'sm_%s:%s ' $$a \
	  $$(sha256sum <$B/$*.sm_$$a.cubin | cut -c1-64); done); \
	printf '%s\n' '.section .rodata,"a",@progbits' '.balign 64' '0: .incbin "$<"' '1: .byte 0' \
	  '2: .asciz "$(call image_of,$*)"' "3: .asciz \"$$hashes\"" '.section gpu_images,"aw",@progbits' \
	  '.balign 8' '.global image_$(call image_of,$*)' 'image_$(call image_of,$*): .quad 2b, 0b, 1b, 3b' \
	  '.section .note.GNU-stack,"",@progbits' | $(CC) -c -x assembler - -o $@

# Those of links/ take what they compute on one GPU from fused/common/.
$(foreach p,$(PROGRAMS:%/=%),$(eval $(BIN)/$p: $(call objects_of,$p/) $B/$(dir $p)common.a \
  $(if $(filter links/%,$p),$B/fused/common.a) $B/core.a))
# What allocates ends the program in one line where there is no memory: see report/cli/memory.h.
WRAPPED    := $(patsubst __wrap_%,%,$(sort $(shell grep -o '__wrap_[a-z_]*' report/cli/memory.h)))
$(BIN)/gpufloor: LINK = $(WRAPPED:%=-Wl,--wrap=%)
$(BIN)/gpufloor: $(REPORT_OBJ) $(REPORT_USES)
$(BIN)/gpufloor $(HOST_BIN) $(GPU_BIN):
	@mkdir -p $(@D)
	$Q$(CC) $(LDFLAGS) $(LINK) -o $@ $^ $(LIBS) $(GPU_LIBS)
	$Q$(STRIP) $@

# A plugin that cannot be built is left out, in one line that says what is lost.
$(PLUGINS): $B/flags | $B/checked
	$(call say,cc    $(filter %.c,$^))
	$Qrm -f $@; $C $(USES) -fPIC -shared -fvisibility=hidden -o $@ $(filter %.c,$^) $(WITH) >$B/$(@F).log 2>&1 && \
	  cat $B/$(@F).log >&2 || { rm -f $@; $(if $(WERROR),cat $B/$(@F).log >&2; exit 1;) \
	  echo "left out $@, without it $(LOST): $$(grep -im 1 -e error -e 'cannot find' $B/$(@F).log)" >&2; }

$(BIN)/blas.so: core/plugins/blas.c core/blas.h
$(BIN)/blas.so: LOST = no row of cuBLAS or cuBLASLt, and no share of them
$(BIN)/blas.so: WITH = -L$(CUDA_LIB) -lcublas -lcublasLt -Wl,-rpath,'$$ORIGIN:$(CUDA_LIB)'

$(BIN)/nccl.so: core/plugins/nccl.c core/nccl.h
$(BIN)/nccl.so: LOST = no row of NCCL
$(BIN)/nccl.so: WITH = -ldl

# cupti_profiler_host.h includes <string>, of which it uses nothing: compat/ holds an empty one, searched
# first. CUPTI opens the nvperf libraries by name, and finds them only if they are here already.
$(BIN)/counters.so: core/plugins/counters.c core/plugins/records.c core/plugins/counters.h core/counters.h
$(BIN)/counters.so: LOST = no gpufloor counters
$(BIN)/counters.so: USES = -Icore/plugins/compat -isystem $(CUPTI)/include
$(BIN)/counters.so: WITH = -L$(CUPTI)/lib64 -L$(CUDA_LIB) -lcupti -Wl,--no-as-needed -lnvperf_host -lnvperf_target \
  -Wl,-rpath,'$$ORIGIN:$(CUPTI)/lib64:$(CUDA_LIB)'

-include $(if $(READS_ONLY),,$(shell find $B -name '*.d' 2>/dev/null))

# --- what people type --------------------------------------------------------------------------------

deps:  ## install what is missing from Debian or Ubuntu packages (root or sudo -n)
	$Q$(DEPS)

run:  ## measure this machine: 7 rounds, one bundle in build/run/, then the table
	$Q$(DEPS) build
	$Q$(MAKE) -s --no-print-directory -j$(JOBS) here
	$Q$(BIN)/gpufloor run $(RUN_FLAGS)
here: $(if $(and $(CUDART),$(PRESENT)),all,host)

PREFIX    ?= /usr/local
DESTDIR   ?=
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export DESTDIR := $(DESTDIR)
install:  ## install under PREFIX (/usr/local) what is built, and what this machine still lacks
	$Qinstall/install.sh check
	$Qif install/install.sh is-others $(BIN); \
	then install/install.sh install $(BIN) $(addprefix $(BIN)/,$(PROGRAMS:%/=%) blas.so counters.so nccl.so); \
	else $(MAKE) -s --no-print-directory -j$(JOBS) put; fi
# An ARCH that somebody asked for is built without a GPU, too.
put: $(if $(filter file,$(origin ARCH)),here $(wildcard $(GPU_BIN) $(PLUGINS)),all)
	$Qinstall/install.sh install $(BIN) $(HOST_BIN) $(GPU_BIN) $(PLUGINS)
uninstall:  ## remove what make install put under PREFIX, and nothing else
	$Qinstall/install.sh uninstall

DIST := gpufloor-$(VERSION)
dist:  ## build/gpufloor-VERSION.tar.gz of the last commit, which needs no git
	$Q$(GIT) rev-parse -q --verify HEAD >/dev/null 2>&1 || \
	  { echo 'make dist: expected a git checkout: the last commit is what is packed' >&2; exit 1; }
	$Qmkdir -p $B && $(GIT) -c tar.umask=0022 -c core.autocrlf=false archive --prefix=$(DIST)/ \
	  -o $B/$(DIST).tar HEAD && gzip -9nf $B/$(DIST).tar && echo $B/$(DIST).tar.gz

report: host  ## report of the committed results
	$Q$(BIN)/gpufloor report results/nvidia-h200

test:  ## every test that this machine can run; the last line counts them
test-long:  ## the campaigns that make test has no time for; TURN=1 to 4: a quarter of them
test test-long:
	$Q$(DEPS) $(@:test-%=%)
	$Q$(MAKE) --no-print-directory -j$(JOBS) ARCH=all all tests
	$Q$(MAKE) --no-print-directory suites SUITES=$(subst test,-,$(filter %-long,$@))

suites:
	$Q$(CLEAN) CPPFLAGS="$(CPPFLAGS) $(FOREIGN)" NVCC='$(NVCC)' CUDA_HOME='$(CUDA_HOME)' tests/run.sh $B $(SUITES)

test-update: all  ## rewrite golden outputs and generated docs; read the diff
	$Q$(MAKE) --no-print-directory suites SUITES=--update

sanitize: all  ## compute-sanitizer over every kernel at small shapes (needs a GPU)
	$Qtests/gpu/sanitize.sh $(BIN)

clean:  ## remove build/
	rm -rf $B

help:  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22
	@printf '\n'; printf '  %s\n' \
	  'ARCH="80 90a"       architectures (default: the GPU that is here, else all)' \
	  'CUDA_HOME=DIR       CUDA toolkit (default: /usr/local/cuda, else where nvcc is)' \
	  'RUN_FLAGS=...       passed to gpufloor run, for example --quick' \
	  'FUZZ_SECONDS=60     for how long make test fuzzes (make test-long: 600); FUZZ_SEED=1' \
	  'ONLY=GLOB           only those suites of make test, for example unit/*' \
  'SUITE_JOBS=1        suites that run at once (default: 2; where a GPU is, 1)' \
	  'WERROR=-Werror      a warning is an error, and a plugin that cannot be built' \
	  'PREFIX=DIR          of make install and uninstall; DESTDIR=DIR goes before it, for packages' \
	  'V=1                 show the commands'

# --- tests: each is a program; see tests/run.sh ------------------------------------------------------

UNIT      := $(patsubst tests/unit/%.c,$B/tests/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
# Without the two that only the linked command has.
REPORT_LIB := $(filter-out $B/report/cli/main.o $B/report/cli/memory.o,$(REPORT_OBJ))
tests: $(UNIT) $B/tests/sass $B/tests/fuzz $B/tests/names $B/tests/charts $(if $(NVCC),$(foreach a,$(ARCHS),$(CU:%.cu=$B/%.sm_$a.cubin)))

$B/tests/unit/test_samples: $B/core/samples.o $B/core/options.o $B/core/image.o
$B/tests/unit/test_options: $B/core/options.o
$B/tests/unit/test_respawn: $B/core/respawn.o
$B/tests/unit/test_links: $B/links/common/wire.o $B/links/peer_memory/sizes.o $B/core/respawn.o
$B/tests/unit/test_environment: $B/core/environment.o
$B/tests/unit/test_half: $B/core/half.o
$B/tests/unit/test_rounding: $B/links/all_reduce/rounding.o $B/core/draw.o
$B/tests/unit/test_heap: $B/core/heap.o
$B/tests/unit/test_permute: $B/core/permute.o
$B/tests/unit/test_sides: $B/core/sides.o
$B/tests/unit/test_decoder_shares $B/tests/unit/test_decoder_model $B/tests/unit/test_decoder_where: $B/fused/common/decoder_model.o $B/fused/common/decoder.o
$B/tests/unit/test_decoder_where: $B/fused/decoder_layer/where.o
$B/tests/unit/test_batched_problem: $B/fused/batched_layer/problem.o $B/fused/common/decoder_model.o $B/fused/common/decoder.o
$B/tests/unit/test_two_layers_stamps: $B/fused/two_layers/stamps.o
$(UNIT): $B/tests/unit/%: $B/tests/unit/%.o $(REPORT_LIB) $(REPORT_USES)
$B/tests/names: $B/tests/counters/names.o $B/core/counter_sets.o
$B/tests/charts: $B/tests/chart/demo.o $(filter $B/report/chart/%,$(REPORT_OBJ))
$B/tests/sass: $(patsubst %.c,$B/%.o,$(sort $(wildcard tests/kernels/*.c)))
$(UNIT) $B/tests/names $B/tests/charts $B/tests/sass:
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -Wl,--as-needed -lcmocka

# The fuzzer holds all of gpufloor, under sanitizers; what is not its own says which blocks it reaches.
FUZZED    := $(patsubst %.c,$B/fuzzed/%.o,$(sort $(wildcard tests/fuzz/*.c) \
               $(filter-out report/cli/memory.c,$(wildcard report/*/*.c))) $(REPORT_USES:$B/%.o=%.c))
SANITIZED := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
$B/fuzzed/%.o: %.c $B/flags | $B/checked
	@mkdir -p $(@D)
	$Q$C $(SANITIZED) $(if $(filter tests/%,$<),,-fsanitize-coverage=trace-pc -Dmain=gpufloor_main) -MMD -MP -c $< -o $@
$B/tests/fuzz: $(FUZZED)
	@mkdir -p $(@D)
	$Q$(CC) $(LDFLAGS) $(SANITIZED) -Wl,--wrap=argp_parse -o $@ $^ $(LIBS)
