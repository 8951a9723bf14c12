"""Values for the options of drawn blocks: of the right grammar, by kind, and of none."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from sbatchlint.slurm.options import Option

from .local_slurm import ANCHOR, FEATURES

Values = st.SearchStrategy[str]


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def once_in(number: int) -> st.SearchStrategy[bool]:
    """True about once in so many; Hypothesis likes the ends of a range."""
    half = number // 2
    return st.sampled_from((*(False,) * half, True, *(False,) * (number - half - 1)))


def one_of(text: str) -> Values:
    return st.sampled_from(words(text))


def small(least: int = 1, most: int = 16) -> Values:
    return st.integers(least, most).map(str)


def joined(parts: Values, separator: str = ",", most: int = 3) -> Values:
    return st.lists(parts, min_size=1, max_size=most).map(separator.join)


@st.composite
def some_case(draw: st.DrawFn, words: Values) -> str:
    word = draw(words)
    return draw(st.sampled_from((word, word, word.lower(), word.upper(), word.capitalize())))


@st.composite
def times(draw: st.DrawFn) -> str:
    form = draw(one_of("M M:S H:M:S D-H D-H:M D-H:M:S H:M:S 0H:0M:0S H word"))
    if form == "word":
        return draw(one_of("-1 INFINITE UNLIMITED infinite unlimited 0 00:00:00 0:90 24:00 1-0 0-0:1"))
    letters = {"D": small(0, 6), "H": small(0, 30), "M": small(1, 99), "S": small(0, 59)}
    return "".join(draw(letters[each]) if each in letters else each for each in form)


def counted(names: Values) -> Values:
    return st.tuples(names, small(0, 9)).map(":".join)


TASKS = small(1, 12)
SIGNALS = "HUP INT QUIT ABRT KILL ALRM TERM CHLD USR1 USR2 PIPE URG CONT STOP TSTP TTIN TTOU XCPU"
MAIL = (
    "NONE ALL BEGIN END FAIL REQUEUE INVALID_DEPEND STAGE_OUT TIME_LIMIT TIME_LIMIT_90 TIME_LIMIT_80 TIME_LIMIT_50"
    " ARRAY_TASKS BEGIN END FAIL ALL"
)
TEXTS = one_of("a train job-1 my_job x.y run:1 a=b äö $USER ~/x %j {x} 1 0 --x N/A (null) none a,b a/b @x !")
SIZES = st.tuples(
    one_of("0 1 4 16 100 1023 1024 2000 4096 16000"), one_of("K k M m G g T GB Gb MB kB t") | st.just("")
).map("".join)
NODE_COUNTS = st.one_of(small(1, 4), one_of("1-2 2-4 2-2 1-1 -4 0 4-2 01 3 1k 2,4,8 2-8:2 1,3-5 64 100"))
HOSTS = one_of("node1 node2 node[1-2] node1,node2 node[1,2] node2,node1 node[2]")
GPUS = st.one_of(small(0, 8), small(1, 4), counted(one_of("a100 h100 v100 gpu tesla")), one_of("a100:1,h100:2 1,2 0"))
GRES = st.one_of(
    small(0, 8).map("gpu:{}".format), small(1, 4).map("gpu:{}".format), small(1, 4).map("gpu:a100:{}".format),
    one_of("gpu none NONE gpu=2 gpu:1,gpu:2 gpu:a100=2 gpu:a100:2,gpu:v100:1 gpu:1k gpu:0 gres:gpu:2 gres/gpu:2 gpu:"),
)  # fmt: skip
TRES = st.one_of(
    small(1, 8).map("cpu={}".format), small(1, 4).map("gres/gpu={}".format), small(1, 4).map("gres/gpu:{}".format),
    one_of("cpu=2,gres/gpu=1 gres/gpu:a100=1 gres/gpu/a100=1 cpu:2 mem=4G node=1 gres/gpu cpu=0 gpu=1 license/x=1 cpu"),
)  # fmt: skip
PATHS = one_of("x.out logs/%j.out %x-%j.out %A_%a.out %x.%A.%a /dev/null none ./a/../b.out %4j.txt %%x %q a\\%j ~/x.log"
               " $HOME/%j.out /tmp/%u.out %N.out %j %b%r%S x%%j.log out.%t.%n /x/%J/%s")  # fmt: skip
ARRAYS = st.one_of(
    st.tuples(small(0, 9), small(10, 30)).map("-".join),
    one_of("1 0 0-9 1-10%2 1,3,5 0-15:4 1-5,7,9-11 [1-3] 1-7:2%3 1-3%0 0-0 1,1,2 1-999%10 3-3:1 00-03 1-4,2"
           " 1-2%3,4 [0-3]%2 5,4,3"),
)  # fmt: skip
MOMENTS = one_of(
    "now+1hour now+2days now+60 now+30minutes now+1week now+5min tomorrow 2090-01-02 2090-01-02T10:00"
    " 2090-01-02T10:00:30"
)
FEATURE = st.sampled_from(FEATURES)
FEATURE_LISTS = st.one_of(
    FEATURE,
    st.lists(FEATURE, min_size=2, max_size=3).map("&".join),
    st.lists(FEATURE, min_size=2, max_size=3).map("|".join),
    one_of("[blue|green] blue*2 blue*1&green*1 (blue|green)&rack1 [blue*1&green*1] blue,green !blue {blue} blue&"),
)
DEPENDENCIES = one_of(
    "after:J afterany:J afterok:J afternotok:J aftercorr:J afterburstbuffer:J afterok:J singleton Singleton 0 J"
    " afterok:J,singleton afterok:J?afterany:J after:J+5 afterok:J:J afterany:J,afterok:J after:J+0 AFTEROK:J after:J:5"
    " afterok:J,after:J?singleton afterok:J_1"
).map(lambda text: re.sub(r"J\b|J(?=_)", str(ANCHOR), text))
DISTRIBUTIONS = one_of(
    "block cyclic plane=2 arbitrary block:block block:cyclic cyclic:cyclic cyclic:fcyclic *:* block:* *:cyclic:block"
    " block,pack cyclic:block,nopack cyclic:cyclic:cyclic pack * block:block:fcyclic hostfile plane"
)
CPU_SHAPES = one_of("1 2 2:4 2:4:1 *:4 *:*:1 1:*:2 2:16:* 4:1-2 1-2:4 0 2:")
BINDINGS = one_of(
    "none closest single:1 single:2 verbose,closest map_gpu:0,1 map:0,1 mask_gpu:1,3 mask:0x3 per_task:1 verbose"
)

# By kind of value: what Slurm's own manual shows, and what looks like it. Not all of it is accepted by every release.
RIGHT: dict[str, Values] = {
    "array-spec": ARRAYS,
    "bind-list": one_of("local none rank prefer quiet verbose,local map_mem:0,1 mask_mem:1,2 sort,local local,prefer"),
    "cpu-freq": one_of("low medium high highm1 performance 1200000 1000000-2000000 low-high low-high:powersave ondemand"
                       " OnDemand Low"),
    "dependency": DEPENDENCIES,
    "dist": some_case(DISTRIBUTIONS),
    "env-list": one_of("ALL NONE NIL all none PATH PATH,HOME ALL,A=1 A=1,B=2 A= NONE,A=1 A='x,y'"),
    "feature-expr": FEATURE_LISTS,
    "feature-list": FEATURE_LISTS,
    "gpu-freq": one_of("low medium high highm1 1000 memory=900 high,memory=low verbose low,verbose"),
    "gpu-spec": GPUS,
    "gres": GRES,
    "hostlist": HOSTS,
    "hostlist-or-path": HOSTS,
    "int": st.integers(-20, 120).map(str),
    "int 0|1": small(0, 1),
    "int>=0": small(0, 4),
    "int>=1": st.one_of(TASKS, TASKS, st.sampled_from(("64", "65", "007", "1000"))),
    "list": one_of("task=30 30 task=10,energy=20 0 filesystem=5,network=3"),
    "mail-type": some_case(joined(one_of(MAIL))),
    "mem": SIZES,
    "name-list": st.just("batch"),
    "node-count N|MIN-MAX (k,m suffixes); 23.02+ lists a,b and ranges a-b:step": NODE_COUNTS,
    "path": PATHS,
    "path-pattern": PATHS,
    "rlimit-list": some_case(
        joined(one_of("ALL NONE CPU FSIZE DATA STACK CORE RSS NPROC NOFILE MEMLOCK AS RLIMIT_CORE"))
    ),
    "signal-spec": st.tuples(
        one_of("B: R: RB: BR: B R") | st.just(""),
        some_case(one_of(SIGNALS) | one_of("SIGTERM SIGUSR1 USR1 10 15 64 1 65")),
        one_of("@60 @0 @65535 @300 @120") | st.just(""),
    ).map("".join),
    "string": TEXTS,
    "switches": one_of("1 2 1@10 1@01:00:00 1@UNLIMITED 0 2@5:00"),
    "time": times(),
    "timestamp": MOMENTS,
    "tres-bind": BINDINGS,
    "tres-list": TRES,
    "uint": one_of("1 100 4294967294 TOP top"),
    "uint16": small(0, 4),
    "extra-node-info": CPU_SHAPES,
    "mem-update": one_of("10%@60 50%@5:00 10@60 0%@0 100%@1:00:00"),
}  # fmt: skip
# What options want that share a grammar with others, but not its words.
OWN: dict[str, Values] = {
    "account": one_of("proj proj1 a_b"),
    "begin": MOMENTS,
    "container": one_of("/x/bundle bundle"),
    "cores-per-socket": small(1, 32),
    "core-spec": small(0, 4),
    "delay-boot": times(),
    "extra-node-info": CPU_SHAPES,
    "mem-update": RIGHT["mem-update"],
    "nice": st.one_of(st.integers(-20, 120).map(str), one_of("10 abc 1x 2147483645")),
    "nodes": NODE_COUNTS,
    "ntasks-per-core": small(1, 2),
    "ntasks-per-socket": small(1, 8),
    "open-mode": one_of("append truncate a t Append trunc A apppend"),
    "partition": st.just("batch"),
    "priority": RIGHT["uint"],
    "signal": RIGHT["signal-spec"],
    "segment": small(0, 4),
    "sockets-per-node": small(1, 2),
    "switches": RIGHT["switches"],
    "threads-per-core": small(1, 2),
    "thread-spec": small(1, 4),
    "tmp": SIZES,
    "tres-bind": one_of("gres/gpu:closest gres/gpu:single:1 gres/gpu:none gpu:closest gres/gpu:map:0,1"),
    "wait-all-nodes": one_of("0 1 2"),
}
BROKEN = st.one_of(
    one_of(
        "=4 4, -1 0 00 1.5 1e3 0x10 +4 4k 99999999999 4294967296 2147483648 2147483647 $N ${N:-4} `n` none"
        " x -- - : , 1h 1:2:3:4 1-2-3 4GiB 1.5G 10P 1,2,x a:b:c:d <n> é ١ 50% 1- %2 1-3:0 5-1 @60 USR3 B:"
        " user yes no on off true true; '' [1-3 1] host[1-2 gpu gpu::2 1: :: TIME_LIMIT_70 gres/gpu:1:2:3"
        " cpu= = ALL; 2; 1d 1-0:0:0:0 12:60:00 max unlimited"
    ),
    st.sampled_from(("4 ", " 4", "1 hour", "1\u00a0")),
    st.text(
        st.characters(codec="ascii", exclude_characters="\n\r\0{<", categories=("L", "N", "P", "S", "Zs")), max_size=6
    ),
)
STRAYS = one_of("foo 2 ; \\ = -- - & | && :x x: , . user 'a|b' \"\" '' —nodes=2 –N2 -N- \\# #x 'x echo|done").map(
    lambda word: word.replace("|", " ") if len(word) > 2 else word
)
UNKNOWN = one_of(
    "--foo --foo=1 --Nodes=2 --walltime=1 --name=x --ntasks_per_node=2 --gpu-per-node=1 --mpi=pmix"
    " --cpu-bind=none --email=x -Z -j8 -nodes=2 -mem=4G --cpu=2 --node=1 --mem-per=1 --gpu=1 --n=1"
    " --ntask=2 --queue=x --label -l -u --container-image=x --no-container-mount-home --unbuffered"
    " --cores=2 --cpus=2 --tasks=2 --task=2 --power=level --jobid=5 --relative=1 ---N2"
)
FOREIGN = st.sampled_from((
    "#PBS -l nodes=2", "#PBS -N pbsname", "#PBS -l walltime=01:00:00", "#PBS -q batch", "#PBS -j oe", "#PBS -X",
    "#PBS -V", "#PBS -l nodes=1:ppn=4", "#PBS -l mem=4gb", "#PBS -A acct", "#BSUB -n 4", "#BSUB -J lsf", "#BSUB -W 10",
))  # fmt: skip
CALM_LINES = st.sampled_from((
    "", "# a comment", "  # indented", "##SBATCH -N 9", "# SBATCH -N 9", "#sbatch -N9", "   ", "\t",
))  # fmt: skip
SEPARATORS = st.sampled_from(("#SBATCH hetjob", "#SBATCH packjob", "#SBATCH HetJob", "#SBATCH hetjob # x"))
COMMANDS = st.sampled_from(("set -e", "module load x", "echo x", "export A=1", ":", "\u00a0"))
COMMENTS = st.sampled_from((" # why", " #", "\t# it's", ' # a "b', " #--nodes=9", " ## x '"))


def right_values(option: Option) -> Values:
    """Values in this option's grammar."""
    if option.name in OWN:
        return OWN[option.name]
    if option.kind in RIGHT:
        return RIGHT[option.kind]
    known = [word for word in option.words if word not in ("help", "list")]
    if known and option.kind in ("enum", "enum-list"):
        chosen = some_case(st.sampled_from(known))
        return chosen if option.kind == "enum" else joined(chosen, most=2)
    return TEXTS
