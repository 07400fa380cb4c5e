"""Circuit 2 of Malysheva (thesis, LUT University, 2021): 2.22–2.30, Tables 2.2 and 2.3."""

import sys

import numpy as np

from common import agreement, integrate_with_limits, write

BULK, V2 = 1.5e9, 1e-3
K1, K2, TANK = 5.62e-7, 5.73e-7, 0.0
C1, C2, C3, C5, C6, C7, C8, C9 = 4.65e7, -1.79e4, 4e11, 1.02e6, 5.26e-7, 200.0, 0.45, 1.2
K_MAX, KT_MIN = 1e-6, 1e-7
START = [1.02e6, 3.69e3, 5e-11, KT_MIN, 0.0]
ABSOLUTE = np.array([1e5, 1e5, 1e-7, 1e-6, 1e-4])

# The inputs of crates/cli/tests/data/circuit2.toml: time, supply pressure, voltage, directional valve
INPUTS = [
    (0.0, 16.0e6, 5.0, 1),
    (0.5, 16.0e6, 9.0, 1),
    (1.0, 16.0e6, 9.0, 0),
    (1.5, 19.5e6, 9.0, 0),
    (2.0, 19.5e6, 0.5, 0),
    (2.5, 19.5e6, 0.5, 1),
    (3.0, 14.5e6, 0.5, 1),
    (3.5, 14.5e6, 3.0, 1),
]


def signed_root(drop):
    return np.copysign(np.sqrt(abs(drop)), drop)


class Circuit:
    """Modes: the limit that holds K (0, K_MAX or None), and whether the throttle is on its stop."""

    def __init__(self, inputs, volume=1e-5):
        self.inputs, self.volume = inputs, volume
        self.breaks = [one[0] for one in inputs[1:]]

    def at(self, t):
        return [one for one in self.inputs if one[0] <= t + 1e-12][-1][1:]

    def push(self, x):
        p1, p2, k = x[:3]
        return (C5 - p1 + p2 - (C1 + C2 * (self.now[0] - p1)) * k) / C3

    def acceleration(self, x):
        return (self.now[1] - C9) * C6 * C7**2 - 2 * x[4] * C8 * C7 - x[3] * C7**2

    def rates(self, t, x, mode):
        (supply, _, is_open), (limit, seated) = self.now, mode
        p1, p2, k, kt, rate = x
        inflow = k * signed_root(supply - p1)
        through = kt * signed_root(p1 - p2)
        out = (K1 + is_open * K2) * signed_root(p2 - TANK)
        return [
            BULK / self.volume * (inflow - through),
            BULK / V2 * (through - out),
            0.0 if limit is not None else self.push(x),
            0.0 if seated else rate,
            0.0 if seated else self.acceleration(x),
        ]

    def limits(self, mode):
        limit, seated = mode
        found = []
        if limit is None:
            for bound, direction in ((0.0, -1), (K_MAX, 1)):

                def hold(x, bound=bound):
                    x[2] = bound
                    return x, (bound, seated)

                found.append((lambda t, x, b=bound: (x[2] - b) / K_MAX, direction, hold))
        else:
            inwards = 1 if limit == 0.0 else -1
            found.append((lambda t, x: self.push(x), inwards, lambda x: (x, (None, seated))))
        if not seated:

            def seat(x):
                x[3], x[4] = KT_MIN, 0.0
                return x, (limit, self.acceleration(x) < 0)

            found.append((lambda t, x: (x[3] - KT_MIN) / KT_MIN, -1, seat))
        return found

    def settle(self, t, x, mode):
        self.now = self.at(t)
        limit = mode[0] if mode else None
        if limit is not None and (self.push(x) > 0) == (limit == 0.0):
            limit = None
        return limit, x[3] <= KT_MIN and self.acceleration(x) <= 0

    def solve(self, times, relative, method="Radau"):
        return integrate_with_limits(
            self.rates,
            self.limits,
            self.settle,
            START,
            times,
            relative * ABSOLUTE,
            self.breaks,
            relative,
            method,
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:  # inputs from a file as that of cvode/circuit2, samples to another
        table, samples, interval, stop = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:5])
        circuit = Circuit([tuple(row) for row in np.loadtxt(table, ndmin=2)])
        circuit.solve(np.arange(round(stop / interval) + 1) * interval, 1e-11)[:, 0].tofile(samples)
    else:
        circuit = Circuit(INPUTS)
        times = np.arange(1501) * 3e-3
        rows = circuit.solve(times, 1e-11)
        print("BDF and Radau:", agreement(rows, circuit.solve(times, 1e-12, "BDF")))
        header = ["time", "valve.chamber_pressure", "volume.pressure", "valve.compensator", "valve.throttle"]
        write("circuit2", header, [times, *rows[:, :4].T])
