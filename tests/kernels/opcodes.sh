#!/bin/sh
# opcodes.sh [NVCC [NVDISASM]] > opcodes.h: makes the opcode table of the contract checker anew.
#
# Compiles corpus.cu for every architecture at three levels of ptxas. nvdisasm prints each encoding
# with its mnemonic; the table gets each opcode (bits 0-11) with its mnemonic and the architectures
# that have it. The tests do not run this: nvdisasm is in the toolkit and in NVIDIA's Python wheels
# (nvidia-cuda-nvdisasm), but not on every build machine. Takes a minute on two cores. What the corpus
# does not hold comes from opcodes.more.
#
# An entry holds for every architecture where the opcode was seen. It also holds where the same
# mnemonic was seen with another opcode, as long as no other mnemonic has that opcode there: the
# numbers hardly change from generation to generation, and where they did (0x235), both were seen.
# The corpus cannot contain every form of operands (register, immediate, constant, uniform register,
# in bits 9-11) of every arithmetic instruction or shuffle, so all their forms are taken for the
# same instruction. In all that nvdisasm printed, the low 9 bits never meant two of them on one
# architecture. Forms made up for sm_90a and sm_120 were either refused by it or had the expected
# mnemonic.
set -eu
nvcc=${1:-nvcc}
nvdisasm=${2:-nvdisasm}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for arch in 75 80 86 89 90a 100 120; do
    for level in 0 1 3; do
        "$nvcc" -std=c++17 -w -cubin -arch=sm_$arch -Xptxas -O$level "$here/corpus.cu" \
            -o "$work/$arch.cubin" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
        "$nvdisasm" -c -hex "$work/$arch.cubin" | awk -v arch=$arch '
            # "/*0010*/  @!P0 LDG.E R2, [R4] ;  /* 0x...981 */": mnemonic, and opcode 3 digits.
            match($0, /^ +\/\*[0-9a-f]+\*\/ /) {
                code = $0
                sub(/ \*\/ *$/, "", code)
                code = substr(code, length(code) - 2)
                text = substr($0, RLENGTH + 1)
                sub(/^[ {]+/, "", text)
                sub(/^@!?U?P[0-9T]+ +/, "", text)
                sub(/[^A-Z0-9_].*/, "", text)
                if (text != "")
                    print code, text, arch
            }'
    done
done | sort -u >"$work/seen.corpus"
# What the corpus lacks, with reasons.
sed -e 's/#.*//' -e 's/:.*//' "$here/opcodes.more" |
    awk 'NF > 0 && NF < 3 { print "opcodes.more: expected OPCODE MNEMONIC ARCH...: " $0 >"/dev/stderr"; exit 1 }
        { for (i = 3; i <= NF; i++) print $1, $2, $i }' >"$work/seen.more"
sort -u "$work/seen.corpus" "$work/seen.more" >"$work/seen"

version="nvcc $("$nvcc" --version | sed -n 's/.* V\([0-9.]*\)$/\1/p')"
version="$version and nvdisasm $("$nvdisasm" --version | sed -n 's/.* V\([0-9.]*\)$/\1/p')"
cat <<END
/* Made by opcodes.sh from corpus.cu and opcodes.more with $version: do not edit. */
#ifndef OPCODES_H
#define OPCODES_H

#include <stdint.h>

struct opcode {
    uint16_t code;  /* bits 0-11 of the instruction, the form of its operands included */
    uint8_t archs;  /* bit 0 sm_75, then 80, 86, 89, 90a, 100, 120 */
    const char *name;
};

static const struct opcode opcodes[] = {
END
awk '
    # An opcode is three hexadecimal digits; its low 9 bits are the operation.
    function digit(c) { return index("0123456789abcdef", c) - 1 }
    BEGIN {
        n = split("75 80 86 89 90a 100 120", archs, " ")
        m = split("BMSK BREV DADD DFMA DMUL DSETP F2F F2FP F2I FADD FADD2 FCHK FFMA " \
                  "FFMA2 FLO FMNMX FMNMX3 FMUL FMUL2 FRND FSEL FSET FSETP HADD2 HFMA2 " \
                  "HMNMX2 HMUL2 HSET2 HSETP2 I2F I2FP I2IP IABS IADD IADD3 IDP IMAD " \
                  "IMNMX ISETP LEA LOP3 MOV MUFU POPC PRMT SEL SGXT SHF SHFL UBMSK UFLO " \
                  "UIADD3 UIMAD UISETP ULEA ULOP3 UMOV UPOPC UPRMT USEL USGXT USHF " \
                  "UVIMNMX VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3", names, " ")
        for (i = 1; i <= m; i++)
            arithmetic[names[i]] = 1
    }
    function operation(code) { return digit(substr(code, 1, 1)) % 2 substr(code, 2) }
    {
        pair[$1 " " $2] = has[$2 " " $3] = 1
        owner[$1 " " $3] = family[operation($1) " " $3] = $2
    }
    END {
        for (p in pair)
            seen[p] = 1
        for (p in seen) {
            split(p, f, " ")
            for (i = 1; i <= 7 && f[2] in arithmetic; i++) {
                code = digit(substr(f[1], 1, 1)) % 2 + 2 * i
                pair[substr("0123456789abcdef", code + 1, 1) substr(f[1], 2) " " f[2]] = 1
            }
        }
        for (p in pair) {
            split(p, f, " ")
            mask = 0
            for (i = 1; i <= n; i++) {
                who = owner[f[1] " " archs[i]]
                kin = family[operation(f[1]) " " archs[i]]
                likely = has[f[2] " " archs[i]] && (kin == "" || kin == f[2])
                if (who == f[2] || (who == "" && likely))
                    mask += 2 ^ (i - 1)
            }
            if (mask > 0)
                printf "    { 0x%s, 0x%02x, \"%s\" },\n", f[1], mask, f[2]
        }
    }' "$work/seen" | sort
echo '};'
echo
echo '#endif'
