"""Circuits 3 and 4 of Malysheva (thesis, LUT University, 2021): 2.34–2.46, Tables 2.4 and 2.5.

Corrections: C_v = 2.74e-8 per volt in circuit 3; leakage of the cylinder from the higher to the lower
pressure; in 2.43 the supply side is at p₃ and both outflows are positive; C_v of circuit 4 per V²;
the leakage of the valve's edges (2.36) fades on both sides of the centre.
"""

import numpy as np

from common import agreement, integrate, integrate_with_limits, write

MASS, A1, A2, STROKE = 210.0, 8.04e-4, 4.24e-4, 1.0
SUPPLY, TANK, GAIN, OMEGA = 1.4e7, 9e5, 0.99, 331.0
SIGMA0, SIGMA1, VISCOUS = 320.0, 6.3, 1280.0
COULOMB, STATIC, STRIBECK = 2.15e6, 1.13e10, 347.0


def bulk(p):
    return 0.5 * 1.8e9 * np.log10(90 * max(p, 10132.5) / 2.8e7 + 3)


def signed_root(drop):
    return np.copysign(np.sqrt(abs(drop)), drop)


def friction(v, z):
    """Force and rate of the bristles (2.39)."""
    g = (COULOMB + (STATIC - COULOMB) * np.exp(-((v / STRIBECK) ** 2))) / SIGMA0
    rate = v - abs(v) / g * z
    return SIGMA0 * z + SIGMA1 * rate + VISCOUS * v, rate


def spool(u, x, v, zeta):
    return GAIN * OMEGA**2 * u - 2 * zeta * OMEGA * v - OMEGA**2 * x


class Held:
    """A voltage that is held from time to time."""

    def __init__(self, table):
        self.times, self.values = map(np.array, zip(*table))

    def __call__(self, t):
        return self.values[np.searchsorted(self.times, t + 1e-12) - 1]


def circuit3(times, table, relative):
    leaks = {"s1": (5.96e-13, 0.0909), "s2": (2.92e-13, 9.08), "1t": (1.15e-13, 0.794), "2t": (7.21e-13, 0.592)}
    cv, leakage, v01, v02 = 2.74e-8, 1.59e-12, 2.13e-4, 1.07e-4

    def leak(edge, u):
        size, fades = leaks[edge]
        s = min(abs(u) / fades, 1.0)
        return size * (1 - 3 * s**2 + 2 * s**3)

    def rates(u):
        def f(t, y):
            x, v, z, p1, p2, us, vs = y
            if us >= 0:
                q1, q2 = cv * us * signed_root(SUPPLY - p1), cv * us * signed_root(p2 - TANK)
            else:
                q1, q2 = cv * us * signed_root(p1 - TANK), cv * us * signed_root(SUPPLY - p2)
            force, bristles = friction(v, z)
            across = leakage * (p1 - p2)
            into1 = q1 - A1 * v - across - leak("1t", us) * (p1 - TANK) + leak("s1", us) * (SUPPLY - p1)
            into2 = -q2 + A2 * v + across - leak("2t", us) * (p2 - TANK) + leak("s2", us) * (SUPPLY - p2)
            return [
                v,
                (p1 * A1 - p2 * A2 - force) / MASS,
                bristles,
                bulk(p1) / (v01 + A1 * x) * into1,
                bulk(p2) / (v02 + A2 * (STROKE - x)) * into2,
                vs,
                spool(u, us, vs, 0.618),
            ]

        return f

    voltage = Held(table)
    absolute = relative * np.array([1e-2, 1e-1, 1e-2, 1e5, 1e5, 1, 100])
    state = [2.78e-3, 0.0, 0.0, 4.5e6, 4.5e6 * 8.04 / 4.24, 0.0, 0.0]
    rows = []
    edges = [*voltage.times, times[-1]]
    for begin, end in zip(edges, edges[1:]):
        inside = [t for t in times if begin - 1e-12 <= t <= end + 1e-12]
        part = integrate(rates(voltage(begin)), state, inside, absolute, relative=relative)
        rows += list(part[1 if rows else 0 :])
        state = part[-1]
    return np.array(rows)


class Circuit4:
    """Modes: whether K is held at zero."""

    VOLUME, DEAD = 1e-5, 1e-3
    C1, C2, C3, C5 = 4.65e7, -1.79e4, 4e11, 8e5
    CV, DEAD_BAND, LEAKAGE = 2.31e-9, 2.0, 1.72e-13

    def push(self, y):
        _, _, _, p1, p2, _, _, p3, k = y
        return (self.C5 - p3 + max(p1, p2) - (self.C1 + self.C2 * (SUPPLY - p3)) * k) / self.C3

    def rates(self, t, y, shut):
        x, v, z, p1, p2, us, vs, p3, k = y
        q1 = q2 = q4 = 0.0
        if us >= self.DEAD_BAND:
            size = self.CV * (us - self.DEAD_BAND) ** 2
            q1, q2 = size * signed_root(p3 - p1), size * signed_root(p2 - TANK)
            q4 = q1
        elif us <= -self.DEAD_BAND:
            size = self.CV * (us + self.DEAD_BAND) ** 2
            q1, q2 = -size * signed_root(p1 - TANK), -size * signed_root(p3 - p2)
            q4 = -q2
        q3 = k * signed_root(SUPPLY - p3)
        force, bristles = friction(v, z)
        across = self.LEAKAGE * (p1 - p2)
        return [
            v,
            (p1 * A1 - p2 * A2 - force) / MASS,
            bristles,
            bulk(p1) / (self.DEAD + A1 * x) * (q1 - A1 * v - across),
            bulk(p2) / (self.DEAD + A2 * (STROKE - x)) * (-q2 + A2 * v + across),
            vs,
            spool(self.voltage, us, vs, 0.62),
            bulk(p3) / self.VOLUME * (q3 - q4),
            0.0 if shut else self.push(y),
        ]

    def limits(self, shut):
        if shut:
            return [(lambda t, y: self.push(y), 1, lambda y: (y, False))]

        def close(y):
            y[8] = 0.0
            return y, True

        return [(lambda t, y: y[8] * 1e7, -1, close)]

    def settle(self, t, y, shut):
        self.voltage = 8.0 if (t + 1e-12) % 1.0 < 0.5 else -5.0
        return y[8] <= 0 and self.push(y) <= 0

    def solve(self, times, relative, method="Radau"):
        p2 = 1.6e6 * 8.04 / 4.24
        start = [0.3, 0.0, 0.0, 1.6e6, p2, 0.0, 0.0, p2 + 8e5, 5e-11]
        absolute = relative * np.array([1e-2, 1e-1, 1e-2, 1e5, 1e5, 1, 100, 1e5, 1e-8])
        breaks = np.arange(0.5, times[-1], 0.5)
        return integrate_with_limits(
            self.rates, self.limits, self.settle, start, times, absolute, breaks, relative, method
        )


# Table 3.1: sample, position, velocity; sample n at (n − 101)·10 ms of the run
TABLE = [
    (195, 0.1328, 0.1433),
    (196, 0.1342, 0.1433),
    (197, 0.1357, 0.1433),
    (198, 0.1371, 0.1433),
    (199, 0.1385, 0.1433),
    (200, 0.1400, 0.1433),
    (201, 0.1414, 0.1433),
    (202, 0.1430, 0.2023),
    (203, 0.1460, 0.4127),
    (204, 0.1509, 0.5361),
    (205, 0.1564, 0.5384),
]

if __name__ == "__main__":
    table = [(0, 1.1866), (1, 4.0328), (1.4, 2.5), (1.6, 1), (1.8, 0), (2, -0.6), (2.4, -1.2), (2.8, 0)]
    times = np.round(np.arange(1501) * 2e-3, 9)
    rows = circuit3(times, table, 1e-11)
    print("circuit 3, two tolerances:", agreement(rows, circuit3(times, table, 1e-9)))
    at = [round((n - 101) * 0.01 / 2e-3) for n, _, _ in TABLE]
    misses = [(rows[i, 0] - x, rows[i, 1] - v) for i, (_, x, v) in zip(at, TABLE)]
    print("Table 3.1: largest miss", np.max(np.abs(misses), axis=0), "m, m/s")
    header = ["load.x", "load.v", "load.bristle_deflection", "cylinder.pressure_a", "cylinder.pressure_b"]
    write("circuit3", ["time", *header], [times, *rows[:, :5].T])

    times = np.round(np.arange(1501) * 2e-3, 9)
    rows = Circuit4().solve(times, 1e-11)
    print("circuit 4, BDF and Radau:", agreement(rows, Circuit4().solve(times, 1e-11, "BDF")))
    header = ["load.x", "load.v", "cylinder.pressure_a", "cylinder.pressure_b", "small.pressure", "compensator.coefficient"]
    write("circuit4", ["time", *header], [times, *rows[:, [0, 1, 3, 4, 7, 8]].T])
