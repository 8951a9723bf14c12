"""What the launcher asks of a library: which ways of communication it was built with."""


def gloo_built() -> bool:
    return True


def mpi_built() -> bool:
    return False
