"""`model.py --name NAME PROGRAM ARGUMENTS...`: instructions and cycles of each of 200 queries of a program for aarch64.

The program is run under qemu, one instruction at a time. Of those that its function `modelled_...` executes, with all
that it calls, llvm-mca then computes the cycles: see README.md.
"""
import argparse
import re
import subprocess

NUM_QUERIES = 200
TIMES = 10
# The models know how many micro-operations a processor dispatches, not how many instructions it decodes.
DECODED = {"neoverse-n1": 4, "neoverse-n2": 5, "neoverse-v1": 8, "neoverse-v2": 8}


def executed(command: list[str]) -> list[int]:
    """The addresses of the instructions from the first of a modelled function to its last."""
    trace = ["-singlestep", "-d", "exec,nochain", "-D", "/dev/stderr"]
    run = subprocess.run(["qemu-aarch64", *trace, *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=True)
    steps = re.findall(rb"^Trace .*?/([0-9a-f]+)/.*\] (.*)$", run.stderr, re.MULTILINE)
    modelled = [index for index, (_, name) in enumerate(steps) if b"modelled_" in name]
    return [int(address, 16) for address, _ in steps[modelled[0] : modelled[-1] + 1]]


def disassembled(program: str) -> dict[int, str]:
    """The instruction at each address, as llvm-mca takes it."""
    listing = subprocess.run(
        ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    ).stdout
    instructions = {}
    for address, text in re.findall(r"^ +([0-9a-f]+):\t(.*)$", listing, re.MULTILINE):
        text = re.sub(r"\s*//.*", "", re.sub(r"[0-9a-f]+ <.*?>", "#0", text))
        # llvm-mca takes a hundred cycles for any call; the instructions called are here.
        text = re.sub(r"^bl(r?)\t", r"b\1\t", text)
        # llvm-mca lets a write of half a register wait for who wrote the other half before. Processors clear it.
        if not re.match(r"[a-z]*mu?l|ml|.*\.(?:2s|4h)", text):
            text = text.replace(".8b", ".16b")
        instructions[int(address, 16)] = text
    return instructions


def cycles(code: list[str], processor: str) -> float:
    command = ["llvm-mca-19", "-mtriple=aarch64", f"-mcpu={processor}", f"-iterations={TIMES}"]
    run = subprocess.run(command, input="\n".join(code), capture_output=True, text=True, check=True)
    total = int(re.search(r"Total Cycles:\s+(\d+)", run.stdout)[1]) / TIMES
    return max(total, len(code) / DECODED.get(processor, len(code))) / NUM_QUERIES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="")
    parser.add_argument("--processors", default="neoverse-n1,neoverse-n2,neoverse-v1,neoverse-v2,apple-m1")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    instructions, addresses = disassembled(options.command[0]), executed(options.command)
    code = [instructions[address] for address in addresses]
    figures = [len(code) / NUM_QUERIES] + [cycles(code, name) for name in options.processors.split(",")]
    print("|", options.name, "|", " | ".join(f"{figure:.1f}" for figure in figures), "|")


main()
