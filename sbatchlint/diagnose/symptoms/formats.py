"""Libraries for files of data: NetCDF, HDF5, Git LFS."""

import re

from sbatchlint.diagnose.clues import matches, possible
from sbatchlint.diagnose.symptom import Cause, Event, Symptom

# The numbers of errors of the NetCDF library (netcdf.h) about what a file contains, as programs print them as a status.
_OF_CONTENTS = ("-49", "-46", "-45", "-40", "-57", "-62", "-43", "-47", "-56")


def _lacks_part(event: Event) -> bool | None:
    """The file is sound, and lacks what the program wants of it: by the status, or by the words without one."""
    status = event.groups.get("status", "")
    said = re.search(r"[Vv]ariable not found|dimension|Attribute not found|exceeds|violate", event.text)
    return possible(status in _OF_CONTENTS if status else said)


# fmt: off
SYMPTOMS = (
    Symptom(
        id="netcdf-error",
        title="the NetCDF or HDF5 library cannot use a file",
        docs="""\
Programs often print the number alone: -101 is an error of HDF5 (a file cut short, damaged, or locked), -51 an unknown format, 2 a
file that is not there, 13 one that may not be read, -49 and -46 a variable or a dimension that the file lacks, -40 and -57 a part
beyond its bounds, -33 the number of no open file: one that could not be opened before. `ncdump -h FILE` tells whether it is whole.
""",
        printed_by="NetCDF, PnetCDF, HDF5, MAPL, WRF, CESM",
        releases="include/netcdf.h, all releases",
        near_end=200,
        literals=("NetCDF: ", "NetCDF error", "netcdf error", "HDF error", "status=-", "nable to open file", "unable to synchronously open", "wrfinput", "ierr="),
        patterns=(
            r"\bNetCDF: (?P<what>(?!HDF error)[A-Z][\w+ ]{4,60})|\bNetCDF: HDF error|^\W*HDF error\b",
            r"(?i)\bnetcdf error\b.{0,30}?(?P<status>-\d+)\b",
            r"\bFAIL at line=\d+ .*<status=(?P<code>-\d{2,3})>",
            r"OSError: (?:\[Errno -101\]|Unable to (?:synchronously )?open file)(?! \(unable to lock)(?!.*name =)",
            r"(?:error|problem) opening (?P<file>\S+) for reading ierr=\s*(?P<ierr>-?\d+)",
        ),
        causes=(
            Cause("library", "code", "the NetCDF library was built without what the file, or the program, wants", "load a NetCDF with parallel input and NetCDF-4, or write the classic format", log=matches(r"not turned on|not built|NC_ENOTBUILT|-128\b")),
            Cause("contents", "data", "the file lacks the variable, the dimension or the part that the program needs from it", "compare `ncdump -h` of the file with what the program expects: it is of another release, grid or date", log=_lacks_part),
            Cause("not-there", "data", "a file of data that the program wants to open is not there, or may not be read", "look for it in the folder in which the job runs; a step that makes it may not have run", log=matches(r"No such file|Permission denied|ierr=\s*-1021")),
            Cause("damaged", "data", "a file of data is cut short, damaged, locked, or of another format", "look at it with `ncdump -h` or `h5ls`, compare size and checksum with the original, and fetch or write it again; HDF5_USE_FILE_LOCKING=FALSE where it is only locked"),
        ),
        matches="""\
NetCDF: HDF error
NetCDF: Variable not found
netcdf error: -51
pe=00000 FAIL at line=07503    MAPL_IO.F90                              <status=-101>
OSError: Unable to open file (truncated file: eof = 93323264, sblock->base_addr = 0, stored_eof = 411998720)
OSError: [Errno -101] NetCDF: HDF error: b'a.nc'
program wrf: error opening wrfinput_d01 for reading ierr=        -1021
""",
        others="pe=00000 FAIL at line=01600    Main.F90      <status=1>\nusing NetCDF: parallel\n",
    ),
    Symptom(
        id="lfs-pointer",
        title="a file is only the pointer of Git LFS",
        docs="A clone without git-lfs has, in place of a large file, three lines of text that name it.\n",
        printed_by="programs that read the file",
        releases="version 1 of the format of pointers",
        literals=("git-lfs.github.com", "version https://git"),
        patterns=(r"version https://git-lfs\.github\.com",),
        causes=(Cause("pointer", "data", "the file is only the pointer that Git LFS keeps in its place: the contents were not fetched", "run `git lfs install` and `git lfs pull` in the clone, on a machine with a network"),),
        matches="ValueError: unknown format: 'version https://git-lfs.github.com/spec/v1'\n",
    ),
    Symptom(
        id="index-missing",
        title="the index of a file is missing or out of date",
        docs="Programs that jump within large files want an index beside them, made once by another command, and newer than the file.\n",
        printed_by="GATK, Picard, samtools, bcftools, BWA, Bowtie 2, STAR, HISAT2, BLAST",
        near_end=100,
        literals=("not indexed", "locate the index", "is not a Bowtie", "Fasta dict file", "Fasta index file", "retrieve index", "load index", "genomeParameters", "BLAST Database error", "Could not load index", "index file", "andom alignment retrieval", "No index"),
        patterns=(
            r"(?i)input files are not indexed|fail(?:ed)? to locate the index|is not a valid Bowtie|Fasta (?:dict|index) file \S+ .*does not exist|could not (?:load|retrieve) index|random alignment retrieval only works for indexed",
            r"genomeParameters\.txt|BLAST Database error: No (?:alias|nucleotide|protein|volume)|[Ii]ndex file \S+ (?:is )?(?:missing|older|not found)|No index (?:is )?(?:available|found|file)",
        ),
        causes=(Cause("index", "data", "the index, or dictionary, of a file is not beside it", "make it first, in a job of its own: samtools index or faidx, gatk CreateSequenceDictionary, bwa index, bowtie2-build, makeblastdb, and keep it in the folder of the file"),),
        matches="""\
A USER ERROR has occurred: Traversal by intervals was requested but some input files are not indexed.
[E::bwa_idx_load_from_disk] fail to locate the index files
BLAST Database error: No alias or index file found for nucleotide database
""",
    ),
)
