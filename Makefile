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

VERSION := 0.1.0
B       := build
BIN     := $B/bin
FOLDERS := probes matmul fused

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
JOBS ?= $(shell nproc)
Q := $(if $V,,@)

# --- what this machine has -----------------------------------------------------------------------

CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda) \
               $(patsubst %/bin/nvcc,%,$(shell command -v nvcc 2>/dev/null)))
NVCC      := $(wildcard $(CUDA_HOME)/bin/nvcc)
CUDART    := $(and $(NVCC),$(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h),$(firstword \
               $(wildcard $(CUDA_HOME)/lib64/libcudart_static.a $(CUDA_HOME)/lib/libcudart_static.a)))
CUBLAS    := $(and $(CUDART),$(wildcard $(CUDA_HOME)/include/cublas_v2.h))
CUDA_LIB  := $(patsubst %/,%,$(dir $(CUDART)))
# CUPTI lies in a folder of its own, or beside the rest.
CUPTI     := $(and $(CUDART),$(patsubst %/cupti_range_profiler.h,%,$(firstword $(wildcard \
               $(addsuffix /cupti_range_profiler.h,$(CUDA_HOME)/extras/CUPTI/include \
               $(CUDA_HOME)/include)))))
CUPTI_LIB := $(patsubst %/libcupti.so,%,$(firstword $(wildcard $(addsuffix /libcupti.so, \
               $(CUDA_HOME)/extras/CUPTI/lib64 $(CUDA_LIB)))))
ALL_ARCHS := 75 80 86 89 90a 100 120

# The architecture of the GPU that is here; without one, all of them. 9.0 is built as 90a.
PRESENT   := $(sort $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
               tr -d . | grep -x '[0-9]*' | sed 's/^90$$/90a/'))
ARCH      ?= $(or $(PRESENT),all)
ARCHS     := $(if $(filter all,$(ARCH)),$(ALL_ARCHS),$(ARCH))

# --- flags, which are a dependency of every object -------------------------------------------------

CFLAGS    ?= -O2 -g
WARNINGS  := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Werror
CPPFLAGS  += -D_GNU_SOURCE -I. -I$B $(if $(CUDART),-isystem $(CUDA_HOME)/include)
C         := $(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) $(WARNINGS)
NVFLAGS   := -std=c++17 -O3 -I. -Xptxas -v,-warn-spills,-warn-lmem-usage,-Werror
# One file spills on purpose.
NVFLAGS_fused/harm/spills := -std=c++17 -O3 -I. -Xptxas -v
LIBS      := -l:libjansson.a -lm
GPU_LIBS  := $(if $(CUDART),$(CUDART) -lpthread -ldl -lrt)

COMPILED_WITH := $(shell $(CC) -dumpfullversion 2>/dev/null)
NVCC_VERSION  := $(if $(NVCC),$(shell $(NVCC) --version | sed -n 's/.*, V//p'),none)
GIT           := git -c safe.directory='$(CURDIR)'
COMMIT        := $(or $(shell $(GIT) rev-parse -q --verify HEAD 2>/dev/null),unknown)
DIRTY         := $(if $(filter unknown,$(COMMIT))$(shell $(GIT) status --porcelain -- Makefile \
                   core $(FOLDERS) report 2>/dev/null),true,false)
define VALUES
#define VERSION_NUMBER "$(VERSION)"
#define VERSION_SHORT "$(shell printf %.7s $(COMMIT))$(if $(filter true,$(DIRTY)),+)"
#define VERSION_COMMIT "$(COMMIT)"
#define VERSION_DIRTY $(DIRTY)
#define VERSION_FLAGS "$(notdir $(CC)) $(COMPILED_WITH) $(CFLAGS); nvcc $(NVCC_VERSION) -O3; sm $(if $(CUDART),$(ARCHS),none)"
endef
FLAGS   = $C $(GPU_LIBS)
NVFLAGS_USED = $(NVCC) $(NVFLAGS)

# Rewrites $1 with the text of variable $2 only when that changes it.
same = $(if $(subst x$(strip $1),,x$(strip $2))$(subst x$(strip $2),,x$(strip $1)),,yes)
keep = $(shell mkdir -p $(dir $1))$(if $(call same,$(file <$1),$($2)),,$(file >$1,$($2)))
$(call keep,$B/flags,FLAGS)
$(call keep,$B/nvflags,NVFLAGS_USED)
$(call keep,$B/version_values.h,VALUES)
$(call keep,$B/archs,ARCHS)

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
CUBINS     := $(foreach a,$(ARCHS),$(CU:%.cu=$B/%.sm_$a.cubin))
REPORT_OBJ := $(patsubst %.c,$B/%.o,$(sort $(wildcard report/*/*.c)))
# Of core, the report uses documents, statistics, units, boards, NVML and the version; no CUDA.
REPORT_USES := $(patsubst %,$B/core/%.o,document draw stat unit board nvml version counter_sets)
PLUGINS    := $(if $(CUBLAS),$(BIN)/blas.so) $(if $(and $(CUPTI),$(CUPTI_LIB)),$(BIN)/counters.so)

.PHONY: all host
all: host $(GPU_BIN) $(PLUGINS)  ## build everything that this machine can build (the default)
	@$(if $(CUDART),,echo "no CUDA toolkit: built the host probes and the report only")
host: $(BIN)/gpufloor $(HOST_BIN)

# --- rules -----------------------------------------------------------------------------------------

$B/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(if $V,,@echo "  cc    $<")
	$Q$C -MMD -MP -c $< -o $@

$B/core.a: $(CORE:%.c=$B/%.o) $(call objects_of,core/device/)
# What programs share is for GPUs; those that build anywhere take nothing of it.
$(foreach f,$(FOLDERS),$(eval $B/$f/common.a: $(if $(CUDART),$(call objects_of,$f/common/))))
$B/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$Qar rcs $@ $^

define CUBIN_RULE
$B/%.sm_$1.cubin: %.cu $B/nvflags
	@mkdir -p $$(@D)
	$$(if $$V,,@echo "  nvcc  $$< sm_$1")
	$$Q$$(NVCC) $$(or $$(NVFLAGS_$$*),$$(NVFLAGS)) -gencode arch=compute_$1,code=sm_$1 -cubin -MD -MP -MF $$@.d -MT $$@ \
	  -o $$@ $$< >$$@.res 2>&1 || { cat $$@.res >&2; rm -f $$@; exit 1; }
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

$(foreach p,$(PROGRAMS:%/=%),$(eval $(BIN)/$p: $(call objects_of,$p/) $B/$(dir $p)common.a $B/core.a))
$(HOST_BIN) $(GPU_BIN):
	@mkdir -p $(@D)
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(GPU_LIBS)
	$Qstrip $@

$(BIN)/gpufloor: $(REPORT_OBJ) $(REPORT_USES)
	@mkdir -p $(@D)
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -ldl
	$Qstrip $@

$(BIN)/blas.so: core/plugins/blas.c core/blas.h $B/flags
	@mkdir -p $(@D)
	$(if $V,,@echo "  cc    $<")
	$Q$C -fPIC -shared -fvisibility=hidden -o $@ $< -L$(CUDA_LIB) -lcublas -lcublasLt \
	  -Wl,-rpath,'$$ORIGIN:$(CUDA_LIB)'

# cupti_profiler_host.h includes <string>, of which it uses nothing: compat/ holds an empty one. CUPTI
# opens the nvperf libraries by name, and finds them only if they are here already.
$(BIN)/counters.so: core/plugins/counters.c core/plugins/records.c core/plugins/counters.h \
                    core/counters.h $B/flags
	@mkdir -p $(@D)
	$(if $V,,@echo "  cc    $(filter %.c,$^)")
	$Q$C -isystem $(CUPTI) -idirafter core/plugins/compat -fPIC -shared -fvisibility=hidden -o $@ \
	  $(filter %.c,$^) -L$(CUPTI_LIB) -lcupti -Wl,--no-as-needed -L$(CUDA_LIB) -lnvperf_host \
	  -lnvperf_target -Wl,-rpath,'$$ORIGIN:$(CUPTI_LIB):$(CUDA_LIB)'

$B/core/version.o: $B/version_values.h

-include $(shell find $B -name '*.d' 2>/dev/null)

# --- what people type --------------------------------------------------------------------------------

.PHONY: deps run report test test-update sanitize clean help
deps:  ## install what is missing from Debian or Ubuntu packages (root or sudo -n)
	$QCUDA_HOME='$(CUDA_HOME)' tests/deps.sh

run:  ## measure this machine: 7 rounds, one bundle in build/run/, then the table
	$QCUDA_HOME='$(CUDA_HOME)' tests/deps.sh build
	$Q$(MAKE) -s --no-print-directory -j$(JOBS) $(if $(and $(CUDART),$(PRESENT)),all,host)
	$Q$(BIN)/gpufloor run $(RUN_FLAGS)

report: host  ## report of the committed results
	$Q$(BIN)/gpufloor report results/nvidia-h200

test:  ## every test that this machine can run; the last line counts them
	$QCUDA_HOME='$(CUDA_HOME)' tests/deps.sh test
	$Q$(MAKE) --no-print-directory -j$(JOBS) ARCH=all all tests
	$QNVCC='$(NVCC)' CUDA_HOME='$(CUDA_HOME)' tests/run.sh $B

test-update: all  ## rewrite golden outputs and generated docs; read the diff
	$QNVCC='$(NVCC)' CUDA_HOME='$(CUDA_HOME)' tests/run.sh $B --update

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
	  'FUZZ_SECONDS=60     for how long make test mutates bundles' \
	  'ONLY=GLOB           only those suites of make test, for example unit/*' \
	  'V=1                 show the commands'

# --- tests: each is a program; see tests/run.sh ------------------------------------------------------

UNIT      := $(patsubst tests/unit/%.c,$B/tests/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
REPORT_LIB := $(filter-out $B/report/cli/main.o,$(REPORT_OBJ))
.PHONY: tests
tests: $(UNIT) $B/tests/sass $B/tests/fuzz $B/tests/names $(if $(NVCC),$(CUBINS))

$B/tests/unit/test_samples: $B/core/samples.o $B/core/options.o $B/core/image.o
$B/tests/unit/test_options: $B/core/options.o
$B/tests/unit/test_respawn: $B/core/respawn.o
$B/tests/unit/test_half: $B/core/half.o
$B/tests/unit/test_permute: $B/core/permute.o
$(UNIT): $B/tests/unit/%: $B/tests/unit/%.o $(REPORT_LIB) $(REPORT_USES)
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -ldl -lcmocka

$B/tests/names: $B/tests/counters/names.o $B/core/counter_sets.o
	$Q$(CC) $(LDFLAGS) -o $@ $^ -ldl -lcmocka

$B/tests/sass: $(patsubst %.c,$B/%.o,$(sort $(wildcard tests/kernels/*.c)))
	$Q$(CC) $(LDFLAGS) -o $@ $^

FUZZ_SRC := tests/fuzz/fuzz.c $(filter-out report/cli/main.c,$(sort $(wildcard report/*/*.c))) \
            $(REPORT_USES:$B/%.o=%.c)
$B/tests/fuzz: $(FUZZ_SRC) $B/flags $B/version_values.h
	@mkdir -p $(@D)
	$Q$C -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -o $@ $(FUZZ_SRC) $(LIBS) -ldl
