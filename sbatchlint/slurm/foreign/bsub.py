"""LSF's options as sbatch translates them (`_set_bsub_options()`, src/sbatch/xlate.c, 20.11 to 26.05)."""

from sbatchlint.slurm.foreign.option_words import Dialect, ForeignOption, Translation

DIALECT = Dialect(
    letters="ceJmMnoqW",
    flags="x",
    names={
        "cwd": "c",
        "error_file": "e",
        "job_name": "J",
        "hostname": "m",
        "memory_limit": "M",
        "output_file": "o",
        "queue_name": "q",
        "time": "W",
        "exclusive": "x",
    },
    spellings={"-cwd": "-c"},
)

# LSF's walltime is HH:MM; sbatch passes it on unchanged, and reads MM:SS.
_DIRECT = {"c": "chdir", "e": "error", "J": "job-name", "o": "output", "q": "partition", "W": "time"}


def set_option(translation: Translation, option: ForeignOption) -> None:
    letter, value = option.letter, option.value
    if letter == "x":
        translation.add(option, "exclusive", None)
    elif value is None:
        return
    elif letter == "m":
        translation.add(option, "nodelist", value.replace(" ", ","))
    elif letter == "M":
        # LSF counts in kilobytes.
        translation.add(option, "mem-per-cpu", value + "K" if value[-1:] in _DIGITS and value else value)
    elif letter == "n":
        # sbatch uses the maximum of `MIN,MAX`
        _, comma, most = value.partition(",")
        if comma and not most:
            translation.refuse(option, f"#BSUB -n format not correct given: '{value}'")
        else:
            translation.add(option, "ntasks", most if comma else value)
    else:
        translation.add(option, _DIRECT[letter], value)


_DIGITS = "0123456789"
