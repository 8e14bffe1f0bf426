//! The machine code that PTX becomes, by the disassembler.
