#!/bin/sh
# Cuts the three subsets of DejaVu Sans out of the full fonts: subset.sh DIRECTORY_OF_THE_FULL_FONTS
set -eu
fonts=${1:-/usr/share/fonts/truetype/dejavu}
cd "$(dirname "$0")"
cut_font() {
    pyftsubset "$fonts/$1.ttf" --unicodes="$2" --output-file="$1-subset.ttf" --no-hinting --layout-features='' \
        --drop-tables+=GPOS,GSUB,GDEF,kern,FFTM --name-IDs=0,1,2,4,5,6,13,14 --name-languages=0x409 --notdef-outline
}
# Latin, Greek, combining marks, super- and subscripts, arrows, the mathematical signs of the theory.
cut_font DejaVuSans 'U+0020-007E,U+00A0-017F,U+0218-021B,U+0300-0304,U+0306-0308,U+030A,U+030C,U+0370-03FF,U+1D40,U+2010-2016,U+2018-201E,U+2020-2022,U+2026,U+2030,U+2032-2033,U+2070-209C,U+2113,U+2190-2194,U+21D2,U+2200,U+2202,U+2203,U+2205-220B,U+220F-221E,U+2223-222B,U+2248,U+2260-2265,U+226A-226B,U+2297,U+2299,U+22A4,U+22A5,U+22C5,U+2212,U+25A0,U+25CF,U+27E8-27E9,U+FFFD'
# Symbols in italics.
cut_font DejaVuSans-Oblique 'U+0020-007E,U+00B1,U+00B2,U+00B3,U+00B7,U+00B9,U+00D7,U+0300-0304,U+0391-03D6,U+2113,U+2202'
# Panel letters.
cut_font DejaVuSans-Bold 'U+0020-007E,U+00A0-00FF,U+0391-03C9,U+2012-2016,U+2018-201E,U+2026,U+2212'
