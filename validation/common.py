"""What the references share: oil, restrictions, the integrator, the file format."""

import math
import pathlib

import numpy as np
from scipy.integrate import solve_ivp

ATMOSPHERE = 101325.0
GRAVITY = 9.80665
BAR = 1e5
LITRE_PER_MINUTE = 1e-3 / 60
RPM = 2 * math.pi / 60
CM3_PER_REV = 1e-6 / (2 * math.pi)

DATA = pathlib.Path(__file__).resolve().parent.parent / "crates" / "cli" / "tests" / "data"


def edge(conductance, drop, transition):
    """Edge of a spool: turbulent from the transition pressure up, a cubic in the drop below."""
    size = abs(drop)
    if size >= transition:
        return math.copysign(conductance * math.sqrt(size), drop)
    s = drop / transition
    return conductance * math.sqrt(transition) * (1.25 * s - 0.25 * s**3)


def orifice(conductance, drop, density, viscosity, discharge=0.67, reynolds=1000.0):
    """Two-regime orifice (Åman 2.10–2.21)."""
    if conductance <= 0.0:
        return 0.0
    transition = (
        reynolds**2
        * viscosity**2
        * math.pi
        * math.sqrt(density)
        / (math.sqrt(32.0) * discharge * conductance)
    )
    if abs(drop) >= transition:
        return math.copysign(conductance * math.sqrt(abs(drop)), drop)
    linear = 5 * conductance / (4 * math.sqrt(transition))
    cubic = -conductance / (4 * transition**2.5)
    return linear * drop + cubic * drop**3


def integrate(rates, start, times, absolute, breaks=(), relative=1e-10):
    """Radau IIA of fifth order from times[0] to times[-1]; begins anew at each of the breaks."""
    rows = [np.asarray(start, float)]
    edges = [times[0], *[b for b in breaks if times[0] < b < times[-1]], times[-1]]
    state = rows[0]
    for begin, end in zip(edges, edges[1:]):
        inside = [t for t in times if begin + 1e-12 < t <= end + 1e-12]
        wanted = inside if inside and abs(inside[-1] - end) < 1e-12 else [*inside, end]
        solution = solve_ivp(
            rates, (begin, wanted[-1]), state, "Radau", wanted, rtol=relative, atol=absolute
        )
        assert solution.success, solution.message
        rows += list(solution.y.T[: len(inside)])
        state = solution.y[:, -1]
    return np.array(rows)


def integrate_with_limits(
    rates, limits, settle, start, times, absolute, breaks=(), relative=1e-10, method="Radau"
):
    """The same for states with limits: rates(t, x, mode), where `mode` says which limits hold.

    limits(mode) gives triples of a function g(t, x), the direction in which it passes zero, and the
    new (x, mode) as a function of x. settle(t, x, mode) gives the mode after a break.
    """
    times = np.asarray(times, float)
    state = np.asarray(start, float)
    rows = np.empty((len(times), len(state)))
    now, done = times[0], 0
    mode = settle(now, state, None)
    ends = [b for b in breaks if times[0] < b < times[-1]] + [times[-1]]
    while done < len(times):
        end = next(e for e in ends if e > now + 1e-13)
        watched = limits(mode)
        functions = []
        for g, direction, _ in watched:
            event = lambda t, x, g=g: g(t, x)
            event.terminal, event.direction = True, direction
            functions.append(event)
        solution = solve_ivp(
            lambda t, x: rates(t, x, mode),
            (now, end),
            state,
            method,
            dense_output=True,
            events=functions or None,
            rtol=relative,
            atol=absolute,
        )
        assert solution.success, solution.message
        now, state = solution.t[-1], solution.y[:, -1]
        upto = np.searchsorted(times, now + 1e-13)
        if upto > done:
            rows[done:upto] = solution.sol(times[done:upto]).T
        done = upto
        if solution.status == 1:
            hit = next(i for i, at in enumerate(solution.t_events) if len(at))
            state, mode = watched[hit][2](state.copy())
        elif now < times[-1] - 1e-13:
            mode = settle(now, state, mode)
    return rows


def agreement(one, other):
    """Largest difference of two solutions, per column over the range of the column."""
    return np.max(np.abs(one - other), axis=0) / (np.ptp(one, axis=0) + 1e-300)


def write(name, header, columns):
    """One row per time, nine digits."""
    path = DATA / f"{name}.csv"
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(header) + "\n")
        for row in zip(*columns):
            file.write(",".join(f"{value:.9g}" for value in row) + "\n")
    print(path.name, len(columns[0]), "rows")
